package e2e_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/planloop/planloop/plan"
)

// runLog is what a log says about the attempts at steps, folded record by record.
type runLog struct {
	state    plan.State
	open     map[plan.Attempt]plan.StepStarted
	starts   map[string]int             // by label
	done     map[string]int             // results that are successes, by label
	unsafe   map[string]plan.Revision   // the last start of a step that is not safe to repeat, by label
	settled  map[string]plan.Revision   // when a person or an agent last renewed a step, by label
	values   map[string]string          // of the last success, by label
	received map[string]map[string]bool // values that a step was started with, by label
	notes    map[string]bool
	steps    map[string]*randomStep // by label
	faults   []string
}

func newRunLog() *runLog {
	return &runLog{open: map[plan.Attempt]plan.StepStarted{}, starts: map[string]int{}, done: map[string]int{},
		unsafe: map[string]plan.Revision{}, settled: map[string]plan.Revision{}, values: map[string]string{},
		received: map[string]map[string]bool{}, notes: map[string]bool{}, steps: map[string]*randomStep{}}
}

func (l *runLog) fault(r plan.Record, format string, args ...any) {
	l.faults = append(l.faults, fmt.Sprintf("record %d: ", r.Seq)+fmt.Sprintf(format, args...))
}

// label returns the label of a step of the current plan, of a loop's entry with the entry.
func label(s plan.State, id plan.StepID) string {
	prefix, _, _ := strings.Cut(s.Plan.Objective, " ")
	step, ok := s.Plan.Steps.Get(id)
	if !ok || step.Loop() == 0 {
		return prefix + "." + id.String()
	}
	var item string
	_ = json.Unmarshal(step.Execution.Item, &item)
	return fmt.Sprintf("%s.%s/%s", prefix, step.Loop(), item)
}

// add folds a record and checks its events.
func (l *runLog) add(r plan.Record) {
	for _, e := range r.Events {
		l.check(r, e)
		before := l.state
		l.state = plan.Apply(l.state, e)
		_, isAgain := e.(plan.StepsRenewed) // clean-up, and its condition, belong to an attempt of the run
		l.noteRenewed(r, before, isAgain)
	}
	l.state.Revision = r.Seq
}

func (l *runLog) check(r plan.Record, event plan.Event) {
	switch e := event.(type) {
	case plan.StepStarted:
		l.checkStart(r, e)
	case plan.StepFinished:
		l.checkEnd(r, e.Step, e.Attempt)
		if l.state.Plan != nil && e.Result.OK {
			var value string
			_ = json.Unmarshal(e.Result.Value, &value)
			l.done[label(l.state, e.Step)]++
			l.values[label(l.state, e.Step)] = strings.TrimSpace(value)
		}
	case plan.StepRetried:
		l.checkEnd(r, e.Step, e.Attempt)
	case plan.StepLost:
		l.checkEnd(r, e.Step, e.Attempt)
	case plan.StepMarked:
		l.notes[e.Note] = true
	case plan.CommentAdded:
		l.notes[e.Text] = true
	}
}

// noteRenewed notes the ended steps that an event has made pending again, unless an engine did that on its own.
func (l *runLog) noteRenewed(r plan.Record, before plan.State, isAgain bool) {
	now, was := l.state.Plan, before.Plan
	if r.Action == plan.ActionWord(plan.Schedule{}) && !isAgain || now == nil || was == nil || now.Root() != was.Root() {
		return
	}
	for _, step := range stepsIn(now, isPending) {
		if was, ok := was.Steps.Get(step.ID); ok && was.Status != plan.Pending && was.Status != plan.InProgress {
			l.settled[label(l.state, step.ID)] = r.Seq
			for _, id := range was.Instances() { // a loop has new ones for the same entries
				l.settled[label(before, id)] = r.Seq
			}
		}
	}
}

