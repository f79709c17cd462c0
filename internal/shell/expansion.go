package shell

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// parts classifies code that runs inside a word.
func (j *classifier) parts(parts []syntax.WordPart) *refusal {
	if words, size := expansions(parts); words > 1 {
		if j.expanded += words * (size + 20); words > maxWords || j.expanded > maxExpanded {
			return refuse("braces that expand to so many words fill the memory; use seq").or("seq 1 100000")
		}
	}
	return each(parts, j.inside)
}

func (j *classifier) inside(part syntax.WordPart) *refusal {
	switch part := part.(type) {
	case *syntax.Lit, *syntax.SglQuoted:
		return nil
	case *syntax.DblQuoted:
		if part.Dollar {
			return refuse(`$"…" is translated before it is used; leave the dollar out`)
		}
		return j.parts(part.Parts)
	case *syntax.ParamExp:
		return j.parameter(part)
	case *syntax.CmdSubst:
		if part.TempFile || part.ReplyVar {
			return refuse("this kind of substitution is not of bash")
		}
		return j.substitution(part.Stmts)
	case *syntax.ProcSubst:
		if part.Op != syntax.CmdIn {
			return refuse("a process substitution that is written to runs aside; use a pipe")
		}
		return j.substitution(part.Stmts)
	case *syntax.ArithmExp:
		return j.arithmetic(part.X)
	case *syntax.ExtGlob:
		return refuse("extended patterns mean other things in other shells; use find -name or several patterns")
	default:
		return refuse("this kind of expansion is not known to only read")
	}
}

// Limits of brace expansion: words from one word, and bytes of all in a command.
const (
	maxWords    = 100_000
	maxExpanded = 4 << 20
)

// expansions returns an upper bound on the words that a word's braces make, and their size in bytes.
func expansions(parts []syntax.WordPart) (words, size int) {
	var b strings.Builder
	for _, part := range parts {
		if lit, ok := part.(*syntax.Lit); ok {
			b.WriteString(lit.Value)
		} else {
			b.WriteByte('_')
			size += int(part.End().Offset() - part.Pos().Offset())
		}
	}
	text := b.String()
	words, size = 1, size+len(text)
	if !strings.Contains(text, "{") {
		return words, size
	}
	times := func(n int) { words = min(words*max(n, 1), maxExpanded) }
	var open []int
	for i := range len(text) {
		switch c := text[i]; {
		case c == '{':
			open = append(open, 1)
			if m := anyRange().FindStringSubmatch(text[i:]); m != nil {
				from, err := strconv.Atoi(m[1])
				to, err2 := strconv.Atoi(m[2])
				switch {
				case len(m[1]+m[2]) == 2 && err != nil: // from one letter to another
					from, to = 'A', 'z'
				case err != nil || err2 != nil:
					from, to = 0, maxExpanded
				}
				times(max(to-from, from-to) + 1)
			}
		case c == ',' && len(open) > 0:
			open[len(open)-1]++
		case c == '}' && len(open) > 0:
			times(open[len(open)-1])
			open = open[:len(open)-1]
		}
	}
	return words, size
}

