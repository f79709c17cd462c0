package teamserver

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// mainTrack is the track with the signals that concern all tracks of its workspace.
const mainTrack = "main"

// Bounds of a team.
const (
	mostWorkspaces = 1_000
	mostTracks     = 1_000 // in a workspace
)

// track is an open track: its log, and the session that decides on it.
type track struct {
	trackIDs
	log     *postgres.Log
	session *session.Session
	main    *track                    // nil: this is the workspace's main
	rules   atomic.Pointer[rules]     // as last read
	seen    atomic.Pointer[sightings] // of a main track's workspace

	uses int       // by requests, and by the tracks of which it is the main
	last time.Time // of its last use
}

// tracks keeps tracks open between requests. A session that decides again has folded all but the
// newest records.
type tracks struct {
	mu   sync.Mutex
	open map[int64]*track
	most int // tracks that stay open unused

	closing sync.WaitGroup // sessions that may be writing snapshots
}

type trackName struct {
	team             int64
	workspace, track string
}

// useTrack returns an open track of the caller's team. release must be called once.
func (s *Server) useTrack(ctx context.Context, c *caller, workspace, name string, create bool) (t *track, release func(), err error) {
	ids, err := s.findTrack(ctx, c, workspace, name)
	if create && isWrong(err, teamwire.CodeNotFound) {
		if err = s.createTrack(ctx, c, workspace, name); err == nil {
			ids, err = s.findTrack(ctx, c, workspace, name)
		}
	}
	if err != nil {
		return nil, nil, err
	}
	s.tracks.mu.Lock()
	defer s.tracks.mu.Unlock()
	t = s.tracks.use(s, ids)
	return t, sync.OnceFunc(func() { s.tracks.release(t) }), nil
}

type trackIDs struct {
	Team, Workspace, Main, ID int64
	Name                      string
}

// findTrack returns a track of the caller's team. The name of another team's finds nothing.
func (s *Server) findTrack(ctx context.Context, c *caller, workspace, name string) (ids trackIDs, err error) {
	key := trackName{c.team, workspace, name}
	if ids = s.ids.get(key); ids.ID != 0 {
		return ids, nil
	}
	found, err := postgres.Collect(ctx, s.db, c.team, pgx.RowToStructByPos[trackIDs], `SELECT w.team, w.id, m.id, t.id, t.name
		FROM workspace w JOIN track t ON t.workspace = w.id JOIN track m ON m.workspace = w.id AND m.name = $4
		WHERE w.team = $1 AND w.name = $2 AND t.name = $3`,
		c.team, workspace, name, mainTrack)
	if err == nil && len(found) == 0 {
		err = wrong(teamwire.CodeNotFound, fmt.Sprintf("the team has no track %s in the workspace %s", plan.Quote(name),
			plan.Quote(workspace)), "share one, or list the workspace's tracks")
	}
	if err != nil {
		return ids, err
	}
	s.ids.set(key, found[0])
	return found[0], nil
}

// createTrack makes a track, and with it the workspace if the caller may.
func (s *Server) createTrack(ctx context.Context, c *caller, workspace, name string) error {
	if err := cmp.Or(teamwire.CheckName("workspace", workspace), teamwire.CheckTrack(name)); err != nil {
		return wrong(teamwire.CodeInvalid, err.Error(), "")
	}
	if err := c.may("begin a track", teamwire.RoleAgent, teamwire.RoleMember, teamwire.RoleAdmin); err != nil {
		return err
	}
	var workspaces, tracks int
	var isKnown bool
	_, err := postgres.Collect(ctx, s.db, c.team, func(row pgx.CollectableRow) (none struct{}, err error) {
		return none, row.Scan(&workspaces, &isKnown, &tracks)
	}, `SELECT count(*), coalesce(bool_or(name = $2), false),
		(SELECT count(*) FROM track t JOIN workspace w ON w.id = t.workspace WHERE w.team = $1 AND w.name = $2)
		FROM workspace WHERE team = $1`, c.team, workspace)
	switch {
	case err != nil:
		return err
	case isKnown && tracks >= mostTracks || !isKnown && workspaces >= mostWorkspaces:
		return wrong(teamwire.CodeTooLarge, fmt.Sprintf("the team has %d workspaces, or this workspace has %d tracks; "+
			"it cannot have more", workspaces, tracks), "use one of them")
	case !isKnown:
		if err := c.may("begin a workspace", teamwire.RoleMember, teamwire.RoleAdmin); err != nil {
			return err
		}
	}
	for _, each := range slices.Compact([]string{mainTrack, name}) {
		if _, err := s.db.EnsureTrack(ctx, c.team, workspace, each); err != nil {
			return err
		}
	}
	return nil
}

// use returns the open track, opening it and its main if needed. mu is held.
func (all *tracks) use(s *Server, ids trackIDs) *track {
	t := all.open[ids.ID]
	if t == nil {
		t = &track{trackIDs: ids, log: s.db.Log(ids.Team, ids.ID)}
		opts := session.Options{Now: s.clock.now, Presence: presence{s, t}, Facts: s.addRules(t), Logger: s.log}
		if ids.ID != ids.Main {
			t.main = all.use(s, trackIDs{ids.Team, ids.Workspace, ids.Main, ids.Main, mainTrack})
			opts.Main = t.main.session
		}
		t.session = session.New(rightsLog{t.log}, opts)
		all.open[t.ID] = t
	}
	t.uses++
	t.last = time.Now()
	all.closeUnused()
	return t
}

