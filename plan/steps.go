package plan

import (
	"fmt"
	"iter"
	"slices"
	"time"
)

// Steps is the immutable, ordered collection of a plan's steps. Steps are held by pointer in
// chunks. Counts by status, the highest id, unmet dependencies and the ready steps of each chunk
// are maintained, so that changing one step costs the same in a plan of ten and in one of ten
// thousand.
type Steps struct {
	chunks  []*stepChunk
	n       int
	highest StepID
	counts  [stepStatuses]int
	met     int // steps that have succeeded
	ready   int // without those that run at the end

	ordinaryOpen int // steps that have not ended, without those that run at the end
	closingOpen  int // steps that run at the end and have not ended
	closingReady int // of these, pending and without unmet dependencies
	stale        int
	index        []int32 // id → position; nil while every id is at position id-1
}

// chunkSize is the number of steps copied together when one of them changes. 64 keeps both the copy
// of a chunk and the copy of the list of chunks small up to tens of thousands of steps.
const chunkSize = 64

// stepChunk holds chunkSize slots and counts the steps a search looks for.
type stepChunk struct {
	slots   [chunkSize]stepSlot
	counts  [stepStatuses]int
	ready   int
	asking  int
	closing int // steps that run at the end
}

type stepSlot struct {
	step       *Step
	unmet      int32    // dependencies not met
	dependents []StepID // steps that depend on this one
}

func (s stepSlot) isReady() bool { return s.step.Status == Pending && s.unmet == 0 }

// isReady reports whether the step is ready; one that runs at the end also waits for the end of all others.
func (s Steps) isReady(slot stepSlot) bool {
	return slot.isReady() && (!slot.step.Always || s.ordinaryOpen == 0)
}

// NewSteps returns the collection of steps in the given order. Dependencies on missing steps count
// as unmet.
func NewSteps(steps []*Step) Steps {
	e := Steps{}.edit()
	e.add(steps)
	return e.s
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

// FinishedCount returns the number of steps that are done, skipped or cancelled.
func (s Steps) FinishedCount() int { return s.Count(Done) + s.Count(Skipped) + s.Count(Cancelled) }

// ReadyCount returns the number of ready steps.
func (s Steps) ReadyCount() int {
	if s.ordinaryOpen == 0 {
		return s.closingReady
	}
	return s.ready
}

// At returns the step at a position, counted from 0.
func (s Steps) At(i int) *Step { return s.slot(i).step }

// Get returns the step with that id.
func (s Steps) Get(id StepID) (*Step, bool) {
	step := s.find(id).step
	return step, step != nil
}

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
	return slices.AppendSeq(make([]*Step, 0, s.n), s.All())
}

// Next returns the step to work on: the first in progress, else the first ready
// one, else nil.
func (s Steps) Next() *Step {
	if step := First(s.Running(), nil); step != nil {
		return step
	}
	return s.NextReady()
}

// NextReady returns the first ready step, or nil.
func (s Steps) NextReady() *Step { return First(s.Ready(), nil) }

// CurrentIndex returns the position of the step to work on, else of the first unfinished step, else
// the number of steps (rawko: currentStepIndex).
func (s Steps) CurrentIndex() int {
	if next := s.Next(); next != nil {
		return s.Position(next.ID)
	}
	if step := First(s.Unfinished(), nil); step != nil {
		return s.Position(step.ID)
	}
	return s.n
}

// ChangedSince yields the steps changed or added since former, in order.
func (s Steps) ChangedSince(former Steps) iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		for i, chunk := range s.chunks {
			if i < len(former.chunks) && former.chunks[i] == chunk {
				continue
			}
			for _, slot := range chunk.slots[:min(chunkSize, s.n-i*chunkSize)] {
				if old, known := former.Get(slot.step.ID); known && old == slot.step {
					continue
				}
				if !yield(slot.step) {
					return
				}
			}
		}
	}
}

