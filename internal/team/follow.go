package team

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/gofrs/flock"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// Follower keeps all copies of this machine current, in one of its processes at a time.
type Follower struct {
	Folder    string // of the memberships
	StateHome string // with the copies
	Logger    *slog.Logger

	// Open opens the copy in a state folder, and the signs of life there.
	Open func(stateDir string, c *Copy) (*session.Session, Signs)

	Retry   time.Duration // between looks for new copies and, after a failure, tries; 0: 5 s
	Silence time.Duration // the longest time without a line of a stream that works; 0: 2.5 heartbeats
	Beat    time.Duration // between reports of signs of life; 0: teamwire.SeenEvery
}

const (
	pollWait = 25 * time.Second // of a request for records, where a proxy holds the stream back
	maxLine  = 64 << 10         // bytes, of a stream

	learnEvery = 6 // beats, which is two minutes
)

// Run follows until ctx ends. While another process follows, it waits.
func (f Follower) Run(ctx context.Context) {
	f.Retry, f.Silence = cmp.Or(f.Retry, 5*time.Second), cmp.Or(f.Silence, teamwire.Heartbeat*5/2)
	f.Beat = cmp.Or(f.Beat, teamwire.SeenEvery)
	lock := flock.New(lockPath(f.Folder), flock.SetPermissions(safefile.FileMode))
	for isHeld := false; !isHeld; {
		if safefile.CheckFolder(f.Folder) == nil { // no file is made in a folder that others control
			isHeld, _ = lock.TryLock()
		}
		if !isHeld && !pause(ctx, f.Retry) {
			return
		}
	}
	defer lock.Unlock()
	for ctx.Err() == nil {
		f.followAll(ctx, Copies(f.StateHome))
	}
}

// followAll follows copies until there are others, a membership changes, or ctx ends.
func (f Follower) followAll(ctx context.Context, copies map[string]Place) {
	members, _ := All(f.Folder) // those without an error
	workspaces := map[Place][]string{}
	for dir, place := range copies {
		of := Place{Team: place.Team, Workspace: place.Workspace}
		workspaces[of] = append(workspaces[of], dir)
	}
	var streams sync.WaitGroup
	defer streams.Wait()
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	for of, dirs := range workspaces {
		streams.Go(func() {
			now := following{Follower: f, Place: of}
			if err := now.follow(ctx, copies, dirs); err != nil {
				f.Logger.Warn("a team's tracks are not followed", "team", of.Team, "workspace", of.Workspace, "error", err)
			}
		})
	}
	for pause(ctx, f.Retry) {
		now, _ := All(f.Folder)
		if !slices.Equal(members, now) || !maps.Equal(copies, Copies(f.StateHome)) {
			return
		}
	}
}

// IsFollowed reports whether a process of this machine follows.
func IsFollowed(folder string) bool {
	lock := flock.New(lockPath(folder))
	free, err := lock.TryRLock()
	if err != nil || !free {
		return err == nil
	}
	_ = lock.Unlock()
	return false
}

func lockPath(folder string) string { return filepath.Join(folder, "following") }

func pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}

// following is the open copies of one workspace.
type following struct {
	Follower
	Place  // without a track
	client *Client
	copies []*openCopy // also several of one track, in other clones
}

type openCopy struct {
	*Copy
	session   *session.Session
	seen      Signs
	isReady   bool // it has all records that the server has announced
	hasFailed bool // the last pull
}

// follow keeps the copies in some state folders, which are of one workspace, current until ctx ends.
func (f *following) follow(ctx context.Context, places map[string]Place, dirs []string) error {
	m, err := Load(f.Folder, f.Team)
	if err != nil {
		return err
	}
	if f.client, err = NewClient(m, f.Logger); err != nil {
		return err
	}
	defer f.client.Close()
	for _, dir := range dirs {
		c := &openCopy{Copy: NewCopy(m, places[dir], dir, f.client)}
		c.session, c.seen = f.Open(dir, c.Copy)
		defer c.session.Close()
		f.copies = append(f.copies, c)
	}
	var beats sync.WaitGroup
	defer beats.Wait()
	beats.Go(func() {
		for n, ok := 0, true; ok; n, ok = n+1, pause(ctx, f.Beat) {
			f.reportSeen(ctx)
			if n%learnEvery == 0 {
				_ = f.client.Learn(ctx, f.Folder, m) // after new rules, such as offline, followAll starts again
			}
		}
	})
	for ok := true; ok; ok = pause(ctx, f.Retry) {
		for _, c := range f.copies {
			f.pull(ctx, c)
		}
		err := f.stream(ctx)
		if errors.Is(err, errHeldBack) || isCode(err, teamwire.CodeTooMany) {
			f.poll(ctx)
		}
		f.Logger.Debug("a team's tracks are followed again", "team", m.Team, "error", err)
	}
	return nil
}

