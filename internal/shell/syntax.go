package shell

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// judge walks one parsed command. Every kind of node has its rule; a kind without
// one is refused.
type judge struct {
	source    string
	variables variables
	commands  map[string]rule
	depth     int
	bound     map[any]string  // the texts that slots have for now
	set       map[string]bool // the names that surely have a value by now
	trail     []string        // the same, in order
	late      bool            // what is judged may run at any time
	seeking   string          // the name whose value is being found
	work      int             // what was spent on judging
	expanded  int             // bytes that braces expand to
	rounds    int             // how often loops around run at least
}

func (j *judge) stmts(list []*syntax.Stmt) *refusal {
	return j.deeper(func() *refusal { return each(list, j.stmt) })
}

// deeper judges what stands one level below.
func (j *judge) deeper(judge func() *refusal) *refusal {
	j.depth++
	defer func() { j.depth-- }()
	if j.depth > maxNesting {
		return refuse("the command is nested too deeply; split it")
	}
	return judge()
}

// each returns the first refusal of what is in a list.
func each[T any](list []T, judge func(T) *refusal) *refusal {
	for _, item := range list {
		if r := judge(item); r != nil {
			return r
		}
	}
	return nil
}

func (j *judge) stmt(s *syntax.Stmt) *refusal {
	if s.Background || s.Coprocess || s.Disown {
		return refuse("a command in the background outlives its answer; run it in the foreground").or(j.foreground(s))
	}
	if r := each(s.Redirs, j.redirect); r != nil || s.Cmd == nil {
		return r
	}
	return j.command(s.Cmd)
}

// foreground is the statement without its ampersand, if that is allowed.
func (j *judge) foreground(s *syntax.Stmt) string {
	if s.Cmd == nil {
		return ""
	}
	text := j.source[s.Pos().Offset():min(s.Cmd.End().Offset(), uint(len(j.source)))]
	if len(text) > 2000 || classify(text) != nil {
		return ""
	}
	return text
}

func (j *judge) command(c syntax.Command) *refusal {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return j.call(c)
	case *syntax.BinaryCmd:
		return j.binary(c)
	case *syntax.Subshell:
		return j.aside(func() *refusal { return j.stmts(c.Stmts) })
	case *syntax.Block:
		return j.stmts(c.Stmts)
	case *syntax.IfClause:
		return j.branch(c)
	case *syntax.WhileClause:
		return j.aside(func() *refusal { return j.inOrder(c.Cond, c.Do) })
	case *syntax.ForClause:
		return j.aside(func() *refusal { return j.loop(c) })
	case *syntax.CaseClause:
		return j.choice(c)
	case *syntax.TestClause:
		return j.test(c.X)
	case *syntax.TimeClause:
		if c.Stmt == nil {
			return nil
		}
		return j.stmts([]*syntax.Stmt{c.Stmt})
	case *syntax.ArithmCmd:
		return j.arithmetic(c.X)
	case *syntax.DeclClause:
		return j.declaration(c)
	case *syntax.FuncDecl:
		return refuse("a function can stand in for any command; write its commands out").without(c)
	case *syntax.LetClause:
		return refuse("let runs what its text holds").or("echo $((1 + 2))")
	case *syntax.CoprocClause:
		return refuse("a coprocess outlives its answer; use a pipe")
	default:
		return refuse("this kind of command is not known to only read")
	}
}

// first returns a refusal, or what comes next.
func first(r *refusal, next func() *refusal) *refusal {
	if r != nil {
		return r
	}
	return next()
}

// binary judges a chain of commands, which the parser leans to the left. What follows
// || may not run, and neither may what follows && behind it.
func (j *judge) binary(c *syntax.BinaryCmd) *refusal {
	chain := []*syntax.BinaryCmd{c}
	for {
		left, ok := c.X.Cmd.(*syntax.BinaryCmd)
		if !ok || len(c.X.Redirs) > 0 || c.X.Background || c.X.Coprocess || c.X.Disown {
			break
		}
		chain, c = append(chain, left), left
	}
	beginning := func() *refusal { return j.stmts([]*syntax.Stmt{c.X}) }
	piped := c.Op == syntax.Pipe || c.Op == syntax.PipeAll
	if r := first(nil, func() *refusal {
		if piped {
			return j.aside(beginning)
		}
		return beginning()
	}); r != nil {
		return r
	}
	mark := len(j.trail)
	defer func() { j.undo(mark) }()
	for _, link := range slices.Backward(chain) {
		if link.Op != syntax.AndStmt {
			j.undo(mark)
		}
		before := len(j.trail)
		if r := j.stmts([]*syntax.Stmt{link.Y}); r != nil {
			return r
		}
		if link.Op != syntax.AndStmt {
			j.undo(before)
		}
	}
	return nil
}

