package team

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"time"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// Limits of waiting for the server.
const (
	CallLimit = 5 * time.Second // of a command's call
	HookLimit = time.Second     // of a hook's call
	FreshFor  = time.Minute     // after a confirmation a copy counts as current
)

// Copy asks a team's server about the log in a state folder.
type Copy struct {
	Membership
	place  Place
	dir    string
	client *Client
}

var _ session.Decider = (*Copy)(nil)

// NewCopy returns the copy in a state folder.
func NewCopy(m Membership, p Place, stateDir string, client *Client) *Copy {
	return &Copy{m, p, stateDir, client}
}

// Place returns the track that it is a copy of.
func (c *Copy) Place() Place { return c.place }

// Offline means that the server gave no answer.
type Offline struct {
	Since          time.Time // the last confirmation of the copy; zero: never
	MayHaveChanged bool      // the answer to a change was lost
	cause          error
}

// Error says since when, and whether something was changed.
func (e *Offline) Error() string {
	text := "offline"
	if !e.Since.IsZero() {
		text += " since " + clock(e.Since, time.Now())
	}
	text += "; nothing was changed"
	if e.MayHaveChanged {
		text = "the answer to this change was lost, so it may have been made; once `planloop team status` reports a " +
			"connection, check with `planloop status` before you repeat it"
	}
	return text + " (" + e.cause.Error() + ")"
}

// ForCaller returns the error in words for a model.
func (e *Offline) ForCaller() string {
	return "This is a team's plan: " + e.Error() + ". Tell the user, and try again later."
}

// Unwrap returns the reason.
func (e *Offline) Unwrap() error { return e.cause }

// clock returns a time of day, with its date unless that is today's.
func clock(at, now time.Time) string {
	at = at.In(now.Location())
	if at.YearDay() == now.YearDay() && at.Year() == now.Year() {
		return at.Format("15:04")
	}
	return at.Format("2006-01-02 15:04")
}

// offline describes a missing answer to a person; it passes other errors on.
func (c *Copy) offline(err error, isChange bool) error {
	missing, ok := errors.AsType[*NoAnswer](err)
	if !ok {
		return err
	}
	return &Offline{Since: Confirmed(c.dir), MayHaveChanged: isChange && missing.mayChange, cause: err}
}

// Pull implements session.Decider.
func (c *Copy) Pull(ctx context.Context, after store.Head) (session.Feed, error) {
	ctx, cancel := context.WithTimeout(ctx, CallLimit)
	defer cancel()
	var reply teamwire.Records
	read := func(after store.Head) error {
		path := teamwire.TrackPath(c.place.Workspace, c.place.Track, "records") + "?" + teamwire.RecordsQuery(after.Chain, after.Seq, 0)
		return c.client.call(ctx, http.MethodGet, path, nil, &reply)
	}
	err := read(after)
	if isCode(err, teamwire.CodeChain) {
		err = read(store.Head{})
	}
	if err != nil {
		return session.Feed{}, c.offline(err, false)
	}
	if reply.Head == after {
		c.Confirm()
	}
	return feed(reply.Head, reply.Records, reply.More, 0), nil
}

// Decide implements session.Decider. A call without an answer is repeated once, with the same key.
func (c *Copy) Decide(ctx context.Context, r session.Request, after store.Head) (session.Feed, error) {
	action, err := store.EncodeAction(r.Action)
	if err != nil {
		return session.Feed{}, err
	}
	facts, err := store.EncodeFacts(r.Facts)
	if err != nil {
		return session.Feed{}, err
	}
	basis := plan.BasisOf(r.On)
	request := teamwire.DoRequest{Key: rand.Text(), Chain: after.Chain, After: after.Seq, Kind: string(r.By.Kind), Basis: &basis,
		Action: action, Facts: facts}
	if r.By.Kind == plan.Agent || r.By.Kind == plan.Planloop {
		name, _ := c.Local(r.By.Name)
		request.Agent = Label(name)
	}
	if r.By.Scope != (plan.Attempt{}) {
		request.Scope = &r.By.Scope
	}
	path := teamwire.TrackPath(c.place.Workspace, c.place.Track, "do")
	var reply teamwire.DoReply
	for range 2 {
		limited, cancel := context.WithTimeout(ctx, CallLimit)
		err = c.client.call(limited, http.MethodPost, path, request, &reply)
		cancel()
		if missing, ok := errors.AsType[*NoAnswer](err); !ok || !missing.mayChange || ctx.Err() != nil {
			break
		}
	}
	if isCode(err, teamwire.CodeChain) {
		err = session.ErrChanged
	}
	if err != nil {
		return session.Feed{}, c.offline(err, true)
	}
	return feed(reply.Head, reply.Records, reply.More, reply.Seq), nil
}

