package plan_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/plan"
)

// graph is a plan with the end of each step fixed in advance, so that the order of execution cannot
// matter.
type graph struct {
	steps  []plan.NewStep
	fails  map[plan.StepID]bool
	denied map[plan.StepID]bool
	value  map[plan.StepID]int // of a step that is done
}

func drawGraph(t *rapid.T) graph {
	g := graph{fails: map[plan.StepID]bool{}, denied: map[plan.StepID]bool{}, value: map[plan.StepID]int{}}
	for i := range rapid.IntRange(1, 9).Draw(t, "steps") {
		id, step := plan.StepID(i+1), tool(fmt.Sprint("step ", i+1))
		step.Idempotent = true
		for range rapid.IntRange(0, min(i, 2)).Draw(t, "dependencies") {
			step.DependsOn = append(step.DependsOn, plan.StepID(rapid.IntRange(1, i).Draw(t, "on")))
		}
		switch rapid.SampledFrom([]string{"tool", "tool", "condition", "loop", "approval"}).Draw(t, "kind") {
		case "condition":
			step.When = "even"
		case "loop":
			step.ForEach = "*.txt"
		case "approval":
			step.RequiresApproval, g.denied[id] = true, rapid.Bool().Draw(t, "denied")
		}
		g.fails[id] = rapid.IntRange(0, 5).Draw(t, "fails") == 0
		g.value[id] = rapid.IntRange(0, 3).Draw(t, "value")
		g.steps = append(g.steps, step)
	}
	return g
}

// sum is the input of a step's conditions and lists: the values of its dependencies.
func (g graph) sum(step plan.NewStep) int {
	sum := 0
	for _, dep := range step.DependsOn {
		sum += g.value[dep]
	}
	return sum
}

// expected carries out the graph in order, one step after the other.
func (g graph) expected() map[plan.StepID]plan.StepStatus {
	ended, met := map[plan.StepID]plan.StepStatus{}, map[plan.StepID]bool{}
	for i, step := range g.steps {
		id := plan.StepID(i + 1)
		waits := slices.ContainsFunc(step.DependsOn, func(dep plan.StepID) bool { return !met[dep] })
		switch {
		case waits:
			ended[id] = plan.Pending
		case step.When == "even" && g.sum(step)%2 == 1:
			ended[id], met[id] = plan.Skipped, true
		case g.denied[id]:
			ended[id] = plan.Skipped
		case g.fails[id] && (step.ForEach == "" || g.sum(step)%4 > 0): // an empty list has nothing to fail
			ended[id] = plan.Failed
		default:
			ended[id], met[id] = plan.Done, true
		}
	}
	return ended
}

// world carries out a graph by engines that come and go, while people get in the way.
type world struct {
	graph
	*workspace
	born    int
	engines []plan.Actor
	running map[plan.Attempt]plan.Actor
}

func (w *world) find(step *plan.Step, r *plan.Resolution) {
	of := w.steps[min(int(step.ID), len(w.steps))-1]
	r.IsRepeatable, r.ConditionFalse, r.LoopDigest = true, step.When == "even" && w.sum(of)%2 == 1, "list"
	if step.ForEach != "" {
		for i := range w.sum(of) % 4 {
			r.Items = append(r.Items, json.RawMessage(fmt.Sprint(i)))
		}
	}
}

// ends returns the end of a step; if a loop fails, its last instance does.
func (w *world) ends(step *plan.Step) bool {
	if loop := step.Loop(); loop != 0 {
		parent := w.step(loop)
		last := parent.Execution.Instances[len(parent.Execution.Instances)-1]
		return !(w.fails[loop] && step.ID == last)
	}
	return !w.fails[step.ID]
}

