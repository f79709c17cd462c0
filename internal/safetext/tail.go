package safetext

import (
	"strings"
	"sync"
	"unicode/utf8"
)

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