// closeUnused closes the tracks that were used longest ago while too many are open. mu is held.
func (all *tracks) closeUnused() {
	for len(all.open) > all.most {
		var oldest *track
		for _, t := range all.open {
			if t.uses == 0 && (oldest == nil || t.last.Before(oldest.last)) {
				oldest = t
			}
		}
		if oldest == nil {
			return
		}
		all.drop(oldest)
	}
}

func (all *tracks) drop(t *track) {
	delete(all.open, t.ID)
	if t.main != nil {
		t.main.uses--
	}
	all.closing.Go(func() { t.session.Close() })
}

func (all *tracks) release(t *track) {
	all.mu.Lock()
	defer all.mu.Unlock()
	t.uses--
}

func (all *tracks) close() {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, t := range all.open {
		all.drop(t)
	}
	all.closing.Wait()
}

// presence knows when the members' agents were last seen by any server.
type presence struct {
	server *Server
	track  *track
}

// presenceWait bounds a look-up while a decision waits for it.
const presenceWait = 2 * time.Second

// sightings are the last signs of life of a workspace's agents, by name.
type sightings struct {
	all  map[string]plan.Sighting
	read time.Time
}

// sightingsAge is how old they may be. A request that is about to be refused reads them again.
const sightingsAge = time.Second

func (p presence) kept() *atomic.Pointer[sightings] { return &cmp.Or(p.track.main, p.track).seen }

// forget makes the next look read the database.
func (p presence) forget() { p.kept().Store(nil) }

func (p presence) all() (map[string]plan.Sighting, error) {
	if seen := p.kept().Load(); seen != nil && time.Since(seen.read) < sightingsAge {
		return seen.all, nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), presenceWait)
	defer cancel()
	all, began := map[string]plan.Sighting{}, time.Now()
	_, err := postgres.Collect(ctx, p.server.db, p.track.Team, func(row pgx.CollectableRow) (name string, err error) {
		var at plan.Sighting
		err = row.Scan(&name, &at.At, &at.IsGone)
		all[name] = at
		return name, err
	}, `SELECT name, at, gone OR coalesce(heard < now() - $2::interval, false) FROM sighting WHERE workspace = $1`, p.track.Workspace,
		teamwire.GoneAfter)
	if err != nil {
		p.server.log.Warn("the last signs of life cannot be read", "error", err)
		return nil, err
	}
	p.kept().Store(&sightings{all, began})
	return all, nil
}

// Seen implements session.Presence. A laptop's agent that has sent heartbeats and stopped is gone.
func (p presence) Seen(name string) plan.Sighting {
	all, _ := p.all()
	return all[name]
}

// Touch implements verbs.Presence. A person at the page is not an agent's sign of life.
func (p presence) Touch(string) {}

// Join implements verbs.Presence.
func (p presence) Join(string) (leave func()) { return func() {} }

// Agents implements verbs.Hooks: it lists the agents that have called over MCP lately: no hook holds their hosts.
func (p presence) Agents() []verbs.ActiveAgent {
	ctx, cancel := context.WithTimeout(context.Background(), presenceWait)
	defer cancel()
	all, err := postgres.Collect(ctx, p.server.db, p.track.Team, func(row pgx.CollectableRow) (verbs.ActiveAgent, error) {
		agent := verbs.ActiveAgent{HTTP: true}
		err := row.Scan(&agent.Agent)
		return agent, err
	}, `SELECT name FROM sighting WHERE workspace = $1 AND heard IS NULL AND at > now() - $2::interval ORDER BY name`,
		p.track.Workspace, mcpIdle)
	if err != nil {
		p.server.log.Warn("the agents at work cannot be read", "error", err)
	}
	return all
}

// LastActivity implements session.Presence.
func (p presence) LastActivity() (last time.Time) {
	all, err := p.all()
	if err != nil {
		return p.server.clock.now() // planning must not end because the database is slow
	}
	for _, seen := range all {
		if seen.At.After(last) {
			last = seen.At
		}
	}
	return last
}

// mostSeen bounds the agents of a member that a workspace remembers.
const mostSeen = 500

// see notes signs of life of a member's agents by the time of each name. Laptops send them regularly, so that their end says something;
// one of the zero time says that the agent is gone. The database's clock counts; an earlier time is believed, a later one is not.
func (s *Server) see(ctx context.Context, team, workspace int64, seen map[string]time.Time, regularly bool) error {
	if len(seen) == 0 {
		return nil
	}
	names := slices.Collect(maps.Keys(seen))
	at := make([]time.Time, len(names))
	gone := make([]bool, len(names))
	for i, name := range names {
		at[i], gone[i] = seen[name], seen[name].IsZero()
	}
	return s.db.InTeam(ctx, team, func(tx pgx.Tx) error {
		_, err := tx.Exec(ctx, `INSERT INTO sighting AS s (team, workspace, name, at, heard, gone)
			SELECT $1, $2, name, least(at, now()), CASE WHEN $6 THEN now() END, gone
			FROM unnest($3::text[], $4::timestamptz[], $5::bool[]) AS u (name, at, gone)
			ON CONFLICT (workspace, name) DO UPDATE SET at = greatest(s.at, excluded.at), heard = coalesce(excluded.heard, s.heard),
			gone = excluded.gone`, team, workspace, names, at, gone, regularly)
		if err == nil {
			_, err = tx.Exec(ctx, `DELETE FROM sighting WHERE workspace = $1 AND (greatest(at, heard) < now() - interval '7 days'
				OR name IN (SELECT name FROM sighting WHERE workspace = $1 AND split_part(name, '/', 1) = $2
					ORDER BY greatest(at, heard) DESC OFFSET $3))`, workspace, plan.MemberOf(names[0]), mostSeen)
		}
		return err
	})
}
