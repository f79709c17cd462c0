package teamserver

import (
	"context"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// workspaces are a team's tracks on the review page of a member. Each is named WORKSPACE/TRACK.
type workspaces struct {
	*Server
	who   *caller
	known *knownInbox
}

// knownInbox keeps the entries of an inbox, so that a change of one track does not make the server read all others.
type knownInbox struct {
	mu      sync.Mutex
	heads   map[string]plan.Revision // as last listed, by the track's place
	entries map[string]inboxEntry
}

type inboxEntry struct {
	head    plan.Revision // the entry is of this one, or a later one
	made    time.Time
	place   review.InboxPlace
	waiting []review.Waiting
}

// inboxLasts bounds how long an entry without changes is shown: some words of it depend on the time.
const inboxLasts = time.Minute

func placeOf(workspace, track string) review.Place {
	place := review.Place{ID: workspace + "/" + track, Name: workspace}
	if track != mainTrack {
		place.Name += " · " + track
	}
	return place
}

// Places implements review.Workspaces.
func (ws workspaces) Places(ctx context.Context) ([]review.Place, error) {
	heads, err := ws.heads(ctx, ws.who.team, "")
	places := make([]review.Place, len(heads))
	ws.known.mu.Lock()
	defer ws.known.mu.Unlock()
	ws.known.heads = make(map[string]plan.Revision, len(heads))
	for i, h := range heads {
		places[i] = placeOf(h.Workspace, h.Track)
		ws.known.heads[places[i].ID] = h.Seq
	}
	maps.DeleteFunc(ws.known.entries, func(id string, _ inboxEntry) bool { return ws.known.heads[id] == 0 })
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
	rules, err := ws.readRules(ctx, t, "")
	if err != nil {
		return nil, err
	}
	limits := rules.settings.limits()
	service := verbs.New(t.session, verbs.Options{Now: ws.clock.now, Presence: presence{ws.Server, t}, Hooks: presence{ws.Server, t},
		Lease: limits.Lease, Limits: limits})
	return &review.Workspace{Place: placeOf(workspace, name), Service: service, Members: rules.members, Person: ws.who.member,
		Sign: ws.opts.Address + "/approve#" + id}, nil
}

// InInbox implements review.Workspaces.
func (ws workspaces) InInbox(ctx context.Context, place review.Place) (review.InboxPlace, []review.Waiting, error) {
	ws.known.mu.Lock()
	head, entry := ws.known.heads[place.ID], ws.known.entries[place.ID]
	ws.known.mu.Unlock()
	if head > 0 && entry.head == head && time.Since(entry.made) < inboxLasts {
		return entry.place, slices.Clone(entry.waiting), nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	workspace, err := ws.Open(ctx, place.ID)
	if err != nil {
		return review.InboxPlace{Place: place}, nil, err
	}
	entry = inboxEntry{head: head, made: time.Now()}
	if entry.place, entry.waiting, err = review.InInbox(ctx, workspace); err == nil {
		ws.known.mu.Lock()
		defer ws.known.mu.Unlock()
		ws.known.entries[place.ID] = entry
	}
	return entry.place, slices.Clone(entry.waiting), err
}

// Watch implements review.Workspaces.
func (ws workspaces) Watch(ctx context.Context) <-chan review.Change {
	changes := make(chan review.Change)
	grown := ws.watchHeads(ctx, ws.who.team, "", []int64{})
	go func() {
		defer close(changes)
		for heads := range grown {
			for _, h := range heads {
				select {
				case changes <- review.Change{Workspace: placeOf(h.Workspace, h.Track).ID, Revision: h.Seq}:
				case <-ctx.Done():
					return
				}
			}
		}
	}()
	return changes
}