func (j *judge) branch(c *syntax.IfClause) *refusal {
	for ; c != nil; c = c.Else {
		if r := j.aside(func() *refusal { return j.inOrder(c.Cond, c.Then) }); r != nil {
			return r
		}
	}
	return nil
}

// inOrder judges lists of which the second runs after the first.
func (j *judge) inOrder(before, after []*syntax.Stmt) *refusal {
	return first(j.stmts(before), func() *refusal { return j.stmts(after) })
}

// maxRounds bounds how often loops over known words run together.
const maxRounds = 1_000_000

func (j *judge) loop(f *syntax.ForClause) *refusal {
	if f.Select {
		return refuse("select waits for an answer; use for")
	}
	switch loop := f.Loop.(type) {
	case *syntax.WordIter:
		if loop.Name == nil || !harmless(loop.Name.Value) {
			return refuse("the loop variable changes how commands run; use another name, such as f")
		}
		if r := each(loop.Items, func(item *syntax.Word) *refusal { return j.parts(item.Parts) }); r != nil {
			return r
		}
		words := 0
		for _, item := range loop.Items {
			n, _ := expansions(item.Parts)
			words += n
		}
		defer func(rounds int) { j.rounds = rounds }(j.rounds)
		if j.rounds = max(j.rounds, 1) * max(words, 1); j.rounds > maxRounds {
			return refuse("loops in each other run %d times; use fewer words", j.rounds)
		}
		j.sets(loop.Name.Value)
	case *syntax.CStyleLoop:
		if r := each([]syntax.ArithmExpr{loop.Init, loop.Cond, loop.Post}, j.arithmetic); r != nil {
			return r
		}
	default:
		return refuse("this kind of loop is not known to only read")
	}
	return j.stmts(f.Do)
}

func (j *judge) choice(c *syntax.CaseClause) *refusal {
	return first(j.parts(c.Word.Parts), func() *refusal {
		return each(c.Items, func(item *syntax.CaseItem) *refusal {
			return first(each(item.Patterns, j.pattern), func() *refusal {
				return j.aside(func() *refusal { return j.stmts(item.Stmts) })
			})
		})
	})
}

// declaration judges export and its kind: as assignments, without options.
func (j *judge) declaration(d *syntax.DeclClause) *refusal {
	if d.Variant.Value != "export" && d.Variant.Value != "readonly" && d.Variant.Value != "local" {
		return refuse("%s gives a name a meaning of its own; assign a plain value", d.Variant.Value).or("x=1")
	}
	for _, a := range d.Args {
		if a.Name == nil || a.Index != nil || a.Array != nil || a.Append {
			return refuse("%s is allowed with plain names and values only", d.Variant.Value)
		}
		if a.Naked {
			return refuse("%s of a name that is set elsewhere changes how commands run", d.Variant.Value)
		}
		if r := j.assign(a, d.Variant.Value == "export"); r != nil {
			return r
		}
		j.sets(a.Name.Value)
	}
	return nil
}

// assign judges an assignment. One that commands run with (exported) needs a name
// and a value that are known to be harmless.
func (j *judge) assign(a *syntax.Assign, exported bool) *refusal {
	if a.Name == nil || a.Index != nil {
		return refuse("an assignment to an element computes its index; assign a plain name")
	}
	if r := j.holds(a, exported); r != nil {
		return r
	}
	if pieces, _ := j.length(a.Name.Value); pieces > maxMentions {
		return refuse("the value of %s doubles again and again, which fills the memory", a.Name.Value)
	}
	return nil
}

// holds judges what an assignment gives to its name.
func (j *judge) holds(a *syntax.Assign, exported bool) *refusal {
	if a.Array != nil {
		return j.array(a)
	}
	if a.Value != nil {
		if r := j.parts(a.Value.Parts); r != nil {
			return r
		}
	}
	return j.combinations([]*syntax.Word{a.Value}, func() *refusal {
		value := j.assigned(a.Value)
		known := value.whole && !a.Append && environment(a.Name.Value, value.text)
		if exported && known {
			return nil
		}
		if exported && !plainName(a.Name.Value) || !exported && !harmless(a.Name.Value) && !known {
			return refuse("setting %s changes how commands run", a.Name.Value).without(a)
		}
		if suspect(value.text) {
			return refuse("the value of %s holds text that some commands would run", a.Name.Value)
		}
		return nil
	})
}