// With yields the steps with one of the statuses, in order.
func (s Steps) With(statuses ...StepStatus) iter.Seq[*Step] {
	count := func(c *stepChunk) (n int) {
		for _, status := range statuses {
			n += c.counts[status.ordinal()]
		}
		return n
	}
	return s.each(count, func(slot stepSlot) bool { return slices.Contains(statuses, slot.step.Status) })
}

// Unfinished yields the steps that are not done, skipped or cancelled, in order.
func (s Steps) Unfinished() iter.Seq[*Step] { return s.With(Pending, InProgress, Blocked, Failed) }

// Running yields the steps in progress, in order.
func (s Steps) Running() iter.Seq[*Step] { return s.With(InProgress) }

// Executing yields the steps that engines run, in order.
func (s Steps) Executing() iter.Seq[*Step] {
	return s.each(func(c *stepChunk) int { return c.counts[InProgress.ordinal()] },
		func(slot stepSlot) bool { return slot.step.IsRunning() })
}

// Ready yields the ready steps, in order.
func (s Steps) Ready() iter.Seq[*Step] {
	return s.each(func(c *stepChunk) int { return c.ready }, s.isReady)
}

// WithQuestion yields the steps with an open question, in order.
func (s Steps) WithQuestion() iter.Seq[*Step] {
	return s.each(func(c *stepChunk) int { return c.asking }, func(slot stepSlot) bool { return slot.step.OpenQuestion() != nil })
}

// HasQuestion reports whether a step has an open question.
func (s Steps) HasQuestion() bool {
	return slices.ContainsFunc(s.chunks, func(c *stepChunk) bool { return c.asking > 0 })
}

// each yields the steps that match, looking only into chunks that count one.
func (s Steps) each(count func(*stepChunk) int, match func(stepSlot) bool) iter.Seq[*Step] {
	return func(yield func(*Step) bool) {
		for _, c := range s.chunks {
			if count(c) == 0 {
				continue
			}
			for _, slot := range c.slots {
				if slot.step != nil && match(slot) && !yield(slot.step) {
					return
				}
			}
		}
	}
}

func (s Steps) slot(i int) stepSlot { return s.chunks[i/chunkSize].slots[i%chunkSize] }

// find returns the slot of a step, or the zero slot.
func (s Steps) find(id StepID) stepSlot {
	if i := s.Position(id); i >= 0 {
		return s.slot(i)
	}
	return stepSlot{}
}

// PositionFrom returns the position of a step, else of the first with a higher id, else the number of steps.
func (s Steps) PositionFrom(id StepID) int {
	if i := s.Position(id); i >= 0 {
		return i
	}
	for i := range s.n {
		if s.At(i).ID >= id {
			return i
		}
	}
	return s.n
}

// Position returns the step's position, counted from 0, or -1.
func (s Steps) Position(id StepID) int {
	switch {
	case id < 1, s.index == nil && int(id) > s.n, s.index != nil && int(id) >= len(s.index):
		return -1
	case s.index == nil:
		return int(id) - 1
	}
	return int(s.index[id])
}

// stepsEdit builds a new Steps from an old one. It copies a chunk the first time it is touched, so
// a batch of changes copies no chunk twice.
type stepsEdit struct {
	s   Steps
	own map[*stepChunk]bool // chunks not shared with another Steps

	ownIndex bool
}

func (s Steps) edit() *stepsEdit {
	s.chunks = slices.Clone(s.chunks)
	return &stepsEdit{s: s, own: map[*stepChunk]bool{}}
}

// change lets f change the slot at position i and keeps the counts true.
func (e *stepsEdit) change(i int, f func(*stepSlot)) {
	c := e.s.chunks[i/chunkSize]
	if !e.own[c] {
		copied := *c
		c = &copied
		e.s.chunks[i/chunkSize], e.own[c] = c, true
	}
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
		c.counts[k] += by
	}
	if slot.step.HasSucceeded() {
		e.s.met += by
	}
	if slot.step.IsStale() {
		e.s.stale += by
	}
	e.tallyEnd(c, slot, by)
	if slot.step.OpenQuestion() != nil {
		c.asking += by
	}
	if slot.isReady() {
		c.ready += by
	}
}

