package cli

import (
	"bytes"
	"context"
	"errors"
	"strings"
	"sync"

	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// runsHere holds the runs that people start on the page of this process. Its creator ends them and waits for them.
type runsHere struct {
	working context.Context // ends all running work
	drained <-chan struct{} // closed when nothing new may start
	going   *sync.WaitGroup
}

// pageCaller returns the user as the caller on the review page.
func (a *app) pageCaller() verbs.Caller {
	me := workspace.Caller{Login: a.login(), Present: true}
	return verbs.Caller{Actor: me.Actor().Through(plan.ViaPage), Face: review.Face{}}
}

// start joins the run of a plan, as planloop run does.
func (s *sheet) start(ctx context.Context, of string) error {
	caller, runs := s.app.pageCaller(), s.desk.runs
	caller.Of = of
	caller.Background = func(work func(context.Context)) {
		s.count(1)
		runs.going.Go(func() {
			defer s.count(-1)
			work(runs.working)
		})
	}
	return s.Service.StartRun(ctx, caller, verbs.EngineOptions{Wait: true, Drain: runs.drained, Agents: s.app.notPresent() == ""})
}

func (s *sheet) count(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running += n
}

// tailShown is how much of a log the page shows, in bytes.
const tailShown = 64 << 10

// tail returns the end of a step's output, safe to display.
func (s *sheet) tail(id plan.StepID) (string, error) {
	ctx := context.Background()
	opened, state, err := s.app.state(ctx)
	if err != nil {
		return "", err
	}
	l, err := s.app.findLog(ctx, opened, state, id.String(), 0)
	if refused, is := errors.AsType[*plan.ValidationError](err); is && refused.Kind == plan.NotFound && l.step != nil {
		return "", nil // the step may have ended just now
	}
	if err != nil {
		return "", err
	}
	var shown bytes.Buffer
	err = printed(strings.NewReader(l.end(tailShown)), &printable{out: &shown})
	return shown.String(), err
}
