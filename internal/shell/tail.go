package shell

import (
	"fmt"
	"unicode/utf8"
)

// tail keeps the end of what is written to it, in bounded memory. One goroutine
// writes, and what was kept is read when it has ended.
type tail struct {
	max     int
	kept    []byte
	written int64
}

func (t *tail) Write(p []byte) (int, error) {
	t.written += int64(len(p))
	if len(p) >= t.max {
		t.kept = append(t.kept[:0], p[len(p)-t.max:]...)
		return len(p), nil
	}
	if len(t.kept)+len(p) > 2*t.max {
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-t.max:]...)
	}
	t.kept = append(t.kept, p...)
	return len(p), nil
}

// cut reports whether something was left out.
func (t *tail) cut() bool { return t.written > int64(t.max) }

// String returns what was kept, with a line before it that says what was not.
func (t *tail) String() string {
	if !t.cut() {
		return string(t.kept)
	}
	end := t.kept[max(0, len(t.kept)-t.max):]
	for i := 0; i < utf8.UTFMax && len(end) > 0 && !utf8.RuneStart(end[0]); i++ {
		end = end[1:]
	}
	return fmt.Sprintf("[%d bytes left out; the end follows]\n%s", t.written-int64(len(end)), end)
}
