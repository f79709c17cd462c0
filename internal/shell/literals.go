package shell

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"mvdan.cc/sh/v3/syntax"
)

// certain refuses a command if any of its literals may be code for some shell, or if the scanner reads any byte otherwise
// than the parser did. The parser takes code for a literal in places: <(…) inside ${…}, for one.
func certain(command string, file *syntax.File) *refusal {
	t := &tracer{source: command, marks: make([]mark, len(command)), parents: []scope{{mark: plain}}}
	syntax.Walk(file, t.visit)
	if marks, ok := scan(command); t.refusal == nil && (!ok || !slices.Equal(marks, t.marks)) {
		return refuse("planloop cannot read this command with certainty; write it more simply")
	}
	return t.refusal
}

// tracer walks the whole parse tree, and marks each byte of the source as the scanner does.
type tracer struct {
	source  string
	marks   []mark
	parents []scope
	short   *syntax.ParamExp // the last $name
	refusal *refusal
}

// scope is a node around others, and the mark of the literals in it.
type scope struct {
	node    syntax.Node
	mark    mark
	regular bool // it is a regular expression
	raw     bool // a here-document without expansions
}

func (t *tracer) visit(node syntax.Node) bool {
	if node == nil {
		t.parents = t.parents[:len(t.parents)-1]
		return true
	}
	if t.refusal != nil {
		return false
	}
	parent := t.parents[len(t.parents)-1]
	own, depth := scope{node: node, mark: parent.mark}, parent.mark/inner*inner
	switch node := node.(type) {
	case *syntax.Comment:
		t.paint(node, comment)
		if strings.ContainsAny(node.Text, "'\"\\$`"+operators) {
			t.refusal = refuse("an interactive zsh reads comments as words; leave this one out").without(node)
		}
	case *syntax.SglQuoted:
		t.paint(node, depth+quoted)
	case *syntax.DblQuoted:
		own.mark = t.paint(node, depth+quoted)
	case *syntax.Lit:
		t.paint(node, own.mark)
		t.literal(node, parent)
	case *syntax.ParamExp:
		own.mark = t.paint(node, depth+inner+expansion)
		t.short = node
	case *syntax.CmdSubst, *syntax.ProcSubst:
		own.mark = t.paint(node, depth+inner+gap) + plain
	case *syntax.ArithmExp:
		own.mark = t.paint(node, depth+inner+arithmetic)
	case *syntax.ArithmCmd, *syntax.CStyleLoop:
		own.mark = t.paint(node, depth+arithmetic)
	case *syntax.TestClause:
		own.mark = t.paint(node, depth+tested)
	case *syntax.Assign:
		t.paint(node, depth+plain)
	case *syntax.ArrayExpr:
		t.paint(node, depth+gap)
	case *syntax.DeclClause:
		t.paint(node.Variant, depth+plain)
	case *syntax.Word:
		switch outer := parent.node.(type) {
		case *syntax.Redirect:
			if node == outer.Hdoc {
				own.mark, own.raw = t.paint(node, depth+document), isQuoted(outer.Word)
			}
		case *syntax.BinaryTest:
			own.regular = node == outer.Y && outer.Op == syntax.TsReMatch
		}
	}
	t.parents = append(t.parents, own)
	return true
}

// paint marks a node's bytes.
func (t *tracer) paint(node syntax.Node, m mark) mark {
	to := min(node.End().Offset(), uint(len(t.source)))
	for i := min(node.Pos().Offset(), to); i < to; i++ {
		t.marks[i] = m
	}
	return m
}

var (
	parameterName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z_]\w*|\d+|[@*#?$!-])$`) })
	modifier      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\[|:[A-Za-z&])`) }) // after $name, in zsh
	counted       = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[\w#@*?$!{-]`) })    // after $#, in zsh
	prefixed      = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\$[=~^+]`) })         // $=name, in zsh
	unescapable   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\\(?s:.)`) })
)

// isAlone reports whether the scope is a word of one part.
func (s scope) isAlone() bool {
	w, ok := s.node.(*syntax.Word)
	return ok && len(w.Parts) == 1
}

// literal refuses a literal that the parser changed, or text outside quotes with a character that is code to bash or zsh.
func (t *tracer) literal(lit *syntax.Lit, parent scope) {
	class, end := parent.mark%inner, lit.End()
	switch outer := parent.node.(type) {
	case *syntax.Word:
		end = outer.End()
	case *syntax.ParamExp:
		if !parameterName().MatchString(lit.Value) {
			t.refusal = refuse("the name of the variable in ${%s} is not plain", shown(lit.Value))
		}
		return
	}
	text := t.source[lit.Pos().Offset():lit.End().Offset()]
	after := t.short != nil && t.short.Short && t.short.End() == lit.Pos()
	if after && (modifier().MatchString(text) || t.short.Param.Value == "#" && counted().MatchString(text)) {
		t.refusal = refuse("zsh reads $%s%s as one expansion; write ${%[1]s}", t.short.Param.Value, shown(text))
	}
	joined := strings.ReplaceAll(text, "\\\n", "")
	if class == quoted && strings.HasPrefix(t.source[lit.End().Offset():], "\n") && joined == lit.Value+"\\" { // of a joined line
		joined = lit.Value
	}
	if class != document && joined != lit.Value {
		t.refusal = refuse("planloop cannot read %s with certainty; write it more simply", shown(text))
	}
	if class == quoted || class == document {
		next := t.source[lit.Pos().Offset():min(lit.End().Offset()+1, uint(len(t.source)))]
		if found := prefixed().FindString(unescapable().ReplaceAllString(next, "")); found != "" && !parent.raw {
			t.refusal = refuse("zsh reads %s as the beginning of an expansion; quote it with '…'", found)
		}
		return
	}
	if text == "}" && parent.isAlone() {
		t.refusal = refuse("zsh ends a block with }; quote it")
	}
	for i := 0; i < len(text) && t.refusal == nil; i++ {
		rest := t.source[lit.Pos().Offset()+uint(i)+1 : end.Offset()]
		isCode := strings.IndexByte(operators+"`\n", text[i]) >= 0
		switch text[i] {
		case '\\':
			i++
		case '(', ')', '|':
			isCode = !parent.regular
		case '{', '}':
			isCode = class == expansion
		case '$':
			isCode = rest != "" && !(parent.regular && strings.IndexByte("|)", rest[0]) >= 0)
		case '!':
			isCode = rest != "" && rest[0] != '=' && (i == 0 || text[i-1] != '[')
		case '~':
			isCode = strings.HasPrefix(rest, "[")
		}
		if isCode {
			t.refusal = refuse("%s outside quotes may be code for bash or zsh; quote it", shown(text[i:]))
		}
	}
}
