package teamserver

import (
	"errors"
	"maps"
	"slices"
	"testing"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/testenv"
)

// TestUnusedTracksAreClosed: once too many tracks are open, the unused one whose last use is the oldest is closed. A track in use, and the
// main track of one that is open, stay open.
func TestUnusedTracksAreClosed(t *testing.T) {
	db, team, _ := postgrestest.OpenTeam(t, postgrestest.Start(t))
	s := testenv.Must(New(t.Context(), db, Options{}))(t)
	defer s.Close()
	s.tracks.most = 4
	use := func(name string) (*track, func()) {
		t.Helper()
		is, release, err := s.useTrack(t.Context(), &caller{team: team, role: teamwire.RoleMember}, "shop", name, true)
		testenv.Check(t, err)
		return is, release
	}
	expectOpen := func(want ...string) {
		t.Helper()
		var names []string
		for is := range maps.Values(s.tracks.open) {
			names = append(names, is.Name)
		}
		if slices.Sort(names); !slices.Equal(names, want) {
			t.Errorf("open are %v, want %v", names, want)
		}
	}
	running, endRun := use("running")
	var closed *track
	for _, name := range []string{"a", "b", "a", "c"} {
		is, release := use(name)
		release()
		if name == "b" {
			closed = is
		}
	}
	expectOpen("a", "c", "main", "running")
	s.tracks.closing.Wait()
	if _, err := closed.session.State(t.Context()); !errors.Is(err, store.ErrClosed) {
		t.Errorf("the unused track is not closed: %v", err)
	}
	testenv.Must(running.session.State(t.Context()))(t)
	endRun()
	_, release := use("d")
	release()
	expectOpen("a", "c", "d", "main")
	s.tracks.most = 0
	use("e")
	expectOpen("e", "main")
}
