package shell

import (
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// certain refuses a command if any of its literals may be code for some shell, or if the scanner reads any byte otherwise
// than the parser did. The parser takes code for a literal in places.
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
	refusal *refusal
}

// scope is a node around others, and the mark of the literals in it.
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
	own, depth := scope{node, parent.mark}, parent.mark/inner*inner
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
	case *syntax.CmdSubst:
		own.mark = t.paint(node, depth+inner+gap) + plain
	case *syntax.Word:
		if outer, ok := parent.node.(*syntax.Redirect); ok && node == outer.Hdoc {
			own.mark = t.paint(node, depth+document)
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

// literal refuses a literal that the parser changed, or text outside quotes with a character that is code to bash or zsh.
func (t *tracer) literal(lit *syntax.Lit, parent scope) {
	class, end := parent.mark%inner, lit.End()
	alone := false
	if outer, ok := parent.node.(*syntax.Word); ok {
		end, alone = outer.End(), len(outer.Parts) == 1
	}
	text := t.source[lit.Pos().Offset():lit.End().Offset()]
	if class == document {
		return
	}
	if text != lit.Value || strings.Contains(text, "\\\n") {
		t.refusal = refuse("planloop cannot read %s with certainty; write it more simply", shown(text))
	}
	if class == quoted {
		return
	}
	if text == "}" && alone {
		t.refusal = refuse("zsh ends a block with }; quote it")
	}
	for i := 0; i < len(text) && t.refusal == nil; i++ {
		rest := t.source[lit.Pos().Offset()+uint(i)+1 : end.Offset()]
		isCode := strings.IndexByte(operators+"`\n", text[i]) >= 0
		switch text[i] {
		case '\\':
			i++
		case '$':
			isCode = rest != ""
		case '!':
			isCode = rest != "" && rest[0] != '=' && (i == 0 || text[i-1] != '[')
		case '[':
			isCode = !strings.Contains(text[i:], "]") && !(alone && text == "[")
		case '~':
			isCode = strings.HasPrefix(rest, "[")
		}
		if isCode {
			t.refusal = refuse("%s outside quotes may be code for bash or zsh; quote it", shown(text[i:]))
		}
	}
}
