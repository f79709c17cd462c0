package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// EditDraft asks for one change of the waiting draft. Only a person may; an agent submits again.
type EditDraft struct {
	Digest string  // of the version shown
	Change Action  // UpdateStep, AddSteps or MoveStep; nil with Remove
	After  *StepID // with AddSteps: the step they follow; 0: first; nil: last
	Remove StepID  // dependents of that step inherit its dependencies
}

func (a EditDraft) clean(c *cleaner) Action {
	switch change := a.Change.(type) {
	case nil:
		if a.Remove == 0 {
			c.refuse("change", "is missing", "change, add, move or remove a step")
		}
	case AddSteps:
		change.Steps = slices.Clone(change.Steps)
		for i, step := range change.Steps { // a draft asks for exactly what it shows
			change.Steps[i] = NewStep{Spec: step.Spec, Name: step.Name}
		}
		a.Change = change.clean(c)
	case UpdateStep, MoveStep:
		a.Change = c.action(change)
	default:
		c.refuse("change", "is not possible in a draft", "change, add, move or remove a step")
	}
	if a.Change != nil && a.Remove != 0 {
		c.refuse("remove", "cannot be combined with another change", "make one change at a time")
	}
	return a
}

func (a EditDraft) decide(s State, f Facts) ([]Event, error) {
	if s.IsReturned() {
		return nil, conflict("changes were requested, and the next submission replaces this draft",
			"wait for that, then change it")
	}
	if err := checkShownDigest(s, a.Digest, f); err != nil {
		return nil, err
	}
	e, err := a.edited(s, f)
	if isEmpty := len(e.Updated) == 0 && e.Added == nil && len(e.Moved) == 0 && e.Removed == 0; err != nil || isEmpty {
		return nil, err
	}
	e.Plan, e.By, e.Way, e.At = s.Draft.ID, f.Actor.Name, f.Actor.Way(), f.Now
	draft := Apply(s, e).Draft
	isSame := func(a, b *Step) bool { return a.ID == b.ID && changedFields(a, b) == "" }
	if e.Digest = Digest(draft); e.Digest == a.Digest && slices.EqualFunc(draft.Steps.List(), s.Draft.Steps.List(), isSame) {
		return nil, nil
	}
	if request := s.ModeNow().Request; request != nil {
		if was := s.Draft.Edits; request.Policy != nil && was != nil && !slices.Contains(draft.Edits.By, was.By[0]) {
			// the list is full, and a forgotten editor could vote
			return nil, conflict(fmt.Sprintf("%d people have changed this draft already", maxEditors), "request your change instead")
		}
		known := map[string]string{}
		maps.Copy(known, f.Definitions)
		maps.Copy(known, request.Tools) // as they were when they were put before a person
		e.Tools = definitionsOf(draft.Steps.List(), known)
	}
	return []Event{e}, nil
}

// edited returns the change as an event.
func (a EditDraft) edited(s State, f Facts) (e DraftEdited, err error) {
	p := s.DraftWithProgress()
	switch change := a.Change.(type) {
	case UpdateStep:
		e.Updated, err = change.decideOn(p, f)
	case AddSteps:
		if e.Added, err = change.decideOn(p, f); err == nil && e.Added != nil && a.After != nil {
			e.Moved, err = moveAdded(p, *a.After, e.Added.Steps, f)
		}
	case MoveStep:
		e.Moved, err = change.decideOn(p, f)
	case nil:
		if s.isRevision() && s.Plan.Steps.Position(a.Remove) >= 0 {
			return e, conflict(a.Remove.String()+" is a step of the current plan and cannot be removed",
				"mark it skipped instead")
		}
		e.Removed = a.Remove
		e.Updated, err = relinkDependents(p, a.Remove, f)
	}
	return e, err
}

// DraftWithProgress returns the draft with the ids that must not be reused and, if it revises the
// current plan, the current progress of its steps; nil without a draft.
func (s State) DraftWithProgress() *Plan {
	if s.Draft == nil {
		return nil
	}
	p := *s.Draft
	if s.isRevision() {
		p.Steps = p.Steps.withProgressOf(s.Plan.Steps, false, s.HasProposal())
	}
	p.Steps.highest = max(p.Steps.highest, s.highestOf(p.Root()))
	return &p
}

