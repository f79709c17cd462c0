package httpserve

import (
	"crypto/rand"
	"errors"
	"sync"
)

// maxSessions bounds the handshake sessions alive at a time, since clients
// rarely end theirs.
const maxSessions = 1000

var errUnknownSession = errors.New("unknown session")

// sessions are the handshake sessions that are alive. It is the library's
// session id manager: an ended session is forgotten, and so unknown.
type sessions struct {
	mu    sync.Mutex
	alive map[string]struct{}
}

func newSessions() *sessions { return &sessions{alive: map[string]struct{}{}} }

// Generate begins a session.
func (s *sessions) Generate() string {
	id := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive[id] = struct{}{}
	return id
}

// Validate tells whether the session is alive.
func (s *sessions) Validate(id string) (isTerminated bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, found := s.alive[id]; !found {
		return false, errUnknownSession
	}
	return false, nil
}

// Terminate ends a session.
func (s *sessions) Terminate(id string) (isNotAllowed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.alive, id)
	return false, nil
}

func (s *sessions) full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.alive) >= maxSessions
}
