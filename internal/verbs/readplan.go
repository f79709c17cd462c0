package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// ReadPlan is the input of ReadPlan. The zero value reads the current plan, with finished steps folded if it is long
// (WINK: ReadPlan).
type ReadPlan struct {
	Of     *WhichPlan        `json:"of,omitempty"`
	Status *resources.Filter `json:"status,omitempty"`
	From   *plan.StepID      `json:"from,omitempty" jsonschema:"description=read on"`
	Step   *TaskID           `json:"step,omitempty" jsonschema:"-" schema:"closed"` // show it alone, whole
}

// WhichPlan names a plan that can be read.
type WhichPlan string

// The plans that can be read.
const (
	CurrentPlan      WhichPlan = "current"
	DraftPlan        WhichPlan = "draft"
	ApprovedPlanOnly WhichPlan = "approved"
	CommentsOnly     WhichPlan = "comments" // all input from people
)

// Values lists the plans in order.
func (WhichPlan) Values() []string {
	return []string{string(CurrentPlan), string(DraftPlan), string(ApprovedPlanOnly), string(CommentsOnly)}
}

// ReadPlanReply is a page of the plan.
type ReadPlanReply struct {
	*resources.PageView
	Message  string        `json:"message,omitempty"`       // the draft's decision, or the plan's approver
	Draft    *SubmitPlan   `json:"draft,omitempty"`         // in the form of a submission
	Approved *ApprovedView `json:"approved,omitempty"`      // with everything that was approved
	Comments []string      `json:"comments,omitempty"`      // on the plan shown; comments on steps of the current plan are at the steps
	MoreSaid string        `json:"more_comments,omitempty"` // the call that shows the comments not whole here
	Task     *Task         `json:"task,omitempty"`          // the step asked for
	Rest     string        `json:"rest,omitempty"`          // the number of steps left, and the call that shows them

	Doubt      string `json:"workspace_doubt,omitempty"`
	NextAction string `json:"next_action"` // the page has the progress
}

// ApprovedView is an approved plan.
type ApprovedView struct {
	Objective    string           `json:"objective"`
	Summary      string           `json:"summary,omitempty"`
	ContextNotes string           `json:"context_notes,omitempty"` // on the first page only, like the next three
	Constraints  []string         `json:"constraints,omitempty"`
	Reasoning    string           `json:"reasoning,omitempty"`
	Answers      []AnswerFeedback `json:"answers,omitempty"`
	Tasks        []Task           `json:"tasks"`
}

// ReadPlan returns the current plan, the draft or the approved plan; a long one in pages.
func (s *Service) ReadPlan(ctx context.Context, c Caller, in ReadPlan) (ReadPlanReply, error) {
	state, err := s.State(ctx)
	if err != nil {
		return ReadPlanReply{}, err
	}
	s.seen.know(c, state)
	of, from := cmp.Or(given(in.Of), CurrentPlan), given(in.From)
	reply := ReadPlanReply{Doubt: s.opts.Doubt, NextAction: s.NextActionIn(state, c).For(c)}
	remarks, err := s.OpenComments(ctx, state)
	if err != nil {
		return ReadPlanReply{}, err
	}
	read := state.Plan
	if of == DraftPlan {
		read = state.Draft
	}
	switch {
	case of == DraftPlan && state.Draft == nil:
		return reply, plan.Refuse(plan.NotFound, "/of", "no draft is waiting", "read the current plan, or submit one")
	case of == ApprovedPlanOnly && (state.Plan == nil || state.Plan.Approval == nil):
		return reply, plan.Refuse(plan.NotFound, "/of", "no approved plan is current", "read the current plan, or submit one")
	case of != CurrentPlan && in.Status != nil:
		return reply, plan.Refuse(plan.InvalidInput, "/status", "works only for the current plan", "omit of, or status")
	case of == CommentsOnly:
		return reply.withComments(state, remarks, c, int(from))
	case read == nil && state.Draft != nil:
		return reply, plan.Refuse(plan.NotFound, "", "the workspace has only a submitted draft, not a plan",
			"read that: "+c.word(Call{Kind: CallRead, ID: string(DraftPlan)}))
	case read == nil:
		return reply, plan.Refuse(plan.NotFound, "", "no plan exists yet", "set one up first: "+c.word(Call{Kind: CallSetUp}))
	case from > 0 && read.Steps.PositionFrom(from) == read.Steps.Len():
		fix := "the plan has no steps yet; add some first"
		if n := read.Steps.Len(); n > 0 {
			fix = "the last is " + read.Steps.At(n-1).ID.String()
		}
		return reply, plan.Refuse(plan.NotFound, "/from", "step "+from.String()+" does not exist, nor any after it", fix)
	case in.Step != nil:
		state.Plan = read
		shown, err := s.statusOfTask(state, remarks, c, Status{Task: in.Step}, StatusReply{})
		reply.Task = shown.Task
		return reply, err
	case of == DraftPlan:
		return reply.withDraft(state, remarks, c, from), nil
	case of == ApprovedPlanOnly:
		return reply.withApproved(state, remarks, c, from), nil
	}
	filter, whole := given(in.Status), 0
	if filter == "" && from == 0 {
		reply.Comments, whole = commentsBeside(remarks, CurrentPlan, 0, false)
	}
	page := resources.Page(state.Plan, filter, from, costOf(reply.Comments), func(id plan.StepID) []string {
		texts, _ := commentsBeside(remarks, CurrentPlan, id, true)
		return texts
	})
	reply.PageView = &page
	for _, step := range slices.Concat(page.Now, page.Steps) {
		id, _ := plan.ParseStepID(step.StepID)
		_, n := commentsBeside(remarks, CurrentPlan, id, true)
		whole += n
	}
	reply.MoreSaid = c.moreComments(len(remarks), whole)
	return reply, nil
}

