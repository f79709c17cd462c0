package resources

import (
	"slices"

	"github.com/planloop/planloop/plan"
)

// What a page shows at most, so that reading a plan costs a model about the same
// however long the plan is. Characters are counted as estimateTokens does.
const (
	wholePlan    = 15 // a plan of so many steps is shown whole
	pageSteps    = 25
	pageBudget   = 1_450 // tokens, by our estimate, of the steps of a page
	pageTitle    = 100
	pageFolds    = 8
	pageWaiting  = 5
	pageNotes    = 3
	pageTopSteps = 3
	pageLongText = plan.MaxDetails // what the planning_* tools take is shown whole
)

// Filter chooses the steps of a page: a status, open (not finished), ready, or
// all of them when it is empty.
type Filter string

// The filters that are no status.
const (
	FilterOpen  Filter = "open"
	FilterReady Filter = "ready"
)

// Values lists the filters in order.
func (Filter) Values() []string {
	return append([]string{string(FilterOpen), string(FilterReady)}, plan.Pending.Values()...)
}

func (f Filter) matches(steps plan.Steps, step *plan.Step) bool {
	switch f {
	case "":
		return true
	case FilterOpen:
		return !step.Status.Finished()
	case FilterReady:
		return steps.IsReady(step.ID)
	}
	return string(step.Status) == string(f)
}

// PageView is a bounded view of a plan for a model.
type PageView struct {
	Objective string     `json:"objective"`
	Status    string     `json:"status"`
	Progress  Progress   `json:"progress"`
	Steps     []PageStep `json:"steps"`
	Folded    []string   `json:"folded,omitempty"` // ranges of finished steps, such as "S001-S412 done"
	More      PageMore   `json:"more,omitzero"`
}

// PageStep is a step of a page. Where the plan is long, details and notes stand
// at the steps to work on alone.
type PageStep struct {
	StepID       string   `json:"step_id"`
	Title        string   `json:"title"`
	Status       string   `json:"status"`
	ClaimedBy    string   `json:"claimed_by,omitempty"`
	Details      string   `json:"details,omitempty"`
	Notes        []string `json:"notes,omitempty"` // the last ones
	EarlierNotes int      `json:"earlier_notes,omitzero"`
	WaitingOn    []string `json:"waiting_on,omitempty"` // the first ones
	MoreWaiting  int      `json:"more_waiting_on,omitzero"`
}

// PageMore says how to read on: from that step, with that filter.
type PageMore struct {
	Left   int    `json:"left"` // steps that match and are not shown yet
	From   string `json:"from"`
	Status string `json:"status,omitempty"`
}

// Page returns the page of p that starts at the step from, or at the first for
// zero, with the steps that match. Without filter and from, a short plan is
// shown whole; of a longer one the steps to work on come first, then the open
// ones in order, and finished ones are folded into ranges. A from that names no
// step starts at the next id that does.
func Page(p *plan.Plan, filter Filter, from plan.StepID) PageView {
	v := PageView{
		Objective: p.Objective, Status: string(p.Status), Progress: progressOf(p.Steps), Steps: []PageStep{},
	}
	b := pageBuilder{p: p, view: &v, left: pageBudget}
	switch {
	case filter != "" || from > 0:
		v.Objective = plan.Shorten(v.Objective, plan.MaxObjective)
		b.list(filter, from, nil)
	case p.Steps.Len() <= wholePlan:
		b.whole()
	default:
		v.Objective = plan.Shorten(v.Objective, plan.MaxObjective)
		b.overview()
	}
	return v
}

type pageBuilder struct {
	p    *plan.Plan
	view *PageView
	left int // tokens
}

func (b *pageBuilder) whole() {
	for step := range b.p.Steps.All() {
		b.view.Steps = append(b.view.Steps, b.full(step, pageLongText, pageNotes))
	}
}

func (b *pageBuilder) overview() {
	b.view.Folded = folds(b.p.Steps)
	top := b.top()
	for i, step := range top {
		long := pageLongText
		if i > 0 {
			long = pageTitle
		}
		b.add(b.full(step, long, 1))
	}
	b.list(FilterOpen, 0, top)
}

// top returns the steps to work on: some in progress, else the next.
func (b *pageBuilder) top() []*plan.Step {
	var top []*plan.Step
	for step := range b.p.Steps.All() {
		if step.Status == plan.InProgress && len(top) < pageTopSteps {
			top = append(top, step)
		}
	}
	if ready := b.p.Steps.NextReady(); ready != nil {
		top = append(top, ready)
	}
	return top
}

// list adds the matching steps in order, without those on top, and says how to
// read on when the page is full.
func (b *pageBuilder) list(filter Filter, from plan.StepID, top []*plan.Step) {
	full := false
	for i := b.start(from); i < b.p.Steps.Len(); i++ {
		step := b.p.Steps.At(i)
		if !filter.matches(b.p.Steps, step) || slices.Contains(top, step) {
			continue
		}
		if !full && b.add(b.short(step)) {
			continue
		}
		if !full {
			full = true
			b.view.More = PageMore{From: step.ID.String(), Status: string(filter)}
		}
		b.view.More.Left++
	}
}

// start returns the position of the step from, or of the first with a higher id.
func (b *pageBuilder) start(from plan.StepID) int {
	if i := b.p.Steps.Position(from); i >= 0 {
		return i
	}
	for i := range b.p.Steps.Len() {
		if b.p.Steps.At(i).ID >= from {
			return i
		}
	}
	return b.p.Steps.Len()
}

// add puts a step on the page if it fits; the first always does.
func (b *pageBuilder) add(s PageStep) bool {
	cost := s.tokens()
	if n := len(b.view.Steps); n > 0 && (cost > b.left || n >= pageSteps) {
		return false
	}
	b.left -= cost
	b.view.Steps = append(b.view.Steps, s)
	return true
}

func (b *pageBuilder) short(step *plan.Step) PageStep {
	s := PageStep{StepID: step.ID.String(), Title: plan.Shorten(step.Title, pageTitle), Status: string(step.Status)}
	if step.Status.Finished() {
		return s
	}
	s.ClaimedBy = step.ClaimedBy
	waiting := b.p.Steps.WaitingOn(step.ID)
	for _, id := range waiting[:min(len(waiting), pageWaiting)] {
		s.WaitingOn = append(s.WaitingOn, id.String())
	}
	s.MoreWaiting = len(waiting) - len(s.WaitingOn)
	return s
}

func (b *pageBuilder) full(step *plan.Step, long, notes int) PageStep {
	s := b.short(step)
	s.Title = plan.Shorten(step.Title, max(long, pageTitle))
	s.Details = plan.Shorten(step.Details, long)
	s.EarlierNotes = max(0, len(step.Notes)-notes)
	for _, note := range step.Notes[s.EarlierNotes:] {
		s.Notes = append(s.Notes, plan.Shorten(note, long))
	}
	return s
}
