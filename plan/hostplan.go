package plan

import (
	"cmp"
	"maps"
	"slices"
	"time"
)

// HostList is the origin of a draft that was made from a host's own task list.
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
// and no draft waits, else an update of the draft from the same session's list. It changes nothing
// else. A reported approval by the host's user is only noted, since any shell can claim one.
type AdoptHostPlan struct {
	Outline
	Steps              []NewStep   // the whole list
	Task               *TaskChange // one task of the list; then Steps is empty
	IsOutlineGenerated bool        // the outline was made up: keep the outline of an earlier list
	Host               string
	Session            string
	IsHostApproved     bool // the host reports that its user agreed
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
	from := (&HostList{Host: a.Host, Session: a.Session}).SessionKey()
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

// HostPlanAdopted makes a draft from a host's own plan, or updates it.
type HostPlanAdopted struct {
	Plan Body `json:"plan"`
}

func (e HostPlanAdopted) apply(s State) State {
	s.Draft = e.Plan.Build()
	return s
}