// Token limits of a page of a draft or an approved plan, and of people's answers in it.
const (
	agreedRoom  = 3_000
	answersRoom = 640
)

// withDraft adds the draft to a reply in the form of a submission, starting at a step.
func (r ReadPlanReply) withDraft(state plan.State, remarks []PlacedComment, c Caller, from plan.StepID) ReadPlanReply {
	r.Message = "The submitted draft."
	if d := state.ModeNow().Decision; d != nil && state.IsReturned() {
		r.Message = tokens.Block(DecisionText(d), answersRoom/2)
	}
	draft := DraftSubmission(state.Draft)
	first := state.Draft.Steps.PositionFrom(from)
	if first > 0 { // only the first page has the rest of the plan
		draft.Questions, draft.Reasoning, draft.Facts, draft.InformedBy = nil, nil, Facts{}, nil
	}
	steps := draft.Steps[first:]
	draft.Steps = nil
	shown := r.addComments(state.Draft, DraftPlan, remarks, first, agreedRoom-costOf(draft), c, func(i int) any { return steps[i] })
	draft.Steps = steps[:shown]
	for i := range draft.Steps {
		id := state.Draft.Steps.At(first + i).ID
		if slices.ContainsFunc(remarks, func(m PlacedComment) bool { return m.In == DraftPlan && m.Now == id }) {
			draft.Steps[i].Ref = new(refOf(id)) // the comment names it so
		}
	}
	r.Draft, r.Rest = &draft, remainingSteps(state.Draft, first+len(draft.Steps), DraftPlan, c)
	return r
}

// DraftSubmission returns a plan in the form of a submission: submitted again, it is the same plan. Its steps use refs, so
// that a step can be inserted.
func DraftSubmission(p *plan.Plan) SubmitPlan {
	in := SubmitPlan{Summary: cmp.Or(p.Summary, p.Objective), Questions: p.Questions, Facts: Facts{Constraints: p.Metadata.Constraints},
		InformedBy: p.Metadata.InformedBy, Duration: p.EstimatedDuration}
	if p.ContextNotes != "" {
		in.Findings = strings.Split(p.ContextNotes, "\n")
	}
	if p.Reasoning != "" {
		in.Reasoning = &p.Reasoning
	}
	for step := range p.Steps.All() {
		given := slices.DeleteFunc(slices.Clone(plan.SpecFields()), func(f plan.Field[plan.Step]) bool {
			return f.Kind == plan.StepsField || len(f.Texts(step)) == 0
		})
		submitted := SubmittedStep{TaskFields: TaskFields(plan.NewPatch(step.RenameReferences(refOf), given))}
		var deps []TaskRef
		for _, id := range step.DependsOn {
			deps = append(deps, TaskRef(refOf(id)))
		}
		if deps != nil {
			submitted.Dependencies = &deps
		}
		if len(p.Steps.Dependents(step.ID)) > 0 {
			submitted.Ref = new(refOf(step.ID))
		}
		in.Steps = append(in.Steps, submitted)
	}
	return in
}

// refOf returns the ref by which a draft's other steps depend on a step.
func refOf(id plan.StepID) string { return "draft_" + id.String() }

