package team

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// freshFor is how long a copy counts as current after a confirmation.
const freshFor = time.Minute

// Copy asks a team's server about the log in a state folder. Nil is a track of this machine's own.
type Copy struct {
	Membership
	Place  Place // the track that it is a copy of
	dir    string
	client *Client
}

var _ session.Decider = (*Copy)(nil)

// NewCopy returns the copy in a state folder.
func NewCopy(m Membership, p Place, stateDir string, client *Client) *Copy {
	return &Copy{m, p, stateDir, client}
}

// IsSame reports whether a copy, which may be nil, is of the same track by the same membership.
func (c *Copy) IsSame(other *Copy) bool {
	if c == nil || other == nil {
		return c == other
	}
	return c.Place == other.Place && c.Membership == other.Membership
}

// Presence returns the signs of life on the track. isEngineOf reports whether an engine has run on a state folder.
func (c *Copy) Presence(local Signs, isEngineOf func(stateDir, name string) bool) Signs {
	if c == nil {
		return local
	}
	return signs{local, c, isEngineOf}
}

// Actor returns an actor of this machine as the track names it.
func (c *Copy) Actor(a plan.Actor) plan.Actor {
	if c == nil {
		return a
	}
	return c.Membership.Actor(a)
}

// LocalName returns the name that an agent of this machine has on it.
func (c *Copy) LocalName(name string) string {
	if c != nil {
		name, _ = c.Local(name)
	}
	return name
}

// IsClosed reports whether the team lets hooks refuse changes because its server has not confirmed the copy.
func (c *Copy) IsClosed() bool { return !c.IsFresh() && c.Offline == "closed" }

// DecidePage returns the address of the page where people decide about the track, "" if the team has none.
func (c *Copy) DecidePage() string {
	if c == nil || c.Page == "" {
		return ""
	}
	return strings.TrimSuffix(c.Page, "/") + "/#workspace=" + url.QueryEscape(c.Place.Workspace+"/"+c.Place.Track)
}

// call makes a call about the track.
func (c *Copy) call(ctx context.Context, method, rest string, in, out any) error {
	err := c.client.call(ctx, method, c.Place.path(rest), in, out)
	if offline, ok := errors.AsType[*Offline](err); ok {
		offline.Since = c.Confirmed()
	}
	return err
}

// Pull implements session.Decider. It does not fill a copy again that this machine has left: another process may still follow it.
func (c *Copy) Pull(ctx context.Context, after store.Head) (feed session.Feed, err error) {
	now, _, err := PlaceOf(c.dir)
	if err != nil {
		return feed, err
	}
	if now != c.Place {
		return feed, plan.Refuse(plan.Conflict, "", "this machine has left the track's team",
			"join and pull it again: planloop team join URL")
	}
	var reply teamwire.Records
	read := func(after store.Head) error {
		query := fmt.Sprintf("records?chain=%s&after=%d&wait=%s", url.QueryEscape(after.Chain), after.Seq, c.client.wait)
		return c.call(ctx, http.MethodGet, query, nil, &reply)
	}
	err = read(after)
	if isCode(err, teamwire.CodeChain) {
		err = read(store.Head{})
	}
	return session.Feed{Head: reply.Head, Records: reply.Records, More: reply.More}, err
}

// Decide implements session.Decider. A call without an answer is repeated once, with the same key.
func (c *Copy) Decide(ctx context.Context, r session.Request, after store.Head) (session.Feed, error) {
	action, err := store.EncodeAction(r.Action)
	facts, wrong := store.EncodeFacts(r.Facts)
	if err := errors.Join(err, wrong); err != nil {
		return session.Feed{}, err
	}
	basis := plan.BasisOf(r.On)
	request := teamwire.DoRequest{Key: rand.Text(), Chain: after.Chain, After: after.Seq, Kind: string(r.By.Kind), Basis: &basis,
		Action: action, Facts: facts}
	if r.By.Kind == plan.Agent || r.By.Kind == plan.Planloop {
		request.Agent = c.label(r.By.Name)
	}
	if r.By.Scope != (plan.Attempt{}) {
		request.Scope = &r.By.Scope
	}
	var reply teamwire.DoReply
	for try := range 2 {
		err = c.call(ctx, http.MethodPost, "do", request, &reply)
		offline, ok := errors.AsType[*Offline](err)
		if !ok || try == 0 && !offline.MayHaveChanged || ctx.Err() != nil {
			break
		}
		offline.MayHaveChanged = true // by the first try, whatever this one failed for
	}
	if isCode(err, teamwire.CodeChain) || isCode(err, teamwire.CodeChanged) {
		err = session.ErrChanged
	}
	return session.Feed{Head: reply.Head, Records: reply.Records, More: reply.More, Own: reply.Seq}, err
}