// plainName reports whether a name in the environment is one no program looks at.
func plainName(name string) bool { return harmless(name) && name == strings.ToLower(name) }

func (j *judge) array(a *syntax.Assign) *refusal {
	if !harmless(a.Name.Value) {
		return refuse("setting %s changes how commands run", a.Name.Value)
	}
	for _, elem := range a.Array.Elems {
		if elem.Index != nil || elem.Value == nil {
			return refuse("an index in an array is computed; write the elements in order")
		}
		if r := j.parts(elem.Value.Parts); r != nil {
			return r
		}
		if suspect(j.value(elem.Value).text) {
			return refuse("the value of %s holds text that some commands would run", a.Name.Value)
		}
	}
	return nil
}

func (j *judge) value(node *syntax.Word) word {
	if node == nil {
		return literal("")
	}
	return j.word(node)
}

// suspect reports whether a text holds a substitution: as text it is harmless
// until something evaluates it, which nothing that only reads has to.
func suspect(text string) bool {
	return strings.Contains(text, "$(") || strings.Contains(text, "`") || strings.Contains(text, "${")
}

// call is a command with its arguments.
type call struct {
	name  string
	words []word
}

// first is the first argument as far as it is known, for messages.
func (c call) first() string {
	if len(c.words) == 0 {
		return ""
	}
	return c.words[0].text
}

func (j *judge) call(c *syntax.CallExpr) *refusal {
	if r := each(c.Args, func(arg *syntax.Word) *refusal { return j.parts(arg.Parts) }); r != nil {
		return r
	}
	for _, a := range c.Assigns {
		if len(c.Args) > 0 && c.Args[0].Lit() == "read" && a.Name != nil && a.Name.Value == "IFS" && a.Index == nil && a.Array == nil &&
			!a.Append {
			if a.Value != nil {
				if r := j.parts(a.Value.Parts); r != nil {
					return r
				}
			}
			continue
		}
		if r := j.assign(a, len(c.Args) > 0); r != nil {
			return r
		}
	}
	if len(c.Args) == 0 {
		for _, a := range c.Assigns {
			j.sets(a.Name.Value)
		}
		return nil
	}
	return j.combinations(c.Args, func() *refusal {
		words := j.words(c.Args)
		if len(words) == 0 {
			return nil
		}
		return j.run(words)
	})
}

// run judges a command by its name and its arguments. Wrappers come back here
// with what they run.
func (j *judge) run(words []word) *refusal {
	if r := j.spend(len(words)); r != nil {
		return r
	}
	return j.deeper(func() *refusal { return j.program(words) })
}

func (j *judge) program(words []word) *refusal {
	if !words[0].whole || !words[0].one() || words[0].filled {
		return refuse("the command to run is not known before it runs; name it")
	}
	name := words[0].text
	for _, folder := range []string{"/bin/", "/usr/bin/"} {
		if base, ok := strings.CutPrefix(name, folder); ok {
			name = base
			break
		}
	}
	if name == "git" && words[0].text != name {
		return refuse("git is allowed by its name alone, by which it is kept from what a repository makes it run").or("git status")
	}
	if strings.Contains(name, "/") {
		return refuse("%s is a program of its own; only commands known by name are allowed", shown(name))
	}
	known, ok := j.commands[name]
	if !ok {
		return unknown(name, words)
	}
	c := call{name: name, words: words[1:]}
	return first(c.spares(), func() *refusal { return known.judge(j, c) })
}

// width is a field of a format that is padded to more than fits into the memory.
var width = regexp.MustCompile(`%[-+ #0']*[0-9]*\.?[0-9]{6}`)

// spares refuses what holds of the words of every command: widths that fill the
// memory, and files of options.
func (c call) spares() *refusal {
	options := slices.Contains(names()["@"], c.name)
	return each(c.words, func(w word) *refusal {
		switch {
		case w.whole && len(w.text) > 6 && width.MatchString(w.text):
			return refuse("a field of that width fills the memory")
		case options && (strings.HasPrefix(w.text, "@") || w.text == "" && !w.whole):
			return refuse("%s reads options from the file behind an @, and %s may be one; begin it with ./", c.name, source(w)).
				before(w, "./").or(c.name + " ./FILE")
		}
		return nil
	})
}

