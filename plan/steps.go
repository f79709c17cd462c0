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

// stepsEdit builds a new Steps out of an old one. It copies a chunk the first
// time it is touched, so that a batch of changes copies no chunk twice.
type stepsEdit struct {
	s   Steps
	own map[*stepChunk]bool // chunks that no other Steps shares

	ownIndex bool
}

func (s Steps) edit() *stepsEdit {
	s.chunks = slices.Clone(s.chunks)
	return &stepsEdit{s: s, own: map[*stepChunk]bool{}}
}

func (e *stepsEdit) done() Steps { return e.s }

// chunk returns the chunk of position i, ours to change.
func (e *stepsEdit) chunk(i int) *stepChunk {
	c := e.s.chunks[i/chunkSize]
	if e.own[c] {
		return c
	}
	copied := *c
	e.s.chunks[i/chunkSize] = &copied
	e.own[&copied] = true
	return &copied
}

// change lets f change the slot at position i and keeps the counts true.
func (e *stepsEdit) change(i int, f func(*stepSlot)) {
	c := e.chunk(i)
	slot := &c.slots[i%chunkSize]
	e.tally(c, *slot, -1)
	f(slot)
	e.tally(c, *slot, +1)
}

func (e *stepsEdit) tally(c *stepChunk, slot stepSlot, by int) {
	if slot.step == nil {
		return
	}
	if k := slot.step.Status.ordinal(); k >= 0 {
		e.s.counts[k] += by
	}
	if slot.step.Status == InProgress {
		c.running += by
	}
	if slot.isReady() {
		c.ready += by
		e.s.ready += by
	}
}

// add appends steps, whose dependencies may name each other.
func (e *stepsEdit) add(steps []*Step) {
	from := e.s.n
	for _, step := range steps {
		e.place(step)
	}
	links := map[StepID][]StepID{}
	for k, step := range steps {
		unmet := int32(0)
		for _, dep := range step.DependsOn {
			links[dep] = append(links[dep], step.ID)
			if !e.s.isDone(dep) {
				unmet++
			}
		}
		if unmet > 0 {
			e.change(from+k, func(slot *stepSlot) { slot.unmet = unmet })
		}
	}
	for dep, dependents := range links {
		e.link(dep, dependents)
	}
}

// place puts a step at the end, without its dependencies.
func (e *stepsEdit) place(step *Step) {
	i := e.s.n
	if i%chunkSize == 0 {
		c := &stepChunk{}
		e.s.chunks = append(e.s.chunks, c)
		e.own[c] = true
	}
	e.s.n++
	e.change(i, func(slot *stepSlot) { slot.step = step })
	e.s.highest = max(e.s.highest, step.ID)
	e.register(step.ID, i)
}

// register makes id known at position i. The index is needed only from the
// first id on that does not stand at position id-1.
func (e *stepsEdit) register(id StepID, i int) {
	if e.s.index == nil && int(id) == i+1 {
		return
	}
	if e.s.index == nil {
		e.s.index = make([]int32, 1, int(id)+1)
		e.s.index[0] = -1
		for k := range i {
			e.s.index = append(e.s.index, int32(k))
		}
		e.ownIndex = true
	}
	if !e.ownIndex {
		e.s.index = slices.Clone(e.s.index)
		e.ownIndex = true
	}
	for len(e.s.index) <= int(id) {
		e.s.index = append(e.s.index, -1)
	}
	e.s.index[id] = int32(i)
}

func (e *stepsEdit) link(dep StepID, dependents []StepID) {
	i := e.s.position(dep)
	if i < 0 {
		return
	}
	e.change(i, func(slot *stepSlot) {
		slot.dependents = slices.Concat(slot.dependents, dependents)
		slices.Sort(slot.dependents) // whatever the order of the edits
	})
}

func (e *stepsEdit) unlink(dep, dependent StepID) {
	i := e.s.position(dep)
	if i < 0 {
		return
	}
	e.change(i, func(slot *stepSlot) {
		slot.dependents = slices.DeleteFunc(slices.Clone(slot.dependents), func(id StepID) bool { return id == dependent })
	})
}

// replace puts step in the place of the one with its id, and brings the
// dependents up to date.
func (e *stepsEdit) replace(step *Step) {
	i := e.s.position(step.ID)
	if i < 0 {
		return
	}
	old := e.s.slot(i).step
	e.change(i, func(slot *stepSlot) { slot.step = step })
	if !slices.Equal(old.DependsOn, step.DependsOn) {
		e.relink(old, step)
	}
	if (old.Status == Done) != (step.Status == Done) {
		e.settle(i, step.Status == Done)
	}
}

// settle tells the dependents of the step at i that it is done, or no longer.
func (e *stepsEdit) settle(i int, done bool) {
	by := int32(1)
	if done {
		by = -1
	}
	for _, id := range e.s.slot(i).dependents {
		if k := e.s.position(id); k >= 0 {
			e.change(k, func(slot *stepSlot) { slot.unmet += by })
		}
	}
}

func (e *stepsEdit) relink(old, step *Step) {
	for _, dep := range old.DependsOn {
		if !slices.Contains(step.DependsOn, dep) {
			e.unlink(dep, step.ID)
		}
	}
	unmet := int32(0)
	for _, dep := range step.DependsOn {
		if !slices.Contains(old.DependsOn, dep) {
			e.link(dep, []StepID{step.ID})
		}
		if !e.s.isDone(dep) {
			unmet++
		}
	}
	e.change(e.s.position(step.ID), func(slot *stepSlot) { slot.unmet = unmet })
}

// chunkSize is the number of elements that are copied together when one of
// them changes. 64 keeps both the copy of a chunk and the copy of the list of
// chunks small up to tens of thousands of elements.
const chunkSize = 64

// vector is an immutable list: append and set return a new one that shares all
// chunks but one with the old.
type vector[T any] struct {
	chunks []*[chunkSize]T
	n      int
}

func (v vector[T]) len() int { return v.n }

func (v vector[T]) at(i int) T { return v.chunks[i/chunkSize][i%chunkSize] }

func (v vector[T]) append(x T) vector[T] {
	if v.n%chunkSize == 0 {
		chunks := make([]*[chunkSize]T, len(v.chunks), len(v.chunks)+1)
		copy(chunks, v.chunks)
		v.chunks = append(chunks, new([chunkSize]T))
	}
	v.n++
	return v.set(v.n-1, x)
}

func (v vector[T]) set(i int, x T) vector[T] {
	chunk := *v.chunks[i/chunkSize]
	chunk[i%chunkSize] = x
	chunks := make([]*[chunkSize]T, len(v.chunks))
	copy(chunks, v.chunks)
	chunks[i/chunkSize] = &chunk
	v.chunks = chunks
	return v
}

func (v vector[T]) all() iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range v.n {
			if !yield(v.at(i)) {
				return
			}
		}
	}
}
