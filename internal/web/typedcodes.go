package web

import (
	"crypto/rand"
	"fmt"
	"math/big"
	"net/http"
	"time"

	"github.com/planloop/planloop/plan"
)

// A session alone may belong to another process of this user, which can read the browser's files. Typing the code shown
// on the terminal proves that a person sees it.
const (
	codeLasts   = 5 * time.Minute
	codeTries   = 3
	firstPause  = 30 * time.Second
	longestWait = time.Hour
	maxProofs   = 8 // of a session: one for each of its pages

	// How long a typed code counts, since the last act.
	proofLasts       = 8 * time.Hour
	strictProofLasts = time.Hour // where only a person's own decision counts
)

// guesses counts the wrong codes of all sessions since the last right one.
type guesses struct {
	wrong int
	until time.Time // codes are refused before
}

// ready refuses during the pause after too many wrong codes.
func (g guesses) ready(now time.Time) error {
	if left := g.until.Sub(now); left > 0 {
		return &refusal{Kind: tooMany, Problem: "too many wrong codes", after: left,
			Fix: fmt.Sprintf("wait %s, then request a new code", left.Round(time.Second))}
	}
	return nil
}

// miss counts a wrong code, and reports whether a pause begins.
func (g *guesses) miss(now time.Time) bool {
	g.wrong++
	if g.wrong%codeTries != 0 {
		return false
	}
	g.until = now.Add(min(longestWait, firstPause<<min(g.wrong/codeTries-1, 10)))
	return true
}

// newCode makes the code that a session must type, replacing any earlier one.
func (d *sessionStore) newCode(s *session) (string, error) {
	n, _ := rand.Int(rand.Reader, big.NewInt(1_000_000)) // never fails
	code := fmt.Sprintf("%06d", n.Int64())
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.guesses.ready(d.now()); err != nil {
		return "", err
	}
	s.code, s.codeEnds = digestOf(code), d.now().Add(codeLasts)
	return code, nil
}

func (d *sessionStore) unlock(s *session, code string) (proof string, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	now := d.now()
	if err := d.guesses.ready(now); err != nil {
		return "", err
	}
	if !now.Before(s.codeEnds) {
		return "", &plan.ValidationError{Kind: plan.Conflict, Field: "/code",
			Problem: "the code has expired: it is valid for five minutes", Fix: "request a new code"}
	}
	if !s.code.is(digestOf(code)) {
		wrong := &plan.ValidationError{Kind: plan.InvalidInput, Field: "/code", Problem: "the code is wrong",
			Fix: "type the six digits now shown on the terminal"}
		if d.guesses.miss(now) {
			s.codeEnds = time.Time{}
			wrong.Fix = "wait " + d.guesses.until.Sub(now).String() + ", then request a new code"
		}
		return "", wrong
	}
	d.guesses, s.codeEnds = guesses{}, time.Time{}
	proof = rand.Text()
	dropOldest(s.proofs, maxProofs-1)
	s.proofs[digestOf(proof)] = now
	return proof, nil
}

// unlocked reports whether a request proves that the code was typed, with its last use not longer ago than lasts. An act is a use; an open
// page is not.
func (d *sessionStore) unlocked(s *session, r *http.Request, lasts time.Duration) bool {
	proof, ok := singleHeader(r, "Planloop-Unlock")
	d.mu.Lock()
	defer d.mu.Unlock()
	used, known := s.proofs[digestOf(proof)]
	if !ok || !known || d.now().Sub(used) > lasts {
		return false
	}
	if r.URL.Path == actPath {
		s.proofs[digestOf(proof)] = d.now()
	}
	return true
}
