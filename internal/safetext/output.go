package safetext

import (
	"bytes"
	"regexp"
	"strings"
	"sync"
	"unicode/utf8"
)

// Excerpt keeps an excerpt of a command's output: the first lines that report a failure, and the end.
type Excerpt struct {
	Max int // size limit in bytes; set before the first Write

	mu    sync.Mutex
	end   TailWriter
	line  []byte   // the current line, cut to longLine
	last  []string // the lines before it
	begun int64    // offset of line
	total int64
	first []byte // the lines before the first failing line, and everything from it on, up to Max/2
	at    int64  // offset of first
	found bool
}

const (
	longLine    = 1_000 // bytes of a line that are searched
	linesBefore = 2     // lines kept before the first failing line
)

var (
	failing = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\bfail(ed|ure|ures|s|ing)?\b|(error|exception)s?\b|\b(panic|fatal|traceback|undefined|cannot|` +
			`not ok|refused|denied|aborted|not found)\b|^E  |[✗✘]`)
	})
	painted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile("\x1b\\[[0-9;]*[A-Za-z]") })
	counted = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)\b(0|no|without) (fail|error)`) })
)

// tells reports whether a line reports a failure.
func tells(line []byte) bool {
	line = painted().ReplaceAll(line, nil)
	return failing().Match(line) && !counted().Match(line)
}

// Write never fails.
func (g *Excerpt) Write(data []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.end.Max = g.Max
	_, _ = g.end.Write(data)
	for rest := data; len(rest) > 0; {
		line, after, whole := bytes.Cut(rest, []byte("\n"))
		g.add(line, whole)
		rest = after
	}
	return len(data), nil
}

// add takes a part of a line; whole is set for its last part.
func (g *Excerpt) add(part []byte, whole bool) {
	text := string(part)
	if whole {
		text += "\n"
	}
	g.total += int64(len(text))
	if g.found {
		g.first = append(g.first, text[:min(len(text), max(0, g.Max/2-len(g.first)))]...)
		return
	}
	g.line = append(g.line, text[:min(len(text), max(0, longLine-len(g.line)))]...)
	if whole && !g.look() {
		g.last = append(g.last, string(g.line))
		g.last = g.last[max(0, len(g.last)-linesBefore):]
		g.line, g.begun = nil, g.total
	}
}

// look starts the kept part at the current line if that reports a failure.
func (g *Excerpt) look() bool {
	if g.found = tells(g.line); !g.found {
		return false
	}
	before := strings.Join(g.last, "")
	g.first, g.at = append([]byte(before), g.line...), g.begun-int64(len(before))
	g.first = g.first[:min(len(g.first), g.Max/2)]
	return true
}

// LongestWord is the length of a partial word in bytes that is dropped from the beginning of a tail.
const LongestWord = 4096

const left = "…\n"

// Text returns the excerpt in at most Max bytes, with an ellipsis for omitted parts.
func (g *Excerpt) Text() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	end := g.end.End()
	if !g.found {
		g.look() // at the last line
	}
	mark := left
	switch {
	case end.Left == 0:
		return end.Text
	case end.Mid:
		mark = strings.TrimSuffix(left, "\n")
	}
	if !g.found || g.at >= end.Left {
		return mark + Tail(end.Text, g.Max-len(mark))
	}
	first := string(g.first)
	if i := strings.LastIndexByte(first, '\n'); i > len(first)/2 {
		first = first[:i+1]
	}
	first = strings.TrimSuffix(strings.ToValidUTF8(first, ""), "\n") + "\n"
	if g.at > 0 {
		first = left + first
	}
	return first + left + Tail(end.Text, g.Max-len(first)-len(left))
}

// ExcerptOf returns the gist of a text.
func ExcerptOf(text string, max int) string {
	g := &Excerpt{Max: max}
	_, _ = g.Write([]byte(text))
	return g.Text()
}

// Tail returns at most max bytes from the end of text, starting at a whole character, and at a whole line unless that
// would drop more than half.
func Tail(text string, max int) string {
	if len(text) <= max {
		return text
	}
	text, _ = wholeLines(text[len(text)-max:])
	return text
}

// wholeLines drops a partial character and a partial line from the beginning.
func wholeLines(text string) (rest string, whole bool) {
	begin := 0
	for begin < len(text) && begin < utf8.UTFMax && !utf8.RuneStart(text[begin]) {
		begin++
	}
	if begin < utf8.UTFMax { // else it is not UTF-8
		text = text[begin:]
	}
	if i := strings.IndexByte(text, '\n'); i >= 0 && i < len(text)/2 {
		return text[i+1:], true
	}
	if i := strings.IndexAny(text, " \t\"',;&"); i >= 0 && i < min(len(text)/2, LongestWord) { // the rest of a key would not be masked
		text = text[i:]
	}
	return text, false
}

// TailWriter keeps the end of its input, in at most twice Max bytes of memory. It is safe for concurrent use.
type TailWriter struct {
	Max int // size limit in bytes; set before the first Write

	mu    sync.Mutex
	kept  []byte // up to twice Max, so that it is rarely moved
	total int64
}

// Write never fails.
func (w *TailWriter) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.total += int64(len(data))
	last := data[max(0, len(data)-w.Max):]
	if len(w.kept)+len(last) > 2*w.Max {
		keep := w.Max - len(last)
		w.kept = append(w.kept[:0], w.kept[len(w.kept)-keep:]...)
	}
	w.kept = append(w.kept, last...)
	return len(data), nil
}

// TailBuffer is the end of an output.
type TailBuffer struct {
	Text string // at most Max bytes, cut like Of
	Left int64  // number of omitted bytes before it
	Mid  bool   // it begins within a line
}

// End returns the end of the input so far.
func (w *TailWriter) End() TailBuffer {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := TailBuffer{Text: string(w.kept[max(0, len(w.kept)-w.Max):])}
	if w.total > int64(w.Max) {
		text, whole := wholeLines(end.Text)
		end.Text, end.Mid = text, !whole
	}
	end.Left = w.total - int64(len(end.Text))
	return end
}
