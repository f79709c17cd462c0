package web

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	launchLasts  = 30 * time.Second
	mostLaunches = 16 // unused codes
	mostSessions = 64
	sessionLasts = 12 * time.Hour // since its last request
)

// digest is the stored form of a secret. The time of a lookup reveals nothing about other secrets.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// is compares in constant time.
func (d digest) is(other digest) bool { return subtle.ConstantTimeCompare(d[:], other[:]) == 1 }

// newSecret returns an unguessable secret of 128 bits.
func newSecret() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// door keeps the sessions.
type door struct {
	now func() time.Time

	mu       sync.Mutex
	launches map[digest]time.Time // unused codes of links, and when they expire
	sessions map[digest]*session  // by their cookie
	guesses  guesses
}

// session is one browser that has entered. Its fields belong to the door.
type session struct {
	key     digest
	decides bool   // it came by a launch link
	launch  digest // the code of that link
	seen    time.Time
	streams int
	ended   chan struct{}

	code     digest               // the last one written to the terminal
	codeEnds time.Time            // zero if no code is open
	proofs   map[digest]time.Time // that a code was typed, with their last use
}

func newDoor(now func() time.Time) *door {
	return &door{now: now, launches: map[digest]time.Time{}, sessions: map[digest]*session{}}
}

// launchCode makes the code of one launch link.
func (d *door) launchCode() string {
	code := newSecret()
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	maps.DeleteFunc(d.launches, func(_ digest, until time.Time) bool { return !now.Before(until) })
	dropOldest(d.launches, mostLaunches-1)
	d.launches[digestOf(code)] = now.Add(launchLasts)
	return code
}

// use consumes a launch code. If a code is used twice, another program has seen it, and it is unknown which use came
// first: the session that it opened ends.
func (d *door) use(code string) (ok, twice bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	launch := digestOf(code)
	until, ok := d.launches[launch]
	delete(d.launches, launch)
	for cookie, s := range d.sessions {
		if s.decides && s.launch == launch {
			d.end(cookie)
			twice = true
		}
	}
	return ok && d.now().Before(until), twice
}

// end ends a session. The door is locked.
func (d *door) end(cookie digest) {
	close(d.sessions[cookie].ended)
	delete(d.sessions, cookie)
}

// admit begins a session, with its launch code if it may decide. The number of sessions is bounded: a new one that may
// decide replaces one that only looks, or else the least recently used; one that only looks can only replace its like.
func (d *door) admit(decides bool, launch string) (cookie, key string, err error) {
	cookie, key = newSecret(), newSecret()
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.sessions) >= mostSessions {
		least := slices.MinFunc(slices.Collect(maps.Keys(d.sessions)), func(a, b digest) int {
			return d.sessions[a].compare(d.sessions[b])
		})
		if d.sessions[least].decides && !decides {
			return "", "", &refusal{Kind: busy, Problem: "too many browsers look at this page",
				Fix: "close some, and let planloop be started again"}
		}
		d.end(least)
	}
	d.sessions[digestOf(cookie)] = &session{key: digestOf(key), decides: decides, launch: digestOf(launch), seen: d.now(),
		ended: make(chan struct{}), proofs: map[digest]time.Time{}}
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
func (d *door) who(r *http.Request) (*session, error) {
	key, ok := only(r, "Planloop-Key")
	cookies := r.CookiesNamed(cookieName(r.Host))
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endIdle()
	for _, cookie := range cookies {
		if found := d.sessions[digestOf(cookie.Value)]; ok && found != nil && found.key.is(digestOf(key)) {
			found.seen = d.now()
			return found, nil
		}
	}
	return nil, &refusal{Kind: notEntered, Problem: "this browser has not entered, or its session is over",
		Fix: "press Enter in the terminal of `planloop review` for a new link", Field: "/code"}
}

// endIdle ends the sessions that were not used for long, even with a page still open. The door is locked.
func (d *door) endIdle() {
	for cookie, s := range d.sessions {
		if d.now().Sub(s.seen) >= sessionLasts {
			d.end(cookie)
		}
	}
}

// lookForIdle is endIdle without the door locked.
func (d *door) lookForIdle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endIdle()
}

// watch counts a session's stream until stop is called.
func (d *door) watch(s *session) (stop func()) {
	count := func(n int) {
		d.mu.Lock()
		defer d.mu.Unlock()
		s.streams += n
	}
	count(1)
	return func() { count(-1) }
}

// close ends all sessions.
func (d *door) close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	clear(d.launches)
	for _, s := range d.sessions {
		close(s.ended)
	}
	clear(d.sessions)
}

// cookieName includes the port: browsers send a cookie to all ports of a host.
func cookieName(host string) string {
	_, port, _ := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":")
	return "planloop-" + cmp.Or(port, "80")
}

// dropOldest removes the oldest times until at most most remain.
func dropOldest(times map[digest]time.Time, most int) {
	for len(times) > most {
		delete(times, slices.MinFunc(slices.Collect(maps.Keys(times)), func(a, b digest) int { return times[a].Compare(times[b]) }))
	}
}
