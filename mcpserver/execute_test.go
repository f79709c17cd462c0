package mcpserver_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// toyEngine carries out steps without tools. A step with "fail" in its title fails; one with "hang" ends with the
// engine.
type toyEngine struct{ session *session.Session }

func (e toyEngine) Run(ctx context.Context, o verbs.EngineOptions) (plan.StopReason, error) {
	by := plan.NewActor(plan.ChannelEngine, "engine#toy")
	if err := o.Begin(ctx); err != nil {
		return "", err
	}
	var done []plan.AttemptResult
	for {
		outcome, err := e.session.Do(context.WithoutCancel(ctx), by, plan.Schedule{Results: done, MaxStarts: 4}, resolved(done))
		if err != nil {
			return "", err
		}
		done = nil
		for _, event := range outcome.Events {
			started, ok := event.(plan.StepStarted)
			if !ok {
				continue
			}
			step, _ := outcome.After.Plan.Steps.Get(started.Step)
			o.Listener.Recorded(outcome.After, plan.Record{})
			o.Listener.Progress(step.ID, 40, "at it")
			result := plan.Result{OK: !strings.Contains(step.Title, "fail")}
			if strings.Contains(step.Title, "hang") {
				<-ctx.Done()
				result.OK = false
			}
			if !result.OK {
				result.Error = "the disk is full"
			}
			done = append(done, plan.AttemptResult{Attempt: plan.Attempt{Plan: outcome.After.Plan.Root(), Step: step.ID,
				Attempt: step.Attempts},
				Result: result, IsInterrupted: ctx.Err() != nil})
		}
		if over := plan.FindStopReason(outcome.After); over != "" && len(done) == 0 {
			if outcome.After.HasActiveRun() {
				_, err = e.session.Do(context.WithoutCancel(ctx), by, plan.PauseRun{Reason: over}, nil)
			}
			return over, err
		}
	}
}

// resolved provides the facts that an engine needs about ready steps.
func resolved(done []plan.AttemptResult) session.Prepare {
	return func(state plan.State, facts *plan.Facts) error {
		advance := plan.Schedule{Results: done, MaxStarts: 4}
		facts.Resolutions = map[plan.StepID]plan.Resolution{}
		for _, step := range plan.StartableSteps(advance.ApplyResults(state, *facts), advance.MaxStarts) {
			facts.Resolutions[step.ID] = plan.Resolution{Digest: plan.StartDigest(step, step.Args, ""), Args: step.Args,
				IsDestructive: strings.Contains(step.Title, "Delete")}
		}
		return nil
	}
}

// withPlan sets up a plan for the engine.
func (w modeWorld) withPlan(steps ...plan.Spec) modeWorld {
	w.t.Helper()
	setUp := plan.SetUp{Outline: plan.Outline{Objective: "Release it"}}
	for _, spec := range steps {
		if spec.Tool != "" {
			spec.Args = json.RawMessage(`{"command":"rm -r old"}`)
		}
		setUp.Steps = append(setUp.Steps, plan.NewStep{Spec: spec})
	}
	if _, err := w.service.SetUp(context.Background(), petra, setUp); err != nil {
		w.t.Fatal(err)
	}
	return w
}

func run(title string, after ...plan.StepID) plan.Spec {
	return plan.Spec{Title: title, Tool: "bash_execute", DependsOn: after}
}

func wants(t *testing.T, got string, want ...string) {
	t.Helper()
	for _, part := range want {
		if !strings.Contains(got, part) {
			t.Errorf("%q is missing in\n%s", part, got)
		}
	}
}

// TestExecutePlan: the call returns when an agent's step is ready, and the run continues with the next call until
// all is done.
func TestExecutePlan(t *testing.T) {
	for _, era := range bothEras() {
		t.Run(era, func(t *testing.T) {
			w := newModeWorld(t, plan.Limits{}).withPlan(run("Build it"), plan.Spec{Title: "Judge it", DependsOn: []plan.StepID{1}},
				run("Ship it", 2), run("Try to fail"))
			client := w.connect(t, era, nil)
			got := text(t, call(t, client, "planning_execute_plan", nil))
			wants(t, got, "waiting_for_agent", "Ready: S002", `S004 "Try to fail" failed: the disk is full`, "1 done", "Next: Start S002")
			got = text(t, call(t, client, "planning_next_step", nil))
			wants(t, got, "S002 is yours", "## Last Error\n\n  | S004: the disk is full")
			call(t, client, "planning_mark_step", map[string]any{"step_id": "S002", "status": "done"})
			call(t, client, "planning_recover_step", map[string]any{"step_id": "S004", "choice": "skip", "reason": "not today"})
			got = text(t, call(t, client, "planning_execute_plan", map[string]any{"wait": 30, "parallel": 2}))
			wants(t, got, "The plan is complete", "3 done, 1 skipped", "Next: All steps are finished")
			wants(t, text(t, call(t, client, "planning_execute_plan", nil)), "The plan is complete") // this changes nothing
		})
	}
}

func TestExecutePlanRefuses(t *testing.T) {
	w := newModeWorld(t, plan.Limits{}).withPlan(run("Build it"))
	client := w.connect(t, handshake, nil)
	wants(t, text(t, callOrRefusal(t, client, "planning_execute_plan", map[string]any{"wait": 90, "parallel": 65})),
		"/wait: 90 s is out of range; give 0 to 45", "/parallel: 65 is out of range; give 1 to 64",
		"A correct call: planning_execute_plan {")
	call(t, client, "planning_enter_plan_mode", map[string]any{"reason": "it is large"})
	wants(t, text(t, callOrRefusal(t, client, "planning_execute_plan", nil)), "nothing can be changed until a plan is approved")
	if w.state().OpenRun() != nil {
		t.Error("a run was begun in planning mode")
	}
	bare := newWorld(t).connect(t, handshake, nil)
	wants(t, text(t, callOrRefusal(t, bare, "planning_execute_plan", nil)), "this server has no engine to run steps")
}