func (e *stepsEdit) tallyEnd(c *stepChunk, slot stepSlot, by int) {
	ready, open := &e.s.ready, &e.s.ordinaryOpen
	if slot.step.Always {
		c.closing += by
		ready, open = &e.s.closingReady, &e.s.closingOpen
	}
	if !slot.step.HasEnded() {
		*open += by
	}
	if slot.isReady() {
		*ready += by
	}
}

// add appends steps; they may depend on each other.
func (e *stepsEdit) add(steps []*Step) {
	from := e.s.n
	for i, step := range steps {
		at := from + i
		if at%chunkSize == 0 {
			c := &stepChunk{}
			e.s.chunks = append(e.s.chunks, c)
			e.own[c] = true
		}
		e.s.n++
		e.change(at, func(slot *stepSlot) { slot.step = step })
		e.s.highest = max(e.s.highest, step.ID)
		e.register(step.ID, at)
	}
	links := map[StepID][]StepID{}
	for k, step := range steps {
		for _, dep := range step.DependsOn {
			links[dep] = append(links[dep], step.ID)
		}
		e.count(from+k, step)
	}
	for dep, dependents := range links {
		e.link(dep, dependents)
	}
}

// register maps id to position i. The index is only needed from the first id on that is not at
// position id-1.
func (e *stepsEdit) register(id StepID, i int) {
	switch {
	case e.s.index == nil && int(id) == i+1:
		return
	case e.s.index == nil:
		e.s.index = append(make([]int32, 0, int(id)+1), -1)
		for k := range i {
			e.s.index = append(e.s.index, int32(k))
		}
	case !e.ownIndex:
		e.s.index = slices.Clone(e.s.index)
	}
	e.ownIndex = true
	for len(e.s.index) <= int(id) {
		e.s.index = append(e.s.index, -1)
	}
	e.s.index[id] = int32(i)
}

func (e *stepsEdit) link(dep StepID, dependents []StepID) {
	if i := e.s.Position(dep); i >= 0 {
		e.change(i, func(slot *stepSlot) {
			slot.dependents = slices.Concat(slot.dependents, dependents)
			slices.Sort(slot.dependents) // independent of the order of edits
		})
	}
}

// replace replaces the step with the same id, and updates its dependents.
func (e *stepsEdit) replace(step *Step) {
	i := e.s.Position(step.ID)
	if i < 0 {
		return
	}
	old := e.s.slot(i).step
	e.change(i, func(slot *stepSlot) { slot.step = step })
	if !slices.Equal(old.DependsOn, step.DependsOn) {
		e.relink(old, step)
	} else if old.When != step.When || old.Always != step.Always {
		e.count(i, step)
	}
	if step.HasSucceeded() == old.HasSucceeded() && step.HasEnded() == old.HasEnded() {
		return
	}
	for _, id := range e.s.slot(i).dependents {
		k := e.s.Position(id)
		if k < 0 {
			continue
		}
		waiting := e.s.slot(k).step
		switch was, is := waiting.isMetBy(old), waiting.isMetBy(step); {
		case was && !is:
			e.change(k, func(slot *stepSlot) { slot.unmet++ })
		case is && !was:
			e.change(k, func(slot *stepSlot) { slot.unmet-- })
		}
	}
}

func (e *stepsEdit) relink(old, step *Step) {
	for _, dep := range old.DependsOn {
		if !slices.Contains(step.DependsOn, dep) {
			if i := e.s.Position(dep); i >= 0 {
				e.change(i, func(slot *stepSlot) { slot.dependents = removeIDs(slot.dependents, []StepID{step.ID}) })
			}
		}
	}
	for _, dep := range step.DependsOn {
		if !slices.Contains(old.DependsOn, dep) {
			e.link(dep, []StepID{step.ID})
		}
	}
	e.count(e.s.Position(step.ID), step)
}

