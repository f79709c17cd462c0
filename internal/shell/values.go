package shell

import (
	"cmp"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// A value is known in one of three ways: all its possible texts, or how they all begin, or not at all. A word that
// contains a value of the first kind is classified once with each of its texts. A few samples stand for all numbers: no
// reading command treats one integer differently from another.

const (
	maxTexts        = 40      // of one name; with more, only their common beginning is known
	maxCombinations = 100     // of the texts of the names in one command
	maxText         = 4 << 10 // bytes of a text that is tracked
	maxMentions     = 1 << 10 // how often a value may repeat a part of unknown length
	maxWork         = 1 << 18 // words classified before the classifier gives up
)

func naturals() []string { return []string{"0", "71"} }

// value is the knowledge of a name over every value that a script gives it, in any order.
type value struct {
	texts []string // all it may be, nil if unknown
	rest  word     // otherwise the beginning they share
}

// given is a value that a script gives to a name; a nil word is the empty value.
type given struct {
	word *syntax.Word
	item bool // of a loop, so it is expanded and split
}

// variable is a name that a script sets.
type variable struct {
	given   []given
	results []syntax.ArithmExpr // its arithmetic results; nil for an unknown sign
	unknown bool                // it may also have any other value
	filled  bool                // read sets it
	holds   []syntax.Node       // every node that sets it
	grows   bool                // the script appends to it
	found   *value
	length  int
}

type variables map[string]*variable

// countsOnly reports whether a parameter of bash itself is always a number.
func countsOnly(name string) bool {
	counts := []string{"#", "?", "$", "RANDOM", "SECONDS", "LINENO", "EPOCHSECONDS", "UID", "EUID", "PPID"}
	return slices.Contains(counts, name)
}

var (
	integer   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[+-]?(0|[1-9][0-9]{0,17})$`) })
	plainText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_./@%][A-Za-z0-9_./@%:+=,-]*$`) })
	// plainRevision cannot begin an option, and contains no pattern that bash would expand.
	plainRevision = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z0-9_./@][A-Za-z0-9_./@^~-]*$`) })
)

// variablesOf collects the names that a script sets.
func variablesOf(file *syntax.File) variables {
	v := variables{}
	syntax.Walk(file, func(node syntax.Node) bool {
		switch node := node.(type) {
		case *syntax.Assign:
			v.assign(node)
		case *syntax.ForClause:
			v.loop(node)
		case *syntax.CallExpr:
			v.read(node)
		case *syntax.BinaryArithm:
			switch {
			case node.Op == syntax.Assgn, node.Op == syntax.AddAssgn, node.Op == syntax.MulAssgn:
				v.calculated(node.X, node.Y)
			case assigns(node.Op):
				v.calculated(node.X, nil)
			}
		case *syntax.UnaryArithm:
			if node.Op == syntax.Inc || node.Op == syntax.Dec {
				v.calculated(node.X, node)
			}
		}
		return true
	})
	return v
}

func (v variables) named(name string) *variable {
	if v[name] == nil {
		v[name] = &variable{}
	}
	return v[name]
}

func (v variables) assign(a *syntax.Assign) {
	if a.Name == nil {
		return
	}
	x := v.named(a.Name.Value)
	x.grows = x.grows || a.Append
	x.holds = append(x.holds, a)
	if a.Append || a.Index != nil || a.Naked || a.Array != nil {
		x.unknown = true
		return
	}
	x.given = append(x.given, given{word: a.Value})
}

func (v variables) loop(f *syntax.ForClause) {
	loop, ok := f.Loop.(*syntax.WordIter)
	if !ok || loop.Name == nil {
		return
	}
	x := v.named(loop.Name.Value)
	x.unknown = x.unknown || !loop.InPos.IsValid()
	for _, item := range loop.Items {
		x.given = append(x.given, given{word: item, item: true})
	}
}

// read records the names that read sets, if plainly written: the classifier of read refuses all others.
func (v variables) read(c *syntax.CallExpr) {
	reads := false
	for _, arg := range c.Args {
		if reads && syntax.ValidName(arg.Lit()) {
			x := v.named(arg.Lit())
			x.unknown, x.filled = true, true
		}
		reads = reads || arg.Lit() == "read"
	}
}

// calculated records a name that an expression sets to a number.
func (v variables) calculated(x, result syntax.ArithmExpr) {
	if w, ok := x.(*syntax.Word); ok && syntax.ValidName(w.Lit()) {
		variable := v.named(w.Lit())
		variable.results = append(variable.results, result)
	}
}

// valueOf returns the known value of a name. A name that depends on itself is unknown.
func (j *classifier) valueOf(name string) value {
	x := j.variables[name]
	if x == nil {
		return value{}
	}
	if x.found != nil {
		return *x.found
	}
	x.found = &value{}
	defer func(bound map[any]string, isDeferred bool, seeking string) {
		j.bound, j.isDeferred, j.seeking = bound, isDeferred, seeking
	}(j.bound, j.isDeferred, j.seeking)
	j.bound, j.isDeferred, j.seeking = map[any]string{}, true, name

	if x.unknown {
		return value{}
	}
	var words []word
	for _, result := range x.results {
		words = append(words, literals(j.samples(result))...)
	}
	for _, g := range x.given {
		if j.spend(1) != nil || len(words) > maxWords {
			return value{}
		}
		_ = j.combinations([]*syntax.Word{g.word}, func() *refusal {
			if g.item {
				words = append(words, j.items(g.word)...)
			} else {
				words = append(words, j.assigned(g.word))
			}
			return nil
		})
	}
	*x.found = valueOfWords(words)
	return *x.found
}

// items returns the words that a loop takes from a word, in bash and in zsh.
func (j *classifier) items(node *syntax.Word) []word {
	words := j.expand(node)
	if !slices.ContainsFunc(words, func(w word) bool { return w.piece }) {
		return words
	}
	defer func(unsplit bool) { j.unsplit = unsplit }(j.unsplit)
	j.unsplit = true
	return append(words, j.expand(node)...)
}

// valueOfWords returns the value of a name that may be any of the words.
func valueOfWords(words []word) value {
	var v value
	for _, w := range words {
		if !w.whole || len(w.text) > maxText {
			return value{rest: common(words)}
		}
		if !slices.Contains(v.texts, w.text) {
			v.texts = append(v.texts, w.text)
		}
		if len(v.texts) > maxTexts {
			return value{rest: common(words)}
		}
	}
	if v.texts == nil {
		v.texts = []string{""}
	}
	return v
}

// common returns the beginning that all words share.
func common(words []word) word {
	all := word{text: words[0].text, tame: true, file: true, plain: true}
	for _, w := range words {
		for !strings.HasPrefix(w.text, all.text) {
			all.text = all.text[:len(all.text)-1]
		}
		if w.splits { // its later words may begin in any way
			return word{}
		}
		beginning := w.text != "" && plainText().MatchString(w.text[:1])
		all.tame = all.tame && (beginning || w.text == "" && w.tame)
		all.file = all.file && w.openable()
		all.plain = all.plain && w.unsplit() && !w.is("")
	}
	return all
}

// number reports whether a name holds only integers.
func (j *classifier) number(name string) bool {
	if countsOnly(name) {
		return true
	}
	texts := j.valueOf(name).texts
	return texts != nil && !slices.ContainsFunc(texts, func(text string) bool { return text != "" && !integer().MatchString(text) })
}

// slot returns the source of a part's text: a name, or an expression that yields a number. It returns nil if the text
// is unknown.
func slot(part syntax.WordPart) any {
	switch part := part.(type) {
	case *syntax.ParamExp:
		if simple(part) {
			return part.Param.Value
		}
		if part.Length && part.Param != nil && part.Exp == nil && part.Index == nil {
			return part
		}
	case *syntax.ArithmExp:
		return part
	case *syntax.CmdSubst:
		if numeric(part) {
			return part
		}
	}
	return nil
}

// texts returns all texts that a slot may have at its use, nil if unknown.
func (j *classifier) texts(slot any) []string {
	switch slot := slot.(type) {
	case string:
		if countsOnly(slot) {
			return naturals()
		}
		texts := j.valueOf(slot).texts
		if texts != nil && (j.isDeferred || !j.set[slot]) && !slices.Contains(texts, "") {
			return append(slices.Clone(texts), "")
		}
		return texts
	case *syntax.ArithmExp:
		return j.samples(slot.X)
	case *syntax.CmdSubst:
		return append(naturals(), "") // "" if the file does not exist
	}
	return naturals() // a length
}

// samples returns texts that represent every result of an expression.
func (j *classifier) samples(x syntax.ArithmExpr) []string {
	if j.natural(x) {
		return naturals()
	}
	return append([]string{"-3"}, naturals()...)
}

// natural reports whether an expression is never negative: sums and products of natural numbers are not. The name being
// determined counts as natural, so only the other terms decide.
func (j *classifier) natural(x syntax.ArithmExpr) bool {
	switch x := x.(type) {
	case *syntax.ParenArithm:
		return j.natural(x.X)
	case *syntax.UnaryArithm:
		return x.Op == syntax.Inc && j.natural(x.X)
	case *syntax.BinaryArithm:
		return (x.Op == syntax.Add || x.Op == syntax.Mul) && j.natural(x.X) && j.natural(x.Y)
	case *syntax.Word:
		name, texts := cmp.Or(x.Lit(), variableIn(x)), []string{x.Lit()}
		if name == j.seeking && name != "" {
			return true
		}
		if !integer().MatchString(name) {
			texts = j.texts(name)
		}
		return len(texts) > 0 && !slices.ContainsFunc(texts, func(text string) bool {
			return text != "" && (!integer().MatchString(text) || text[0] == '-')
		})
	}
	return false
}

// combinations runs with every combination of texts that the slots in the words may have. If there are too many, some
// slots stay unknown.
func (j *classifier) combinations(nodes []*syntax.Word, run func() *refusal) *refusal {
	var slots []any
	count, seen := 1, maps.Clone(j.bound)
	for _, node := range nodes {
		if node == nil {
			continue
		}
		for _, found := range slotsIn(node.Parts, nil) {
			if _, again := seen[found]; again {
				continue
			}
			seen[found] = ""
			if n := len(j.texts(found)); n > 0 && count*n <= maxCombinations {
				slots, count = append(slots, found), count*n
			}
		}
	}
	return j.bind(slots, run)
}

func (j *classifier) bind(slots []any, run func() *refusal) *refusal {
	if len(slots) == 0 {
		return run()
	}
	defer delete(j.bound, slots[0])
	return each(j.texts(slots[0]), func(text string) *refusal {
		j.bound[slots[0]] = text
		return j.bind(slots[1:], run)
	})
}

func slotsIn(parts []syntax.WordPart, slots []any) []any {
	for _, part := range parts {
		if quoted, ok := part.(*syntax.DblQuoted); ok {
			slots = slotsIn(quoted.Parts, slots)
		} else if found := slot(part); found != nil {
			slots = append(slots, found)
		}
	}
	return slots
}

// sets records that a name has a value from here on.
func (j *classifier) sets(name string) {
	if !j.set[name] {
		j.set[name], j.trail = true, append(j.trail, name)
	}
}

// isolate classifies code that may not run, or runs in a shell of its own: names that it sets are not set afterwards.
func (j *classifier) isolate(run func() *refusal) *refusal {
	mark := len(j.trail)
	r := run()
	j.undo(mark)
	return r
}

func (j *classifier) undo(mark int) {
	for _, name := range j.trail[mark:] {
		delete(j.set, name)
	}
	j.trail = j.trail[:mark]
}

// substitution classifies commands inside a word: the word's bound texts do not apply to them.
func (j *classifier) substitution(stmts []*syntax.Stmt) *refusal {
	defer func(bound map[any]string) { j.bound = bound }(j.bound)
	j.bound = map[any]string{}
	return j.isolate(func() *refusal { return j.stmts(stmts) })
}

// length bounds a value's length, counted in pieces of unknown length, and returns how often the value contains itself:
// more than once, and it doubles.
func (j *classifier) length(name string) (pieces, itself int) {
	x := j.variables[name]
	switch {
	case x == nil:
		return 1, 0
	case x.length < 0:
		return 1, 1
	case x.length > 0:
		return x.length, 0
	}
	x.length = -1
	for _, node := range x.holds {
		own, times := 1, 0
		if x.grows {
			times = 1
		}
		syntax.Walk(node, func(n syntax.Node) bool {
			if p, ok := n.(*syntax.ParamExp); ok && p.Param != nil && own <= maxMentions && j.spend(1) == nil {
				more, cycles := j.length(p.Param.Value)
				own, times = own+more, times+cycles
			}
			return true
		})
		if times > 1 {
			own = maxMentions + 1
		}
		pieces, itself = max(pieces, own), max(itself, times)
	}
	x.length = 0
	if itself == 0 || pieces > maxMentions {
		x.length = max(pieces, 1)
	}
	return pieces, itself
}

// spend bounds the cost of classifying.
func (j *classifier) spend(work int) *refusal {
	if j.work += work; j.work > maxWork {
		return refuse("there is too much in this command to classify; split it")
	}
	return nil
}
