package postgres_test

import (
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// TestSessionsOfThreeServers: sessions of several servers that change one track at once all succeed, since a session that has lost twice
// locks the track's row, and agree on the state.
func TestSessionsOfThreeServers(t *testing.T) {
	const servers, each = 3, 2
	dsn := postgrestest.Start(t)
	var sessions []*session.Session
	for range servers {
		db, team, track := postgrestest.OpenTeam(t, dsn)
		for range each {
			sessions = append(sessions, session.New(db.Log(team, track), session.Options{}))
		}
	}
	rounds := testenv.Count(5, 20, 200)
	actor := plan.Actor{Kind: plan.Agent, Name: "agent"}
	setUp := plan.SetUp{Outline: plan.Outline{Objective: "Test"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "One"}}}}
	testenv.Must(sessions[0].Do(t.Context(), actor, setUp, nil))(t)
	var group errgroup.Group
	for i, s := range sessions {
		group.Go(func() error {
			for n := range rounds {
				note := plan.MarkStep{Step: 1, Status: plan.InProgress, Note: fmt.Sprintf("%d.%d", i, n)}
				if _, err := s.Do(t.Context(), actor, note, nil); err != nil {
					return fmt.Errorf("session %d, round %d: %w", i, n, err)
				}
			}
			return nil
		})
	}
	testenv.Check(t, group.Wait())
	want := ""
	for _, s := range sessions {
		state := testenv.Must(s.State(t.Context()))(t)
		if n := int(state.Revision); n != 1+len(sessions)*rounds {
			t.Errorf("%d records, want %d", n, 1+len(sessions)*rounds)
		}
		text := string(testenv.Must(store.EncodeState(state))(t))
		if want == "" {
			want = text
		}
		if text != want {
			t.Error("two sessions disagree")
		}
		testenv.Check(t, s.Close())
	}
}