// anyRange matches a range of numbers or letters in braces.
var anyRange = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\{([+-]?[0-9A-Za-z]+)\.\.([+-]?[0-9A-Za-z]+)(?:\.\.[+-]?[0-9]+)?\}`)
})

func (j *classifier) text(node syntax.Node) string {
	to := min(node.End().Offset(), uint(len(j.source)))
	return j.source[min(node.Pos().Offset(), to):to]
}

// parameter classifies ${…}. Only forms that take the value as text are allowed: ${!x} and ${x@P} run it, ${x:=y} writes
// it, an index or a slice computes it.
func (j *classifier) parameter(p *syntax.ParamExp) *refusal {
	if p.Excl || p.Names != 0 || p.Width || p.IsSet || p.Flags != nil || p.NestedParam != nil || len(p.Modifiers) > 0 || p.Param == nil ||
		p.Split != 0 || p.GlobSubst != 0 || p.RcExpand != 0 {
		return refuse("${!…} takes a value for a name; name the variable itself")
	}
	if index, ok := p.Index.(*syntax.Word); p.Index != nil && !(ok && (index.Lit() == "@" || index.Lit() == "*" ||
		integer().MatchString(index.Lit()))) {
		return refuse("bash computes an index and may run a command in it; use a number, @ or *")
	}
	if p.Slice != nil {
		return first(j.arithmetic(p.Slice.Offset), func() *refusal { return j.arithmetic(p.Slice.Length) })
	}
	if p.Repl != nil {
		return first(j.code(p.Repl.Orig), func() *refusal { return j.code(p.Repl.With) })
	}
	if p.Exp == nil {
		return nil
	}
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.ErrorUnset,
		syntax.ErrorUnsetOrNull,
		syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return j.code(p.Exp.Word)
	}
	name := "x"
	if syntax.ValidName(p.Param.Value) {
		name = p.Param.Value
	}
	return refuse("this form of ${%s…} assigns or runs a value; use the plain form", p.Param.Value).or(`echo "$` + name + `"`)
}

// code classifies code that runs inside a word, or nil.
func (j *classifier) code(w *syntax.Word) *refusal {
	if w == nil {
		return nil
	}
	return each(w.Parts, j.inside)
}

// arithmetic classifies an expression. The shell evaluates a name's value as another expression, which may contain a
// substitution, so only integers and names known to hold integers are allowed.
func (j *classifier) arithmetic(x syntax.ArithmExpr) *refusal {
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

// target classifies the left side of an assignment in an expression.
func (j *classifier) target(x syntax.ArithmExpr) *refusal {
	w, ok := x.(*syntax.Word)
	if !ok || !harmless(w.Lit()) || !j.number(w.Lit()) {
		return refuse("arithmetic may assign plain names that hold numbers only")
	}
	return nil
}

func (j *classifier) operand(w *syntax.Word) *refusal {
	if text := w.Lit(); text != "" {
		if integer().MatchString(text) || j.number(text) {
			return nil
		}
		return refuse("arithmetic may run a command in the value of %s, which may not be a number", text).or("expr 1 + 2")
	}
	switch part := onlyPart(w).(type) {
	case nil:
		return refuse("arithmetic is allowed on numbers, and on names that hold numbers")
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
		if simple(part) && j.number(part.Param.Value) {
			return nil
		}
	}
	return refuse("arithmetic may run a command in a value, and this one may not be a number").or("expr 1 + 2")
}

// numeric reports whether a substitution can only print an integer: its last command prints a count, and nothing else
// prints.
func numeric(c *syntax.CmdSubst) bool {
	if len(c.Stmts) != 1 {
		return false
	}
	stmt := c.Stmts[0]
	for {
		binary, ok := stmt.Cmd.(*syntax.BinaryCmd)
		if !ok || binary.Op != syntax.Pipe || len(stmt.Redirs) > 0 {
			break
		}
		stmt = binary.Y
	}
	call, ok := stmt.Cmd.(*syntax.CallExpr)
	if !ok || len(call.Args) != 2 || len(call.Assigns) > 0 || slices.ContainsFunc(stmt.Redirs, func(r *syntax.Redirect) bool {
		return r.Op != syntax.RdrIn && r.Op != syntax.WordHdoc && !(r.Op == syntax.RdrOut && r.N != nil && r.N.Value == "2")
	}) {
		return false
	}
	return slices.Contains([]string{"wc -l", "wc -c", "wc -w", "wc -m", "date +%s"}, call.Args[0].Lit()+" "+call.Args[1].Lit())
}

// counts reports whether a substitution is seq with numbers, and so expands to natural numbers.
func (j *classifier) counts(c *syntax.CmdSubst) bool {
	if words := command(c); len(words) < 2 || words[0] != "seq" {
		return false
	}
	call := c.Stmts[0].Cmd.(*syntax.CallExpr)
	for i, arg := range call.Args[1:] {
		natural := integer().MatchString(arg.Lit()) && arg.Lit()[0] != '-'
		if name := variableIn(arg); !natural && (name == "" || !j.number(name) || i == 0 && len(call.Args) > 2) {
			return false
		}
	}
	return true
}

// variableIn returns the name in a word that is $name or "$name", "" for any other word.
func variableIn(w *syntax.Word) string {
	if p, ok := onlyPart(w).(*syntax.ParamExp); ok && simple(p) {
		return p.Param.Value
	}
	return ""
}

// onlyPart returns the single part of a word, without double quotes around it; nil if there are several or none.
func onlyPart(w *syntax.Word) syntax.WordPart {
	if len(w.Parts) != 1 {
		return nil
	}
	if quoted, ok := w.Parts[0].(*syntax.DblQuoted); ok && len(quoted.Parts) == 1 {
		return quoted.Parts[0]
	}
	return w.Parts[0]
}

// harmless reports whether a script may set the name: no shell and no program gives it a special meaning.
func harmless(name string) bool {
	if !syntax.ValidName(name) || slices.Contains(names()["special variables"], name) {
		return false
	}
	upper := strings.ToUpper(name)
	if name != upper {
		return !strings.HasPrefix(name, "npm_config_") && !strings.HasPrefix(upper, "BASH_FUNC")
	}
	return !hasAffix(name, "special")
}

// hasAffix reports whether a name begins or ends like those of a kind in names.txt.
func hasAffix(name, kind string) bool {
	return slices.ContainsFunc(names()[kind+" beginnings"], func(prefix string) bool { return strings.HasPrefix(name, prefix) }) ||
		slices.ContainsFunc(names()[kind+" ends"], func(suffix string) bool { return strings.HasSuffix(name, suffix) })
}

// FreeName reports whether a command may be given a variable of this name: neither a shell nor any program that the
// command starts gives it a special meaning.
func FreeName(name string) bool { return harmless(name) && !hasAffix(name, "exported") }

// knownLocale matches locales in which the shell reads every byte below 0x80 as itself. In others a character may end
// in a byte that looks like a quote or a bracket.
var knownLocale = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:C|POSIX|(?:C|[a-z]{2,3}(?:_[A-Z]{2})?)\.(?:UTF-8|utf-?8))$`)
})

