package transport

import (
	"cmp"
	"crypto/rand"
	"errors"
	"slices"
	"sync"
	"time"
)

// maxSessions bounds the handshake sessions alive at a time, since clients rarely end theirs. One client has at most
// half of them.
const maxSessions = 1000

var errUnknownSession = errors.New("unknown session")

// sessions are the handshake sessions that are alive. It is the library's session id manager: an ended session is
// forgotten, and so unknown.
type sessions struct {
	mu    sync.Mutex
	alive map[string]*httpSession
}

// httpSession holds the data that decides which session makes room for another.
type httpSession struct {
	client    string
	listening int // open streams
	uses      int // since initialize
	used      time.Time
}

// Generate begins a session.
func (s *sessions) Generate() string {
	id := rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.alive[id] = &httpSession{used: time.Now()}
	return id
}

// Validate returns an error unless the session is alive, and records its use.
func (s *sessions) Validate(id string) (isTerminated bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.alive[id]
	if known == nil {
		return false, errUnknownSession
	}
	known.uses, known.used = known.uses+1, time.Now()
	return false, nil
}

// Terminate ends a session.
func (s *sessions) Terminate(id string) (isNotAllowed bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.alive, id)
	return false, nil
}

// update updates a session, if it is still alive.
func (s *sessions) update(id string, do func(*httpSession)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.alive[id]; known != nil {
		do(known)
	}
}

// sessionToReplace returns the session that must make room for a client's next one, "" while there is room: one of the client's
// own if it has its share, else of any client. Sessions not used since initialize go first, those with an open stream
// last; otherwise the one idle longest. Its client must initialize again.
func (s *sessions) sessionToReplace(client string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var all, own []string
	for id, known := range s.alive {
		if all = append(all, id); known.client == client {
			own = append(own, id)
		}
	}
	among := own
	if len(own) < maxSessions/2 {
		among = all
		if len(all) < maxSessions {
			return ""
		}
	}
	return slices.MinFunc(among, func(a, b string) int {
		x, y := s.alive[a], s.alive[b]
		return cmp.Or(cmp.Compare(min(x.listening, 1), min(y.listening, 1)), cmp.Compare(min(x.uses, 1), min(y.uses, 1)),
			x.used.Compare(y.used))
	})
}
