package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// classifier walks one parsed command. Every kind of node has a rule; kinds without one are refused.
type classifier struct {
	source     string
	variables  variables
	commands   map[string]rule
	depth      int
	bound      map[any]string  // the text that each slot has in the current combination
	set        map[string]bool // names that surely have a value by now
	trail      []string        // the same names, in order
	isDeferred bool            // the code may run at any time
	seeking    string          // the name now being evaluated
	work       int             // effort spent on classifying
	expanded   int             // bytes that braces expand to
	rounds     int             // lower bound on the iterations of the enclosing loops
	in         shellKind
	unsplit    bool     // texts of names stay one word, as in zsh
	own        []string // patterns of commands that the user allows
}

func (j *classifier) stmts(list []*syntax.Stmt) *refusal {
	return j.deeper(func() *refusal { return each(list, j.stmt) })
}

// deeper classifies one level down.
func (j *classifier) deeper(classify func() *refusal) *refusal {
	j.depth++
	defer func() { j.depth-- }()
	if j.depth > maxNesting {
		return refuse("the command is nested too deeply; split it")
	}
	return classify()
}

// each returns the first refusal in a list.
func each[T any](list []T, classify func(T) *refusal) *refusal {
	for _, item := range list {
		if r := classify(item); r != nil {
			return r
		}
	}
	return nil
}

func (j *classifier) stmt(s *syntax.Stmt) *refusal {
	if s.Background || s.Coprocess || s.Disown {
		return refuse("a command in the background outlives its answer; run it in the foreground").or(j.foreground(s))
	}
	if r := each(s.Redirs, j.redirect); r != nil || s.Cmd == nil {
		return r
	}
	return j.command(s.Cmd)
}

// foreground returns the statement without its ampersand, "" if that is not allowed either.
func (j *classifier) foreground(s *syntax.Stmt) string {
	if s.Cmd == nil {
		return ""
	}
	text := j.source[s.Pos().Offset():min(s.Cmd.End().Offset(), uint(len(j.source)))]
	if len(text) > 2000 || !reads(text) {
		return ""
	}
	return text
}

func (j *classifier) command(c syntax.Command) *refusal {
	switch c := c.(type) {
	case *syntax.CallExpr:
		return j.call(c)
	case *syntax.BinaryCmd:
		return j.binary(c)
	case *syntax.Subshell:
		return j.isolate(func() *refusal { return j.stmts(c.Stmts) })
	case *syntax.Block:
		return j.stmts(c.Stmts)
	case *syntax.IfClause:
		return j.branch(c)
	case *syntax.WhileClause:
		return j.isolate(func() *refusal { return j.inOrder(c.Cond, c.Do) })
	case *syntax.ForClause:
		return j.isolate(func() *refusal { return j.loop(c) })
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
		return refuse("a function can replace any command; write its commands out").without(c)
	case *syntax.LetClause:
		return refuse("let runs what its text holds").or("echo $((1 + 2))")
	case *syntax.CoprocClause:
		return refuse("a coprocess outlives its answer; use a pipe")
	default:
		return refuse("this kind of command is not known to only read")
	}
}

// first returns r, or the result of next if r is nil.
func first(r *refusal, next func() *refusal) *refusal {
	if r != nil {
		return r
	}
	return next()
}

