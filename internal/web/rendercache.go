package web

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
)

const (
	maxRenderings = 4        // for all requests; of one thing, one
	maxHeldBytes  = 64 << 20 // bytes of answers being read
	readPiece     = 64 << 10
	readPause     = 10 * time.Second // for a piece to be taken
)

// renderCache renders large answers, such as a plan of 2,000 steps, once for all concurrent requests, which read the same
// bytes: a client that does not read costs a connection, but no memory.
type renderCache struct {
	places chan struct{} // one per rendering in progress

	mu     sync.Mutex
	latest map[string]*rendering // of each key, until it ends
	bodies map[string]*body      // the last of each key, while it is read
	size   int                   // bytes of all bodies being read
}

type rendering struct {
	previous *rendering // of the same key; nil: it has ended
	begun    bool       // too late to join
	done     chan struct{}
	waiting  int
	body     *body
	err      error
}

// body is an answer and the number of its readers.
type body struct {
	key     string
	text    []byte
	readers int
}

func newRenderCache() *renderCache {
	return &renderCache{places: make(chan struct{}, maxRenderings), latest: map[string]*rendering{}, bodies: map[string]*body{}}
}

// get returns an answer rendered after the call began, to be read until release. The first request for a key renders
// it for all that arrive before the rendering begins; the rendering continues without them.
func (s *renderCache) get(ctx context.Context, key string, render func(context.Context) (any, error)) (*body, error) {
	s.mu.Lock()
	r := s.latest[key]
	first := r == nil || r.begun
	if first {
		r = &rendering{previous: r, done: make(chan struct{})}
		s.latest[key] = r
	}
	r.waiting++
	s.mu.Unlock()
	if first {
		s.render(context.WithoutCancel(ctx), key, r, render)
	}
	<-r.done
	return r.body, r.err
}

// render renders for all requests that wait for r, after the previous rendering has ended.
func (s *renderCache) render(ctx context.Context, key string, r *rendering, render func(context.Context) (any, error)) {
	r.err = errors.New("rendering was interrupted")
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.latest[key] == r {
			delete(s.latest, key)
		}
		close(r.done)
	}()
	if r.previous != nil {
		<-r.previous.done
		r.previous = nil // or all earlier ones would be kept
	}
	s.places <- struct{}{}
	defer func() { <-s.places }()
	s.mu.Lock()
	r.begun = true
	s.mu.Unlock()
	value, err := render(ctx)
	if err != nil {
		r.err = err
		return
	}
	text, err := json.Marshal(value, json.Deterministic(true))
	if err != nil {
		r.err = err
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	r.body, r.err = s.hold(key, text, r.waiting)
}

// hold adds readers of a text. It is called with mu held.
func (s *renderCache) hold(key string, text []byte, readers int) (*body, error) {
	if b := s.bodies[key]; b != nil && bytes.Equal(b.text, text) {
		b.readers += readers
		return b, nil
	}
	if s.size > 0 && s.size+len(text) > maxHeldBytes {
		return nil, &refusal{Kind: busy, Problem: "too many large answers are being read", Fix: "try again later",
			after: readPause}
	}
	b := &body{key, text, readers}
	s.bodies[key] = b
	s.size += len(text)
	return b, nil
}

// release is called by each reader of b when done.
func (s *renderCache) release(b *body) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if b.readers--; b.readers > 0 {
		return
	}
	s.size -= len(b.text)
	if s.bodies[b.key] == b {
		delete(s.bodies, b.key)
	}
}

// answerShared sends a shared answer, preceded by the members in own, which are only for this reader; own may be nil.
func (s *Server) answerShared(c call, key string, own any, render func(context.Context) (any, error)) error {
	b, err := s.shared.get(c.r.Context(), key, render)
	if err != nil {
		return err
	}
	defer s.shared.release(b)
	var head []byte
	text := b.text
	if own != nil {
		if head, err = json.Marshal(own, json.Deterministic(true)); err != nil {
			return err
		}
		head[len(head)-1], text = ',', text[1:]
	}
	c.w.Header().Set("Content-Type", "application/json")
	c.w.Header().Set("Content-Length", strconv.Itoa(len(head)+len(text)))
	_ = sendSlowly(c.w, head, text) // a client that has gone needs no answer
	return nil
}

// sendSlowly sends to a slow reader as long as it keeps reading.
func sendSlowly(w http.ResponseWriter, texts ...[]byte) error {
	limits := http.NewResponseController(w)
	for _, text := range texts {
		for piece := range slices.Chunk(text, readPiece) {
			_ = limits.SetWriteDeadline(time.Now().Add(readPause)) // writers in tests have no deadlines
			if _, err := w.Write(piece); err != nil {
				return err
			}
		}
	}
	return nil
}