// pull updates a copy. It warns of the first of several failures.
func (f *following) pull(ctx context.Context, c *openCopy) {
	err := c.Update(ctx, c.session)
	if err != nil && !c.hasFailed && ctx.Err() == nil {
		f.Logger.Warn("a team's track is not current", "track", c.Place, "error", err)
	}
	c.isReady, c.hasFailed = err == nil, err != nil
}

// errHeldBack means that not a line of a stream has come: a proxy may wait for its end.
var errHeldBack = errors.New("the event stream is held back")

// stream reads the event stream until it ends or is silent for too long. Every line confirms the copies that are current.
func (f *following) stream(ctx context.Context) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	silent := time.AfterFunc(f.Silence, stop)
	defer silent.Stop()
	response, err := f.client.send(ctx, http.MethodGet, f.path("events"), http.Header{"Accept": {"text/event-stream"}}, nil)
	n := 0
	if err == nil {
		defer response.Body.Close()
		lines := bufio.NewScanner(response.Body)
		lines.Buffer(nil, maxLine)
		for ; lines.Scan(); n++ {
			silent.Reset(f.Silence)
			if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
				f.readHead(ctx, data)
			}
			for _, c := range f.copies {
				if c.isReady {
					c.confirm()
				}
			}
		}
		err = cmp.Or(lines.Err(), io.EOF)
	}
	if n == 0 && ctx.Err() != nil {
		return errHeldBack
	}
	return err
}

// poll asks for the records of each copy, and has the server wait for some, until a request fails.
func (f *following) poll(ctx context.Context) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	waiting := *f.client
	waiting.wait = pollWait
	var all sync.WaitGroup
	for _, c := range f.copies {
		all.Go(func() {
			defer stop()
			c.client = &waiting
			for ok := true; ok; ok = c.isReady && pause(ctx, min(f.Retry, time.Second)) {
				f.pull(ctx, c)
			}
			c.client = f.client
		})
	}
	all.Wait()
}

// readHead pulls the records that the stream announces.
func (f *following) readHead(ctx context.Context, data string) {
	var event teamwire.HeadEvent
	if json.Unmarshal([]byte(data), &event) != nil {
		return
	}
	for _, c := range f.copies {
		if c.Place.Track != event.Track {
			continue
		}
		if head, err := c.session.Head(ctx); err == nil && head == event.Head {
			c.isReady = true
		} else {
			f.pull(ctx, c)
		}
	}
}

// reportSeen reports the signs of life of this machine's agents that a plan depends on. An agent that is alive in one folder is not gone.
func (f *following) reportSeen(ctx context.Context) {
	seen, gone := teamwire.Seen{Agents: map[string]time.Time{}}, map[string]bool{}
	for _, c := range f.copies {
		state, err := c.session.State(ctx)
		if err != nil {
			continue
		}
		for name := range agentsOf(state) {
			local, isOwn := c.Local(name)
			sign := c.seen.Seen(name)
			switch {
			case !isOwn || name == c.Member:
			case sign.IsGone:
				gone[local] = true
			case sign.At.After(seen.Agents[local]):
				seen.Agents[local] = sign.At
			}
		}
	}
	maps.DeleteFunc(gone, func(name string, _ bool) bool { return !seen.Agents[name].IsZero() })
	seen.Gone = slices.Sorted(maps.Keys(gone))
	if err := f.client.call(ctx, http.MethodPost, f.path("seen"), seen, nil); err != nil {
		f.Logger.Debug("the signs of life of this machine's agents were not sent", "error", err)
	}
}

// agentsOf returns the names of the agents with signs of life that a state depends on.
func agentsOf(state plan.State) map[string]bool {
	names := map[string]bool{state.ModeNow().By: true}
	if state.Plan != nil {
		for step := range state.Plan.Steps.All() {
			names[step.ClaimedBy] = true
		}
	}
	delete(names, "")
	return names
}