// moveAdded returns the moves that put the new, last steps after a step, or first with 0.
func moveAdded(p *Plan, after StepID, added []*Step, f Facts) ([]StepMoved, error) {
	if after != 0 {
		if _, err := findStep(p, after, "/after"); err != nil {
			return nil, err
		}
	}
	grown := *p
	edit := grown.Steps.edit()
	edit.add(added)
	grown.Steps = edit.s
	var moved []StepMoved
	for _, step := range added {
		one, err := MoveStep{Step: step.ID, After: after}.decideOn(&grown, f)
		if err != nil {
			return nil, err
		}
		for _, e := range one {
			grown.Steps = grown.Steps.move(e.Step, e.After)
		}
		moved, after = append(moved, one...), step.ID
	}
	return moved, nil
}

// relinkDependents returns the updates of the steps that depend on a removed one.
func relinkDependents(p *Plan, removed StepID, f Facts) ([]StepUpdated, error) {
	step, err := findStep(p, removed, "/step_id")
	if err != nil {
		return nil, err
	}
	if p.Steps.Len() == 1 {
		return nil, conflict(step.ID.String()+" is the only step of the plan", "reject the plan, or add another step first")
	}
	var users []StepID
	var updated []StepUpdated
	for _, id := range p.Steps.Dependents(step.ID) {
		other, _ := p.Steps.Get(id)
		if slices.Contains(other.ReferencedSteps(), step.ID) {
			users = append(users, id)
		}
		deps := slices.DeleteFunc(slices.Clone(other.DependsOn), func(dep StepID) bool { return dep == step.ID })
		for _, dep := range step.DependsOn {
			deps = addDependency(deps, dep, id)
		}
		updated = append(updated, StepUpdated{Step: id, Patch: Patch{DependsOn: &deps}, At: f.Now})
	}
	if users != nil {
		return nil, conflict(fmt.Sprintf("%s cannot be removed: its result is used by %s", step.ID, IDs(users)),
			"change the arguments, the condition or the loop of "+IDs(users)+" first")
	}
	return updated, nil
}

// DraftEdited is a person's change of the waiting draft. The request stays open, now for the
// changed draft.
type DraftEdited struct {
	Plan    string            `json:"plan_id"`
	Digest  string            `json:"digest"` // of the changed draft
	Updated []StepUpdated     `json:"updated,omitempty"`
	Added   *StepsAdded       `json:"added,omitempty"`
	Moved   []StepMoved       `json:"moved,omitempty"`
	Removed StepID            `json:"removed,omitzero"`
	Tools   map[string]string `json:"tools,omitempty"` // of the request, for the changed draft
	By      string            `json:"by"`
	Way     Way               `json:"way"`
	At      time.Time         `json:"at"`
}

func (e DraftEdited) apply(s State) State {
	if s.Draft == nil || s.Draft.ID != e.Plan {
		return s
	}
	on := s
	on.Plan = s.Draft
	for _, updated := range e.Updated {
		on = updated.apply(on)
	}
	if e.Added != nil {
		on = e.Added.apply(on)
	}
	for _, moved := range e.Moved {
		on = moved.apply(on)
	}
	draft := *on.Plan
	draft.Steps, draft.UpdatedAt = draft.Steps.without(e.Removed), e.At
	draft.Edits = draft.Edits.with(e, s.Revision)
	if adopted := draft.HostList; adopted != nil && !adopted.IsDetached {
		left := *adopted
		left.IsDetached = true
		draft.HostList = &left
	}
	s.Draft = &draft
	if request := s.ModeNow().Request; request != nil {
		renewed := *request
		renewed.Digest, renewed.Tools, renewed.Votes = e.Digest, e.Tools, nil
		renewed.Findings.Warnings = slices.DeleteFunc(slices.Clone(request.Findings.Warnings), func(w GateWarning) bool {
			isUpdated := func(u StepUpdated) bool { return u.Step == w.Step }
			return w.Step != 0 && (w.Step == e.Removed || e.Removed == 0 && slices.ContainsFunc(e.Updated, isUpdated))
		})
		s = s.withMode(s.Phase, func(m *Mode) { m.Request = &renewed })
	}
	return s
}

// without returns the steps without one; its id is not reused.
func (s Steps) without(id StepID) Steps {
	if s.Position(id) < 0 {
		return s
	}
	rest := NewSteps(slices.DeleteFunc(s.List(), func(step *Step) bool { return step.ID == id }))
	rest.highest = s.highest
	return rest
}

// AcceptUndone asks to let edits of people go that the waiting draft took back. Only a person may.
type AcceptUndone struct {
	Digest string   // of the version shown
	Keys   []string // of the edits
	Text   string   // the edits in words
}

