package plan

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"
)

// HostList is the origin of a draft that was made from a host's own task list, or the list that names steps of the plan in force.
type HostList struct {
	Host       string            `json:"host"`
	Session    string            `json:"session"`
	ApprovedAt time.Time         `json:"approved,omitzero"` // when the host reported its user's approval, which does not count here
	Tasks      map[string]StepID `json:"tasks,omitempty"`   // the host's names for the steps, if it has any
	IsDetached bool              `json:"left,omitempty"`    // a person changed the draft, so it no longer follows the list
}

// SessionKey identifies a session of a host; "" for nil.
func (a *HostList) SessionKey() string {
	if a == nil {
		return ""
	}
	return a.Host + " " + a.Session
}

// AdoptHostPlan asks for a draft with the contents of a host's own plan: a new one if no plan is open
// and no draft waits, else an update of the draft from the same session's list. If it names steps of
// the plan in force, it asks to mark those instead. It changes nothing else. A reported approval by
// the host's user is only noted, since any shell can claim one.
type AdoptHostPlan struct {
	Outline
	Steps              []NewStep   // the whole list
	Task               *TaskChange // one task of the list; then Steps is empty
	IsOutlineGenerated bool        // the outline was made up: keep the outline of an earlier list
	Host               string
	Session            string
	IsHostApproved     bool // the host reports that its user agreed
	IsActorGuessed     bool // mark nothing: a claim by a guessed name would refuse the agent's own commands
}

// TaskChange changes one task of a host's list. It adds the task if it is missing and has a title.
type TaskChange struct {
	Name                  string // the host's name for it
	Title                 *string
	Details               *string
	Status                StepStatus // "" for no change
	Agent                 *string
	IsRemoved             bool
	DependsOn, Dependents []string // names of the tasks it depends on, and of those that depend on it
}

func (a AdoptHostPlan) clean(c *cleaner) Action {
	c.outline(&a.Outline)
	c.steps(&a.Steps, "steps")
	c.text(&a.Host, "host", Text{Max: MaxName}, true)
	c.text(&a.Session, "session", Text{Max: MaxHint}, true)
	if a.Task == nil {
		return a
	}
	t := *a.Task
	c.text(&t.Name, "task", Text{Max: MaxName}, true)
	c.list(&t.DependsOn, "after", LinesField, MaxName, MaxList)
	c.list(&t.Dependents, "before", LinesField, MaxName, MaxList)
	step, err := CleanStep("", NewStep{Spec: t.applyToSpec(Spec{Title: "?"}), Progress: Progress{Status: t.Status}})
	c.Add(err)
	for _, text := range []struct {
		value **string
		clean string
	}{{&t.Title, step.Title}, {&t.Details, step.Details}, {&t.Agent, step.SuggestedAgent}} {
		if *text.value != nil {
			*text.value = &text.clean
		}
	}
	a.Task = &t
	return a
}

func (a AdoptHostPlan) sessionKey() string {
	return (&HostList{Host: a.Host, Session: a.Session}).SessionKey()
}

func (t TaskChange) applyToSpec(s Spec) Spec {
	set := func(to *string, text *string) {
		if text != nil {
			*to = *text
		}
	}
	set(&s.Title, t.Title)
	set(&s.Details, t.Details)
	set(&s.SuggestedAgent, t.Agent)
	return s
}

func (a AdoptHostPlan) decide(s State, f Facts) ([]Event, error) {
	if marks := a.marks(s); len(marks) > 0 && s.Plan.Status == StatusActive {
		return a.follow(s, f, marks), nil
	} else if len(marks) > 0 && s.Plan.Status == StatusCompleted && len(marks) >= len(a.Steps) { // the list of a finished plan
		return nil, nil
	}
	own, err := a.formerDraft(s)
	if err != nil {
		return nil, err
	}
	newSteps, tasks, highest := a.listedSteps(own)
	if len(newSteps) == 0 { // some hosts empty their list when all is done
		return nil, nil
	}
	for i := range newSteps {
		if newSteps[i].Status == Done && f.Limits.Evidence {
			newSteps[i].Progress = Progress{Status: Pending,
				Notes: []string{"The list of " + a.Host + " says that it is done, without evidence."}}
		}
	}
	steps, err := mint(Steps{}, newSteps, "/steps", f.Limits)
	if err != nil {
		return nil, err
	}
	p := Plan{ID: newPlanID(s, a.Objective, f.Now), Outline: a.Outline, Version: 1, CreatedAt: f.Now, CreatedBy: f.Actor.Name}
	agreed := time.Time{}
	if own != nil {
		p = *own
		if !a.IsOutlineGenerated {
			p.Outline = a.Outline
		}
		agreed = own.HostList.ApprovedAt
	}
	p.Status, p.UpdatedAt, p.Steps = StatusDraft, f.Now, Steps{}
	draft := Body{Plan: p, Steps: steps, Highest: max(highest, steps[len(steps)-1].ID)}.Build()
	switch same := own != nil && Digest(draft) == Digest(own); {
	case !same && a.IsHostApproved, a.IsHostApproved && agreed.IsZero():
		agreed = f.Now
	case !same: // they agreed to something else
		agreed = time.Time{}
	}
	draft.HostList = &HostList{Host: a.Host, Session: a.Session, ApprovedAt: agreed, Tasks: tasks}
	if own != nil {
		before, after := own.Body(), draft.Body()
		before.UpdatedAt = after.UpdatedAt
		if digest := digestOf(before); digest != "" && digest == digestOf(after) {
			return nil, nil
		}
	}
	return []Event{HostPlanAdopted{Plan: draft.Body()}}, nil
}

