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
	mostLaunches = 16 // codes that wait to be used
	mostSessions = 64
	sessionLasts = 12 * time.Hour // since it has asked for something
)

// digest is what is kept of a secret. Looking one up tells nothing of the others.
type digest [sha256.Size]byte

func digestOf(secret string) digest { return sha256.Sum256([]byte(secret)) }

// is compares in a time that does not depend on how much is right.
func (d digest) is(other digest) bool { return subtle.ConstantTimeCompare(d[:], other[:]) == 1 }

// newSecret makes one that nobody guesses, of 128 bits.
func newSecret() string {
	var random [16]byte
	_, _ = rand.Read(random[:]) // which never fails
	return base64.RawURLEncoding.EncodeToString(random[:])
}

// door knows who has entered.
type door struct {
	now func() time.Time

	mu       sync.Mutex
	launches map[digest]time.Time // codes of links that nobody has used yet, and until when they can be
	sessions map[digest]*session  // by their cookie
	guesses  guesses
}

// session is one browser that has entered. Its fields belong to the door.
type session struct {
	key     digest
	decides bool   // it came by a launch link
	launch  digest // the code of that
	seen    time.Time
	streams int
	ended   chan struct{}

	code     digest               // that was written to the terminal last
	codeEnds time.Time            // zero when none is open
	proofs   map[digest]time.Time // that a code was typed, and when they were used last
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

// use uses a launch code up. One that comes twice was seen by somebody else, and nobody knows who was
// faster: the session that it opened ends.
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

// admit begins a session, by a launch code where it decides. There are so many at most: one that decides takes the
// place of one that looks or else of who has not been seen for longest, one that looks only that of another.
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

// who returns the session of a request: both its cookie and its key have to be right. Cookies
// of 127.0.0.1 go to all its ports, and the page's storage, where the key is, to one. Servers on others can set cookies of our
// name, in any number and before ours: all that a request may carry are looked at.
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

// endIdle ends the sessions that nobody has used for long, also where a page of theirs is still open. The door is locked.
func (d *door) endIdle() {
	for cookie, s := range d.sessions {
		if d.now().Sub(s.seen) >= sessionLasts {
			d.end(cookie)
		}
	}
}

// lookForIdle is endIdle for who has not locked the door.
func (d *door) lookForIdle() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.endIdle()
}

// watch counts a stream of a session in, until stop is called.
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

// cookieName is for one port: browsers send a cookie to all ports of a host.
func cookieName(host string) string {
	_, port, _ := strings.Cut(host[strings.LastIndexByte(host, ']')+1:], ":")
	return "planloop-" + cmp.Or(port, "80")
}

// dropOldest leaves so many of the times at most.
func dropOldest(times map[digest]time.Time, most int) {
	for len(times) > most {
		delete(times, slices.MinFunc(slices.Collect(maps.Keys(times)), func(a, b digest) int { return times[a].Compare(times[b]) }))
	}
}
