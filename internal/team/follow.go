package team

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"path/filepath"
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
	Open func(stateDir string, c *Copy) (*session.Session, Presence, error)

	Retry time.Duration // between looks for new copies and, after a failure, tries; 0: 5 s
}

const (
	retryWait = 5 * time.Second
	// silence is the longest time without a line of a stream that works.
	silence = teamwire.Heartbeat * 5 / 2
	maxLine = 64 << 10 // of a stream
)

// Run follows until ctx ends. While another process follows, it waits.
func (f Follower) Run(ctx context.Context) {
	if f.Retry == 0 {
		f.Retry = retryWait
	}
	var lock *flock.Flock
	running := map[string]bool{} // workspaces, by team and name
	var mu sync.Mutex
	var streams sync.WaitGroup
	defer streams.Wait()
	for ctx.Err() == nil {
		if copies := Copies(f.StateHome); len(copies) > 0 && lock == nil {
			lock = f.elect()
		} else if lock != nil {
			for key, dirs := range byWorkspace(copies) {
				mu.Lock()
				isNew := !running[key]
				running[key] = true
				mu.Unlock()
				if !isNew {
					continue
				}
				streams.Go(func() {
					f.follow(ctx, copies[dirs[0]], dirs)
					mu.Lock()
					delete(running, key) // with a new list of copies, if any are left
					mu.Unlock()
				})
			}
		}
		if !pause(ctx, f.Retry) {
			break
		}
	}
	if lock != nil {
		_ = lock.Unlock()
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

// elect returns the lock of the process that follows, or nil if another one holds it.
func (f Follower) elect() *flock.Flock {
	if safefile.CheckFolder(f.Folder) != nil {
		return nil
	}
	lock := flock.New(lockPath(f.Folder), flock.SetPermissions(safefile.FileMode))
	if held, err := lock.TryLock(); err != nil || !held {
		return nil
	}
	return lock
}

func byWorkspace(copies map[string]Place) map[string][]string {
	all := map[string][]string{}
	for dir, place := range copies {
		key := place.Team + "/" + place.Workspace
		all[key] = append(all[key], dir)
	}
	return all
}

// following is the open copies of one workspace.
type following struct {
	Follower
	client *Client
	name   string               // the workspace's
	copies map[string]*openCopy // by track
}

type openCopy struct {
	*Copy
	session *session.Session
	seen    Presence
	isReady bool // it has all records that the server has announced
}

// follow reads the event stream of a workspace until it ends, a copy was added or removed, or ctx ends.
func (f Follower) follow(ctx context.Context, p Place, dirs []string) {
	m, err := Load(f.Folder, p.Team)
	var client *Client
	if err == nil {
		client, err = NewClient(m, f.Logger)
	}
	if err != nil {
		f.Logger.Warn("a team's tracks are not followed", "team", p.Team, "error", err)
		return
	}
	defer client.Close()
	now := following{f, client, p.Workspace, map[string]*openCopy{}}
	for _, dir := range dirs {
		place, _, err := PlaceOf(dir)
		c := NewCopy(m, place, dir, client)
		s, seen, failed := f.Open(dir, c)
		if err = errors.Join(err, failed); err != nil {
			f.Logger.Warn("a team's track is not followed", "track", place, "error", err)
			continue
		}
		defer s.Close()
		now.copies[place.Track] = &openCopy{Copy: c, session: s, seen: seen}
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var beats sync.WaitGroup
	defer beats.Wait()
	beats.Go(func() {
		for ok := true; ok; ok = pause(ctx, teamwire.SeenEvery) {
			now.reportSeen(ctx)
			if f.isOutdated(p, dirs) {
				stop()
			}
		}
	})
	for ok := true; ok; ok = pause(ctx, f.Retry) {
		now.pullAll(ctx)
		if err := now.stream(ctx); err != nil && ctx.Err() == nil {
			f.Logger.Debug("a team's event stream ended", "team", p.Team, "error", err)
		}
	}
	stop()
}

// isOutdated reports whether the copies of a workspace are others than those that are followed.
func (f Follower) isOutdated(p Place, dirs []string) bool {
	now := Copies(f.StateHome)
	for _, dir := range dirs {
		if now[dir].Team != p.Team {
			return true
		}
	}
	return len(byWorkspace(now)[p.Team+"/"+p.Workspace]) != len(dirs)
}

func pause(ctx context.Context, wait time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(wait):
		return true
	}
}

// pullAll pulls into all copies.
func (f *following) pullAll(ctx context.Context) {
	for _, c := range f.copies {
		f.pull(ctx, c)
	}
}

func (f *following) pull(ctx context.Context, c *openCopy) {
	err := c.Update(ctx, c.session)
	if c.isReady = err == nil; !c.isReady && ctx.Err() == nil {
		f.Logger.Warn("a team's track is not current", "track", c.place, "error", err)
	}
}

// stream reads the event stream until it ends or is silent for too long. Every line confirms the copies that are current.
func (f *following) stream(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	silent := time.AfterFunc(silence, func() { stop(errors.New("it was silent")) })
	defer silent.Stop()
	response, err := f.client.send(ctx, http.MethodGet, teamwire.WorkspacePath(f.name, "events"),
		http.Header{"Accept": {"text/event-stream"}},
		nil)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, maxLine)
	for lines.Scan() {
		silent.Reset(silence)
		if data, ok := strings.CutPrefix(lines.Text(), "data:"); ok {
			f.readHead(ctx, data)
		}
		for _, c := range f.copies {
			if c.isReady {
				c.Confirm()
			}
		}
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read the stream: %w", errors.Join(context.Cause(ctx), err))
	}
	return io.EOF
}

// readHead pulls the records that the stream announces.
func (f *following) readHead(ctx context.Context, data string) {
	var event teamwire.HeadEvent
	if json.Unmarshal([]byte(data), &event) != nil {
		return
	}
	c := f.copies[event.Track]
	if c == nil {
		return
	}
	if head, err := c.session.Head(ctx); err == nil && head == event.Head {
		c.isReady = true
		return
	}
	f.pull(ctx, c)
}

// reportSeen reports the signs of life of this machine's agents that a plan depends on.
func (f *following) reportSeen(ctx context.Context) {
	seen := teamwire.Seen{Agents: map[string]time.Time{}}
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
				seen.Gone = append(seen.Gone, local)
			case !sign.At.IsZero():
				seen.Agents[local] = sign.At
			}
		}
	}
	ctx, cancel := context.WithTimeout(ctx, CallLimit)
	defer cancel()
	if err := f.client.Seen(ctx, f.name, seen); err != nil {
		f.Logger.Debug("the signs of life of this machine's agents were not sent", "error", err)
	}
}

// agentsOf returns the names of the agents with signs of life that a state depends on.
func agentsOf(state plan.State) map[string]bool {
	names := map[string]bool{}
	if by := state.ModeNow().By; by != "" {
		names[by] = true
	}
	if state.Plan != nil {
		for step := range state.Plan.Steps.All() {
			if step.ClaimedBy != "" {
				names[step.ClaimedBy] = true
			}
		}
	}
	return names
}