// TestExecutePlanGoesOnBehindTheCall: the call returns at its time limit with the step's progress, and the engine
// ends with the server.
func TestExecutePlanGoesOnBehindTheCall(t *testing.T) {
	t.Parallel()
	w := newModeWorld(t, plan.Limits{}).withPlan(run("Let it hang"), run("Ship it", 1))
	client := w.connect(t, handshake, nil)
	got := ""
	for late := time.Now().Add(2 * time.Minute); !strings.Contains(got, "at it") && time.Now().Before(late); { // until the engine has begun
		got = text(t, call(t, client, "planning_execute_plan", map[string]any{"wait": 1}))
	}
	wants(t, got, "The run continues (1 in progress, 1 pending)", "Running: S001 Let it hang (40 % at it)")
	if got := text(t, call(t, client, "planning_execute_plan", map[string]any{"wait": 0})); !strings.Contains(got, "Running: S001") {
		t.Errorf("a second call does not join:\n%s", got)
	}
	w.server.Close()
	step, _ := w.state().Plan.Steps.Get(1)
	if !step.IsUnknown() {
		t.Errorf("the step that ran is %s", step.Status)
	}
}

// TestExecutePlanTellsProgress: a client that sent a token gets the progress of each step.
func TestExecutePlanTellsProgress(t *testing.T) {
	t.Parallel()
	w := newModeWorld(t, plan.Limits{}).withPlan(run("Let it hang"), run("Ship it", 1))
	told := make(chan string, 100)
	client := w.connect(t, handshake, &mcp.ClientOptions{
		ProgressNotificationHandler: func(_ context.Context, n *mcp.ProgressNotificationClientRequest) { told <- n.Params.Message }})
	params := &mcp.CallToolParams{Name: "planning_execute_plan", Arguments: map[string]any{"wait": 1}}
	params.SetProgressToken("p")
	for late := time.Now().Add(2 * time.Minute); time.Now().Before(late); { // until progress has arrived
		if _, err := client.CallTool(t.Context(), params); err != nil {
			t.Fatal(err)
		}
		for len(told) > 0 {
			if strings.Contains(<-told, "S001") {
				return
			}
		}
	}
	t.Fatal("nothing was told of S001")
}

// TestStepsAreApprovedInTheDialogue shows the questions of steps to a client's user in both eras, bound to the
// content shown. Declining decides nothing.
func TestStepsAreApprovedInTheDialogue(t *testing.T) {
	plan1 := []plan.Spec{run("Delete the folder"), {Title: "Which server?", Pause: "Which server?", DependsOn: []plan.StepID{1}},
		run("Ship it", 2)}
	approve := map[string]any{"decision": "approve", "answer": "staging"}
	for name, c := range map[string]struct {
		action  string
		content map[string]any
		limits  plan.Limits
		done    int
		want    []string
	}{
		"approved": {"accept", approve, plan.Limits{}, 3, []string{"The plan is complete"}},
		"denied":   {"accept", map[string]any{"decision": "reject"}, plan.Limits{}, 0, []string{"1 skipped", "deadlocked"}},
		"declined": {"decline", nil, plan.Limits{}, 0, []string{
			"waiting_for_person", `Asks: S001 "Delete the folder" asks for a person's approval`}},
		"nonsense": {"accept", map[string]any{"decision": "perhaps"}, plan.Limits{}, 0, []string{"waiting_for_person"}},
		"approval person": {"accept", approve, plan.Limits{PersonOnly: true}, 0, []string{"waiting_for_person",
			"asks for a person's approval"}},
	} {
		for _, era := range bothEras() {
			if name == "nonsense" && era == stateless { // that client rejects it itself
				continue
			}
			t.Run(name+" "+era, func(t *testing.T) {
				shown := ""
				user := userWho(func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
					shown += r.Params.Message
					return &mcp.ElicitResult{Action: c.action, Content: c.content}, nil
				})
				w := newModeWorld(t, c.limits).withPlan(plan1...)
				result := call(t, w.connect(t, era, user), "planning_execute_plan", nil)
				wants(t, text(t, result), c.want...)
				p := w.state().Plan
				if p.Steps.Count(plan.Done) != c.done {
					t.Errorf("%d steps are done, want %d", p.Steps.Count(plan.Done), c.done)
				}
				if !c.limits.PersonOnly {
					wants(t, shown, "Delete the folder", "rm -r old", "bash_execute")
				} else if shown != "" {
					t.Errorf("the user was shown %q", shown)
				}
				for _, answered := range events[plan.StepAnswered](w) {
					if answered.Way != plan.WayClient || answered.Step == 2 && answered.Text != "staging" {
						t.Errorf("kept as %+v", answered)
					}
				}
			})
		}
	}
}

// TestAStepThatChangedIsNotApproved: in the stateless era, an approval of an outdated question does not count.
func TestAStepThatChangedIsNotApproved(t *testing.T) {
	w := newModeWorld(t, plan.Limits{}).withPlan(run("Delete the folder"))
	user := userWho(func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		deny := verbs.StepAnswer{Step: 1, Choice: plan.Deny, Text: "no"}
		if _, err := w.service.AnswerStep(context.Background(), petra, deny); err != nil {
			return nil, err
		}
		return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}}, nil
	})
	call(t, w.connect(t, stateless, user), "planning_execute_plan", nil)
	if step, _ := w.state().Plan.Steps.Get(1); step.Status != plan.Skipped {
		t.Errorf("the step is %s", step.Status)
	}
}
