package e2e_test

import (
	"cmp"
	"os"
	"strings"
	"syscall"

	"github.com/planloop/planloop/plan"
)

// act is a thing that can happen while a plan is run. Its weight says how often.
type act struct {
	name   string
	weight int
	needs  string // a feature; "": none
	do     func(*world)
}

var agentNames = []string{"ada", "bob"}

func acts() []act {
	return []act{
		{"run", 10, "", func(w *world) {
			if w.reap(); len(w.engines) < 3 {
				w.begin([][]string{nil, {"--parallel", "1"}, {"--json"}}[w.random.IntN(3)]...)
			}
		}},
		{"kill", 8, "", func(w *world) { w.signal(syscall.SIGKILL) }},
		{"interrupt", 3, "", func(w *world) { w.signal(os.Interrupt) }},
		{"open the gate", 6, "", func(w *world) { w.openGate(); w.settleDown(); w.closeGate() }},
		{"pause", 2, "", func(w *world) { w.say("pause") }},
		{"retry", 4, "", func(w *world) { w.onStep("retry", w.isOrphan, (*plan.Step).IsUnknown, isFailed) }},
		{"skip", 1, "", func(w *world) { w.onStep("skip", w.isOrphan, isFailed, isPending) }},
		{"settle", 2, "", func(w *world) { w.settle() }},
		{"replan", 1, "", func(w *world) { w.replan() }},
		{"an agent marks", 4, "", func(w *world) { w.markByAgent() }},
		{"an agent adds", 1, "", func(w *world) { w.accepted("", "step", "add", "Step by "+agentNames[0], "--agent", agentNames[0]) }},
		{"planning mode", 1, "", func(w *world) { w.patiently("", "plan", "Look around") }},
		{"planning mode ends", 2, "", func(w *world) {
			if w.log.state.PhaseNow().IsRestricted() {
				w.atTerminal("plan", "cancel")
			}
		}},
		{"blocker", 1, "", func(w *world) { w.say("alert", "--id", "tests", "--message", "They fail") }},
		{"blocker is cleared", 2, "", func(w *world) { w.say("alert", "--id", "tests", "--clear") }},
		{"comment", 1, "", func(w *world) { w.comment() }},
		{"answer", 3, "", func(w *world) { w.onQuestion(plan.AskPause, "answer", "yes") }},
		{"approve", 4, "", func(w *world) { w.onQuestion(plan.AskApproval, "approve") }},
		{"reject", 1, "", func(w *world) { w.onQuestion(plan.AskApproval, "reject", "no") }},
		{"other track", 1, "", func(w *world) {
			w.say("--track", "side", "start", "--goal", "Aside", "--step", "Nothing")
			w.atTerminal("purge", "--track", "side")
		}},
		{"other plan", 1, "", func(w *world) {
			if w.random.IntN(3) == 0 && !w.log.state.PhaseNow().IsRestricted() && w.clear() {
				w.newPlan()
			}
		}},

		{"an agent takes a running step", 2, "stop", func(w *world) {
			w.refusedOn((*plan.Step).IsRunning, "step", "claim", "--agent", agentNames[0])
		}},
		{"a person takes a running step", 2, "stop", func(w *world) { w.refusedOn((*plan.Step).IsRunning, "step", "claim", "--force") }},
		{"stop", 5, "stop", func(w *world) { w.onStep("stop", (*plan.Step).IsRunning) }},
		{"run a step", 2, "from", func(w *world) {
			if step := w.pick(isPending); step != nil && len(w.engines) < 3 {
				w.begin(step.ID.String())
			}
		}},
		{"run from a step", 2, "from", func(w *world) {
			if step := w.pick(isPending); step != nil && len(w.engines) < 3 {
				w.begin("--from", step.ID.String())
			}
		}},
		{"detached run", 3, "detach", func(w *world) { w.detached = w.say("run", "--detach").code == 0 || w.detached }},
		{"retry with dependents", 2, "dependents", func(w *world) {
			if step := w.pick(func(step *plan.Step) bool { return step.Status == plan.Done && step.Tool != "" }); step != nil {
				w.say("step", "retry", step.ID.String(), "--with-dependents")
			}
		}},
	}
}

// actAtRandom does one random act and lets the run go on for a moment.
func (w *world) actAtRandom() {
	all, sum := acts(), 0
	for _, a := range all {
		if a.needs == "" || w.has[a.needs] {
			sum += a.weight
		}
	}
	at := w.random.IntN(sum)
	for _, a := range all {
		if a.needs != "" && !w.has[a.needs] {
			continue
		}
		if at -= a.weight; at < 0 {
			w.observe()
			w.trace("- %s", a.name)
			a.do(w)
			break
		}
	}
	w.settleDown()
	w.reap()
	w.observe()
}

func isFailed(step *plan.Step) bool  { return step.Status == plan.Failed }
func isPending(step *plan.Step) bool { return step.Status == plan.Pending }

// isOrphan reports whether the engine of a running step is dead.
func (w *world) isOrphan(step *plan.Step) bool {
	return step.IsRunning() && len(w.engines) == 0 && !w.detached
}

// pick returns a random step that matches, nil if none does.
func (w *world) pick(matches func(*plan.Step) bool) *plan.Step {
	list := stepsIn(w.log.state.Plan, matches)
	if len(list) == 0 {
		return nil
	}
	return list[w.random.IntN(len(list))]
}

