package shell

import (
	"regexp"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// parts judges what runs inside a word.
func (j *judge) parts(parts []syntax.WordPart) *refusal {
	return each(parts, j.inside)
}

func (j *judge) inside(part syntax.WordPart) *refusal {
	switch part := part.(type) {
	case *syntax.Lit:
		return longRange(part)
	case *syntax.SglQuoted:
		return nil
	case *syntax.DblQuoted:
		if part.Dollar {
			return refuse(`$"…" is translated before it is used; leave the dollar out`)
		}
		return j.quotedParts(part.Parts)
	case *syntax.ParamExp:
		return j.parameter(part)
	case *syntax.CmdSubst:
		if part.TempFile || part.ReplyVar {
			return refuse("this kind of substitution is not of bash")
		}
		return j.stmts(part.Stmts)
	case *syntax.ProcSubst:
		if part.Op != syntax.CmdIn {
			return refuse("a process substitution that is written to runs aside; use a pipe")
		}
		return j.stmts(part.Stmts)
	case *syntax.ArithmExp:
		return j.arithmetic(part.X)
	case *syntax.ExtGlob:
		return refuse("extended patterns mean other things in other shells; use find -name or several patterns").or("ls *.go")
	default:
		return refuse("this kind of expansion is not known to only read")
	}
}

// quotedParts judges what stands between double quotes, or in a here-document.
// Quotes inside of ${…} there mean one thing to some versions and another to
// others, and so does where the whole ends.
func (j *judge) quotedParts(parts []syntax.WordPart) *refusal {
	for _, part := range parts {
		if p, ok := part.(*syntax.ParamExp); ok && !p.Short && !simple(p) && strings.ContainsAny(strings.ReplaceAll(j.text(p), `\/`, ""),
			"'\"\\") {
			return refuse("quotes inside of ${…} are read in different ways; take the value apart first")
		}
	}
	return j.parts(parts)
}

// text is the source of a node.
func (j *judge) text(node syntax.Node) string {
	to := min(node.End().Offset(), uint(len(j.source)))
	return j.source[min(node.Pos().Offset(), to):to]
}

// longRange refuses {1..1000000000}, which fills the memory.
func longRange(lit *syntax.Lit) *refusal {
	if i := strings.Index(lit.Value, ".."); i >= 0 && strings.Contains(lit.Value[:i], "{") {
		digits := 0
		for _, c := range lit.Value {
			if c >= '0' && c <= '9' {
				if digits++; digits > 5 {
					return refuse("a range of that length fills the memory; use seq").or("seq 1 100000")
				}
			} else {
				digits = 0
			}
		}
	}
	return nil
}

// parameter judges ${…}. Only forms that take the value as text are allowed:
// ${!x} and ${x@P} run it, ${x:=y} writes it, an index or a slice computes it.
func (j *judge) parameter(p *syntax.ParamExp) *refusal {
	if p.Excl || p.Names != 0 || p.Width || p.IsSet || p.Flags != nil || p.NestedParam != nil || len(p.Modifiers) > 0 || p.Param == nil ||
		p.Split != 0 || p.GlobSubst != 0 || p.RcExpand != 0 {
		return refuse("${!…} takes a value for a name; name the variable itself")
	}
	if p.Index != nil && !constantIndex(p.Index) {
		return refuse("an index is computed, and may run what a value holds; use a number, @ or *")
	}
	if p.Slice != nil {
		return first(j.arithmetic(p.Slice.Offset), func() *refusal { return j.arithmetic(p.Slice.Length) })
	}
	if p.Repl != nil {
		return first(j.pattern(p.Repl.Orig), func() *refusal { return j.pattern(p.Repl.With) })
	}
	if p.Exp == nil {
		return nil
	}
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.ErrorUnset,
		syntax.ErrorUnsetOrNull,
		syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return j.pattern(p.Exp.Word)
	}
	return refuse("this form of ${%s…} assigns or runs a value; use the plain form", p.Param.Value).or(`echo "$` + named(p.Param.Value) +
		`"`)
}

func named(name string) string {
	if syntax.ValidName(name) {
		return name
	}
	return "x"
}

// pattern judges a word, if there is one, in which extended patterns are patterns in
// every shell.
func (j *judge) pattern(w *syntax.Word) *refusal {
	if w == nil {
		return nil
	}
	for _, part := range w.Parts {
		if glob, ok := part.(*syntax.ExtGlob); ok {
			if strings.ContainsAny(glob.Pattern.Value, "$`<>\"'\\") {
				return refuse("an extended pattern with quotes or substitutions is not judged; use a plain one")
			}
			continue
		}
		if r := j.inside(part); r != nil {
			return r
		}
	}
	return nil
}