// formerDraft returns the draft that was made from the session's list before, nil if a new one may be made.
func (a AdoptHostPlan) formerDraft(s State) (*Plan, error) {
	from := a.sessionKey()
	switch {
	case s.Draft != nil && s.Draft.HostList.SessionKey() == from && !s.Draft.HostList.IsDetached:
		return s.Draft, nil
	case s.Draft != nil:
		return nil, conflict("another draft waits", "let a person decide on it first")
	case s.Plan != nil && (s.Plan.Status == StatusActive || s.Plan.Status == StatusReplanning):
		return nil, conflict("a plan is open", "follow it")
	case slices.ContainsFunc(s.Past, func(head PastPlan) bool { return head.HostSession == from && head.Reason == string(Rejected) }):
		return nil, conflict("a person rejected the draft that was made of this list", "set up a plan")
	}
	return nil, nil
}

// listedSteps returns the draft's steps. A step keeps the id of the former step with the same name at
// the host, else with the same title. highest is the highest id so far.
func (a AdoptHostPlan) listedSteps(own *Plan) (newSteps []NewStep, tasks map[string]StepID, highest StepID) {
	former := []*Step(nil)
	if own != nil {
		former, highest, tasks = own.Steps.List(), own.Steps.Highest(), maps.Clone(own.HostList.Tasks)
	}
	if a.Task != nil {
		for _, step := range former {
			newSteps = append(newSteps, NewStep{ID: step.ID, Spec: step.Spec, Progress: step.Progress})
		}
		return a.Task.applyTo(newSteps, tasks, highest)
	}
	ids, used := map[StepID]StepID{}, map[StepID]bool{}
	for i, step := range a.Steps {
		listed := cmp.Or(step.ID, StepID(i+1))
		at := slices.IndexFunc(former, func(old *Step) bool { return old.Title == step.Title && !used[old.ID] })
		if at >= 0 {
			ids[listed] = former[at].ID
		} else {
			highest++
			ids[listed] = highest
		}
		used[ids[listed]] = true
		newSteps = append(newSteps, NewStep{ID: ids[listed], Progress: Progress{Status: cmp.Or(step.Status, Pending)},
			Spec: Spec{Title: step.Title, Details: step.Details, DependsOn: step.DependsOn, ContextHints: step.ContextHints,
				AcceptanceCriteria: step.AcceptanceCriteria, SuggestedAgent: step.SuggestedAgent}}) // no field that runs anything
	}
	for i, step := range newSteps {
		newSteps[i].DependsOn = nil
		for _, id := range step.DependsOn {
			if to := ids[id]; to != 0 {
				newSteps[i].DependsOn = append(newSteps[i].DependsOn, to)
			}
		}
	}
	return newSteps, nil, highest
}

// applyTo applies the change to the steps of a draft.
func (t *TaskChange) applyTo(newSteps []NewStep, tasks map[string]StepID, highest StepID) ([]NewStep, map[string]StepID, StepID) {
	if tasks == nil {
		tasks = map[string]StepID{}
	}
	id := tasks[t.Name]
	at := slices.IndexFunc(newSteps, func(step NewStep) bool { return step.ID == id })
	switch {
	case t.IsRemoved && at >= 0:
		newSteps = slices.Delete(newSteps, at, at+1)
		delete(tasks, t.Name)
		for i := range newSteps {
			newSteps[i].DependsOn = slices.DeleteFunc(slices.Clone(newSteps[i].DependsOn), func(dep StepID) bool { return dep == id })
		}
		return newSteps, tasks, highest
	case t.IsRemoved || at < 0 && t.Title == nil:
		return newSteps, tasks, highest
	case at < 0:
		highest++
		id, at = highest, len(newSteps)
		tasks[t.Name] = id
		newSteps = append(newSteps, NewStep{ID: id, Progress: Progress{Status: Pending}})
	}
	step := &newSteps[at]
	step.Spec = t.applyToSpec(step.Spec)
	if t.Status != "" {
		step.Progress = Progress{Status: t.Status}
	}
	for _, name := range t.DependsOn {
		step.DependsOn = addDependency(step.DependsOn, tasks[name], id)
	}
	for _, name := range t.Dependents {
		for i := range newSteps {
			if other := tasks[name]; other != 0 && newSteps[i].ID == other {
				newSteps[i].DependsOn = addDependency(newSteps[i].DependsOn, id, other)
			}
		}
	}
	return newSteps, tasks, highest
}

