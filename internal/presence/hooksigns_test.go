package presence_test

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/testenv"
)

// attested is a state with this process as its server, and its agent's host above.
type attested struct {
	*testing.T
	clock  *clock
	home   string
	state  string
	host   process.Ancestor
	server *presence.Registry
}

func attest(t *testing.T) attested {
	t.Helper()
	a := attested{T: t, clock: newClock(), home: t.TempDir(), host: self(t)} // a process that runs
	a.state = filepath.Join(a.home, "shop-1")
	testenv.Check(t, os.Mkdir(a.state, 0o700))
	testenv.Check(t, presence.PrepareHooks(a.home, a.host))
	a.server = presence.Open(a.state, presence.Options{Now: a.clock.Now, Server: func() presence.Server {
		return presence.Server{Process: self(t), Host: a.host, Starter: a.host}
	}})
	t.Cleanup(a.server.Join("codex#1"))
	return a
}

// hook makes a hook of the host answer, in another process.
func (a attested) hook(tool string, above ...process.Ancestor) {
	a.hookAt("pre-tool-use", tool, above...)
}

func (a attested) hookAt(event, tool string, above ...process.Ancestor) {
	chain := append([]process.Ancestor{{PID: 90, Started: 90, Name: "planloop"}}, above...)
	presence.Open(a.state, presence.Options{Now: a.clock.Now}).RecordHook(func() []process.Ancestor { return chain },
		presence.Hook{Host: "codex", Event: event, Tool: tool, ChecksTool: event == "pre-tool-use"})
}

func (a attested) agent() presence.Agent {
	a.Helper()
	agents := presence.Open(a.state, presence.Options{}).Agents()
	if len(agents) != 1 || agents[0].Client != "codex#1" || agents[0].IsSelf {
		a.Fatalf("%+v", agents)
	}
	return agents[0]
}

