package web

import (
	"crypto/rand"
	"maps"
	"slices"
	"time"
)

const (
	launchLasts    = 30 * time.Second
	maxLaunchCodes = 16 // unused codes
)

func (d *sessionStore) newLaunchCode() string {
	code := rand.Text()
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	maps.DeleteFunc(d.launches, func(_ digest, until time.Time) bool { return !now.Before(until) })
	dropOldest(d.launches, maxLaunchCodes-1)
	d.launches[digestOf(code)] = now.Add(launchLasts)
	return code
}

// useLaunchCode consumes a launch code. If it is used twice, another program has seen it: the session that it opened ends.
func (d *sessionStore) useLaunchCode(code string) (ok, twice bool) {
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

// dropOldest removes the oldest times until at most limit remain.
func dropOldest(times map[digest]time.Time, limit int) {
	for len(times) > limit {
		delete(times, slices.MinFunc(slices.Collect(maps.Keys(times)), func(a, b digest) int { return times[a].Compare(times[b]) }))
	}
}
