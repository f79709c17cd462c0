package verbs_test

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// TestNextActionAnswersTheFirstAsk: when a run has ended because something asks, failed or is stuck, a person's next action is
// the first of the asks, and each of them says how to answer it. Agents get one of the asks, or other work.
func TestNextActionAnswersTheFirstAsk(t *testing.T) {
	var ends int
	rapidtest.Check(t, func(rt *rapid.T) {
		seen, now := presence{}, &clock{time: time.Now()}
		s := session.New(store.NewMemory(), session.Options{Now: now.now, Presence: seen})
		defer s.Close()
		crew := &engines{session: s, seen: seen, clock: now}
		w := &walker{T: rt, rules: &book{}, engines: crew, clock: now, me: ann,
			service: verbs.New(s, verbs.Options{Now: now.now, RuleBook: &book{}, Presence: seen, Engines: crew, Agents: crew})}
		w.begins()
		w.wander()
		if rapid.Bool().Draw(rt, "a run to its end") {
			_ = w.engineRuns(ann) // refused if the plan cannot run
		}
		state := w.state()
		reason := plan.FindStopReason(state)
		if state.Run == nil || state.Plan == nil || state.Run.Plan != state.Plan.Root() || reason != plan.StopFailed &&
			reason != plan.StopDeadlocked && reason != plan.StopWaitingForPerson {
			return
		}
		ends++
		for _, actor := range []plan.Actor{person.Actor, ann.Actor} {
			who := verbs.Caller{Actor: actor, Face: terminal.CommandLine{}}
			next, asks := w.service.NextActionIn(state, who), w.service.Asks(state, who)
			if len(asks) == 0 {
				rt.Fatalf("%s: the run is over (%s), and nothing asks; next: %s\n%s", who.Actor.Name, reason, next.For(who),
					strings.Join(w.trail, "\n"))
			}
			for _, ask := range asks {
				if ask.What == "" || ask.How == "" {
					rt.Fatalf("incomplete: %+v", ask)
				}
			}
			if who.Actor.IsPresent() && asks[0].How != next.For(who) {
				rt.Fatalf("the run is over (%s); the first ask is %+v, and the next action %s\n%s", reason, asks[0], next.For(who),
					strings.Join(w.trail, "\n"))
			}
		}
	})
	if ends == 0 {
		t.Error("no random run has ended")
	}
	t.Logf("%d ends", ends)
}
