package prompts

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Limits of quoted text from outside, in characters; maxMemories to maxTools are numbers of items. The prompt says how
// much was cut, so that a model knows that there is more.
const (
	maxTree        = 8_000
	maxDocument    = 16_000 // one file
	maxDocuments   = 40_000 // all specification files together
	maxCode        = 24_000 // all excerpts of code together
	maxFormer      = 24_000
	maxJudgedTasks = 60_000

	maxItem        = 400 // one memory, constraint, finding, mark or task
	maxMemories    = 30
	maxConstraints = 30
	maxFindings    = 60
	maxMarks       = 80
	maxTasks       = 250
	maxTools       = 120

	maxPathShown = 160
)

// block is text from outside between fences that it cannot close.
type block struct {
	Label string // a label on one line; may be empty
	Lang  string
	Text  string
	Fence string
	Cut   string // describes the omitted part; may be empty
}

// quote returns a block with at most limit characters of text; nil if it is blank.
func quote(label, lang, text string, limit int) *block {
	shown, cut := bound(text, limit)
	if strings.TrimSpace(shown) == "" {
		return nil
	}
	return &block{Label: label, Lang: lang, Text: shown, Fence: fence(shown), Cut: cut}
}

// quoteList returns a block with a line for each item.
func quoteList(items []string, most int) *block {
	var lines []string
	left := 0
	for _, item := range items {
		if len(lines) == most { // omitted items need no cleaning
			left++
		} else if item = oneLine(item, maxItem); item != "" {
			lines = append(lines, "- "+item)
		}
	}
	b := quote("", "text", strings.Join(lines, "\n"), most*(maxItem+len("- \n")))
	if b != nil && left > 0 {
		b.Cut = fmt.Sprintf("(%d more are not shown.)", left)
	}
	return b
}

// bound returns at most limit characters of text, made safe, and a remark about the rest. It cuts at a line end if one
// is near.
func bound(text string, limit int) (shown, cut string) {
	total := utf8.RuneCountInString(text)
	shown = strings.Trim(quotable(head(text, limit)), "\n")
	kept := strings.TrimRight(head(shown, limit), "\u200c\u200d") // a joiner at the end would be invisible
	if total <= limit && len(kept) == len(shown) {
		return kept, ""
	}
	if i := strings.LastIndexByte(kept, '\n'); i > len(kept)*4/5 {
		kept = kept[:i]
	}
	return kept, fmt.Sprintf("(Cut: about the first %d of %d characters are shown.)", utf8.RuneCountInString(kept), total)
}

// head returns the first n characters of text.
func head(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for i := range text {
		if n == 0 {
			return text[:i]
		}
		n--
	}
	return text
}

// quotable returns text with invisible and control characters escaped, plain line ends, and long runs of backquotes
// shortened.
func quotable(text string) string {
	return safetext.Escape(longTicks().ReplaceAllString(safetext.Newlines(text), ticks))
}

// ticks is the longest run of backquotes that is kept, so that fences stay short.
const ticks = "``````````"

var longTicks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(ticks + "`+") })

// quoted puts a line into double quotes; its own become single ones.
func quoted(line string) string { return `"` + strings.ReplaceAll(line, `"`, "'") + `"` }

// oneLine returns text on one line with at most limit characters.
func oneLine(text string, limit int) string {
	line := strings.Join(strings.Fields(quotable(head(strings.TrimSpace(text), 2*limit))), " ")
	return plan.Shorten(line, limit)
}

// fence returns a code fence that text cannot close.
func fence(text string) string {
	marks := "```"
	for strings.Contains(text, marks) {
		marks += "`"
	}
	return marks
}

// Document is a file, or an excerpt of one, for quoting.
type Document struct {
	Path string
	Text string
}

// material is a section of quoted blocks.
type material struct {
	Title  string
	Lead   string // how to read the blocks
	Blocks []*block
	Note   string // describes omitted blocks
}

// section returns a section with the blocks that are not nil.
func section(title, lead string, blocks ...*block) material {
	blocks = slices.DeleteFunc(blocks, func(b *block) bool { return b == nil })
	return material{Title: title, Lead: lead, Blocks: blocks}
}

// documents returns a section of files with at most limit characters in total; its note counts the omitted files.
func documents(title, lead string, files []Document, limit int) material {
	m := material{Title: title, Lead: lead}
	left := 0
	for _, d := range files {
		if limit <= 0 {
			left++
		} else if b := quote("File "+quoted(oneLine(d.Path, maxPathShown)), "text", d.Text, min(limit, maxDocument)); b != nil {
			m.Blocks = append(m.Blocks, b)
			limit -= utf8.RuneCountInString(b.Text)
		}
	}
	if left > 0 {
		m.Note = fmt.Sprintf("(%d more files are not shown.)", left)
	}
	return m
}

// present returns the sections with blocks, in order.
func present(sections ...material) []material {
	return slices.DeleteFunc(sections, func(m material) bool { return len(m.Blocks) == 0 })
}
