package web

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	maxSessions  = 64
	sessionLasts = 12 * time.Hour // since its last request
)

// digest is the stored form of a secret. The time of a lookup reveals nothing about other secrets.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// is compares in constant time.
func (d digest) is(other digest) bool { return subtle.ConstantTimeCompare(d[:], other[:]) == 1 }

type sessionStore struct {
	now func() time.Time

	mu       sync.Mutex
	launches map[digest]time.Time // unused codes of links, and when they expire
	sessions map[digest]*session  // by their cookie
	guesses  guesses
}

// session is one browser that has entered. Its fields belong to the store.
type session struct {
	key     digest
	decides bool   // it came by a launch link
	launch  digest // the code of that link
	seen    time.Time
	streams int
	done    chan struct{}

	code     digest               // the last one written to the terminal
	codeEnds time.Time            // zero if no code is open
	proofs   map[digest]time.Time // that a code was typed, with their last use
}

// end ends a session. The store is locked.
func (d *sessionStore) end(cookie digest) {
	close(d.sessions[cookie].done)
	delete(d.sessions, cookie)
}

// open begins a session, with its launch code if it may decide. The number of sessions is bounded: a new one that may
// decide replaces one that only looks, or else the least recently used; one that only looks can only replace its like.
func (d *sessionStore) open(decides bool, launch string) (cookie, key string, err error) {
	cookie, key = rand.Text(), rand.Text()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.sessions) >= maxSessions {
		least := slices.MinFunc(slices.Collect(maps.Keys(d.sessions)), func(a, b digest) int {
			return d.sessions[a].compare(d.sessions[b])
		})
		if d.sessions[least].decides && !decides {
			return "", "", &refusal{Kind: busy, Problem: "too many browsers have this page open",
				Fix: "close some, and restart planloop"}
		}
		d.end(least)
	}
	d.sessions[digestOf(cookie)] = &session{key: digestOf(key), decides: decides, launch: digestOf(launch), seen: d.now(),
		done: make(chan struct{}), proofs: map[digest]time.Time{}}
	return cookie, key, nil
}

// compare orders sessions by how little is lost with them.
func (s *session) compare(other *session) int {
	worth := func(s *session) int {
		switch {
		case s.decides && s.streams > 0:
			return 3
		case s.decides:
			return 2
		case s.streams > 0:
			return 1
		}
		return 0
	}
	return cmp.Or(cmp.Compare(worth(s), worth(other)), s.seen.Compare(other.seen))
}

// A request's session needs both the right cookie and the right key. Cookies of 127.0.0.1 go to all its ports, but the
// page's storage, with the key, belongs to one. Servers on other ports can set cookies with our name, in any number and
// before ours, so all cookies of a request are checked.
func (d *sessionStore) find(r *http.Request) (*session, error) {
	key, ok := singleHeader(r, "Planloop-Key")
	cookies := r.CookiesNamed(cookieName(r.Host))
	d.dropIdle()
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, cookie := range cookies {
		if found := d.sessions[digestOf(cookie.Value)]; ok && found != nil && found.key.is(digestOf(key)) {
			found.seen = d.now()
			return found, nil
		}
	}
	return nil, &refusal{Kind: notEntered, Problem: "this browser is not signed in, or its session has ended",
		Fix: "for a new link, press Enter in the terminal that runs `planloop review`, or run `planloop review --code`", Field: "/code"}
}

// dropIdle ends the sessions that were not used for long, even with a page still open.
func (d *sessionStore) dropIdle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for cookie, s := range d.sessions {
		if d.now().Sub(s.seen) >= sessionLasts {
			d.end(cookie)
		}
	}
}

// watch counts a session's stream until stop is called.
func (d *sessionStore) watch(s *session) (stop func()) {
	count := func(n int) {
		d.mu.Lock()
		defer d.mu.Unlock()
		s.streams += n
	}
	count(1)
	return func() { count(-1) }
}

func (d *sessionStore) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.launches)
	for _, s := range d.sessions {
		close(s.done)
	}
	clear(d.sessions)
}

// cookieName includes the port: browsers send a cookie to all ports of a host.
func cookieName(host string) string {
	_, port, _ := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":")
	return "planloop-" + cmp.Or(port, "80")
}