func feed(head store.Head, records []string, more bool, own plan.Revision) session.Feed {
	f := session.Feed{Head: head, More: more, Own: own}
	for _, line := range records {
		f.Records = append(f.Records, []byte(line))
	}
	return f
}

// PutValue implements session.Decider.
func (c *Copy) PutValue(ctx context.Context, value []byte) (name string, err error) {
	if name = store.ValueName(value); len(value) > teamwire.MaxValue {
		return "", plan.Refuse(plan.InvalidInput, "", "the value is larger than a team keeps, 4 MiB", "shorten it")
	}
	ctx, cancel := context.WithTimeout(ctx, CallLimit)
	defer cancel()
	header := http.Header{"Content-Type": {"application/octet-stream"}}
	_, err = c.client.read(ctx, http.MethodPut, c.valuePath(name), header, value)
	return name, c.offline(err, false)
}

// Value implements session.Decider.
func (c *Copy) Value(ctx context.Context, name string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, CallLimit)
	defer cancel()
	value, err := c.client.read(ctx, http.MethodGet, c.valuePath(name), http.Header{}, nil)
	switch {
	case isCode(err, teamwire.CodeNotFound):
		return nil, fmt.Errorf("%w: the team's server does not have it", store.ErrNoValue)
	case err != nil:
		return nil, c.offline(err, false)
	case store.ValueName(value) != name:
		return nil, fmt.Errorf("%w: the team's server sent another one", store.ErrNoValue)
	}
	return value, nil
}

func (c *Copy) valuePath(name string) string {
	return teamwire.TrackPath(c.place.Workspace, c.place.Track, "values/"+name)
}

// confirmedName is the file with the time of the last confirmation.
const confirmedName = "team.confirmed"

// Confirm notes that the copy is current.
func (c *Copy) Confirm() {
	path := filepath.Join(c.dir, confirmedName)
	now := time.Now()
	if err := os.Chtimes(path, now, now); errors.Is(err, fs.ErrNotExist) {
		_ = safefile.WriteFile(path, nil, safefile.Options{Mode: safefile.FileMode}) // else the copy counts as older
	}
}

// Confirmed returns when the copy in a state folder was last known to be current; zero: never.
func Confirmed(stateDir string) time.Time {
	info, err := os.Lstat(filepath.Join(stateDir, confirmedName))
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// IsFresh reports whether the copy was confirmed in the last minute.
func (c *Copy) IsFresh() bool {
	age := time.Since(Confirmed(c.dir))
	return age >= 0 && age < FreshFor
}

// Refresh pulls the new records into a session on the copy, unless it is fresh.
func (c *Copy) Refresh(ctx context.Context, s *session.Session) error {
	if c.IsFresh() {
		return nil
	}
	return c.Update(ctx, s)
}

// Update pulls the new records into a session on the copy.
func (c *Copy) Update(ctx context.Context, s *session.Session) error {
	err := s.Pull(ctx)
	if err == nil {
		c.Confirm()
	}
	return err
}

// Age says how old a copy is that its server does not confirm, "" if it is fresh.
func (c *Copy) Age() string {
	if c.IsFresh() {
		return ""
	}
	if at := Confirmed(c.dir); !at.IsZero() {
		return "as of " + clock(at, time.Now())
	}
	return "of unknown age"
}

// Presence has the signs of life of this machine's own agents. Those of other machines, which only the server judges, count as alive.
type Presence struct {
	Local interface {
		Touch(name string)
		Join(name string) (leave func())
		Seen(name string) plan.Sighting
		LastActivity() time.Time
	}
	Member Membership
}

// Touch records a sign of life.
func (p Presence) Touch(name string) { p.Local.Touch(p.label(name)) }

// Join records that a connection is alive until leave is called.
func (p Presence) Join(name string) (leave func()) { return p.Local.Join(p.label(name)) }

// Seen returns the last sign of life.
func (p Presence) Seen(name string) plan.Sighting {
	if _, isOwn := p.Member.Local(name); !isOwn {
		return plan.Sighting{At: time.Now()}
	}
	return p.Local.Seen(p.label(name))
}

// LastActivity returns the last sign of life of any actor: the present, since those of other machines are unknown.
func (p Presence) LastActivity() time.Time { return time.Now() }

func (p Presence) label(name string) string {
	name, _ = p.Member.Local(name)
	return Label(name)
}
