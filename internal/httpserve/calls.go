package httpserve

import "sync"

// calls counts the requests that are being answered, so that a stop can wait
// for them.
type calls struct {
	mu       sync.Mutex
	running  int
	stopping bool
	idle     chan struct{} // closed when stopping and nothing runs
}

func newCalls() *calls { return &calls{idle: make(chan struct{})} }

// begin counts one call in, unless the server is stopping.
func (c *calls) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.stopping {
		return false
	}
	c.running++
	return true
}

func (c *calls) end() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.running--
	if c.stopping && c.running == 0 {
		close(c.idle)
	}
}

// stop lets no further call begin. The channel it returns is closed when the
// last one has ended.
func (c *calls) stop() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopping {
		c.stopping = true
		if c.running == 0 {
			close(c.idle)
		}
	}
	return c.idle
}

func (c *calls) isStopping() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stopping
}
