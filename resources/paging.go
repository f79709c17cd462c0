package resources

import (
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// Limits of a page, so that reading a plan costs a model about the same for any length.
const (
	wholePlan    = 15 // steps of a plan that is shown whole
	pageSteps    = 25
	pageBudget   = 1_600 // tokens, by a cautious estimate, for the objective and the steps of a page
	pageFolds    = 8
	pageWaiting  = 5
	pageNotes    = 3
	pageTopSteps = 3
	pageDetails  = 170 // tokens; enough for any details that the planning_* tools accept
	pageNote     = 90
	pageOutline  = 400 // tokens, for the plan's own fields
)

// Filter selects the steps of a page: a status, open (not finished), ready, or all if it is empty.
type Filter string

// The filters other than statuses.
const (
	FilterOpen  Filter = "open"
	FilterReady Filter = "ready"
)

// Values lists the filters in order.
func (Filter) Values() []string {
	return append([]string{string(FilterOpen), string(FilterReady)}, plan.Pending.Values()...)
}

// Read returns our word for a status in any vocabulary and spelling, or for several with commas between them.
func (f Filter) Read(words string) string {
	if strings.EqualFold(strings.TrimSpace(words), "all") {
		return strings.Join(f.Values(), ",")
	}
	var all []string
	for word := range strings.SplitSeq(words, ",") {
		if word = strings.TrimSpace(word); !slices.Contains(f.Values(), word) {
			word = string(plan.ReadStatus(word))
		}
		if word == "" {
			return ""
		}
		all = append(all, word)
	}
	return strings.Join(all, ",")
}

func (f Filter) matches(steps plan.Steps, step *plan.Step) bool {
	if one, more, several := strings.Cut(string(f), ","); several {
		return Filter(one).matches(steps, step) || Filter(more).matches(steps, step)
	}
	switch f {
	case "":
		return true
	case FilterOpen:
		return !step.Status.IsFinished()
	case FilterReady:
		return steps.IsReady(step.ID)
	}
	return string(step.Status) == string(f)
}

// PageView is a bounded view of a plan for a model.
type PageView struct {
	Objective   string     `json:"objective"`
	Constraints []string   `json:"constraints,omitempty"`
	Findings    string     `json:"findings,omitempty"` // context notes
	LeftOut     string     `json:"left_out,omitempty"` // describes omitted constraints and findings
	Summary     string     `json:"final_summary,omitempty"`
	Status      string     `json:"status"`
	Progress    Progress   `json:"progress"`
	Now         []PageStep `json:"now,omitempty"` // steps to work on that are on a later page
	Steps       []PageStep `json:"steps"`
	Folded      []string   `json:"folded,omitempty"` // ranges of finished steps, such as "S001-S412 done"
	More        PageMore   `json:"more,omitzero"`
}

// PageStep is a step of a page. Long details and notes are cut at a line end.
type PageStep struct {
	StepID       string   `json:"step_id"`
	Title        string   `json:"title"`
	Status       string   `json:"status"`
	ClaimedBy    string   `json:"claimed_by,omitempty"`
	Details      string   `json:"details,omitempty"`
	Notes        []string `json:"notes,omitempty"` // the latest
	EarlierNotes int      `json:"earlier_notes,omitzero"`
	WaitingOn    []string `json:"waiting_on,omitempty"` // the first few
	MoreWaiting  int      `json:"more_waiting_on,omitzero"`
	Comments     []string `json:"comments,omitempty"`
}

// PageMore says how to continue reading: from that step, with that filter.
type PageMore struct {
	Left   int    `json:"left"` // matching steps not shown yet
	From   string `json:"from"`
	Status string `json:"status,omitempty"`
}

// Page returns the page of p that starts at the step from, or at the first step for zero, with the steps that match
// filter. Without filter and from, a short plan is shown whole. Of a longer one the open steps are shown in order,
// finished ones are folded into ranges, and steps to work on come first if the page does not reach them. Reading on
// shows every matching step once. If no step has the id from, the page starts at the next id. said returns the comments
// on a step; spent is the cost of the rest of the page, in tokens.
func Page(p *plan.Plan, filter Filter, from plan.StepID, spent int, said func(plan.StepID) []string) PageView {
	v := PageView{Objective: p.Objective, Status: string(p.Status), Progress: progressOf(p.Steps), Steps: []PageStep{}}
	b := pageBuilder{p: p, view: &v, left: pageBudget - spent, said: said}
	switch {
	case filter != "" || from > 0:
		v.Objective = plan.Shorten(v.Objective, plan.MaxObjective)
		b.list(filter, from)
		return v
	case p.Steps.Len() > wholePlan:
		v.Objective = plan.Shorten(v.Objective, plan.MaxObjective)
	}
	v.Objective = tokens.ShortenCautiously(v.Objective, pageOutline, plan.MaxLongLine)
	b.left -= tokens.CountCautiously(v.Objective)
	b.outline()
	if p.Steps.Len() > wholePlan {
		b.overview()
	} else {
		b.list("", 0)
	}
	return v
}

type pageBuilder struct {
	p    *plan.Plan
	view *PageView
	left int // tokens
	said func(plan.StepID) []string
}

func (b *pageBuilder) outline() {
	parts := []tokens.Part{{Name: "constraint", Texts: b.p.Metadata.Constraints}, {Name: "findings", Long: true}}
	if b.p.ContextNotes != "" {
		parts[1].Texts = []string{b.p.ContextNotes}
	}
	b.view.Summary = b.p.FinalSummary
	shown, left := tokens.Fit(parts, pageOutline)
	b.view.Constraints, b.view.Findings, b.view.LeftOut = shown[0].Texts, strings.Join(shown[1].Texts, ""), tokens.Left(left)
	for _, text := range append(shown[1].Texts, shown[0].Texts...) {
		b.left -= tokens.CountCautiously(text)
	}
}

func (b *pageBuilder) overview() {
	b.view.Folded = folds(b.p.Steps)
	room := b.left
	var now []*plan.Step // steps to work on that the list does not reach
	for hidden := []*plan.Step(nil); ; {
		now = append(now, hidden...)
		b.left, b.view.Now, b.view.Steps, b.view.More = room, nil, []PageStep{}, PageMore{}
		for _, step := range now {
			b.add(&b.view.Now, b.full(step))
		}
		b.list(FilterOpen, 0)
		hidden = slices.DeleteFunc(b.top(), func(step *plan.Step) bool {
			isListed := func(s PageStep) bool { return s.StepID == step.ID.String() }
			return slices.Contains(now, step) || slices.ContainsFunc(b.view.Steps, isListed)
		})
		if len(hidden) == 0 {
			return
		}
	}
}

// top returns the steps to work on: the first few in progress, and the next ready one.
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

// list adds the matching steps in order, and the way to continue if the page is full.
func (b *pageBuilder) list(filter Filter, from plan.StepID) {
	for i := b.p.Steps.PositionFrom(from); i < b.p.Steps.Len(); i++ {
		step := b.p.Steps.At(i)
		if !filter.matches(b.p.Steps, step) {
			continue
		}
		full := b.view.More.Left > 0
		if !full && b.add(&b.view.Steps, b.full(step)) {
			continue
		}
		if !full {
			b.view.More = PageMore{From: step.ID.String(), Status: string(filter)}
		}
		b.view.More.Left++
	}
}

// add adds a step to the page if it fits; the first one always does.
func (b *pageBuilder) add(to *[]PageStep, s PageStep) bool {
	cost := s.cost()
	if n := len(b.view.Now) + len(b.view.Steps); n > 0 && (cost > b.left || n >= pageSteps) {
		return false
	}
	b.left -= cost
	*to = append(*to, s)
	return true
}

func (b *pageBuilder) full(step *plan.Step) PageStep {
	s := PageStep{StepID: step.ID.String(), Title: plan.Shorten(step.Title, plan.MaxTitle), Status: string(step.Status),
		Details: tokens.Block(step.Details, pageDetails), EarlierNotes: max(0, len(step.Notes)-pageNotes), Comments: b.said(step.ID)}
	for _, note := range step.Notes[s.EarlierNotes:] {
		s.Notes = append(s.Notes, tokens.Block(note, pageNote))
	}
	if step.Status.IsFinished() {
		return s
	}
	s.ClaimedBy = step.ClaimedBy
	waiting := b.p.Steps.UnmetDependencies(step.ID)
	for _, id := range waiting[:min(len(waiting), pageWaiting)] {
		s.WaitingOn = append(s.WaitingOn, id.String())
	}
	s.MoreWaiting = len(waiting) - len(s.WaitingOn)
	return s
}

// folds returns the runs of finished steps with the same status, in order; those beyond pageFolds are counted together.
func folds(steps plan.Steps) []string {
	type fold struct {
		first, last plan.StepID
		status      plan.StepStatus
		steps       int
	}
	var runs []fold
	open := false // the last run can be extended
	for step := range steps.All() {
		n := len(runs)
		switch {
		case !step.Status.IsFinished():
			open = false
		case open && runs[n-1].status == step.Status && runs[n-1].last+1 == step.ID:
			runs[n-1].last = step.ID
			runs[n-1].steps++
		default:
			runs = append(runs, fold{step.ID, step.ID, step.Status, 1})
			open = true
		}
	}
	var texts []string
	rest := 0
	for i, run := range runs {
		switch {
		case i >= pageFolds && len(runs) > pageFolds+1:
			rest += run.steps
		case run.steps == 1:
			texts = append(texts, fmt.Sprintf("%s %s", run.first, run.status))
		default:
			texts = append(texts, fmt.Sprintf("%s-%s %s", run.first, run.last, run.status))
		}
	}
	if rest > 0 {
		texts = append(texts, fmt.Sprintf("%d more finished between %s and %s", rest, runs[pageFolds].first, runs[len(runs)-1].last))
	}
	return texts
}

// Text returns the same as text: a line for each step, with details and notes below it.
func (v PageView) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n%s, %d of %d done\n", v.Objective, v.Status, v.Progress.Done, v.Progress.Total)
	for _, constraint := range v.Constraints {
		b.WriteString("constraint: " + constraint + "\n")
	}
	for _, field := range [][2]string{{"findings", v.Findings}, {"left out", v.LeftOut}, {"final summary", v.Summary},
		{"folded", strings.Join(v.Folded, ", ")}} {
		if field[1] != "" {
			b.WriteString(field[0] + ": " + safetext.AfterLabel(field[1]) + "\n")
		}
	}
	for _, s := range v.Now {
		s.write(&b, "now: ")
	}
	for _, s := range v.Steps {
		s.write(&b, "")
	}
	if v.More.Left > 0 {
		fmt.Fprintf(&b, "%d more: read from %s", v.More.Left, v.More.From)
		if v.More.Status != "" {
			b.WriteString(" with status " + v.More.Status)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// Line returns the step in one line: id, status, title and dependencies it waits for.
func (s PageStep) Line() string {
	line := s.StepID + " " + s.Status
	if s.ClaimedBy != "" {
		line += " (" + s.ClaimedBy + ")"
	}
	line += ": " + s.Title
	if len(s.WaitingOn) == 0 {
		return line
	}
	line += " (waits for " + strings.Join(s.WaitingOn, ", ")
	if s.MoreWaiting > 0 {
		line += fmt.Sprintf(" and %d more", s.MoreWaiting)
	}
	return line + ")"
}

func (s PageStep) write(b *strings.Builder, lead string) {
	b.WriteString(lead + s.Line() + "\n")
	below := func(label, text string) {
		b.WriteString("  " + label + safetext.AfterLabel(text) + "\n")
	}
	if s.Details != "" {
		below("", s.Details)
	}
	if s.EarlierNotes > 0 {
		below("", fmt.Sprintf("earlier notes: %d", s.EarlierNotes))
	}
	for _, note := range s.Notes {
		below("note: ", note)
	}
	for _, comment := range s.Comments {
		below("comment: ", comment)
	}
}

func (s PageStep) cost() int {
	const frame, perNote, perID = 24, 4, 5
	n := frame + tokens.CountCautiously(s.Title) + tokens.CountCautiously(s.Details) + perID*len(s.WaitingOn)
	for _, note := range slices.Concat(s.Notes, s.Comments) {
		n += perNote + tokens.CountCautiously(note)
	}
	return n
}
