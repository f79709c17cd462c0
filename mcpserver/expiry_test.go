package mcpserver_test

import (
	"context"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/transport"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// TestATimeOutIsHeardWhenItHappens has two servers on one workspace. When planning mode expires, one of them
// records and announces it at once, without any call, and a waiting status call returns.
func TestATimeOutIsHeardWhenItHappens(t *testing.T) {
	for phase, limit := range map[plan.Phase]time.Duration{plan.PhaseGathering: time.Hour, plan.PhaseSubmitted: 30 * time.Minute} {
		t.Run(string(phase), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) { timesOut(t, phase, limit, true) })
			synctest.Test(t, func(t *testing.T) { timesOut(t, phase, limit, false) })
		})
	}
}

func timesOut(t *testing.T, phase plan.Phase, limit time.Duration, waits bool) {
	limits := plan.Limits{ApprovalTimeout: 30 * time.Minute}
	s := session.New(store.NewMemory(), session.Options{Limits: limits})
	t.Cleanup(func() { _ = s.Close() })
	announced := make(chan string, 10)
	notify := func(n verbs.Notice) {
		if n.Event == "mode_expired" {
			announced <- n.Text
		}
	}
	var clients []*mcp.ClientSession
	var w modeWorld
	for range 2 {
		service := verbs.New(s, verbs.Options{Notify: notify, Limits: limits})
		server, err := mcpserver.New(mcpserver.Options{Yield: transport.Yield,
			Service: func(context.Context, mcpserver.Roots, string) (*verbs.Service, error) { return service, nil },
			Actor:   func(client, _ string) plan.Actor { return plan.Actor{Kind: plan.Agent, Name: client} }})
		testenv.Check(t, err)
		t.Cleanup(server.Close)
		w = modeWorld{world: world{server: server, service: service}, t: t}
		clients = append(clients, w.connect(t, handshake, nil))
	}
	begun := time.Now()
	call(t, clients[0], "planning_enter_plan_mode", map[string]any{"reason": "it is large"})
	if phase == plan.PhaseSubmitted {
		call(t, clients[0], "planning_submit_plan", goodPlan())
	}
	listed(t, clients[1]) // as every host does
	time.Sleep(limit - 10*time.Second)
	if !waits {
		time.Sleep(11 * time.Second)
		wantExpired(t, w, announced)
		return
	}
	got := text(t, call(t, clients[1], "planloop_status", map[string]any{"wait": 60}))
	if waited := time.Since(begun); waited < limit || waited > limit+time.Second {
		t.Errorf("answered %v after the mode began", waited)
	}
	want, stop := "Planning mode has expired: no activity for 1h", phase == plan.PhaseSubmitted
	if stop {
		want = "The plan counts as rejected: not decided within 30m."
	}
	stopped := strings.Contains(got, verbs.NoDecision)
	if !strings.Contains(got, want) || stopped != stop || stop && strings.Contains(got, "planning_setup_plan") {
		t.Error(got)
	}
	wantExpired(t, w, announced)
}

func wantExpired(t *testing.T, w modeWorld, announced <-chan string) {
	t.Helper()
	synctest.Wait()
	if expired := events[plan.ModeExpired](w); len(expired) != 1 || len(announced) != 1 {
		t.Errorf("recorded %+v, announced %d times", expired, len(announced))
	}
}

// unreadable is a log that becomes unreadable once it is broken, and counts the attempts to read it.
type unreadable struct {
	store.Log
	broken atomic.Bool
	looks  atomic.Int64
}

func (u *unreadable) Since(ctx context.Context, head store.Head) (store.Head, []plan.Record, error) {
	if !u.broken.Load() {
		return u.Log.Since(ctx, head)
	}
	u.looks.Add(1)
	return store.Head{}, nil, store.ErrDamaged
}

// TestALogThatCannotBeReadIsLeftAlone: if the log is unreadable when planning mode expires, the server retries only
// now and then.
func TestALogThatCannotBeReadIsLeftAlone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		log := &unreadable{Log: store.NewMemory()}
		s := session.New(log, session.Options{})
		t.Cleanup(func() { _ = s.Close() })
		service := verbs.New(s, verbs.Options{})
		server, err := mcpserver.New(mcpserver.Options{Yield: transport.Yield, Logger: slog.New(slog.DiscardHandler),
			Service: func(context.Context, mcpserver.Roots, string) (*verbs.Service, error) { return service, nil },
			Actor:   func(client, _ string) plan.Actor { return plan.Actor{Kind: plan.Agent, Name: client} }})
		testenv.Check(t, err)
		t.Cleanup(server.Close)
		client := modeWorld{world: world{server: server, service: service}, t: t}.connect(t, handshake, nil)
		call(t, client, "planning_enter_plan_mode", map[string]any{"reason": "it is large"})
		listed(t, client)
		log.broken.Store(true)
		time.Sleep(time.Hour + 10*time.Minute)
		if looks := log.looks.Load(); looks == 0 || looks > 20 {
			t.Errorf("it looked %d times", looks)
		}
	})
}
