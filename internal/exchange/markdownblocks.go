package exchange

import (
	"fmt"
	"regexp"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"
	"github.com/yuin/goldmark/util"
)

const (
	// maxLines limits the lines of Markdown: for each line goldmark keeps the blocks around it.
	maxLines = 100_000
	// maxContainers limits how deep lists, list items and quotations nest, since each level is checked on
	// every line. Deeper text is plain text.
	maxContainers = 16
)

// document is a Markdown text and its blocks.
type document struct {
	lines  []string
	offset []int // of each line in source
	source []byte
	root   ast.Node
	opened map[ast.Node]int // line at which goldmark recognized the block
	code   []bool           // the line is in a fenced block, where escapes do not apply
	hidden []bool           // the line is a comment or a rule between sections
}

// parseBlocks finds the blocks of a text. It does not parse inline text, and treats link definitions as
// paragraphs, because goldmark would drop them.
func parseBlocks(data []byte) (d *document, err error) {
	lines := strings.Split(string(data), "\n")
	if len(lines) > maxLines {
		return nil, refuse("", fmt.Sprintf("the text has %d lines; at most %d are read", len(lines), maxLines), "split the plan")
	}
	closes := func(line string) bool { return strings.TrimRight(line, " \t") == "---" }
	if end := slices.IndexFunc(lines[1:], closes); lines[0] == "---" && end >= 0 { // YAML that some programs put before a text
		clear(lines[:end+2])
	}
	dedent(lines)
	defer func() {
		if r := recover(); r != nil { // a bug in the parser; reject the text instead of crashing
			d, err = nil, refuse("", "the Markdown cannot be read", "write it more simply, or use JSON")
		}
	}()
	d = &document{
		lines: lines, source: []byte(strings.Join(lines, "\n")), offset: make([]int, len(lines)), opened: map[ast.Node]int{},
		code: make([]bool, len(lines)), hidden: make([]bool, len(lines)),
	}
	for i := range lines[1:] {
		d.offset[i+1] = d.offset[i] + len(lines[i]) + 1
	}
	blocks := parser.DefaultBlockParsers()
	for i := range blocks {
		if block, ok := blocks[i].Value.(parser.BlockParser); ok {
			blocks[i].Value = placing{BlockParser: block, opened: d.opened}
		}
	}
	d.root = parser.NewParser(parser.WithBlockParsers(blocks...)).Parse(text.NewReader(d.source))
	d.mark(d.root)
	return d, nil
}

// placing is a block parser that records the first line of each block and opens no container deeper than
// maxContainers.
type placing struct {
	parser.BlockParser
	opened map[ast.Node]int
}

// Open implements parser.BlockParser.
func (p placing) Open(parent ast.Node, in text.Reader, pc parser.Context) (ast.Node, parser.State) {
	line, _ := in.Position()
	container := p.BlockParser == parser.NewListParser() || p.BlockParser == parser.NewBlockquoteParser()
	if container && parent.Kind() != ast.KindList && depth(parent) >= maxContainers {
		return nil, parser.NoChildren
	}
	node, state := p.BlockParser.Open(parent, in, pc)
	if node != nil {
		p.opened[node] = line
	}
	return node, state
}

func depth(node ast.Node) (n int) {
	for ; node != nil; node = node.Parent() {
		n++
	}
	return n
}

// mark sets code and hidden for the lines below node.
func (d *document) mark(node ast.Node) {
	for child := node.FirstChild(); child != nil && child.Type() == ast.TypeBlock; child = child.NextSibling() {
		var lines []bool
		switch block := child.(type) {
		case *ast.FencedCodeBlock:
			lines = d.code
		case *ast.HTMLBlock:
			if block.HTMLBlockType == ast.HTMLBlockType2 {
				lines = d.hidden
			}
		case *ast.ThematicBreak:
			if node == d.root {
				lines = d.hidden
			}
		default:
			d.mark(child)
		}
		if lines != nil {
			for i := d.start(child); i < d.end(child); i++ {
				lines[i] = true
			}
		}
	}
}

func (d *document) start(block ast.Node) int {
	if at := textOffset(block); at >= 0 { // an underlined heading is recognized only after its text
		return sort.Search(len(d.offset), func(i int) bool { return d.offset[i] > at }) - 1
	}
	return d.opened[block]
}

