package main

import (
	"strings"
	"sync"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/plan"
)

// outputKept is how much of what a command printed is kept, in bytes.
const outputKept = 4_000

// tailWriter keeps the end of what is written to it. Both streams of a command
// write to it at once.
type tailWriter struct {
	max int

	mu   sync.Mutex
	kept []byte
	cut  bool
}

// Write never fails.
func (w *tailWriter) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.kept = append(w.kept, data...)
	if over := len(w.kept) - w.max; over > 0 {
		w.kept, w.cut = append(w.kept[:0], w.kept[over:]...), true
	}
	return len(data), nil
}

// text is the end as text that may be kept: without escapes and what hides text,
// from the beginning of a line.
func (w *tailWriter) text() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	text := strings.ToValidUTF8(string(w.kept), "?")
	if w.cut {
		text = wholeLines(text)
	}
	text = strings.ReplaceAll(strings.ReplaceAll(ansi.Strip(text), "\r\n", "\n"), "\r", "\n")
	rule := plan.Text{Max: w.max + len("…\n"), Multiline: true}
	clean, err := rule.Clean(text)
	if err == nil {
		return clean
	}
	clean, err = rule.Clean(strings.Map(plainRune, text))
	if err != nil {
		return "" // nothing that may be kept
	}
	return clean
}

// wholeLines drops the rest of a line at the beginning, unless it is all there is, and
// says that something was dropped.
func wholeLines(text string) string {
	if _, rest, ok := strings.Cut(text, "\n"); ok && strings.TrimSpace(rest) != "" {
		return "…\n" + rest
	}
	return "…" + text
}

func plainRune(r rune) rune {
	if r == '\n' || r == '\t' || r >= ' ' && r < 0x7f {
		return r
	}
	return '?'
}
