package toolbox

import (
	"encoding/json"
	"io"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// streams returns writers for both streams of a command; they write to the log in turns.
func (w Watch) streams() (stdout, stderr io.Writer) {
	if w.Log == nil {
		return io.Discard, io.Discard
	}
	log := &turns{to: w.Log}
	return log, log
}

// turns is a writer for several goroutines. It ignores errors of the underlying writer.
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

// whole keeps all data written to it, or nothing once its JSON would be longer than max.
type whole struct {
	max int

	mu     sync.Mutex
	text   []byte
	length int // of its JSON
}

func (w *whole) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range data {
		if w.length > w.max {
			break
		}
		switch {
		case strings.IndexByte("\b\f\n\r\t\"\\", c) >= 0:
			w.length += 2
		case c < ' ':
			w.length += 6
		default:
			w.length++
		}
	}
	if w.length > w.max {
		w.text = nil
		return len(data), nil
	}
	if n := len(w.text) + len(data); n > cap(w.text) { // in few large steps, to leave little garbage
		w.text = append(make([]byte, 0, min(max(4*cap(w.text), n), w.max)), w.text...)
	}
	w.text = append(w.text, data...)
	return len(data), nil
}

// value returns the text as JSON, or the reason for not having it.
func (w *whole) value() any {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.length > w.max {
		return noValue("its output is longer than " + size(int64(w.max)))
	}
	quoted, err := jsontext.AppendQuote(make([]byte, 0, w.length+len(`""`)), w.text)
	if err != nil {
		return noValue("its output is not UTF-8 text")
	}
	return json.RawMessage(quoted)
}
