package prompts

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/planloop/planloop/plan"
)

// block is text from elsewhere between fences that it cannot close.
type block struct {
	Label string // what it is, on one line; may be empty
	Lang  string
	Text  string
	Fence string
	Cut   string // what is not shown; empty when all is
}

// quote makes a block of at most limit characters of text; nil when it is blank.
func quote(label, lang, text string, limit int) *block {
	shown, cut := bound(text, limit)
	if strings.TrimSpace(shown) == "" {
		return nil
	}
	return &block{Label: label, Lang: lang, Text: shown, Fence: fence(shown), Cut: cut}
}

// quoteList makes a block with a line for each item.
func quoteList(items []string, most int) *block {
	var lines []string
	left := 0
	for _, item := range items {
		if len(lines) == most { // what is only counted needs no care
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

// quoteDocuments makes a block for each document, as long as all of them
// together stay within limit; note counts those left out.
func quoteDocuments(documents []Document, limit int) (blocks []*block, note string) {
	left := 0
	for _, d := range documents {
		if limit <= 0 {
			left++
			continue
		}
		label := "File " + quoted(oneLine(d.Path, maxPathShown))
		b := quote(label, "text", d.Text, min(limit, maxDocument))
		if b == nil {
			continue
		}
		blocks = append(blocks, b)
		limit -= utf8.RuneCountInString(b.Text)
	}
	if left > 0 {
		note = fmt.Sprintf("(%d more files are not shown.)", left)
	}
	return blocks, note
}

// bound returns at most limit characters of text, made safe, and what to say of
// the rest. It cuts at the end of a line where one is near.
func bound(text string, limit int) (shown, cut string) {
	total := utf8.RuneCountInString(text)
	shown = strings.Trim(printable(head(text, limit)), "\n")
	kept := head(shown, limit)
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

// printable returns text with what changes how the rest is shown made visible:
// control characters and those that reorder or hide text are written as escapes.
// Runs of backquotes are shortened.
func printable(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\r\n", "\n")
	var b strings.Builder
	ticks := 0
	for _, r := range text {
		if r != '`' {
			ticks = 0
		} else if ticks++; ticks > maxBackticks {
			continue
		}
		switch {
		case r == '\n', r == '\t':
			b.WriteRune(r)
		case r == '\r', r == '\u2028', r == '\u2029':
			b.WriteByte('\n')
		case unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case hidden(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// hidden reports characters that reorder or hide text. Joiners stay: scripts and
// emoji need them.
func hidden(r rune) bool {
	switch r {
	case '\u200C', '\u200D':
		return false
	case '\u115F', '\u1160', '\u3164', '\uFFA0': // blank letters
		return true
	}
	return unicode.Is(unicode.Cf, r)
}

// quoted puts a line into double quotes that it cannot close.
func quoted(line string) string { return `"` + strings.ReplaceAll(line, `"`, "'") + `"` }

// oneLine returns text on one line with at most limit characters.
func oneLine(text string, limit int) string {
	line := strings.Join(strings.Fields(printable(head(strings.TrimSpace(text), 2*limit))), " ")
	return plan.Shorten(line, limit)
}

// fence returns a code fence that text cannot close.
func fence(text string) string {
	longest, run := 0, 0
	for _, r := range text {
		if r != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	return strings.Repeat("`", max(3, longest+1))
}
