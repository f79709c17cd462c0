package plan

import (
	"iter"
	"slices"
)

// Steps is the immutable, ordered collection of a plan's steps. Steps are held
// by pointer in chunks, and what every action needs to know (counts by status,
// the highest id, unmet dependencies, which chunk has a ready step) is
// maintained, so that changing one step costs the same in a plan of ten and in
// one of ten thousand.
type Steps struct {
	chunks  []*stepChunk
	n       int
	highest StepID
	counts  [stepStatuses]int
	ready   int
	index   []int32 // id → position; nil while every id stands at position id-1
}

// stepChunk holds chunkSize slots and counts the steps a search looks for.
type stepChunk struct {
	slots   [chunkSize]stepSlot
	ready   int
	running int
}

type stepSlot struct {
	step       *Step
	unmet      int32    // dependencies that are not done
	dependents []StepID // steps that depend on this one
}

func (s stepSlot) isReady() bool { return s.step.Status == Pending && s.unmet == 0 }

// NewSteps returns the collection of steps in the given order. Dependencies
// that name no step count as unmet.
func NewSteps(steps []*Step) Steps {
	e := Steps{}.edit()
	e.add(steps)
	return e.done()
}

// Len returns the number of steps.
func (s Steps) Len() int { return s.n }

// Highest returns the highest id ever minted in the plan, 0 when none was.
func (s Steps) Highest() StepID { return s.highest }

// Count returns the number of steps with that status.
func (s Steps) Count(status StepStatus) int {
	if i := status.ordinal(); i >= 0 {
		return s.counts[i]
	}
	return 0
}

// Finished returns the number of steps that are done, skipped or cancelled.
func (s Steps) Finished() int { return s.Count(Done) + s.Count(Skipped) + s.Count(Cancelled) }

// ReadyCount returns the number of ready steps.
func (s Steps) ReadyCount() int { return s.ready }

// At returns the step at a position, counted from 0.
func (s Steps) At(i int) *Step { return s.slot(i).step }

// Get returns the step with that id.
func (s Steps) Get(id StepID) (*Step, bool) {
	i := s.position(id)
	if i < 0 {
		return nil, false
	}
	return s.At(i), true
}

// Position returns where the step stands, counted from 0, or -1.
func (s Steps) Position(id StepID) int { return s.position(id) }

// All yields the steps in order.
func (s Steps) All() iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		for i := range s.n {
			if !yield(s.At(i)) {
				return
			}
		}
	}
}

// List returns the steps in order as a new slice.
func (s Steps) List() []*Step {
	list := make([]*Step, 0, s.n)
	for step := range s.All() {
		list = append(list, step)
	}
	return list
}

// Next returns the step to work on: the first in progress, else the first ready
// one, else nil.
func (s Steps) Next() *Step {
	if s.counts[InProgress.ordinal()] > 0 {
		return s.first(func(c *stepChunk) int { return c.running }, func(slot stepSlot) bool { return slot.step.Status == InProgress })
	}
	return s.NextReady()
}

// NextReady returns the first ready step, or nil.
func (s Steps) NextReady() *Step {
	if s.ready == 0 {
		return nil
	}
	return s.first(func(c *stepChunk) int { return c.ready }, stepSlot.isReady)
}

// IsReady reports whether the step is pending with all dependencies done.
func (s Steps) IsReady(id StepID) bool {
	i := s.position(id)
	return i >= 0 && s.slot(i).isReady()
}

// Running yields the steps in progress, in order.
func (s Steps) Running() iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		for _, c := range s.chunks {
			if c.running == 0 {
				continue
			}
			for _, slot := range c.slots {
				if slot.step != nil && slot.step.Status == InProgress && !yield(slot.step) {
					return
				}
			}
		}
	}
}

// WaitingOn lists the dependencies of a step that are not done.
func (s Steps) WaitingOn(id StepID) []StepID {
	i := s.position(id)
	if i < 0 || s.slot(i).unmet == 0 {
		return nil
	}
	var waiting []StepID
	for _, dep := range s.slot(i).step.DependsOn {
		if !s.isDone(dep) {
			waiting = append(waiting, dep)
		}
	}
	return waiting
}

// Dependents lists the steps that depend on a step.
func (s Steps) Dependents(id StepID) []StepID {
	i := s.position(id)
	if i < 0 {
		return nil
	}
	return slices.Clone(s.slot(i).dependents)
}

// first returns the first step that matches, looking only into chunks that
// count one.
func (s Steps) first(count func(*stepChunk) int, match func(stepSlot) bool) *Step {
	for _, c := range s.chunks {
		if count(c) == 0 {
			continue
		}
		for _, slot := range c.slots {
			if slot.step != nil && match(slot) {
				return slot.step
			}
		}
	}
	return nil
}

func (s Steps) slot(i int) stepSlot { return s.chunks[i/chunkSize].slots[i%chunkSize] }

func (s Steps) position(id StepID) int {
	if id < 1 {
		return -1
	}
	if s.index == nil {
		if int(id) > s.n {
			return -1
		}
		return int(id) - 1
	}
	if int(id) >= len(s.index) {
		return -1
	}
	return int(s.index[id])
}

func (s Steps) isDone(id StepID) bool {
	i := s.position(id)
	return i >= 0 && s.slot(i).step.Status == Done
}