func (e *stepsEdit) count(i int, step *Step) {
	unmet := int32(0)
	for _, dep := range step.DependsOn {
		if !e.s.isMet(step, dep) {
			unmet++
		}
	}
	if unmet != e.s.slot(i).unmet {
		e.change(i, func(slot *stepSlot) { slot.unmet = unmet })
	}
}

// MoveStep asks to move a step after another; with After 0, to the front.
type MoveStep struct {
	Step, After StepID
}

func (a MoveStep) decide(s State, f Facts) ([]Event, error) {
	p, err := openPlan(s, "no step can be moved", true)
	if err != nil {
		return nil, err
	}
	moved, err := a.decideOn(p, f)
	if err != nil || len(moved) == 0 {
		return nil, err
	}
	return []Event{moved[0]}, nil
}

// decideOn returns the move within a plan, nil if the step is there already. Only a person is held to the
// dependencies; an agent's order just lists its intentions.
func (a MoveStep) decideOn(p *Plan, f Facts) ([]StepMoved, error) {
	step, err := findStep(p, a.Step, "/step_id")
	if err != nil {
		return nil, err
	}
	if a.After != 0 {
		if _, err := findStep(p, a.After, "/after"); err != nil {
			return nil, err
		}
	}
	at, to := p.Steps.Position(a.Step), 0
	if a.After != 0 {
		if to = p.Steps.Position(a.After); to < at {
			to++ // the gap left by the step moves later places up by one
		}
	}
	switch {
	case a.After == a.Step:
		return nil, Refuse(InvalidInput, "/after", a.Step.String()+" cannot be moved after itself",
			"name another step, or 0 for the first place")
	case to == at:
		return nil, nil // it is there already
	case f.Actor.Way() != "":
		if err := p.Steps.checkPosition(step, to); err != nil {
			return nil, err
		}
	}
	return []StepMoved{{Step: a.Step, After: a.After, At: f.Now}}, nil
}

// checkPosition refuses a position that the dependencies of the steps rule out.
func (s Steps) checkPosition(step *Step, to int) error {
	at := s.Position(step.ID)
	between := func(id StepID) bool { return s.Position(id) >= min(at, to) && s.Position(id) <= max(at, to) }
	waits, of := step.DependsOn, "needs %s and has to come later"
	if to > at {
		waits, of = s.Dependents(step.ID), "is needed by %s and has to come earlier"
	}
	ids := slices.DeleteFunc(slices.Clone(waits), func(id StepID) bool { return !between(id) })
	if len(ids) == 0 {
		return nil
	}
	return conflict(fmt.Sprintf("%s "+of, step.ID, IDs(ids)), "give it another place, or drop the dependency first")
}

// StepMoved moves a step of the current plan after another, or to the front.
type StepMoved struct {
	Step  StepID    `json:"step_id"`
	After StepID    `json:"after,omitzero"`
	At    time.Time `json:"at"`
}

func (e StepMoved) apply(s State) State {
	return s.withPlan(e.At, func(p *Plan) { p.Steps = p.Steps.move(e.Step, e.After) })
}

// move returns the steps with one moved after another, or to the front.
func (s Steps) move(id, after StepID) Steps {
	step, ok := s.Get(id)
	if !ok {
		return s
	}
	rest := slices.DeleteFunc(s.List(), func(step *Step) bool { return step.ID == id })
	at := 1 + slices.IndexFunc(rest, func(step *Step) bool { return step.ID == after })
	moved := NewSteps(slices.Insert(rest, at, step))
	moved.highest = max(moved.highest, s.highest)
	return moved
}

// firstReordered returns the first step that comes before one it followed in the approved plan, 0 if
// there is none.
func firstReordered(approved, now *Plan) StepID {
	last := -1
	for step := range now.Steps.All() {
		at := approved.Steps.Position(step.ID)
		if at < 0 {
			continue
		}
		if at < last {
			return step.ID
		}
		last = at
	}
	return 0
}
