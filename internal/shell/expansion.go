package shell

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// parts judges what runs inside a word.
func (j *judge) parts(parts []syntax.WordPart) *refusal {
	for _, part := range parts {
		if r := j.inside(part); r != nil {
			return r
		}
	}
	return nil
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
		if p, ok := part.(*syntax.ParamExp); ok && !p.Short && !simple(p) && strings.ContainsAny(strings.ReplaceAll(j.text(p), `\/`, ""), "'\"\\") {
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
		return first(j.optional(p.Repl.Orig), func() *refusal { return j.optional(p.Repl.With) })
	}
	if p.Exp == nil {
		return nil
	}
	switch p.Exp.Op {
	case syntax.AlternateUnset, syntax.AlternateUnsetOrNull, syntax.DefaultUnset, syntax.DefaultUnsetOrNull, syntax.ErrorUnset, syntax.ErrorUnsetOrNull,
		syntax.RemSmallPrefix, syntax.RemLargePrefix, syntax.RemSmallSuffix, syntax.RemLargeSuffix,
		syntax.UpperFirst, syntax.UpperAll, syntax.LowerFirst, syntax.LowerAll:
		return j.optional(p.Exp.Word)
	}
	return refuse("this form of ${%s…} assigns or runs a value; use the plain form", p.Param.Value).or(`echo "$` + named(p.Param.Value) + `"`)
}

func named(name string) string {
	if syntax.ValidName(name) {
		return name
	}
	return "x"
}

// optional judges a pattern or a replacement inside ${…}.
func (j *judge) optional(w *syntax.Word) *refusal {
	if w == nil {
		return nil
	}
	return j.pattern(w)
}

// pattern judges a word in which extended patterns are patterns in every shell.
func (j *judge) pattern(w *syntax.Word) *refusal {
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
	return ok && (w.Lit() == "@" || w.Lit() == "*" || integer().MatchString(w.Lit()))
}
