// Package tail keeps the end of what a command prints: the end says how it went,
// and the whole may be of any length. It knows nothing of what is printed.
package tail

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// Of returns at most max bytes of the end of text: whole characters, and whole
// lines unless the first of them is most of it.
func Of(text string, max int) string {
	if len(text) <= max {
		return text
	}
	text, _ = wholeLines(text[len(text)-max:])
	return text
}

// wholeLines drops the rest of a character and of a line from the beginning.
func wholeLines(text string) (rest string, whole bool) {
	begin := 0
	for begin < len(text) && begin < utf8.UTFMax && !utf8.RuneStart(text[begin]) {
		begin++
	}
	if begin < utf8.UTFMax { // else it is no UTF-8
		text = text[begin:]
	}
	if i := strings.IndexByte(text, '\n'); i >= 0 && i < len(text)/2 {
		return text[i+1:], true
	}
	return text, false
}

// Writer keeps the end of what is written to it, in at most twice Max bytes of
// memory. Several goroutines may write at once.
type Writer struct {
	Max int // bytes that are kept; set before the first Write

	mu    sync.Mutex
	kept  []byte // up to twice Max, so that it is seldom moved
	total int64
}

// Write never fails.
func (w *Writer) Write(data []byte) (int, error) {
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

// End is the end of an output.
type End struct {
	Text string // at most Max bytes, cut as Of cuts
	Left int64  // bytes before it that are left out
	Mid  bool   // it begins in the middle of a line
}

// End returns the end of what was written so far.
func (w *Writer) End() End {
	w.mu.Lock()
	defer w.mu.Unlock()
	end := End{Text: string(w.kept[max(0, len(w.kept)-w.Max):])}
	if w.total > int64(w.Max) {
		text, whole := wholeLines(end.Text)
		end.Text, end.Mid = text, !whole
	}
	end.Left = w.total - int64(len(end.Text))
	return end
}
