package plan

import "slices"

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