func constantIndex(x syntax.ArithmExpr) bool {
	w, ok := x.(*syntax.Word)
	return ok && (w.Lit() == "@" || w.Lit() == "*" || integer.MatchString(w.Lit()))
}

// arithmetic judges an expression. The shell evaluates the value of a name in it
// as a further expression, which may hold a substitution, so that only integers
// and names that are known to hold integers are allowed.
func (j *judge) arithmetic(x syntax.ArithmExpr) *refusal {
	switch x := x.(type) {
	case nil:
		return nil
	case *syntax.Word:
		return j.operand(x)
	case *syntax.ParenArithm:
		return j.arithmetic(x.X)
	case *syntax.UnaryArithm:
		if x.Op == syntax.Inc || x.Op == syntax.Dec {
			return j.target(x.X)
		}
		return j.arithmetic(x.X)
	case *syntax.BinaryArithm:
		left := j.arithmetic
		if assigns(x.Op) {
			left = j.target
		}
		return first(left(x.X), func() *refusal { return j.arithmetic(x.Y) })
	}
	return refuse("this form of arithmetic is not known to only compute")
}

// assigns reports whether an operator writes its left side.
func assigns(op syntax.BinAritOperator) bool {
	switch op {
	case syntax.Assgn, syntax.AddAssgn, syntax.SubAssgn, syntax.MulAssgn, syntax.QuoAssgn, syntax.RemAssgn,
		syntax.AndAssgn, syntax.OrAssgn, syntax.XorAssgn, syntax.ShlAssgn, syntax.ShrAssgn:
		return true
	}
	return false
}

// target judges what an expression assigns.
func (j *judge) target(x syntax.ArithmExpr) *refusal {
	w, ok := x.(*syntax.Word)
	if !ok || !harmless(w.Lit()) || !j.variables[w.Lit()].number {
		return refuse("arithmetic may assign plain names that hold numbers only")
	}
	return nil
}

func (j *judge) operand(w *syntax.Word) *refusal {
	if text := w.Lit(); text != "" {
		if integer.MatchString(text) || j.variables[text].number || countsOnly(text) {
			return nil
		}
		return refuse("arithmetic runs what the value of %s holds, and it is not known to be a number", text).or("expr 1 + 2")
	}
	if len(w.Parts) != 1 {
		return refuse("arithmetic is allowed on numbers, and on names that hold numbers")
	}
	part := w.Parts[0]
	if quoted, ok := part.(*syntax.DblQuoted); ok && len(quoted.Parts) == 1 {
		part = quoted.Parts[0]
	}
	switch part := part.(type) {
	case *syntax.ArithmExp:
		return j.arithmetic(part.X)
	case *syntax.CmdSubst:
		if numeric(part) {
			return j.inside(part)
		}
	case *syntax.ParamExp:
		if part.Length && part.Param != nil && part.Exp == nil {
			return j.parameter(part)
		}
		if simple(part) && (j.variables[part.Param.Value].number || countsOnly(part.Param.Value)) {
			return nil
		}
	}
	return refuse("arithmetic runs what a value holds, and this one is not known to be a number").or("expr 1 + 2")
}

// variable is what holds of every value a script gives to a name, wherever it
// does so: the order is not looked at.
type variable struct {
	number bool // an integer
	plain  bool // one word, without patterns, that begins no option
	tame   bool // begins neither an option nor an expression, nor a device
	file   bool // is no device: what a pattern finds, or a path that is known
}

// variables are the names a script assigns.
type variables map[string]variable

// countsOnly reports whether a parameter of bash itself is always a number.
func countsOnly(name string) bool {
	switch name {
	case "#", "?", "$", "RANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "UID", "EUID", "PPID":
		return true
	}
	return false
}

var (
	integer   = regexp.MustCompile(`^[+-]?(0|[1-9][0-9]{0,17})$`)
	plainText = regexp.MustCompile(`^[A-Za-z0-9_./@%][A-Za-z0-9_./@%:+=,-]*$`)
	// plainRevision begins no option, and holds no pattern that bash would expand.
	plainRevision = regexp.MustCompile(`^[A-Za-z0-9_./@][A-Za-z0-9_./@^~-]*$`)
	listRange     = regexp.MustCompile(`^\{(0|[1-9][0-9]{0,5})\.\.(0|[1-9][0-9]{0,5})\}$`)
)

// variablesOf collects what a script assigns.
func variablesOf(file *syntax.File) variables {
	v := variables{}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Assign:
			v.assign(node)
		case *syntax.ForClause:
			v.loop(node)
		case *syntax.CallExpr:
			v.builtin(node)
		case *syntax.BinaryArithm:
			if assigns(node.Op) {
				v.calculated(node.X)
			}
		case *syntax.UnaryArithm:
			if node.Op == syntax.Inc || node.Op == syntax.Dec {
				v.calculated(node.X)
			}
		}
		return true
	})
	return v
}

