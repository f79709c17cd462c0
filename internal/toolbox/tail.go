package toolbox

import "sync"

// tail is a writer that keeps the end of what is written to it.
type tail struct {
	max int

	mu    sync.Mutex
	kept  []byte // up to twice max, so that it is seldom moved
	total int64
}

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.total += int64(len(p))
	n := len(p)
	if n > t.max {
		p = p[n-t.max:]
	}
	if len(t.kept)+len(p) > 2*t.max {
		keep := t.max - len(p)
		t.kept = append(t.kept[:0], t.kept[len(t.kept)-keep:]...)
	}
	t.kept = append(t.kept, p...)
	return n, nil
}

// end returns what is kept, and whether there was more.
func (t *tail) end() (text string, more bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return end(string(t.kept), t.max), t.total > int64(t.max)
}