func addDependency(list []StepID, dep, of StepID) []StepID {
	if dep == 0 || dep == of || slices.Contains(list, dep) {
		return list
	}
	return append(slices.Clip(list), dep)
}

// follow returns the events that bring the steps of the plan in force to the states that the list gives them. A mark of a
// list is no evidence, reopens nothing and settles no unknown outcome. The agent did not ask, so a refused mark is left out.
func (a AdoptHostPlan) follow(s State, f Facts, marks []MarkStep) []Event {
	c := stateFold{state: s, facts: f}
	if a.Task != nil && a.linked(s.Plan.HostList) != marks[0].Step {
		c.record(HostTaskLinked{Host: a.Host, Session: a.Session, Task: a.Task.Name, Step: marks[0].Step, At: f.Now})
	}
	for _, mark := range marks {
		step, _ := c.state.step(mark.Step)
		isOpen := (step.Status == Pending || step.Status == InProgress) && !step.IsUnknown() && c.state.Plan.Status == StatusActive
		if mark.Status == Done && (f.Limits.Evidence || s.Plan.Approval != nil && (step.Verify != "" || len(step.Creates) > 0)) {
			mark.Status = InProgress
		}
		if !isOpen || mark.Status != InProgress && mark.Status != Done {
			continue
		}
		if events, err := mark.decide(c.state, f); err == nil {
			c.record(events...)
		}
	}
	return c.events
}

// marks returns the status of each step of the current plan that the list names.
func (a AdoptHostPlan) marks(s State) (marks []MarkStep) {
	if s.Plan == nil || a.IsActorGuessed {
		return nil
	}
	titles, entries := map[string][]*Step{}, a.Steps
	for step := range s.Plan.Steps.All() {
		titles[FoldTitle(step.Title)] = append(titles[FoldTitle(step.Title)], step)
	}
	delete(titles, "") // no letters
	if t := a.Task; t != nil && !t.IsRemoved {
		entries = []NewStep{{Spec: t.applyToSpec(Spec{}), Progress: Progress{Status: t.Status}}}
	}
	for _, entry := range entries {
		step := s.Plan.listed(entry.Title, titles)
		if linked, known := s.step(a.linked(s.Plan.HostList)); known {
			step = linked
		}
		if step != nil {
			marks = append(marks, MarkStep{Step: step.ID, Status: cmp.Or(entry.Status, Pending)})
		}
	}
	slices.SortStableFunc(marks, func(x, y MarkStep) int { return cmp.Compare(x.Status, y.Status) }) // done first: others may wait for it
	return marks
}

// listed returns the step that an entry of a host's list names, by a title that no other step has, or by the id before it;
// nil if there is none. Agents number their lists themselves: a number counts only if the titles begin alike.
func (p *Plan) listed(entry string, titles map[string][]*Step) *Step {
	if same := titles[FoldTitle(entry)]; len(same) == 1 {
		return same[0]
	}
	for _, end := range []string{": ", ". ", ") ", " "} {
		name, rest, _ := strings.Cut(entry, end)
		id, _ := ParseStepID(name)
		step, known := p.Steps.Get(id)
		switch same := titles[FoldTitle(rest)]; {
		case known && (name == id.String() || beginAlike(FoldTitle(rest), FoldTitle(step.Title))):
			return step
		case id != 0 && len(same) == 1:
			return same[0]
		}
	}
	return nil
}

func beginAlike(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }

// linked returns the step that the action's task is known to name, 0 if none.
func (a AdoptHostPlan) linked(list *HostList) StepID {
	if a.Task == nil || list.SessionKey() != a.sessionKey() {
		return 0
	}
	return list.Tasks[a.Task.Name]
}

// HostPlanAdopted makes a draft from a host's own plan, or updates it.
type HostPlanAdopted struct {
	Plan Body `json:"plan"`
}

func (e HostPlanAdopted) apply(s State) State {
	s.Draft = e.Plan.Build()
	return s
}

// HostTaskLinked records which step a host's task names: hosts report later changes by the task's name alone.
type HostTaskLinked struct {
	Host    string    `json:"host"`
	Session string    `json:"session"`
	Task    string    `json:"task"`
	Step    StepID    `json:"step_id"`
	At      time.Time `json:"at"`
}

func (e HostTaskLinked) apply(s State) State {
	return s.withPlan(e.At, func(p *Plan) {
		list, former := &HostList{Host: e.Host, Session: e.Session, Tasks: map[string]StepID{}}, p.HostList
		if former.SessionKey() == list.SessionKey() {
			maps.Copy(list.Tasks, former.Tasks)
			maps.DeleteFunc(list.Tasks, func(_ string, step StepID) bool { return step == e.Step }) // at most a task per step
		}
		list.Tasks[e.Task], p.HostList = e.Step, list
	})
}
