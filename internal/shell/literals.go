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
	t := &tracer{source: command, marks: make([]mark, len(command)), parents: []scope{{}}}
	syntax.Walk(file, t.visit)
	if t.refusal != nil {
		return t.refusal
	}
	if marks, ok := scan(command); !ok || !slices.Equal(marks, t.marks) {
		return refuse("planloop cannot read this command with certainty; write it more simply")
	}
	return nil
}

// tracer walks the whole parse tree, and marks each byte of the source as the scanner does.
type tracer struct {
	source  string
	marks   []mark
	parents []scope
	refusal *refusal
}

// scope is a node that surrounds others, and the mark that literals get in it.
type scope struct {
	node syntax.Node
	mark mark
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
	within, depth := parent.mark, parent.mark/inner*inner
	switch node := node.(type) {
	case *syntax.Comment:
		t.paint(node, comment)
		if strings.ContainsAny(node.Text, "'\"\\$`;&|<>()") {
			t.refusal = refuse("an interactive zsh reads comments as words; leave this one out").without(node)
		}
	case *syntax.SglQuoted:
		t.paint(node, depth+quoted)
	case *syntax.DblQuoted:
		within = t.paint(node, depth+quoted)
		t.subscripts(node.Parts)
	case *syntax.Lit:
		t.paint(node, within)
		t.literal(node, parent)
	case *syntax.ParamExp:
		within = t.paint(node, depth+inner+expansion)
	case *syntax.CmdSubst, *syntax.ProcSubst:
		t.paint(node, depth+inner+gap)
		within = depth + inner + plain
	case *syntax.ArithmExp:
		within = t.paint(node, depth+inner+arithmetic)
	case *syntax.ArithmCmd, *syntax.CStyleLoop:
		within = t.paint(node, depth+arithmetic)
	case *syntax.TestClause:
		within = t.paint(node, depth+tested)
	case *syntax.Assign:
		t.paint(node, depth+plain)
	case *syntax.ArrayExpr:
		t.paint(node, depth+gap)
	case *syntax.DeclClause:
		t.paint(node.Variant, depth+plain)
	case *syntax.Word:
		t.subscripts(node.Parts)
		switch outer := parent.node.(type) {
		case *syntax.Redirect:
			if node == outer.Hdoc {
				within = t.paint(node, depth+document)
			}
		case *syntax.BinaryTest:
			if node == outer.Y && outer.Op == syntax.TsReMatch {
				within = depth + regular
			}
		}
	case *syntax.File:
		within = plain
	}
	t.parents = append(t.parents, scope{node, within})
	return true
}

// paint marks a node's bytes.
func (t *tracer) paint(node syntax.Node, m mark) mark {
	to := min(node.End().Offset(), uint(len(t.source)))
	seen := m
	if m%inner == regular {
		seen -= regular - tested
	}
	for i := min(node.Pos().Offset(), to); i < to; i++ {
		t.marks[i] = seen
	}
	return m
}

// subscripts refuses $x[…] and $x:…, which zsh reads as one expansion.
func (t *tracer) subscripts(parts []syntax.WordPart) {
	for i, part := range parts[:max(0, len(parts)-1)] {
		p, short := part.(*syntax.ParamExp)
		next, text := parts[i+1].(*syntax.Lit)
		if short && text && p.Short && modified().MatchString(next.Value) {
			t.refusal = refuse("zsh reads $%s%s as one expansion; write ${%s}", p.Param.Value, shown(next.Value), p.Param.Value)
		}
	}
}

var modified = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\[|:[A-Za-z&])`) })

// parameterName matches what ${…} may expand.
var parameterName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^([A-Za-z_][A-Za-z0-9_]*|[0-9]+|[@*#?$!-])$`) })

// literal refuses text outside quotes with a character that is code to bash or zsh.
func (t *tracer) literal(lit *syntax.Lit, parent scope) {
	class, word := parent.mark%inner, (*syntax.Word)(nil)
	switch outer := parent.node.(type) {
	case *syntax.Word:
		word = outer
	case *syntax.ParamExp:
		if !parameterName().MatchString(lit.Value) {
			t.refusal = refuse("the name of the variable in ${%s} is not plain", shown(lit.Value))
		}
		return
	}
	text := t.source[lit.Pos().Offset():lit.End().Offset()]
	if class != document && strings.ReplaceAll(text, "\\\n", "") != lit.Value {
		t.refusal = refuse("planloop cannot read this command with certainty; write it more simply")
	}
	if class == quoted || class == document {
		return
	}
	code := map[mark]string{plain: "<>&|;()`\n", expansion: "<>&|;()`\n{}", tested: "<>&|;()`\n", regular: "<>&;`\n"}[class]
	for i := 0; i < len(text); i++ {
		rest := text[i+1:]
		switch c := text[i]; {
		case c == '\\':
			i++
			continue
		case strings.IndexByte(code, c) >= 0:
		case c == '$' && !(rest == "" && (word == nil || word.Parts[len(word.Parts)-1] == lit)) &&
			!(class == regular && strings.IndexByte("|)", (rest + "x")[0]) >= 0):
		case c == '!' && rest != "" && rest[0] != '=' && (i == 0 || text[i-1] != '['):
		case c == '~' && strings.HasPrefix(rest, "["):
		default:
			continue
		}
		t.refusal = refuse("%s outside quotes may be code for bash or zsh; quote it", shown(text[i:]))
		return
	}
}
