package cli

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/team"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// copyIn returns the copy in a state folder, nil for a track of this machine's own. Without the membership it can only be read.
func (a *app) copyIn(stateDir string) (*team.Copy, error) {
	c, err := a.readCopy(stateDir)
	if err != nil || c == nil || c.Membership == (team.Membership{}) {
		return c, err
	}
	client, err := team.NewClient(c.Membership, a.logger())
	return team.NewCopy(c.Membership, c.Place, stateDir, client), err
}

// readCopy is copyIn without a connection to the server.
func (a *app) readCopy(stateDir string) (*team.Copy, error) {
	place, isCopy, err := team.PlaceOf(stateDir)
	if !isCopy || err != nil || a.flags.ephemeral {
		return nil, err
	}
	folder, err := workspace.TeamFolder(a.getenv, "")
	if err != nil {
		return nil, err
	}
	m, err := team.Load(folder, place.Team)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return team.NewCopy(m, place, stateDir, new(team.Client)), err
}

// look opens a track's log and signs of life beside those that this app works with.
func (a *app) look(place workspace.Workspace, copied *team.Copy, limits plan.Limits) (*session.Session, team.Signs) {
	seen := presence.Open(place.StateDir, presence.Options{Logger: a.logger(), Shared: place.SharedDir()})
	o := session.Options{Limits: limits, Mark: place, Logger: a.logger()}
	if copied != nil {
		o.Decider = copied
	}
	return session.New(sqlite.New(place.StateDir, sqlite.Options{}), o), signsOn(copied, seen)
}

// signsOn returns the signs of life on a track.
func signsOn(copied *team.Copy, seen *presence.Registry) team.Signs {
	return copied.Presence(seen, engine.IsAnnounced)
}

// followAfter is when a process begins to follow its teams: commands that end sooner pull once.
const followAfter = time.Second

// refresh brings a team's track up to date before its first use. Without an answer the copy is shown as it is.
func (a *app) refresh(ctx context.Context, ws *openWorkspace) {
	if ws.copied == nil {
		return
	}
	if !a.isHook {
		a.followSoon(ctx)
	}
	folder, _ := workspace.TeamFolder(a.getenv, "")
	if ws.copied.IsFresh() && (a.isHook || team.IsFollowed(folder)) {
		return
	}
	if a.isHook || a.serving {
		limited, cancel := context.WithTimeout(ctx, team.HookLimit)
		defer cancel()
		ctx = limited
	}
	if err := ws.copied.Update(ctx, ws.session); err != nil {
		if offline, ok := errors.AsType[*team.Offline](err); ok {
			err = offline.Unwrap() // the copy's age is said already, and a read changes nothing
		}
		a.warn(cmp.Or(ws.copied.Stale(), "track "+ws.copied.Place.String()) + ": " + message(err))
	}
}

// followSoon follows the teams of this machine's copies while this process lives, unless another process does or it ends soon.
func (a *app) followSoon(ctx context.Context) {
	for a.parent != nil {
		a = a.parent
	}
	folder, home, err := a.teamFolders()
	a.tracksMu.Lock()
	defer a.tracksMu.Unlock()
	if a.stopFollowing != nil || err != nil {
		return
	}
	follower := team.Follower{Folder: folder, StateHome: home, Logger: a.logger(),
		Open: func(stateDir string, c *team.Copy) (*session.Session, team.Signs) {
			return a.look(workspace.FromState(stateDir), c, plan.Limits{})
		}}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	var following sync.WaitGroup
	following.Go(func() {
		if waitFor(ctx, followAfter) {
			follower.Run(ctx)
		}
	})
	a.stopFollowing = func() { cancel(); following.Wait() }
}

// refreshCopies brings up to date the copies of a workspace's tracks, and of those of all workspaces at the paths, so that their planning
// mode is marked here. It reports whether one of this workspace is closed, since its server does not answer, or one of another.
func (a *app) refreshCopies(ctx context.Context, own workspace.Workspace, paths ...string) (isClosed, isOtherClosed bool, err error) {
	folder, home, err := a.teamFolders()
	if _, missing := os.Lstat(folder); err != nil || missing != nil {
		return false, false, nil // most machines are in no team
	}
	limited, cancel := context.WithTimeout(ctx, team.HookLimit)
	defer cancel()
	for dir := range team.Copies(home) {
		place := workspace.FromState(dir)
		isOwn := place.SharedDir() == own.SharedDir()
		if !isOwn && len(workspace.Lookup{Getenv: a.getenv}.At([]workspace.Workspace{place}, paths...)) == 0 {
			continue
		}
		copied, err := a.copyIn(dir)
		if err != nil {
			return false, false, err
		}
		if !copied.IsFresh() && place.StateDir != own.StateDir { // which was asked about when it was opened
			s, _ := a.look(place, copied, plan.Limits{})
			if err := errors.Join(copied.Update(limited, s), s.Close()); err != nil {
				a.logger().Debug("a team's track is not current", "track", copied.Place, "error", err)
			}
		}
		isClosed = isClosed || copied.IsClosed() && isOwn
		isOtherClosed = isOtherClosed || copied.IsClosed() && !isOwn
	}
	return isClosed, isOtherClosed, nil
}

// teamFolders returns the folder of the memberships, and that of the states with the copies.
func (a *app) teamFolders() (members, states string, err error) {
	members, err = workspace.TeamFolder(a.getenv, "")
	states, wrong := workspace.StateHome(a.getenv, "")
	return members, states, errors.Join(err, wrong)
}
