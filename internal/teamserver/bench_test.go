package teamserver_test

import (
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// TestRateOfDecisions prints how many decisions a second a server makes on tracks of their own, beside bare appends.
func TestRateOfDecisions(t *testing.T) {
	if testing.Short() {
		t.Skip("measures")
	}
	w := newWorld(t)
	const writers, each = 8, 25
	var done sync.WaitGroup
	var longest time.Duration
	var mu sync.Mutex
	clients := make([]*client, writers)
	for i := range clients {
		clients[i] = w.as("ann", teamwire.RoleMember)
		clients[i].must("POST", fmt.Sprintf("/v1/w/shop/t/track-%d/do", i), clients[i].request(setUp("Ship it")), nil)
	}
	began := time.Now()
	for i, c := range clients {
		done.Go(func() {
			for range each {
				at := time.Now()
				c.call("POST", fmt.Sprintf("/v1/w/shop/t/track-%d/do", i), c.request(plan.ReportStep{Step: 1, Note: "more"}), nil)
				mu.Lock()
				longest = max(longest, time.Since(at))
				mu.Unlock()
			}
		})
	}
	done.Wait()
	decided := time.Since(began)
	logs := make([]*postgres.Log, writers)
	for i := range logs {
		track, err := w.db.EnsureTrack(t.Context(), w.team, "shop", fmt.Sprintf("bare-%d", i))
		check(t, err)
		logs[i] = w.db.Log(w.team, track)
	}
	began = time.Now()
	for _, log := range logs {
		done.Go(func() {
			for n := range each {
				if _, err := log.Append(t.Context(), plan.Record{Seq: plan.Revision(n + 1), Action: "report_step", Phase: plan.PhaseInactive}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done.Wait()
	bare := time.Since(began)
	t.Logf("%d decisions in %v (longest %v), bare appends in %v: %.2f", writers*each, decided, longest, bare, bare.Seconds()/decided.Seconds())
}
