package mcpserver_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// verifier is a verify command under a test's control: it ends with the exit code that the test sends.
type verifier struct {
	begun chan struct{}
	code  chan int
}

func newVerifier() verifier {
	return verifier{begun: make(chan struct{}, 10), code: make(chan int, 10)}
}

func (v verifier) run(ctx context.Context, step *plan.Step) (plan.Evidence, error) {
	v.begun <- struct{}{}
	select {
	case code := <-v.code:
		return plan.Evidence{Command: step.Verify, ExitCode: &code, Output: "--- FAIL: TestLimit", Recorded: true}, nil
	case <-ctx.Done():
		return plan.Evidence{}, ctx.Err()
	}
}

// approvedWorld is a world with an approved plan of two steps to verify; the first is in progress.
func approvedWorld(t *testing.T, v verifier, wait time.Duration) (world, *mcp.ClientSession) {
	t.Helper()
	w := newWorldWith(t, verbs.Options{Verify: v.run, VerifyWait: wait}, mcpserver.Options{})
	session := w.connect(t, handshake, nil)
	step := func(title string) arguments {
		return arguments{"title": title, "type": "feature", "context_hints": []string{"Read it"}, "relevant_file_paths": []string{"go.mod"},
			"acceptance_criteria": []string{"it works"}, "verify": "go test ./..."}
	}
	submitted := call(t, session, "planning_submit_plan", arguments{"summary": "Limit logins",
		"steps": []arguments{step("Count the attempts"), step("Refuse the sixth attempt")}})
	if submitted.IsError {
		t.Fatal(text(t, submitted))
	}
	state, err := w.service.State(t.Context())
	testenv.Check(t, err)
	petra := verbs.Caller{Actor: plan.NewActor(plan.ChannelTerminal, "petra")}
	decision := plan.DecideDraft{Outcome: plan.Approved, Request: state.ModeNow().Request.ID, Digest: plan.Digest(state.Draft)}
	if _, err := w.service.Decide(t.Context(), petra, decision); err != nil {
		t.Fatal(err)
	}
	call(t, session, "planning_mark_step", arguments{"step_id": "S001", "status": "in_progress"})
	return w, session
}

type arguments = map[string]any

func (w world) until(t *testing.T, holds func(plan.State) bool) {
	t.Helper()
	changes, err := w.service.Watch(t.Context())
	testenv.Check(t, err)
	for {
		state, err := w.service.State(t.Context())
		testenv.Check(t, err)
		if holds(state) {
			return
		}
		select {
		case <-changes:
		case <-time.After(closing):
			t.Fatalf("the state stays %+v", state.Plan.Steps.At(0))
		}
	}
}

func stepOf(state plan.State, id plan.StepID) *plan.Step {
	step, _ := state.Plan.Steps.Get(id)
	return step
}

var markDone = arguments{"step_id": "S001", "status": "done", "note": "all green"}

// TestSlowVerification: beyond the wait the command continues in the background, and the step is done once it has passed. A second mark
// joins the run.
func TestSlowVerification(t *testing.T) {
	v := newVerifier()
	w, session := approvedWorld(t, v, time.Millisecond)
	for range 2 {
		if got := text(t, call(t, session, "planning_mark_step", markDone)); !strings.HasPrefix(got, "S001 is in_progress") ||
			!strings.Contains(got, "S001: verifying since ") {
			t.Fatal(got)
		}
	}
	v.code <- 0
	w.until(t, func(s plan.State) bool { return stepOf(s, 1).Status == plan.Done })
	state, _ := w.service.State(t.Context())
	if step := stepOf(state, 1); len(step.Notes) != 1 || len(step.Evidence) != 1 || len(v.begun) != 1 {
		t.Errorf("%d runs, %+v", len(v.begun), step)
	}
}

// TestSlowVerificationFails: the step stays in progress, and the next status has the outcome, until the command passes.
func TestSlowVerificationFails(t *testing.T) {
	v := newVerifier()
	w, session := approvedWorld(t, v, time.Millisecond)
	call(t, session, "planning_mark_step", markDone)
	v.code <- 1
	w.until(t, func(s plan.State) bool { return len(s.OpenSignals(plan.Warning)) == 1 })
	got := text(t, call(t, session, "planloop_status", arguments{}))
	if !strings.Contains(got, `Signals: "task-1" (warning, S001): go test ./...`) {
		t.Error(got)
	}
	v.code <- 0
	call(t, session, "planning_mark_step", markDone)
	w.until(t, func(s plan.State) bool {
		return stepOf(s, 1).Status == plan.Done && len(s.OpenSignals(plan.Warning)) == 0
	})
}

// TestVerificationYields: while a call waits for a command, other calls are answered. Its own reply has the failing lines.
func TestVerificationYields(t *testing.T) {
	v := newVerifier()
	w, session := approvedWorld(t, v, time.Hour)
	marked := make(chan string, 1)
	go func() { marked <- text(t, call(t, session, "planning_mark_step", markDone)) }()
	<-v.begun
	if got := text(t, call(t, session, "planloop_status", arguments{})); !strings.Contains(got, "S001") {
		t.Error(got)
	}
	v.code <- 1
	if got := <-marked; !strings.Contains(got, "conflict: /status: S001 is not verified") ||
		!strings.Contains(got, "  | --- FAIL: TestLimit") || !strings.Contains(got, "\nNext: ") {
		t.Error(got)
	}
	state, _ := w.service.State(t.Context())
	if stepOf(state, 1).Status != plan.InProgress || len(state.OpenSignals(plan.Warning)) != 0 {
		t.Errorf("%+v", stepOf(state, 1))
	}
}

// TestServerEndsVerification: a server that closes ends the command; the step stays in progress, without evidence.
func TestServerEndsVerification(t *testing.T) {
	v := newVerifier()
	w, session := approvedWorld(t, v, time.Millisecond)
	call(t, session, "planning_mark_step", markDone)
	<-v.begun
	w.server.Close()
	state, err := w.service.State(t.Context())
	if step := stepOf(state, 1); err != nil || step.Status != plan.InProgress || len(step.Evidence) != 0 {
		t.Errorf("%v, %+v", err, step)
	}
}
