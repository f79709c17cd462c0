package plan_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/planloop/planloop/plan"
)

// sized returns the state of a plan of n steps, each depending on the one
// before if chained.
func sized(b *testing.B, n int, chained bool) plan.State {
	b.Helper()
	steps := make([]plan.NewStep, n)
	for i := range steps {
		steps[i] = titled(fmt.Sprint("step ", i))
		if chained && i > 0 {
			steps[i].DependsOn = []plan.StepID{plan.StepID(i)}
		}
	}
	w := newWorkspace(b)
	w.limits.MaxSteps = n
	w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Steps: steps})
	return w.state
}

// change decides and folds one action after the other.
func change(b *testing.B, s plan.State, next func(i int) plan.Action) {
	f := plan.Facts{Now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), Actor: ann}
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		events, err := plan.Decide(s, next(i), f)
		if err != nil || len(events) == 0 {
			b.Fatalf("%v, %v", events, err)
		}
		for _, e := range events {
			s = plan.Apply(s, e)
		}
		i++
	}
}

// BenchmarkMark starts, finishes and re-opens a step in the middle of a plan: its cost must not
// grow with the plan.
func BenchmarkMark(b *testing.B) {
	statuses := []plan.StepStatus{plan.InProgress, plan.Done, plan.Pending}
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint("steps=", n), func(b *testing.B) {
			change(b, sized(b, n, false), func(i int) plan.Action {
				return plan.MarkStep{Step: plan.StepID(n / 2), Status: statuses[i%3]}
			})
		})
	}
}

// BenchmarkMarkInChain does the same with every step depending on the one before: the first step is
// started, finished and re-opened.
func BenchmarkMarkInChain(b *testing.B) {
	statuses := []plan.StepStatus{plan.InProgress, plan.Done, plan.Pending}
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint("steps=", n), func(b *testing.B) {
			change(b, sized(b, n, true), func(i int) plan.Action { return plan.MarkStep{Step: 1, Status: statuses[i%3]} })
		})
	}
}

// BenchmarkMarkThrough works through a plan from its first step to its last, looking for the next
// one each time; the figures are per step.
func BenchmarkMarkThrough(b *testing.B) {
	f := plan.Facts{Now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), Actor: ann}
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint("steps=", n), func(b *testing.B) {
			fresh := sized(b, n, true)
			s, left := fresh, n
			b.ReportAllocs()
			for b.Loop() {
				if left == 0 {
					s, left = fresh, n
				}
				events, err := plan.Decide(s, plan.MarkStep{Step: s.Plan.Steps.Next().ID, Status: plan.Done}, f)
				if err != nil {
					b.Fatal(err)
				}
				for _, e := range events {
					s = plan.Apply(s, e)
				}
				left--
			}
		})
	}
}

func BenchmarkUpdate(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint("steps=", n), func(b *testing.B) {
			titles := []string{"one", "two"}
			change(b, sized(b, n, true), func(i int) plan.Action {
				return plan.UpdateStep{Step: plan.StepID(n / 2), Patch: plan.Patch{Title: &titles[i%2]}}
			})
		})
	}
}

// BenchmarkAdd appends one step to a plan of n, and to the same plan again.
func BenchmarkAdd(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint("steps=", n), func(b *testing.B) {
			s := sized(b, n, false)
			f := plan.Facts{Now: time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC), Actor: ann, Limits: plan.Limits{MaxSteps: n + 1}}
			b.ReportAllocs()
			for b.Loop() {
				events, err := plan.Decide(s, plan.AddSteps{Steps: []plan.NewStep{titled("x", plan.StepID(n))}}, f)
				if err != nil {
					b.Fatal(err)
				}
				plan.Apply(s, events[0])
			}
		})
	}
}

// BenchmarkBuild builds a plan from its written form.
func BenchmarkBuild(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint("steps=", n), func(b *testing.B) {
			body := sized(b, n, true).Body()
			b.ReportAllocs()
			for b.Loop() {
				body.Build()
			}
		})
	}
}

// BenchmarkAdvance records a result and starts the next step, in plans with all steps ready and in
// a chain.
func BenchmarkAdvance(b *testing.B) {
	for _, size := range []int{100, 10_000} {
		for name, chain := range map[string]bool{"ready": false, "chain": true} {
			b.Run(fmt.Sprintf("%s/%d", name, size), func(b *testing.B) {
				steps := make([]plan.NewStep, size)
				for i := range steps {
					steps[i] = tool(fmt.Sprint("step ", i))
					if chain && i > 0 {
						steps[i].DependsOn = []plan.StepID{plan.StepID(i)}
					}
				}
				w := newWorkspace(b)
				w.limits.MaxSteps = size
				w.do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Ship it"}, Steps: steps})
				w.do(ann, plan.BeginRun{})
				w.advance(1)
				first, at := w.state, plan.StepID(1)
				for b.Loop() {
					w.log = nil
					if w.advance(1, w.finished(at, plan.Result{OK: true})); int(at) == size-1 {
						w.state, at = first, 0
					}
					at++
				}
			})
		}
	}
}