// binary classifies a chain of commands, which the parser nests to the left. A command after || may not run, and neither
// may one after a && that follows it.
func (j *classifier) binary(c *syntax.BinaryCmd) *refusal {
	chain := []*syntax.BinaryCmd{c}
	for {
		left, ok := c.X.Cmd.(*syntax.BinaryCmd)
		if !ok || len(c.X.Redirs) > 0 || c.X.Background || c.X.Coprocess || c.X.Disown {
			break
		}
		chain, c = append(chain, left), left
	}
	mark := len(j.trail)
	r := j.stmts([]*syntax.Stmt{c.X})
	if c.Op == syntax.Pipe || c.Op == syntax.PipeAll { // it runs in a shell of its own
		j.undo(mark)
	}
	if r != nil {
		return r
	}
	mark = len(j.trail)
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

func (j *classifier) branch(c *syntax.IfClause) *refusal {
	for ; c != nil; c = c.Else {
		if r := j.isolate(func() *refusal { return j.inOrder(c.Cond, c.Then) }); r != nil {
			return r
		}
	}
	return nil
}

func (j *classifier) inOrder(before, after []*syntax.Stmt) *refusal {
	return first(j.stmts(before), func() *refusal { return j.stmts(after) })
}

// maxRounds bounds the iterations of nested loops over known words.
const maxRounds = 1_000_000

func (j *classifier) loop(f *syntax.ForClause) *refusal {
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

func (j *classifier) choice(c *syntax.CaseClause) *refusal {
	return first(j.parts(c.Word.Parts), func() *refusal {
		return each(c.Items, func(item *syntax.CaseItem) *refusal {
			return first(each(item.Patterns, j.code), func() *refusal {
				return j.isolate(func() *refusal { return j.stmts(item.Stmts) })
			})
		})
	})
}

// declaration classifies export, readonly and local: as assignments, without options.
func (j *classifier) declaration(d *syntax.DeclClause) *refusal {
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

// assign classifies an assignment. If commands get it in their environment (exported), its name and value must be known to
// be harmless.
func (j *classifier) assign(a *syntax.Assign, exported bool) *refusal {
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

// holds classifies the value that an assignment gives.
func (j *classifier) holds(a *syntax.Assign, exported bool) *refusal {
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

// plainName reports whether no program looks at an environment variable of this name.
func plainName(name string) bool { return harmless(name) && name == strings.ToLower(name) }

func (j *classifier) array(a *syntax.Assign) *refusal {
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
		if suspect(j.word(elem.Value).text) {
			return refuse("the value of %s holds text that some commands would run", a.Name.Value)
		}
	}
	return nil
}

// suspect reports whether a text contains a substitution. It is harmless as text, but would run if something evaluated
// it.
func suspect(text string) bool {
	return strings.Contains(text, "$(") || strings.Contains(text, "`") || strings.Contains(text, "${")
}

type call struct {
	name  string
	words []word
}

// first returns the first argument as far as it is known, for messages.
func (c call) first() string {
	if len(c.words) == 0 {
		return ""
	}
	return c.words[0].text
}

func (j *classifier) call(c *syntax.CallExpr) *refusal {
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
		r := j.runWords(c.Args)
		if split := j.words(c.Args); r == nil && slices.ContainsFunc(split, func(w word) bool { return w.piece }) {
			j.unsplit = true // as zsh
			r = j.runWords(c.Args)
			j.unsplit = false
		}
		return r
	})
}

func (j *classifier) runWords(nodes []*syntax.Word) *refusal {
	words := j.words(nodes)
	if len(words) == 0 {
		return nil
	}
	return j.run(words)
}

// run classifies a command by its name and arguments. Wrappers call it again with the command they run.
func (j *classifier) run(words []word) *refusal {
	if r := j.spend(len(words)); r != nil {
		return r
	}
	return j.deeper(func() *refusal {
		r := j.program(words)
		if r != nil && j.isOwn(words) {
			return nil
		}
		return r
	})
}

func (j *classifier) program(words []word) *refusal {
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
		return refuse("git is allowed only by its plain name: then planloop can keep a repository from running programs")
	}
	if strings.Contains(name, "/") {
		return refuse("%s is a program of its own; only commands known by name are allowed", shown(name))
	}
	known, ok := j.commands[name]
	if !ok {
		return unknown(name, words)
	}
	if j.in == terminal && slices.Contains(names()["interactive"], name) {
		return refuse("%s takes commands on a terminal; read a file with cat or sed -n", name)
	}
	c := call{name: name, words: words[1:]}
	return first(c.checkWords(), func() *refusal { return known.check(j, c) })
}

// width matches a format field padded beyond the memory.
var width = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`%[-+ #0']*[0-9]*\.?[0-9]{6}`) })

// checkWords refuses words that are harmful in every command: widths that fill the memory, and files of options.
func (c call) checkWords() *refusal {
	options := slices.Contains(names()["@"], c.name)
	return each(c.words, func(w word) *refusal {
		switch {
		case w.whole && len(w.text) > 6 && width().MatchString(w.text):
			return refuse("a field of that width fills the memory")
		case options && (strings.HasPrefix(w.text, "@") || w.text == "" && !w.whole):
			return refuse("%s reads options from the file after an @, and %s may be one; begin it with ./", c.name, source(w)).
				before(w, "./").or(c.name + " ./FILE")
		}
		return nil
	})
}

func unknown(name string, words []word) *refusal {
	if len(words) == 2 && words[1].whole && strings.HasPrefix(words[1].text, "-") && slices.Contains(names()[words[1].text], name) {
		return nil // it prints its version
	}
	if why, ok := refused()[name]; ok {
		return refuse("%s %s", name, why.reason).or(why.instead)
	}
	return refuse("%s is not known to only read", shown(name))
}

// shown shortens a name for a message.
func shown(name string) string {
	if len(name) > 40 {
		return name[:40] + "…"
	}
	return name
}