// checkStart checks that a step was started in its turn, once, and repeated only if that is safe or wished.
func (l *runLog) checkStart(r plan.Record, e plan.StepStarted) {
	step, ok := l.state.Plan.Steps.Get(e.Step)
	if !ok || step.Status != plan.Pending {
		l.fault(r, "%s was started, which is not pending: %+v", e.Step, step)
		return
	}
	name := label(l.state, e.Step)
	s := l.steps[name]
	isAlways := s != nil && s.fields["always"] == true
	for _, id := range step.DependsOn {
		dependency, _ := l.state.Plan.Steps.Get(id)
		if !isAlways && !isMet(step, dependency) {
			l.fault(r, "%s was started before its dependency %s, which is %s", e.Step, id, dependency.Status)
		}
	}
	if last := l.unsafe[name]; last > 0 && !e.IsRepeatable && l.settled[name] < last {
		l.fault(r, "%s is not safe to repeat, and was started in %d and again without a person's word", e.Step, last)
	}
	if !e.IsRepeatable {
		l.unsafe[name] = r.Seq
	}
	attempt := plan.Attempt{Plan: l.state.Plan.Root(), Step: e.Step, Attempt: e.Attempt}
	if _, twice := l.open[attempt]; twice {
		l.fault(r, "attempt %d at %s was started twice", e.Attempt, e.Step)
	}
	l.open[attempt] = e
	l.starts[name]++
	if s != nil && s.source != 0 {
		if l.received[name] == nil {
			l.received[name] = map[string]bool{}
		}
		l.received[name][l.values[label(l.state, s.source)]] = true
	}
}

// isMet reports whether a dependency lets a step start: it is done, or its own condition is false, or the step reacts to its end.
func isMet(step, on *plan.Step) bool {
	if on.Status == plan.Done || on.Status == plan.Skipped && on.Execution != nil && on.Execution.ConditionFalse {
		return true
	}
	hasEnded := on.Status == plan.Failed || on.Status.IsFinished()
	return hasEnded && (strings.Contains(step.When, on.ID.String()+".status") || strings.Contains(step.When, on.ID.String()+".ok"))
}

// checkEnd checks that a result belongs to a start, and that it is its only one.
func (l *runLog) checkEnd(r plan.Record, id plan.StepID, attempt int) {
	if l.state.Plan == nil {
		l.fault(r, "%s ended without a plan", id)
		return
	}
	of := plan.Attempt{Plan: l.state.Plan.Root(), Step: id, Attempt: attempt}
	if _, ok := l.open[of]; !ok {
		l.fault(r, "attempt %d at %s ended, which had not been started", attempt, id)
	}
	delete(l.open, of)
}

// checkEffects compares the effects of steps with their starts and results.
func (l *runLog) checkEffects(workspace string) (faults []string) {
	data, _ := os.ReadFile(filepath.Join(workspace, "effects"))
	times := map[string]int{}
	for line := range strings.Lines(string(data)) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		times[name]++
		if s := l.steps[name]; s != nil && s.source != 0 && !l.received[name][value] {
			faults = append(faults, fmt.Sprintf("%s got %q, want one of %v", name, value, l.received[name]))
		}
	}
	for name, n := range times {
		if n > l.starts[name] {
			faults = append(faults, fmt.Sprintf("%s has %d effects of %d starts", name, n, l.starts[name]))
		}
	}
	for name, n := range l.done {
		if s := l.steps[name]; (s == nil || s.items == nil) && times[name] < n {
			faults = append(faults, fmt.Sprintf("%s has %d effects of %d successes", name, times[name], n))
		}
	}
	if data, _ := os.ReadFile(filepath.Join(workspace, "collisions")); len(data) > 0 {
		faults = append(faults, "steps with the same lock ran together: "+string(data))
	}
	return faults
}

// leftovers lists the processes of steps in a workspace.
func leftovers(workspace string) (list []string) {
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range folders {
		where, err := os.Readlink(filepath.Join(folder, "cwd"))
		line, _ := os.ReadFile(filepath.Join(folder, "cmdline"))
		if err == nil && where == workspace && strings.Contains(string(line), "effects") && runs(filepath.Base(folder)) {
			list = append(list, filepath.Base(folder)+" "+strings.ReplaceAll(string(line), "\x00", " "))
		}
	}
	return list
}