// TestBelieved: a hook counts below the program that started the server, with only shells between.
func TestBelieved(t *testing.T) {
	shell := process.Ancestor{PID: 80, Started: 80, Name: "sh"}
	outer := process.Ancestor{PID: 70, Started: 1, Name: "code"}
	other := process.Ancestor{PID: 71, Started: 5, Name: "claude"}
	type above = []process.Ancestor
	for name, test := range map[string]struct {
		above func(host process.Ancestor) above
		want  bool
	}{
		"the host's own child":        {func(host process.Ancestor) above { return above{host} }, true},
		"through a shell":             {func(host process.Ancestor) above { return above{shell, host, outer} }, true},
		"through two":                 {func(host process.Ancestor) above { return above{shell, shell, host} }, true},
		"of another host beneath":     {func(host process.Ancestor) above { return above{shell, other, shell, host} }, false},
		"of another host":             {func(process.Ancestor) above { return above{shell, other} }, false},
		"beside it, in the same tree": {func(process.Ancestor) above { return above{shell, outer} }, false},
		"another of the host's pid": {func(host process.Ancestor) above {
			host.Started--
			return above{host}
		}, false},
		"nothing is known above it": {func(process.Ancestor) above { return nil }, false},
	} {
		a := attest(t)
		a.hook("", test.above(a.host)...)
		if got := !a.agent().Sign.At.IsZero(); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestCalls: once a hook has answered, a hook must report each call before the server gets it.
func TestCalls(t *testing.T) {
	const status, submit = "planloop_status", "planning_submit_plan"
	hook := func(tool string) func(attested) { return func(a attested) { a.hook(tool, a.host) } }
	call := func(tool string) func(attested) { return func(a attested) { a.server.Called(tool, presence.CallID{}) } }
	pass := func(d time.Duration) func(attested) { return func(a attested) { a.clock.pass(d) } }
	twice := func(a attested) { a.hook(status, a.host); a.hookAt("before-mcp-execution", status, a.host) }
	again := func(a attested) { a.Cleanup(a.server.Join("codex#1")) } // the server restarts
	for name, test := range map[string]struct {
		happens []func(attested)
		unseen  []string
	}{
		"no hook ever":            {[]func(attested){call(status), call(status)}, []string{status}},
		"no hook ever, and later": {[]func(attested){call(status), pass(time.Minute), call(status)}, []string{status, status}},
		"each told of":            {[]func(attested){hook(status), call(status), hook(submit), call(submit)}, nil},
		"in parallel": {[]func(attested){hook(status), hook(submit), hook(status), call(submit), call(status),
			call(status)}, nil},
		"one told of, two come":         {[]func(attested){hook(status), call(status), call(status)}, []string{status}},
		"another tool than told":        {[]func(attested){hook(status), call(submit)}, []string{submit}},
		"a hook for other tools alone":  {[]func(attested){hook(""), call(status)}, []string{status}},
		"a person was asked before":     {[]func(attested){hook(submit), pass(50 * time.Minute), call(submit)}, nil},
		"one never came, long ago":      {[]func(attested){hook(status), pass(2 * time.Hour), call(status)}, []string{status}},
		"one never came, another is":    {[]func(attested){hook(submit), hook(status), call(status)}, nil},
		"two events before each":        {[]func(attested){twice, twice, call(status), call(status)}, nil},
		"two events before one of two":  {[]func(attested){twice, call(status), call(status)}, []string{status}},
		"the server was restarted":      {[]func(attested){hook(status), again, call(status)}, nil},
		"the hook was silent for a bit": {[]func(attested){hook(""), call(status), hook(submit), call(submit)}, []string{status}},
	} {
		a := attest(t)
		for _, happens := range test.happens {
			happens(a)
		}
		var got []string
		for _, one := range a.agent().Unseen {
			got = append(got, one.Tool)
		}
		if fmt.Sprint(got) != fmt.Sprint(test.unseen) {
			t.Errorf("%s: %v, want %v", name, got, test.unseen)
		}
	}
}

// TestCallsAtOnce: concurrent calls are not confused.
func TestCallsAtOnce(t *testing.T) {
	a := attest(t)
	const many = 20
	for range 2 * many {
		a.hook("planloop_status", a.host)
	}
	var calls sync.WaitGroup
	for range 2 * many {
		calls.Go(func() { a.server.Called("planloop_status", presence.CallID{}) })
	}
	calls.Wait()
	if got := a.agent().Unseen; got != nil {
		t.Errorf("%v", got)
	}
	if a.server.Called("planloop_status", presence.CallID{}); len(a.agent().Unseen) != 1 {
		t.Error("one call more than told of goes unnoticed")
	}
}

// TestSignsAreBounded: only a handful of files remains in any case.
func TestSignsAreBounded(t *testing.T) {
	a := attest(t)
	for i := range 300 {
		a.hook(fmt.Sprint("tool", i), a.host)
		a.server.Called(fmt.Sprint("other", i), presence.CallID{})
	}
	left, err := filepath.Glob(filepath.Join(a.home, "hooks", "*", "*"))
	if err != nil || len(left) > 70 || len(a.agent().Unseen) > 20 {
		t.Errorf("%d files, %d calls, %v", len(left), len(a.agent().Unseen), err)
	}
}

// TestOtherHooksJudgeNothing: a hook at the start of a session is a sign of life, but not of judging calls.
func TestOtherHooksJudgeNothing(t *testing.T) {
	a := attest(t)
	a.hookAt("session-start", "", a.host)
	if sign := a.agent().Sign; sign.At.IsZero() || !sign.ToolChecked.IsZero() {
		t.Errorf("%+v", sign)
	}
	a.hook("", a.host)
	judged := a.agent().Sign.At
	a.clock.pass(time.Minute)
	a.hookAt("session-start", "", a.host)
	if sign := a.agent().Sign; !sign.ToolChecked.Equal(judged) || !sign.At.After(judged) {
		t.Errorf("%+v", sign)
	}
}

// TestSignsOfAWorkspace: a host may work in two workspaces, but a hook reports on one.
func TestSignsOfAWorkspace(t *testing.T) {
	a := attest(t)
	elsewhere := filepath.Join(a.home, "bank-2")
	presence.Open(elsewhere, presence.Options{}).RecordHook(func() []process.Ancestor { return []process.Ancestor{{PID: 90}, a.host} },
		presence.Hook{Host: "codex"})
	if !a.agent().Sign.At.IsZero() {
		t.Error("a hook of another workspace is believed")
	}
}

// TestWhereNothingIsKept: a server that only starts makes no folder for planloop's data.
func TestWhereNothingIsKept(t *testing.T) {
	home := filepath.Join(t.TempDir(), "planloop")
	if err := presence.PrepareHooks(home, self(t)); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(home); err == nil {
		t.Error("it is made")
	}
}

// TestNoServer: without a server, or in memory, a hook leaves nothing.
func TestNoServer(t *testing.T) {
	home := t.TempDir()
	for _, state := range []string{filepath.Join(home, "shop-1"), ""} {
		presence.Open(state, presence.Options{}).RecordHook(func() []process.Ancestor {
			t.Error("it is asked what the hook descends from")
			return nil
		}, presence.Hook{Host: "codex", Tool: "planloop_status"})
	}
	if left, _ := os.ReadDir(home); len(left) > 0 {
		t.Errorf("%v", left)
	}
}

// TestHookBeforeItsPlace: a server that started before there was any data could not make a folder for signs. Its hooks
// make it as soon as the workspace has a state.
func TestHookBeforeItsPlace(t *testing.T) {
	home := t.TempDir()
	state, server := filepath.Join(home, "shop-1"), self(t)
	testenv.Check(t, os.Mkdir(state, 0o700))
	book := presence.Open(state, presence.Options{Server: func() presence.Server {
		return presence.Server{Process: server, Host: server, Starter: server}
	}})
	presence.Open(state, presence.Options{}).RecordHook(func() []process.Ancestor {
		return []process.Ancestor{{PID: 90, Started: 90, Name: "planloop"}, server}
	}, presence.Hook{Host: "codex", Event: "pre-tool-use", ChecksTool: true})
	t.Cleanup(book.Join("codex#1"))
	if agents := book.Agents(); len(agents) != 1 || agents[0].Sign.ToolChecked.IsZero() {
		t.Errorf("%+v", agents)
	}
}

// TestServedBeside: hooks know the workspaces of the host's other servers, even if one's file cannot be read, but not
// those of ended servers.
func TestServedBeside(t *testing.T) {
	a := attest(t)
	chain := func() []process.Ancestor { return []process.Ancestor{{PID: 90, Started: 90, Name: "planloop"}, a.host} }
	beside := presence.Open(filepath.Join(a.home, "other-2"), presence.Options{})
	note, err := filepath.Glob(filepath.Join(a.home, "hooks", "*", "*.serves"))
	if err != nil || len(note) != 1 {
		t.Fatalf("%q, %v", note, err)
	}
	for text, want := range map[string]bool{"": true, `{"pid": 1`: true, `{"pid": 1, "started": 1}`: false} {
		testenv.Check(t, os.WriteFile(note[0], []byte(text), 0o600))
		if got := beside.OtherStates(chain); (len(got) == 1 && got[0] == a.state) != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}

// TestLateSigns: a report that comes after its call, as an asynchronous hook's may, neither counts as an answer nor covers the next call.
func TestLateSigns(t *testing.T) {
	const status = "planloop_status"
	a := attest(t)
	a.server.Called(status, presence.CallID{})
	a.clock.pass(time.Second)
	a.hook(status, a.host)
	agent := a.agent()
	if agent.Sign.At.IsZero() || !agent.Sign.ToolChecked.IsZero() || len(agent.Unseen) != 1 || agent.Unseen[0].Late.IsZero() {
		t.Errorf("late: %+v", agent)
	}
	a.server.Called(status, presence.CallID{})
	if agent := a.agent(); len(agent.Unseen) != 2 {
		t.Errorf("the late report covers the next call: %+v", agent)
	}
	a.clock.pass(time.Minute)
	a.hook(status, a.host)
	a.server.Called(status, presence.CallID{})
	if agent := a.agent(); agent.Sign.ToolChecked.IsZero() || len(agent.Unseen) != 2 {
		t.Errorf("in time again: %+v", agent)
	}
}
