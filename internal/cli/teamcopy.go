package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"time"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/team"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// teamCopy is the copy of a team's track; the zero value is a track of this machine's own.
type teamCopy struct{ *team.Copy }

// copyIn returns the copy in a state folder. Without the membership it can only be read.
func (a *app) copyIn(stateDir string) (teamCopy, error) {
	place, isCopy, err := team.PlaceOf(stateDir)
	if !isCopy || err != nil || a.flags.ephemeral {
		return teamCopy{}, err
	}
	folder, err := workspace.TeamFolder(a.getenv, "")
	if err != nil {
		return teamCopy{}, err
	}
	m, err := team.Load(folder, place.Team)
	if errors.Is(err, fs.ErrNotExist) {
		return teamCopy{team.NewCopy(m, place, stateDir, nil)}, nil
	}
	var client *team.Client
	if err == nil {
		client, err = team.NewClient(m, a.logger())
	}
	return teamCopy{team.NewCopy(m, place, stateDir, client)}, err
}

func (c teamCopy) decider() session.Decider {
	if c.Copy == nil {
		return nil
	}
	return c.Copy
}

func (c teamCopy) presence(seen *presence.Registry) verbs.Presence {
	if c.Copy == nil {
		return seen
	}
	return team.Presence{Local: seen, Member: c.Membership}
}

func (c teamCopy) actor() func(plan.Actor) plan.Actor {
	if c.Copy == nil {
		return nil
	}
	return c.Actor
}

// localName returns the name that an agent of this machine has on it.
func (c teamCopy) localName(name string) string {
	if c.Copy != nil {
		name, _ = c.Local(name)
	}
	return name
}

// isClosed reports whether the team lets hooks refuse changes because its server has not confirmed the copy.
func (c teamCopy) isClosed() bool { return c.Copy != nil && c.Offline == "closed" && !c.IsFresh() }

// followAfter is when a process begins to follow its teams: commands that end sooner pull once.
const followAfter = time.Second

// refresh brings a team's track up to date before its first use. Without an answer the copy is shown as it is.
func (a *app) refresh(ctx context.Context, ws *openWorkspace) {
	if ws.copied.Copy == nil {
		return
	}
	if !a.isHook {
		a.followSoon(ctx)
	}
	if ws.copied.IsFresh() && (a.isHook || a.isFollowed()) {
		return
	}
	if a.isHook || a.serving {
		limited, cancel := context.WithTimeout(ctx, team.HookLimit)
		defer cancel()
		ctx = limited
	}
	if err := ws.copied.Update(ctx, ws.session); err != nil {
		a.warn("this is track " + ws.copied.Place().String() + " " + cmp.Or(ws.copied.Age(), "as of now") + ": " + message(err))
	}
}

// followSoon follows the teams of this machine's copies while this process lives, unless another process does or it ends soon.
func (a *app) followSoon(ctx context.Context) {
	for a.parent != nil {
		a = a.parent
	}
	folder, err := workspace.TeamFolder(a.getenv, "")
	home, wrong := workspace.StateHome(a.getenv, "")
	if errors.Join(err, wrong) != nil {
		return
	}
	a.tracksMu.Lock()
	defer a.tracksMu.Unlock()
	if a.stopFollowing != nil {
		return
	}
	follower := team.Follower{Folder: folder, StateHome: home, Logger: a.logger(), Open: a.openCopy}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	done := make(chan struct{})
	begin := time.AfterFunc(followAfter, func() { defer close(done); follower.Run(ctx) })
	a.stopFollowing = func() {
		cancel()
		if !begin.Stop() {
			<-done
		}
	}
}

// openCopy opens a copy to follow it.
func (a *app) openCopy(stateDir string, c *team.Copy) (*session.Session, team.Presence, error) {
	place := workspace.FromState(stateDir)
	seen := presence.Open(stateDir, presence.Options{Logger: a.logger(), Shared: place.SharedDir()})
	s := session.New(sqlite.New(stateDir, sqlite.Options{}), session.Options{Decider: c, Mark: place, Logger: a.logger()})
	return s, team.Presence{Local: seen, Member: c.Membership}, nil
}

func (a *app) isFollowed() bool {
	folder, err := workspace.TeamFolder(a.getenv, "")
	return err == nil && team.IsFollowed(folder)
}

// refreshCopies brings the copies of a workspace up to date, and reports whether one of them lets hooks refuse changes.
func (a *app) refreshCopies(ctx context.Context, place workspace.Workspace) (isClosed bool, err error) {
	folder, err := workspace.TeamFolder(a.getenv, "")
	if _, missing := os.Lstat(folder); err != nil || missing != nil {
		return false, nil
	}
	for _, track := range place.Tracks() {
		if _, isCopy, err := team.PlaceOf(track.StateDir); !isCopy && err == nil {
			continue
		}
		opened, err := a.openTrack(ctx, track)
		if err != nil {
			return true, err
		}
		isClosed = isClosed || opened.copied.isClosed()
	}
	return isClosed, nil
}