// PutValue implements session.Decider.
func (c *Copy) PutValue(ctx context.Context, value []byte) (name string, err error) {
	if name = store.ValueName(value); len(value) > teamwire.MaxBody {
		return "", plan.Refuse(plan.InvalidInput, "", "the value has more than 4 MiB, the most that a team keeps", "shorten it")
	}
	return name, c.call(ctx, http.MethodPut, "values/"+name, value, nil)
}

// Value implements session.Decider.
func (c *Copy) Value(ctx context.Context, name string) (value []byte, err error) {
	err = c.call(ctx, http.MethodGet, "values/"+name, nil, &value)
	if isCode(err, teamwire.CodeNotFound) || err == nil && store.ValueName(value) != name {
		return nil, fmt.Errorf("%w: the team's server does not have it", store.ErrNoValue)
	}
	return value, err
}

// confirmedName is the file with the time of the last confirmation.
const confirmedName = "team.confirmed"

// confirm notes that the copy is current.
func (c *Copy) confirm() {
	path := filepath.Join(c.dir, confirmedName)
	now := time.Now()
	if err := os.Chtimes(path, now, now); errors.Is(err, fs.ErrNotExist) {
		_ = safefile.WriteFile(path, nil, safefile.Options{Mode: safefile.FileMode}) // else the copy counts as older
	}
}

// Confirmed returns when the copy was last known to be current; zero: never.
func (c *Copy) Confirmed() time.Time {
	info, err := os.Lstat(filepath.Join(c.dir, confirmedName))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// IsFresh reports whether the copy was confirmed in the last minute. A track of this machine's own is always fresh.
func (c *Copy) IsFresh() bool {
	if c == nil {
		return true
	}
	age := time.Since(c.Confirmed())
	return age >= 0 && age < freshFor
}

// Update pulls the new records into a session on the copy.
func (c *Copy) Update(ctx context.Context, s *session.Session) error {
	err := s.Pull(ctx)
	if err == nil {
		c.confirm()
	}
	return err
}

// Stale says how old a copy is that its server has not confirmed for a minute, "" if it is current.
func (c *Copy) Stale() string {
	if c.IsFresh() {
		return ""
	}
	age := "of unknown age"
	if at := c.Confirmed(); !at.IsZero() {
		age = "as of " + clock(at)
	}
	return "this is track " + c.Place.String() + " " + age
}

// clock returns a time of day, with its date unless that is today's.
func clock(at time.Time) string {
	if at = at.Local(); at.Format(time.DateOnly) == time.Now().Format(time.DateOnly) {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// Signs are signs of life, as in internal/presence.
type Signs interface {
	session.Presence
	Touch(name string)
	Join(name string) (leave func())
}

// signs are those of this machine's own agents. The agents of other machines, which only the server judges, count as alive.
type signs struct {
	Signs
	of         *Copy
	isEngineOf func(stateDir, name string) bool
}

// Touch records a sign of life.
func (p signs) Touch(name string) { p.Signs.Touch(p.of.label(name)) }

// Join records that a connection is alive until leave is called.
func (p signs) Join(name string) (leave func()) { return p.Signs.Join(p.of.label(name)) }

// Seen returns the last sign of life. An engine without one here, which the member may have started on another machine, is not gone.
func (p signs) Seen(name string) plan.Sighting {
	if _, isOwn := p.of.Local(name); !isOwn {
		return plan.Sighting{At: time.Now()}
	}
	label := p.of.label(name)
	seen := p.Signs.Seen(label)
	seen.IsGone = seen.IsGone && (!seen.At.IsZero() || p.isEngineOf(p.of.dir, label)) // which has its file longer than its signs
	return seen
}

// LastActivity returns the last sign of life of any actor: the present, since those of other machines are unknown.
func (p signs) LastActivity() time.Time { return time.Now() }
