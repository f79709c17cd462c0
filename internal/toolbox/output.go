package toolbox

import (
	"io"
	"sync"
	"unicode/utf8"
)

// streams are where the streams of a command go: to the log, one write at a time.
func (w Watch) streams() (stdout, stderr io.Writer) {
	if w.Log == nil {
		return io.Discard, io.Discard
	}
	log := &turns{to: w.Log}
	return log, log
}

// turns is a writer for several goroutines, which loses what its own does not take.
type turns struct {
	mu sync.Mutex
	to io.Writer
}

func (t *turns) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = t.to.Write(data)
	return len(data), nil
}

// whole keeps all that is written to it, or nothing once that is too long.
type whole struct {
	max int

	mu   sync.Mutex
	text []byte
	over bool
}

func (w *whole) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over = w.over || len(w.text)+len(data) > w.max; w.over {
		w.text = nil
		return len(data), nil
	}
	w.text = append(w.text, data...)
	return len(data), nil
}

// value is the text, or why there is none.
func (w *whole) value() any {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch {
	case w.over:
		return noValue("its output is longer than " + size(int64(w.max)))
	case !utf8.Valid(w.text):
		return noValue("its output is not UTF-8 text")
	}
	return string(w.text)
}