// unknown refuses a command that is not on the list.
func unknown(name string, words []word) *refusal {
	if len(words) == 2 && versioned(name, words[1]) {
		return nil
	}
	if why, ok := refused()[name]; ok {
		return refuse("%s %s", name, why.reason).or(why.instead)
	}
	return refuse("%s is not known to only read", shown(name))
}

// versioned reports whether a command only asks a known program for its version.
func versioned(name string, option word) bool {
	return option.whole && strings.HasPrefix(option.text, "-") && slices.Contains(names()[option.text], name)
}

// shown is a name for a message.
func shown(name string) string {
	if len(name) > 40 {
		return name[:40] + "…"
	}
	return name
}

// test judges [[ … ]].
func (j *judge) test(x syntax.TestExpr) *refusal {
	switch x := x.(type) {
	case *syntax.Word:
		return j.pattern(x)
	case *syntax.ParenTest:
		return j.test(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			return refuse("[[ %s … ]] evaluates the name it is given; test the value", x.Op).or(`[[ -n "$x" ]]`)
		}
		return j.test(x.X)
	case *syntax.BinaryTest:
		switch x.Op {
		case syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr:
			return first(j.compared(x.X), func() *refusal { return j.compared(x.Y) })
		case syntax.TsReMatch:
			if w, ok := x.Y.(*syntax.Word); !ok || strings.ContainsAny(unquotedText(w), " \t\n;&<>#") {
				return refuse("where this regular expression ends is not certain; put it into a variable").or(`[[ "$x" =~ ^[0-9]+$ ]]`)
			}
		}
		return first(j.test(x.X), func() *refusal { return j.test(x.Y) })
	}
	return refuse("this form of [[ … ]] is not known to only test")
}

// unquotedText is what of a word stands outside of quotes.
func unquotedText(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			b.WriteString(lit.Value)
		}
	}
	return b.String()
}

// compared judges an operand that [[ evaluates as arithmetic.
func (j *judge) compared(x syntax.TestExpr) *refusal {
	w, ok := x.(*syntax.Word)
	if !ok {
		return refuse("[[ compares numbers and names that hold numbers only")
	}
	if text := j.word(w); text.whole && integer.MatchString(text.text) {
		return nil
	}
	if w.Lit() != "" && !j.number(w.Lit()) {
		return refuse("[[ evaluates %q; compare numbers, or use [ … ]", w.Lit()).or(`[ "$x" -gt 1 ]`)
	}
	return j.operand(w).or(`[ "$x" -gt 1 ]`)
}

// unaryTests are the operators of test that look at one word; -v and -R evaluate
// theirs and are left out.
func unaryTests() []string {
	return strings.Fields("-a -b -c -d -e -f -g -h -k -p -r -s -t -u -w -x -G -L -N -O -S -z -n -o")
}

func binaryTests() []string {
	return []string{"=", "==", "!=", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef", "<", ">"}
}

// testBuiltin judges test and [. A word that is unknown until it runs must not
// be able to become an operator.
func testBuiltin(_ *judge, c call) *refusal {
	words := c.words
	if c.name == "[" {
		if len(words) == 0 || !words[len(words)-1].is("]") {
			return refuse("[ needs its closing ]")
		}
		words = words[:len(words)-1]
	}
	for _, w := range words {
		if !w.one() {
			return refuse("a value of [ that may become several words may become its operators; quote it").
				without(w.syntax()).or(`[ "$x" = y ]`)
		}
		if suspect(w.text) {
			return refuse("a value of [ holds text that some shells would run")
		}
	}
	for {
		i := slices.IndexFunc(words, func(w word) bool { return w.is("-a") || w.is("-o") })
		if i <= 0 {
			return testClause(words)
		}
		if slices.ContainsFunc(words, func(w word) bool { return !w.whole && !w.tame && w.text == "" }) {
			return refuse("with -a and -o an unknown value may be read as an operator; use [ … ] && [ … ]").or(`[ -f a ] && [ -f b ]`)
		}
		if r := testClause(words[:i]); r != nil {
			return r
		}
		words = words[i+1:]
	}
}

func testClause(words []word) *refusal {
	for len(words) > 1 && words[0].is("!") {
		words = words[1:]
	}
	switch {
	case len(words) <= 1:
		return nil
	case len(words) == 2 && words[0].whole && slices.Contains(unaryTests(), words[0].text):
		return nil
	case len(words) == 3 && words[1].whole && slices.Contains(binaryTests(), words[1].text):
		return nil
	}
	return refuse("this form of [ is not known to only test; use one operator at a time, and not -v").or(`[ -n "$x" ]`)
}

// redirect judges a redirection: input from files, here-documents, one descriptor
// to another, and output to nowhere.
func (j *judge) redirect(r *syntax.Redirect) *refusal {
	if r.N != nil && strings.Trim(r.N.Value, "0123456789") != "" {
		return refuse("a descriptor that is kept in a variable is not judged; use a number").without(r)
	}
	if r.Word != nil && r.Op != syntax.Hdoc && r.Op != syntax.DashHdoc {
		if refused := j.parts(r.Word.Parts); refused != nil {
			return refused
		}
	}
	return j.combinations([]*syntax.Word{r.Word}, func() *refusal { return j.redirected(r) })
}

// redirected judges a redirection whose word has a text for now.
func (j *judge) redirected(r *syntax.Redirect) *refusal {
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		return j.document(r)
	case syntax.WordHdoc:
		return nil
	case syntax.RdrIn:
		return j.input(r)
	case syntax.DplIn, syntax.DplOut:
		return j.duplicate(r)
	case syntax.RdrOut, syntax.AppOut, syntax.RdrAll, syntax.AppAll, syntax.RdrClob:
		if j.value(r.Word).is("/dev/null") {
			return nil
		}
		return refuse("%s writes to a file; output may go to /dev/null only", r.Op).without(r)
	}
	return refuse("%s opens a file for writing; use <", r.Op).without(r)
}

