package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// test classifies [[ … ]].
func (j *classifier) test(x syntax.TestExpr) *refusal {
	switch x := x.(type) {
	case *syntax.Word:
		return j.code(x)
	case *syntax.ParenTest:
		return j.test(x.X)
	case *syntax.UnaryTest:
		if x.Op == syntax.TsVarSet || x.Op == syntax.TsRefVar {
			return refuse("[[ %s … ]] evaluates the name it is given; test the value", x.Op).or(`[[ -n "$x" ]]`)
		}
		if w, ok := x.X.(*syntax.Word); ok && x.Op == syntax.TsFdTerm && !j.word(w).isNumber() {
			return refuseTerminal()
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

// refuseTerminal refuses -t, whose operand zsh computes.
func refuseTerminal() *refusal {
	return refuse("zsh computes the value after -t, and may run a command in it; write a number").or("[ -t 1 ]")
}

// unquotedText returns the unquoted text of a word.
func unquotedText(w *syntax.Word) string {
	var b strings.Builder
	for _, part := range w.Parts {
		if lit, ok := part.(*syntax.Lit); ok {
			b.WriteString(lit.Value)
		}
	}
	return b.String()
}

// compared classifies an operand that [[ evaluates as arithmetic.
func (j *classifier) compared(x syntax.TestExpr) *refusal {
	w, ok := x.(*syntax.Word)
	if !ok {
		return refuse("[[ compares numbers and names that hold numbers only")
	}
	if text := j.word(w); text.whole && integer().MatchString(text.text) {
		return nil
	}
	if w.Lit() != "" && !j.number(w.Lit()) {
		return refuse("[[ evaluates %q; compare numbers, or use [ … ]", w.Lit()).or(`[ "$x" -gt 1 ]`)
	}
	return j.operand(w).or(`[ "$x" -gt 1 ]`)
}

// The operators of test with one operand and with two. -v and -R are left out because they evaluate theirs.
const (
	unaryTests  = "-a -b -c -d -e -f -g -h -k -p -r -s -t -u -w -x -G -L -N -O -S -z -n -o"
	binaryTests = "= == != -eq -ne -lt -le -gt -ge -nt -ot -ef < >"
)

// testBuiltin classifies test and [. A word unknown until it runs must not be able to become an operator.
func testBuiltin(_ *classifier, c call) *refusal {
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
	if len(words) == 2 && words[0].is("-t") && !words[1].isNumber() {
		return refuseTerminal()
	}
	if len(words) <= 1 || len(words) == 2 && slices.ContainsFunc(strings.Fields(unaryTests), words[0].is) ||
		len(words) == 3 && slices.ContainsFunc(strings.Fields(binaryTests), words[1].is) {
		return nil
	}
	return refuse("this form of [ is not known to only test; use one operator at a time, and not -v").or(`[ -n "$x" ]`)
}
