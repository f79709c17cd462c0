package shell

import "mvdan.cc/sh/v3/syntax"

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
		return j.unary(x)
	case *syntax.BinaryArithm:
		return j.calculation(x)
	}
	return refuse("this form of arithmetic is not known to only compute")
}

func (j *judge) unary(x *syntax.UnaryArithm) *refusal {
	if x.Op == syntax.Inc || x.Op == syntax.Dec {
		return j.target(x.X)
	}
	return j.arithmetic(x.X)
}

func (j *judge) calculation(x *syntax.BinaryArithm) *refusal {
	if assigns(x.Op) {
		return first(j.target(x.X), func() *refusal { return j.arithmetic(x.Y) })
	}
	return first(j.arithmetic(x.X), func() *refusal { return j.arithmetic(x.Y) })
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
	if !ok || !harmless(w.Lit()) || !j.variables.number(w.Lit()) {
		return refuse("arithmetic may assign plain names that hold numbers only")
	}
	return nil
}

func (j *judge) operand(w *syntax.Word) *refusal {
	if text := w.Lit(); text != "" {
		if integer().MatchString(text) || j.variables.number(text) || countsOnly(text) {
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
		if simple(part) && (j.variables.number(part.Param.Value) || countsOnly(part.Param.Value)) {
			return nil
		}
	}
	return refuse("arithmetic runs what a value holds, and this one is not known to be a number").or("expr 1 + 2")
}