// document judges a here-document. Where it ends has to be beyond doubt: bash
// joins lines before it looks for the delimiter, and inside a substitution takes
// a line that only begins with it for the end.
func (j *judge) document(r *syntax.Redirect) *refusal {
	if r.Hdoc == nil {
		return nil
	}
	delimiter, quoted := j.value(r.Word), r.Word.Lit() == "" || strings.Contains(r.Word.Lit(), "\\")
	if !delimiter.whole || strings.Trim(delimiter.text, wordLetters) != "" || delimiter.text == "" {
		return refuse("the delimiter of the here-document is not a plain word; use EOF").or("cat FILE")
	}
	body := j.text(r.Hdoc)
	if !quoted && strings.Contains(body, "\\\n") {
		return refuse("a line of the here-document ends with a backslash, which joins lines; quote the delimiter: <<'%s'", delimiter.text)
	}
	body = strings.TrimSuffix(strings.TrimRight(body, "\n"), delimiter.text) // where it ends
	for line := range strings.Lines(body) {
		if strings.HasPrefix(strings.TrimLeft(line, " \t"), delimiter.text) {
			return refuse("a line of the here-document begins like its delimiter; use another delimiter")
		}
	}
	return j.quotedParts(r.Hdoc.Parts)
}

// wordLetters are what names of variables and labels are made of.
const wordLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_"

// duplicate judges >&2 and its kind, which with a word instead of a number is a file.
func (j *judge) duplicate(r *syntax.Redirect) *refusal {
	target := j.value(r.Word)
	number := strings.TrimSuffix(target.text, "-")
	if target.whole && strings.Trim(number, "0123456789") == "" && target.text != "" {
		return nil
	}
	if target.is("/dev/null") && r.N == nil && r.Op == syntax.DplOut {
		return nil
	}
	return refuse("%s needs the number of a descriptor; with a word it opens a file", r.Op).without(r)
}

// input judges <. Bash makes a connection of /dev/tcp/…, and opening a device may
// act on it, so that where the path leads has to be known.
func (j *judge) input(r *syntax.Redirect) *refusal {
	if len(r.Word.Parts) == 1 {
		if _, ok := r.Word.Parts[0].(*syntax.ProcSubst); ok {
			return nil
		}
	}
	source := j.value(r.Word)
	switch {
	case !source.one():
		return refuse("what is read from is not known to be one file; use cat").or("cat FILE")
	case device(source.text):
		return refuse("reading from a device may act on it, and /dev/tcp is a connection").without(r)
	case !source.openable():
		return refuse("what is read from is not known: it may be a connection in /dev/tcp; use cat").or("cat FILE")
	}
	return nil
}

// device reports whether a path names a device other than the ones that only
// give or take bytes.
func device(name string) bool {
	rest, ok := strings.CutPrefix(path.Clean(name), "/dev/")
	if !ok {
		return false
	}
	switch rest {
	case "null", "zero", "full", "random", "urandom", "stdin", "stdout", "stderr":
		return false
	}
	return !strings.HasPrefix(rest, "fd/")
}