// environment reports whether a command may run with name=value in its environment.
func environment(name, value string) bool {
	plain := plainText().MatchString(value) || value == ""
	switch {
	case strings.HasPrefix(name, "LC_"), name == "LANG":
		return knownLocale().MatchString(value)
	case name == "TZ":
		return plain && value != "" && value[0] != '/' && !strings.Contains(value, "..")
	case name == "COLUMNS", name == "LINES":
		return integer().MatchString(value)
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

// revision reports whether a substitution prints only commit names, and whether it prints at most one. git rev-parse
// prints unknown words back, so the words must be plain.
func revision(c *syntax.CmdSubst) (commits, one bool) {
	words := command(c)
	if len(words) < 3 || words[0] != "git" {
		return false, false
	}
	options := map[string]*regexp.Regexp{
		"rev-parse": shortOption(), "merge-base": shortOption(), "rev-list": countOption(), "log": logOption(),
	}[words[1]]
	names, revisions := words[1] != "log", 0
	for _, text := range words[2:] {
		switch {
		case options == nil || !options.MatchString(text) && !plainRevision().MatchString(text):
			return false, false
		case options.MatchString(text):
			names = names || strings.Contains(text, "=%")
		case strings.Contains(text, "..") || strings.Contains(text, "^"): // may be several
			revisions += 2
		default:
			revisions++
		}
	}
	return names, words[1] == "merge-base" || words[1] == "rev-parse" && revisions == 1
}

// sinceTag matches a word that begins with a tag and two dots. A tag may look like an option, but none with dots at its end
// overwrites a file that git or a person made.
func sinceTag(parts []syntax.WordPart) bool {
	if len(parts) < 2 {
		return false
	}
	c, substitution := parts[0].(*syntax.CmdSubst)
	lit, text := parts[1].(*syntax.Lit)
	return substitution && text && strings.HasPrefix(lit.Value, "..") && describing().MatchString(strings.Join(command(c), " "))
}

var describing = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^git describe( (--(tags|all|long|always|first-parent|exact-match|abbrev=[0-9]+)|HEAD[~^0-9]*))*$`)
})

// command returns the words of a substitution that is a single plain command, nil for any other.
func command(c *syntax.CmdSubst) []string {
	if len(c.Stmts) != 1 || len(c.Stmts[0].Redirs) > 0 || c.Stmts[0].Negated {
		return nil
	}
	call, ok := c.Stmts[0].Cmd.(*syntax.CallExpr)
	if !ok || len(call.Assigns) > 0 {
		return nil
	}
	words := make([]string, 0, len(call.Args))
	for _, arg := range call.Args {
		words = append(words, arg.Lit())
	}
	return words
}

// Options with which git prints only commit names.
var (
	shortOption = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^--(short|verify)$`) })
	countOption = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(-[0-9]+|--(all|no-merges|reverse|max-count=[0-9]+))$`)
	})
	logOption = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(-[0-9]+|--(all|no-merges|reverse)|--(format|pretty)=(t?format:)?%[hH])$`)
	})
)