// withApproved adds the approved plan to a reply, starting at a step.
func (r ReadPlanReply) withApproved(state plan.State, remarks []PlacedComment, c Caller, from plan.StepID) ReadPlanReply {
	p := state.Plan
	r.Message = "The plan was approved by " + p.Approval.Deciders() + "."
	if p.Approval.Way == string(plan.WayClient) {
		r.Message = "The plan was approved by the user of " + p.Approval.By + ", through the client."
	}
	if changed := p.Approval.Deviations; len(changed) > 0 {
		r.Message += " Smaller changes since then: " + tokens.Block(strings.Join(changed, "; "), answersRoom/2)
	}
	first, room := p.Steps.PositionFrom(from), agreedRoom
	r.Approved = &ApprovedView{Objective: p.Objective, Summary: p.Summary}
	if first == 0 {
		r.Approved.ContextNotes, r.Approved.Constraints, r.Approved.Reasoning = p.ContextNotes, p.Metadata.Constraints, p.Reasoning
		r.Approved.Answers = collectFeedback(state, nil, state.Revision).Answers
		for i := range r.Approved.Answers {
			a := &r.Approved.Answers[i]
			a.Question, a.Answer = tokens.Block(a.Question, titleTokens), tokens.Block(a.Answer, answersRoom/len(r.Approved.Answers))
		}
		room -= costOf(r.Approved)
	}
	steps := tasks(p)[first:]
	for i := range steps { // what was approved, whole: reports on it are in the current plan
		t, step := &steps[i], p.Steps.At(first+i)
		t.Other = append(nonEmpty(p.Approval.UnseenNote(step.ID)), labelled(step, plan.SpecFields())...)
		t.Notes, t.EarlierNotes, t.Output, t.AffectedFiles, t.Error = nil, 0, "", nil, ""
	}
	r.Approved.Tasks = steps[:r.addComments(p, CurrentPlan, remarks, first, room, c, func(i int) any { return steps[i] })]
	r.Rest = remainingSteps(p, first+len(r.Approved.Tasks), ApprovedPlanOnly, c)
	return r
}

// addComments returns how many steps from first fit into a room with their comments, at least one. It adds these comments
// to the reply, and on the first page the comments on the whole plan.
func (r *ReadPlanReply) addComments(p *plan.Plan, in WhichPlan, remarks []PlacedComment, first, room int, c Caller,
	step func(int) any) int {
	whole := 0
	if first == 0 {
		r.Comments, whole = commentsBeside(remarks, in, 0, false)
		room -= costOf(r.Comments)
	}
	comments := func(i int) ([]string, int) { return commentsBeside(remarks, in, p.Steps.At(first+i).ID, false) }
	shown := tokens.First(p.Steps.Len()-first, room, func(i int) int {
		texts, _ := comments(i)
		return costOf(step(i)) + costOf(texts)
	})
	for i := range shown {
		texts, n := comments(i)
		r.Comments, whole = append(r.Comments, texts...), whole+n
	}
	r.MoreSaid = c.moreComments(len(remarks), whole)
	return shown
}

// firstFitting returns the first entries that fit into a room, at least one.
func firstFitting[T any](list []T, room int) []T {
	return list[:tokens.First(len(list), room, func(i int) int { return costOf(list[i]) })]
}

func costOf(part any) int {
	data, err := json.Marshal(part)
	if err != nil {
		return 0 // arguments from an old log that are not valid JSON
	}
	return tokens.CountCautiously(string(data))
}

// remainingSteps counts the steps of a plan from a position, with the call that reads them; "" for 0 steps.
func remainingSteps(p *plan.Plan, from int, of WhichPlan, c Caller) string {
	left := p.Steps.Len() - from
	if left <= 0 {
		return ""
	}
	return plan.Pluralize(left, "more step") + ": " + c.word(Call{Kind: CallRead, ID: string(of), Step: p.Steps.At(from).ID})
}

func (r ReadPlanReply) Text() string {
	var b strings.Builder
	if r.Message != "" {
		b.WriteString(r.Message + "\n")
	}
	if r.PageView != nil {
		b.WriteString(r.PageView.Text())
	}
	b.WriteString(r.Task.text())
	if r.Draft != nil {
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(r.Draft); err != nil { // arguments from an old log that are not valid JSON
			b.WriteString(err.Error() + "\n")
		}
	}
	if r.Approved != nil {
		b.WriteString(r.Approved.Objective + line(safetext.Marked(r.Approved.Summary)) + "\n")
		if r.Approved.ContextNotes != "" {
			b.WriteString("Findings: " + safetext.AfterLabel(r.Approved.ContextNotes) + "\n")
		}
		b.WriteString(prefixedLines("Constraint: ", r.Approved.Constraints) + prefixedLines("Reasoning: ", nonEmpty(r.Approved.Reasoning)))
		for _, a := range r.Approved.Answers {
			b.WriteString(safetext.AfterLabel(a.line()) + "\n")
		}
		for _, t := range r.Approved.Tasks {
			b.WriteString(t.name() + ": " + t.Title + t.lines() + "\n")
		}
	}
	for _, text := range r.Comments {
		b.WriteString(map[bool]string{true: "", false: "comment: "}[r.PageView == nil && r.Draft == nil && r.Approved == nil] +
			safetext.AfterLabel(text) + "\n")
	}
	for _, more := range nonEmpty(r.MoreSaid, r.Rest) {
		b.WriteString(more + "\n")
	}
	return b.String() + WorkspaceInfo{Doubt: r.Doubt}.doubt() + "\nNext: " + r.NextAction
}