// textOffset returns the offset of a block's own text, or -1 if it has none.
func textOffset(block ast.Node) int {
	switch block.Kind() {
	case ast.KindParagraph, ast.KindTextBlock, ast.KindHeading:
		if block.Lines().Len() > 0 {
			return block.Lines().At(0).Start
		}
	}
	return -1
}

// end returns the line after a block and the blank lines that follow it.
func (d *document) end(block ast.Node) int {
	for ; block != nil; block = block.Parent() {
		if next := block.NextSibling(); next != nil {
			return d.start(next)
		}
	}
	return len(d.lines)
}

// itemText returns the first line of an item: its number, and its text after the marker.
func (d *document) itemText(item *ast.ListItem) (line int, text string) {
	first := item.FirstChild()
	if first == nil || textOffset(first) < 0 {
		return d.start(item), ""
	}
	line = d.start(first)
	return line, strings.TrimRight(d.lines[line][textOffset(first)-d.offset[line]:], " \t")
}

// contentColumn returns the column at which the text of an item begins.
func contentColumn(item *ast.ListItem) (column int) {
	for node := ast.Node(item); node != nil; node = node.Parent() {
		if item, ok := node.(*ast.ListItem); ok {
			column += item.Offset
		}
	}
	return column
}

// anyBox reports whether an item of a list below node has a box.
func (d *document) anyBox(node ast.Node) bool {
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		switch child := child.(type) {
		case *ast.ListItem:
			if _, text := d.itemText(child); boxText().MatchString(text) || d.anyBox(child) {
				return true
			}
		case *ast.List:
			if d.anyBox(child) {
				return true
			}
		}
	}
	return false
}

var checkItem = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?m)^[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+\[[ xX/!~>-]\](?:[ \t]|$)`)
})

// dedent moves a text to the left margin if all its boxes are indented so far that they would be code.
func dedent(lines []string) {
	const code = 4
	least := -1
	for _, line := range lines {
		if checkItem().MatchString(line) {
			if indent, _ := util.IndentWidth([]byte(line), 0); least < 0 || indent < least {
				least = indent
			}
		}
	}
	if least < code {
		return
	}
	for i := range lines {
		lines[i] = dropColumns(lines[i], least)
	}
}

// textBlock collects the lines of a text.
type textBlock struct {
	heading string
	lines   []string
}

// add adds a line. Unless raw is set, it removes Markdown's escapes.
func (b *textBlock) add(line string, raw bool) {
	if !raw {
		line = unescape(line)
	}
	b.lines = append(b.lines, strings.TrimRight(line, " \t"))
}

// String returns the text without blank lines at its start and end.
func (b *textBlock) String() string { return strings.Trim(strings.Join(b.lines, "\n"), "\n") }

// dropColumns removes up to n columns of leading white space from a line.
func dropColumns(line string, n int) string {
	column := 0
	for i := range len(line) {
		switch {
		case column >= n:
			return strings.Repeat(" ", column-n) + line[i:]
		case line[i] == ' ':
			column++
		case line[i] == '\t':
			column += 4 - column%4
		default:
			return line[i:]
		}
	}
	return ""
}

// unescape removes the backslashes of Markdown escapes: those before ASCII punctuation, outside of code.
func unescape(text string) string {
	if !strings.Contains(text, `\`) {
		return text
	}
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		switch {
		case text[i] == '`':
			n := codeSpan(text[i:])
			b.WriteString(text[i : i+n])
			i += n - 1
		case text[i] == '\\' && i+1 < len(text) && util.IsPunct(text[i+1]):
			i++
			b.WriteByte(text[i])
		default:
			b.WriteByte(text[i])
		}
	}
	return b.String()
}

// maxCode limits how far to look for the end of a code span, in bytes.
const maxCode = 4_000

// codeSpan returns the length of the code span at the start of text, or only of its backticks if it is not
// closed.
func codeSpan(text string) int {
	ticks := len(text) - len(strings.TrimLeft(text, "`"))
	text = text[:min(len(text), ticks+maxCode)]
	for i := ticks; i < len(text); {
		at := strings.IndexByte(text[i:], '`')
		if at < 0 {
			break
		}
		i += at
		run := len(text[i:]) - len(strings.TrimLeft(text[i:], "`"))
		i += run
		if run == ticks {
			return i
		}
	}
	return ticks
}