func (w *world) advanceAs(t *rapid.T, by plan.Actor) {
	a := plan.Schedule{MaxStarts: rapid.IntRange(0, 3).Draw(t, "room")}
	for step := range w.state.Plan.Steps.Running() {
		attempt := plan.Attempt{Plan: w.state.Plan.Root(), Step: step.ID, Attempt: step.Attempts}
		owner, known := w.running[attempt]
		switch {
		case !known:
		case w.seen[owner.Name].IsGone:
			a.Lost = append(a.Lost, attempt)
		case owner == by && rapid.Bool().Draw(t, "ends"):
			again := step.Execution.Retries < 2 && rapid.IntRange(0, 4).Draw(t, "passes") == 0
			a.Results = append(a.Results, plan.AttemptResult{Attempt: attempt, IsTransient: again,
				Result: plan.Result{OK: !again && w.ends(step), Error: "e"}})
		}
	}
	events, err := w.try(by, w.resolve(a))
	if err != nil {
		t.Fatalf("an engine was refused: %v", err)
	}
	for _, e := range events {
		if started, is := e.(plan.StepStarted); is {
			w.running[plan.Attempt{Plan: w.state.Plan.Root(), Step: started.Step, Attempt: started.Attempt}] = by
		}
	}
}

// birth adds an engine.
func (w *world) birth() {
	w.born++
	w.engines = append(w.engines, plan.NewActor(plan.ChannelEngine, fmt.Sprintf("engine#%d", w.born)))
}

// disturb gets in the way of a run, and stops at the latest when calm is set.
func (w *world) disturb(t *rapid.T) {
	switch rapid.SampledFrom([]string{"", "", "", "die", "pause", "block", "mode", "clock", "replan", "restart"}).Draw(t, "meanwhile") {
	case "die":
		dead := w.engines[0]
		w.engines, w.seen[dead.Name] = w.engines[1:], plan.Sighting{IsGone: true}
		w.birth()
	case "pause":
		_, _ = w.try(person, plan.PauseRun{})
	case "block":
		_, _ = w.try(ann, plan.RaiseSignal{ID: "s", Level: plan.Blocker, Message: "red"})
	case "mode":
		_, _ = w.try(person, plan.EnterMode{})
	case "clock":
		w.now = w.now.Add(8 * time.Hour)
	case "replan":
		_, _ = w.try(person, plan.Replan{Changes: "another way"})
	case "restart": // from the written form
		w.state = foldAll(w.log)
	}
}

func (w *world) calm() {
	_, _ = w.try(ann, plan.ClearSignal{ID: "s"})
	_, _ = w.try(person, plan.CancelMode{})
	_, _ = w.try(person, plan.BeginRun{})
	for step := range w.state.Plan.Steps.WithQuestion() {
		choice := plan.Approve
		if w.denied[step.ID] {
			choice = plan.Deny
		}
		_, _ = w.try(person, plan.AnswerStep{Step: step.ID, Choice: choice})
	}
}

// TestEnginesEndAsOneStepAfterTheOther: with any number of engines and any disturbance, a plan ends
// as in a naive run in order.
func TestEnginesEndAsOneStepAfterTheOther(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		w := &world{graph: drawGraph(t), workspace: newWorkspace(t), running: map[plan.Attempt]plan.Actor{}}
		w.found = w.find
		w.limits.GatheringTimeout = -1
		w.birth()
		w.birth()
		w.do(person, plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Steps: w.steps})
		w.do(person, plan.BeginRun{})
		for round := range 1_000 {
			if round < 60 {
				w.disturb(t)
			}
			if round >= 60 || rapid.IntRange(0, 2).Draw(t, "calm") == 0 {
				w.calm()
			}
			w.advanceAs(t, rapid.SampledFrom(w.engines).Draw(t, "engine"))
			over := plan.FindStopReason(w.state)
			if over == plan.StopCompleted || over == plan.StopCancelled || over == plan.StopDeadlocked {
				break
			}
		}
		for id, want := range w.expected() {
			if got := w.step(id).Status; got != want {
				t.Fatalf("%s is %s, want %s; the run is over: %q\n%s", id, got, want, plan.FindStopReason(w.state),
					describe(w.state.Plan.Steps))
			}
		}
	})
}