func (a AcceptUndone) clean(c *cleaner) Action {
	c.list(&a.Keys, "keys", LinesField, MaxHint, MaxList)
	c.text(&a.Text, "text", Text{Max: MaxLongText}, true)
	return a
}

func (a AcceptUndone) decide(s State, f Facts) ([]Event, error) {
	if err := checkShownDigest(s, a.Digest, f); err != nil {
		return nil, err
	}
	return []Event{UndoneAccepted{Keys: a.Keys, Text: a.Text, By: f.Actor.Name, Way: f.Actor.Way(), At: f.Now}}, nil
}

// UndoneAccepted records that a person let edits go which the waiting draft took back.
type UndoneAccepted struct {
	Keys []string  `json:"keys"`
	Text string    `json:"text"`
	By   string    `json:"by"`
	Way  Way       `json:"way"`
	At   time.Time `json:"at"`
}

func (e UndoneAccepted) apply(s State) State {
	return s.withMode(s.Phase, func(m *Mode) {
		m.LetGo = append(slices.Clone(m.LetGo), e.Keys...)
		m.LetGo = m.LetGo[max(0, len(m.LetGo)-MaxList):]
	})
}

// Edits lists a draft's changes by people between its submission and the decision.
type Edits struct {
	Changed []StepID `json:"changed,omitempty"`
	Added   []StepID `json:"added,omitempty"`
	Moved   []StepID `json:"moved,omitempty"`
	Removed []StepID `json:"removed,omitempty"`

	By       []string  `json:"by"`                // the latest last
	At       time.Time `json:"at"`                // of the last change
	After    Revision  `json:"after"`             // the state with the draft before the first change
	Revision Revision  `json:"revision,omitzero"` // of the last change
}

// with returns e with one more change, made in a state of that revision. Steps added or removed in total are
// not listed as changed or moved, and steps added and removed again are not listed at all.
func (e *Edits) with(more DraftEdited, at Revision) *Edits {
	all := Edits{After: at}
	if e != nil {
		all = *e
	}
	all.Revision = at + 1
	if more.Added != nil {
		for _, step := range more.Added.Steps {
			all.Added = insertID(all.Added, step.ID)
		}
	}
	for _, updated := range more.Updated {
		all.Changed = insertID(all.Changed, updated.Step)
	}
	for _, moved := range more.Moved {
		all.Moved = insertID(all.Moved, moved.Step)
	}
	if id := more.Removed; id != 0 {
		if !slices.Contains(all.Added, id) {
			all.Removed = insertID(all.Removed, id)
		}
		all.Added = removeIDs(all.Added, []StepID{id})
	}
	removed := slices.Concat(all.Added, all.Removed, []StepID{more.Removed})
	all.Changed, all.Moved = removeIDs(all.Changed, removed), removeIDs(all.Moved, removed)
	by := more.Way.Decider(more.By)
	all.By = append(slices.DeleteFunc(slices.Clone(all.By), func(name string) bool { return name == by }), by)
	all.By, all.At = all.By[max(0, len(all.By)-maxEditors):], more.At
	return &all
}

// NewEdits describes one change.
func NewEdits(e DraftEdited) *Edits { return (*Edits)(nil).with(e, 0) }

// maxEditors bounds the names in Edits.By.
const maxEditors = 10

func insertID(ids []StepID, id StepID) []StepID {
	at, known := slices.BinarySearch(ids, id)
	if known {
		return ids
	}
	return slices.Insert(slices.Clone(ids), at, id)
}

func removeIDs(ids, removed []StepID) []StepID {
	return slices.DeleteFunc(slices.Clone(ids), func(id StepID) bool { return slices.Contains(removed, id) })
}

// StepNote describes a step's edit, "" if it has none.
func (e *Edits) StepNote(id StepID) string {
	switch {
	case e == nil:
	case slices.Contains(e.Added, id):
		return "added by a person before the approval"
	case slices.Contains(e.Changed, id):
		return "changed by a person before the approval"
	}
	return ""
}

// String lists the edits, as in "S002 and S004 changed, S005 added"; "" if they cancel out.
func (e *Edits) String() string {
	if e == nil {
		return ""
	}
	var parts []string
	for _, part := range []struct {
		ids  []StepID
		what string
	}{{e.Changed, "changed"}, {e.Added, "added"}, {e.Moved, "moved"}, {e.Removed, "removed"}} {
		if len(part.ids) > 0 {
			parts = append(parts, IDs(part.ids)+" "+part.what)
		}
	}
	return strings.Join(parts, ", ")
}