// set notes that a name may have a further value.
func (v variables) set(name string, value variable) {
	if known, ok := v[name]; ok {
		value = variable{
			number: known.number && value.number, plain: known.plain && value.plain,
			tame: known.tame && value.tame, file: known.file && value.file,
		}
	}
	v[name] = value
}

func (v variables) assign(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	if a.Append || a.Index != nil || a.Naked || a.Array != nil {
		v.set(a.Name.Value, variable{})
		return
	}
	v.set(a.Name.Value, valueOf(a.Value, false))
}

func (v variables) loop(f *syntax.ForClause) {
	loop, ok := f.Loop.(*syntax.WordIter)
	if !ok || loop.Name == nil {
		return
	}
	if !loop.InPos.IsValid() {
		v.set(loop.Name.Value, variable{})
	}
	for _, item := range loop.Items {
		if listRange.MatchString(item.Lit()) {
			v.set(loop.Name.Value, variable{number: true, plain: true, tame: true})
			continue
		}
		v.set(loop.Name.Value, valueOf(item, true))
	}
}

// builtin notes the names that read fills, however read is reached.
func (v variables) builtin(c *syntax.CallExpr) {
	reads := false
	for _, arg := range c.Args {
		if reads && syntax.ValidName(arg.Lit()) {
			v.set(arg.Lit(), variable{})
		}
		reads = reads || arg.Lit() == "read"
	}
}

// calculated notes a name that an expression assigns: to a number.
func (v variables) calculated(x syntax.ArithmExpr) {
	if w, ok := x.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
		v.set(w.Lit(), variable{number: true})
	}
}

// valueOf judges a value by its literal text.
func valueOf(node *syntax.Word, list bool) variable {
	if node == nil {
		return variable{tame: true} // empty
	}
	if len(node.Parts) == 1 {
		switch part := node.Parts[0].(type) {
		case *syntax.ArithmExp:
			return variable{number: true}
		case *syntax.CmdSubst:
			return variable{number: numeric(part)}
		}
	}
	w := (&judge{}).word(node)
	beginning := w.text != "" && plainText.MatchString(w.text[:1]) && !strings.HasPrefix(w.text, "/dev")
	lit := node.Lit()
	found := list && w.several && !w.splits && lit != "" && lit[0] != '/' && !strings.ContainsAny(lit, "{\\")
	if !w.whole || w.several && !list || w.splits {
		return variable{tame: beginning && !w.splits, file: found}
	}
	return variable{
		number: integer.MatchString(w.text),
		plain:  beginning && plainText.MatchString(w.text),
		tame:   beginning,
		file:   beginning,
	}
}

// numeric reports whether a substitution can only print an integer.
func numeric(c *syntax.CmdSubst) bool {
	if len(c.Stmts) != 1 {
		return false
	}
	stmt := c.Stmts[0]
	for {
		binary, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok || binary.Op != syntax.Pipe {
			break
		}
		stmt = binary.Y
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 2 || len(call.Assigns) > 0 {
		return false
	}
	return slices.Contains([]string{"wc -l", "wc -c", "wc -w", "wc -m", "date +%s"}, call.Args[0].Lit()+" "+call.Args[1].Lit())
}

// harmless reports whether a script may give a value to the name: one that no
// shell and no program takes for more than a value.
func harmless(name string) bool {
	if !syntax.ValidName(name) || slices.Contains(names()["special variables"], name) {
		return false
	}
	upper := strings.ToUpper(name)
	if name != upper {
		return !strings.HasPrefix(name, "npm_config_") && !strings.HasPrefix(upper, "BASH_FUNC")
	}
	begins := func(prefix string) bool { return strings.HasPrefix(name, prefix) }
	ends := func(suffix string) bool { return strings.HasSuffix(name, suffix) }
	return !slices.ContainsFunc(names()["special beginnings"], begins) && !slices.ContainsFunc(names()["special ends"], ends)
}

// environment reports whether a command may be given name=value to run with.
func environment(name, value string) bool {
	plain := plainText.MatchString(value) || value == ""
	switch {
	case strings.HasPrefix(name, "LC_"), name == "LANG":
		return plain && !strings.Contains(value, "/")
	case name == "TZ":
		return plain && value != "" && value[0] != '/' && !strings.Contains(value, "..")
	case name == "COLUMNS", name == "LINES":
		return integer.MatchString(value)
	case name == "TERM":
		return plain && !strings.ContainsAny(value, "/.")
	case name == "GIT_PAGER", name == "PAGER", name == "MANPAGER":
		return value == "cat" || value == ""
	case name == "GIT_OPTIONAL_LOCKS":
		return value == "0"
	case name == "NO_COLOR", name == "CLICOLOR", name == "FORCE_COLOR":
		return plain
	}
	return false
}
