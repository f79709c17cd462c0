package teamserver

import (
	"context"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// workspaces are a team's tracks on the review page of a member. Each is named WORKSPACE/TRACK.
type workspaces struct {
	*Server
	who *caller
}

// head is the end of a track's log.
type head struct {
	workspace, track string
	seq              plan.Revision
}

func (h head) id() string { return h.workspace + "/" + h.track }

// heads lists the team's tracks that have a record, those with these ids if any is given.
func (ws workspaces) heads(ctx context.Context, ids ...int64) (list []head, err error) {
	err = ws.db.InTeam(ctx, ws.who.team, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `SELECT w.name, t.name, t.seq FROM track t JOIN workspace w ON w.id = t.workspace
			WHERE t.team = $1 AND t.seq > 0 AND ($2::bigint[] IS NULL OR t.id = ANY ($2))
			ORDER BY w.name, t.name <> $3, t.name`, ws.who.team, ids, mainTrack)
		if err == nil {
			list, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (h head, err error) {
				return h, row.Scan(&h.workspace, &h.track, &h.seq)
			})
		}
		return err
	})
	return list, err
}

// Places implements review.Workspaces.
func (ws workspaces) Places(ctx context.Context) ([]review.Place, error) {
	heads, err := ws.heads(ctx)
	places := make([]review.Place, len(heads))
	for i, h := range heads {
		places[i] = review.Place{ID: h.id(), Name: h.workspace}
		if h.track != mainTrack {
			places[i].Name += " · " + h.track
		}
	}
	return places, err
}

// Open implements review.Workspaces. The track may be closed after ctx ends.
func (ws workspaces) Open(ctx context.Context, id string) (*review.Workspace, error) {
	workspace, name, _ := strings.Cut(id, "/")
	t, release, err := ws.useTrack(ctx, ws.who, workspace, name, false)
	if isWrong(err, teamwire.CodeNotFound) {
		err = plan.Refuse(plan.NotFound, "/workspace", "workspace "+plan.Quote(id)+" does not exist", "choose a listed workspace")
	}
	if err != nil {
		return nil, err
	}
	context.AfterFunc(ctx, release)
	rules, err := ws.readRules(ctx, t.team, t, "")
	if err != nil {
		return nil, err
	}
	shown := workspace
	if name != mainTrack {
		shown += " · " + name
	}
	limits := rules.settings.limits()
	return &review.Workspace{Place: review.Place{ID: id, Name: shown}, Members: rules.members, Sign: ws.signAddress(id),
		Service: verbs.New(t.session, verbs.Options{
			Now: ws.clock.now, Presence: presence{ws.Server, t}, Hooks: presence{ws.Server, t}, Lease: limits.Lease, Limits: limits})}, nil
}

// InInbox implements review.Workspaces.
func (ws workspaces) InInbox(ctx context.Context, place review.Place) (review.InboxPlace, []review.Waiting, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workspace, err := ws.Open(ctx, place.ID)
	if err != nil {
		return review.InboxPlace{Place: place}, nil, err
	}
	return review.InInbox(ctx, workspace)
}

// Watch implements review.Workspaces.
func (ws workspaces) Watch(ctx context.Context) <-chan review.Change {
	changes := make(chan review.Change)
	grown, err := ws.db.WatchTeam(ctx, ws.who.team)
	go func() {
		defer close(changes)
		if err != nil {
			ws.log.Warn("the team's tracks cannot be watched", "error", err)
			return
		}
		for ids := range grown {
			heads, err := ws.heads(ctx, ids...)
			if err != nil && ctx.Err() == nil {
				ws.log.Warn("the team's tracks cannot be read", "error", err)
			}
			for _, h := range heads {
				select {
				case changes <- review.Change{Workspace: h.id(), Revision: h.seq}:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return changes
}

// Touch implements verbs.Presence. A person at the page is not an agent's sign of life.
func (p presence) Touch(string) {}

// Join implements verbs.Presence.
func (p presence) Join(string) (leave func()) { return func() {} }

// addRules adds the team's rules to the facts of a change that a person makes on the page; decide adds those of a token's.
func (s *Server) addRules(t *track) func(*plan.Facts) error {
	return func(facts *plan.Facts) error {
		if facts.Members != nil {
			return nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), presenceWait)
		defer cancel()
		rules, err := s.readRules(ctx, t.team, t, "")
		if err == nil && rules.sharing != 0 {
			err = plan.Refuse(plan.Conflict, "", "a member is sharing this track, and its history is not complete", "wait for it")
		}
		facts.Limits, facts.Policy, facts.Members = rules.settings.limits(), rules.settings.policy(), rules.members
		return err
	}
}