// say runs a command that may be refused, but must not break.
func (w *world) say(args ...string) outcome { return w.sayWith("", args...) }

func (w *world) sayWith(input string, args ...string) outcome {
	got, err := w.try(input, args...)
	if err != nil {
		w.violation("planloop %s: %v", strings.Join(args, " "), err)
	}
	w.trace("planloop %s → %d %s", strings.Join(args, " "), got.code, firstLine(got))
	if got.code != 0 && got.code != 2 {
		w.violation("planloop %s: %+v", strings.Join(args, " "), got)
	}
	return got
}

// accepted is say with a note, which must be kept if the command succeeds.
func (w *world) accepted(note string, args ...string) {
	if note != "" {
		args = append(args, "--note", note)
	}
	if got := w.say(args...); got.code == 0 && note != "" {
		w.kept = append(w.kept, note)
	}
}

// patiently runs a command that may wait for running steps, with the gate open.
func (w *world) patiently(input string, args ...string) outcome {
	w.openGate()
	defer w.closeGate()
	return w.sayWith(input, args...)
}

// replan has the plan revised, which waits for running steps.
func (w *world) replan() {
	if w.patiently(`{"changes":"Try again","reasoning":"It failed"}`, "replan", "--file", "-").code == 0 {
		w.noLeftovers("planloop replan")
	}
}

// clear has a person give up the plan.
func (w *world) clear() bool {
	w.openGate()
	defer w.closeGate()
	return w.atTerminal("clear", "--yes").code == 0
}

// signal sends a signal to a random engine.
func (w *world) signal(s os.Signal) {
	if w.reap(); len(w.engines) == 0 {
		return
	}
	e := w.engines[w.random.IntN(len(w.engines))]
	w.trace("%v to process %d", s, e.cmd.Process.Pid)
	_ = e.cmd.Process.Signal(s)
	if s == syscall.SIGKILL {
		<-e.ended
		w.engines = without(w.engines, e)
		w.observe()
	}
}

func without(list []*engineProcess, e *engineProcess) (rest []*engineProcess) {
	for _, other := range list {
		if other != e {
			rest = append(rest, other)
		}
	}
	return rest
}

// onStep runs a command on a step that matches one of the conditions, the first if possible.
func (w *world) onStep(verb string, conditions ...func(*plan.Step) bool) {
	for _, matches := range conditions {
		step := w.pick(matches)
		if step == nil {
			continue
		}
		args := []string{"step", verb, step.ID.String()}
		if verb == "skip" {
			args = append(args, "--reason", "not needed")
		}
		wasRunning := step.IsRunning()
		if got := w.say(args...); got.code == 0 && wasRunning {
			w.noLeftovers(strings.Join(args, " "))
		}
		return
	}
}

func (w *world) settle() {
	step := cmp.Or(w.pick(w.isOrphan), w.pick((*plan.Step).IsUnknown), w.pick(isFailed))
	if step == nil {
		return
	}
	choice := []string{"retry", "retry", "skip", "happened"}[w.random.IntN(4)]
	args := []string{"step", "settle", step.ID.String(), "--choice", choice}
	if choice != "retry" {
		args = append(args, "--reason", "looked")
	}
	if wasRunning := step.IsRunning(); w.say(args...).code == 0 && wasRunning {
		w.noLeftovers(strings.Join(args, " "))
	}
}

// markByAgent has an agent begin a step or end its own.
func (w *world) markByAgent() {
	name := agentNames[w.random.IntN(len(agentNames))]
	own := w.pick(func(step *plan.Step) bool { return step.Status == plan.InProgress && step.ClaimedBy == name })
	if own != nil {
		w.accepted(w.note(), "step", "mark", own.ID.String(), "done", "--agent", name)
		return
	}
	step := w.pick(func(step *plan.Step) bool {
		return isPending(step) && step.Tool == "" && step.Pause == "" && len(w.log.state.Plan.Steps.UnmetDependencies(step.ID)) == 0
	})
	if step != nil {
		w.accepted(w.note(), "step", "mark", step.ID.String(), "in_progress", "--agent", name)
	}
}

func (w *world) comment() {
	text := w.note()
	if got := w.atTerminal("comment", text); got.code == 0 {
		w.kept = append(w.kept, text)
	}
}

// onQuestion has a person answer an open question.
func (w *world) onQuestion(kind plan.AskKind, verb string, words ...string) {
	step := w.pick(func(step *plan.Step) bool { q := step.OpenQuestion(); return q != nil && q.Kind == kind })
	if step != nil {
		w.atTerminal(append([]string{verb, step.ID.String()}, words...)...)
	}
}

// refusedOn runs a command on a step that matches, which must be refused while an engine that lives runs the step.
func (w *world) refusedOn(matches func(*plan.Step) bool, args ...string) {
	step := w.pick(matches)
	if step == nil || len(w.engines) == 0 {
		return
	}
	words := append([]string{args[0], args[1], step.ID.String()}, args[2:]...)
	got := w.say(words...)
	w.observe()
	if now, ok := w.log.state.Plan.Steps.Get(step.ID); got.code == 0 && ok && now.IsRunning() && now.Attempts == step.Attempts {
		w.violation("planloop %s was accepted while an engine runs the step", strings.Join(words, " "))
	}
}
