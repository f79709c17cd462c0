package review

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// ReadView returns the current view of a workspace.
func ReadView(ctx context.Context, workspace *Workspace) (View, error) {
	log, unread := workspace.Service.LogID(ctx) // first: an act on a log that replaced it is refused
	state, former, err := workspace.Service.Draft(ctx)
	if err = cmp.Or(err, unread); err != nil {
		return View{}, err
	}
	v := workspace.view(state, former)
	v.Log = log
	if v.Draft != nil {
		edits, err := workspace.Service.Undone(ctx, state)
		if err != nil {
			return View{}, err
		}
		for _, e := range edits {
			v.Draft.Undone = append(v.Draft.Undone, Undone{e.Key, e.Told("the agent"), e.Want})
		}
	}
	if v.Plan != nil {
		if v.Plan.Difference, err = workspace.since(ctx, state, state.Plan); err != nil {
			return View{}, err
		}
	}
	if v.Comments, err = workspace.comments(ctx, state, commentable(state, workspace.Service.Now())...); err != nil {
		return View{}, err
	}
	if err = workspace.addSituations(ctx, &v, state); err != nil {
		return View{}, err
	}
	workspace.show(&v)
	return v, nil
}

// Since returns the view without the steps that are as in a known view.
func (v View) Since(known View) View {
	v.Plan = v.Plan.since(known.Plan)
	if v.Draft != nil && known.Draft != nil {
		draft := *v.Draft
		draft.Plan = *draft.Plan.since(&known.Draft.Plan)
		v.Draft = &draft
	}
	return v
}

func (p *Plan) since(known *Plan) *Plan {
	isSame := func(a, b Step) bool { return a.ID == b.ID }
	if p == nil || known == nil || p.ID != known.ID || !slices.EqualFunc(p.Steps, known.Steps, isSame) {
		return p
	}
	changed := *p
	changed.Steps, changed.OnlyChanged = []Step{}, true
	for i, step := range p.Steps {
		if !reflect.DeepEqual(step, known.Steps[i]) {
			changed.Steps = append(changed.Steps, step)
		}
	}
	return &changed
}

// addSituations adds the facts for each plan that the page can show: the current one and the draft.
func (workspace *Workspace) addSituations(ctx context.Context, v *View, state plan.State) (err error) {
	warnings := []verbs.PageFact{}
	if shared := workspace.Service.SharedFiles(ctx, state, viewer()); len(shared) > 0 {
		warnings = []verbs.PageFact{{Label: "Warning", Texts: shared, Urgent: true}}
	}
	current := state.Plan
	if v.Plan == nil {
		current = nil // cleared
	}
	facts, err := workspace.Service.PageFacts(ctx, state, current, viewer())
	if v.Situation = append(slices.Clip(warnings), facts...); err != nil || v.Draft == nil {
		return err
	}
	facts, err = workspace.Service.PageFacts(ctx, state, state.Draft, viewer())
	if votes, ok := state.Voting(workspace.Members); ok {
		warnings = append(warnings, verbs.PageFact{Label: "Approvals", Texts: []string{describeVotes(votes)}})
		if state.ModeNow().Request.Policy.Proof != "" && workspace.Sign != "" {
			warnings = append(warnings, verbs.PageFact{Label: "Sign", Texts: []string{
				"approvals need a passkey's signature: " + workspace.Sign,
			}})
		}
	}
	v.Draft.Situation = append(slices.Clip(warnings), facts...)
	return err
}

// describeVotes tells which approvals a plan has, and which it waits for.
func describeVotes(v plan.Voting) string {
	var by []string
	for _, vote := range v.Votes {
		by = append(by, vote.By)
	}
	text := fmt.Sprintf("%d of %d", len(v.Votes), v.Needed)
	if len(by) > 0 {
		text += ": " + strings.Join(by, ", ")
	}
	return text + ". The plan waits for " + v.String() + "."
}

func (workspace *Workspace) view(state plan.State, former *plan.Plan) View {
	s := workspace.Service
	v := View{Workspace: workspace.Place, Revision: state.Revision, UpdatedAt: state.UpdatedAt, Now: s.Now(), Phase: state.PhaseNow(),
		Headline: s.Headline(state, viewer()), Waiting: workspace.waiting(state), Decision: decision(state.ModeNow().Decision),
		Questions: questions(state.OpenQuestions()), Signals: signals(state), Run: workspace.run(state),
		Agents: append([]verbs.AgentEnforcement{}, s.Enforcement(state)...), Plans: pastPlans(state)}
	if state.Plan != nil && !state.Plan.IsCleared() {
		shown := workspace.plan(state, state.Plan, state.Plan.Approval)
		v.Plan = &shown
	}
	if state.Draft != nil {
		v.Draft = workspace.draft(state, former)
	}
	return v
}

// draft returns the waiting draft; former is the plan shown before it, or nil.
func (workspace *Workspace) draft(state plan.State, former *plan.Plan) *Draft {
	p, request := state.Draft, state.ModeNow().Request
	approval := p.Approval
	if former != nil && former.ID == p.ID {
		approval = former.Approval
	}
	d := &Draft{Plan: workspace.plan(state, p, approval), By: p.CreatedBy, At: p.CreatedAt, Adopted: p.HostList.SessionKey(),
		Decidable: !state.IsReturned(), Warnings: state.ModeNow().DraftFindings().WarningsOn(0)}
	d.Plan.Difference = difference(former, p, state.Plan)
	if from := p.HostPlan; from != nil {
		d.Host, d.HostText, d.HostEdits = from.Title, from.Text, from.Host == "claude"
	}
	if request != nil {
		d.Request, d.By, d.At, d.Changes = request.ID, request.By, request.At, request.Base != ""
	}
	d.NoVote = workspace.noVote(state)
	d.Unanswered = questions(state.DecisionQuestions())
	if err := state.CheckRevisionBase(); err != nil {
		d.Outdated = err.Error()
	}
	if edits := p.Edits; edits != nil && edits.String() != "" {
		d.Edited = &Said{edits.String(), strings.Join(edits.By, ", "), edits.At}
	}
	if left, ends := workspace.Service.ModeEnds(state); ends {
		d.Expires = workspace.Service.Now().Add(left).Round(time.Second) // so that every view shows the same time
	}
	if current := state.Plan; current != nil && current.Root() != p.Root() && current.Status == plan.StatusActive {
		d.Archives = current.Objective
	}
	if last := state.ModeNow().Decision; last != nil && last.Outcome == plan.Returned {
		d.Returned = decision(last)
	}
	return d
}

// difference returns the differences from a former plan, nil without one. Progress in the plan in force is not one of them.
func difference(from, to, inForce *plan.Plan) *Difference {
	if from == nil {
		return nil
	}
	c := verbs.Compare(from, to)
	d := &Difference{From: Compared{from.ID, from.Version, from.CreatedAt}, Plan: []FieldChange{}, Steps: []StepChange{}}
	for _, change := range c.Plan {
		d.Plan = append(d.Plan, fieldChange(change.Field, change.Difference))
	}
	for _, change := range c.Steps {
		step := StepChange{ID: change.StepID, Was: change.Was, Title: change.Title, Change: change.Change}
		if asInForce(to, inForce, change.StepID) {
			if delete(change.Fields, "status"); len(change.Fields) == 0 && change.Was == 0 {
				continue
			}
		}
		for _, f := range plan.StepFields() {
			if texts, differs := change.Fields[f.Name]; differs {
				step.Fields = append(step.Fields, fieldChange(f.Name, texts))
			}
		}
		d.Steps = append(d.Steps, step)
	}
	return d
}

func fieldChange(name string, d verbs.Difference) FieldChange {
	return FieldChange{name, d.Label, append([]string{}, d.Was...), append([]string{}, d.Is...)}
}

// asInForce reports whether a step of a changed plan has the same status as in the plan in force.
func asInForce(changed, inForce *plan.Plan, id plan.StepID) bool {
	if inForce == nil || inForce.Root() != changed.Root() {
		return false
	}
	step, is := changed.Steps.Get(id)
	now, was := inForce.Steps.Get(id)
	return is && was && step.Status == now.Status
}

func decision(d *plan.Decision) *Decision {
	if d == nil {
		return nil
	}
	return &Decision{Outcome: d.Outcome, By: d.Way.Decider(d.By), Way: d.Way, Comment: d.Comment, At: d.At}
}

func questions(open []plan.Question) []Question {
	all := []Question{}
	for _, q := range open {
		all = append(all, Question{q.ID, q.Text, q.By, q.AskedAt})
	}
	return all
}

// commentable returns the waiting draft, else the current plan and a placeholder for the next one.
func commentable(state plan.State, now time.Time) []*plan.Plan {
	if state.Draft != nil {
		return []*plan.Plan{state.Draft}
	}
	shown := []*plan.Plan{state.Plan, {CreatedAt: now.Add(time.Hour)}}
	return slices.DeleteFunc(shown, func(p *plan.Plan) bool { return p == nil })
}

func (workspace *Workspace) comments(ctx context.Context, state plan.State, shown ...*plan.Plan) ([]Comment, error) {
	remarks, err := workspace.Service.PlacedComments(ctx, state, shown...)
	if err != nil {
		return nil, err
	}
	all := []Comment{}
	for _, c := range remarks {
		one := Comment{ID: c.ID, Said: Said{c.Text, c.Way.Decider(c.By), c.At}, Step: int(c.Now), Title: c.Title, Question: c.IsQuestion,
			Met: c.State}
		if c.Reply != nil {
			one.Reply = &Said{c.Reply.Text, c.Reply.By, c.Reply.At}
		}
		all = append(all, one)
	}
	return all, nil
}

func signals(state plan.State) []Signal {
	all := []Signal{}
	for _, level := range plan.SignalLevel("").Values() {
		for _, s := range state.OpenSignals(plan.SignalLevel(level)) {
			all = append(all, Signal{ID: s.ID, Level: s.Level, Message: s.Message, Step: int(state.SignalStep(s)), Output: s.Output,
				By: s.RaisedBy, At: s.RaisedAt})
		}
	}
	return all
}

// run returns the run of the plan, or one that could begin; nil if planloop would run no step of it.
func (workspace *Workspace) run(state plan.State) *Run {
	look, is := workspace.Service.RunProgress(state)
	if !is {
		if p := state.Plan; p == nil || p.Status != plan.StatusActive || !workspace.Service.HasRunnableSteps(state) {
			return nil
		}
		return &Run{State: RunNotYet, Steps: []RunStep{}, Asks: []verbs.AskView{}, CanHere: workspace.Start != nil}
	}
	r := &Run{ID: look.ID, State: RunGoesOn, Reason: look.Reason, Note: look.Note, By: state.Run.By,
		Since: state.Run.Since, Ended: state.Run.EndedAt, Steps: []RunStep{}, CanHere: workspace.Start != nil,
		Asks: append([]verbs.AskView{}, workspace.Service.Asks(state, viewer())...)}
	switch {
	case look.Paused:
		r.State = RunPaused
	case !r.Ended.IsZero():
		r.State = RunOver
	case look.Broken:
		r.State = RunBroken
	}
	for i := range r.Asks {
		if r.Asks[i].Step != "" {
			r.Asks[i].How = ""
		}
	}
	for _, running := range look.Running {
		step, _ := state.Plan.Steps.Get(running.Step)
		r.Steps = append(r.Steps, RunStep{int(running.Step), running.Percent, running.What, running.Log, step.WasStopped()})
	}
	return r
}

func pastPlans(state plan.State) []PastPlan {
	all := []PastPlan{}
	for _, head := range state.FormerPlans() {
		all = append(all, PastPlan{head.ID, head.Objective, head.Version, head.Steps, head.Done, verbs.PastStatus(state, head),
			head.CreatedAt, head.ArchivedAt})
	}
	return all
}

// since returns the differences between a plan and the one it replaced, nil if it replaced none.
func (workspace *Workspace) since(ctx context.Context, state plan.State, p *plan.Plan) (*Difference, error) {
	before, err := workspace.Service.PreviousVersion(ctx, state, p)
	return difference(before, p, p), err
}

// ReadFormer returns a former plan in its last form.
func ReadFormer(ctx context.Context, workspace *Workspace, id string) (Former, error) {
	state, err := workspace.Service.State(ctx)
	if err != nil {
		return Former{}, err
	}
	heads := pastPlans(state)
	i := slices.IndexFunc(heads, func(head PastPlan) bool { return head.ID == id })
	if i < 0 {
		return Former{}, plan.Refuse(plan.NotFound, "/plan", "unknown earlier plan "+plan.Quote(id), "use the current plan")
	}
	then, err := workspace.Service.PlanState(ctx, id)
	if err != nil {
		return Former{}, err
	}
	f := Former{PastPlan: heads[i], Plan: workspace.plan(state, then.Plan, then.Plan.Approval)}
	if f.Plan.Difference, err = workspace.since(ctx, state, then.Plan); err != nil {
		return Former{}, err
	}
	if f.Situation, err = workspace.Service.PageFacts(ctx, then, then.Plan, viewer()); err != nil {
		return Former{}, err
	}
	f.Comments, err = workspace.comments(ctx, state, then.Plan)
	workspace.show(&f)
	return f, err
}

// ReadTimeline returns the timelines of the steps of the current plan. It reads the whole log.
func ReadTimeline(ctx context.Context, workspace *Workspace) ([]history.TimelineStep, error) {
	state, err := workspace.Service.State(ctx)
	if err != nil {
		return nil, err
	}
	steps, err := workspace.Service.Timeline(ctx, state)
	workspace.show(&steps)
	return steps, err
}

// plan returns the view of a plan; approval is the one that shows which steps its approver has seen.
func (workspace *Workspace) plan(state plan.State, p *plan.Plan, approval *plan.Approval) Plan {
	shown := Plan{ID: p.ID, Objective: p.Objective, Summary: p.Summary, Status: p.Status, Version: p.Version, Digest: plan.Digest(p),
		Progress: Progress{Done: p.Steps.Count(plan.Done), Of: p.Steps.Len(), Counts: map[string]int{}},
		Changes:  p.Changes, CreatedBy: p.CreatedBy, CreatedAt: p.CreatedAt, Steps: make([]Step, 0, p.Steps.Len())}
	shown.Short = history.ShortDigest(shown.Digest)
	account := workspace.Service.Account(context.Background(), p)
	shown.Progress.Unverified, shown.Progress.Checked = len(account.Unverified), account.Checked()
	for _, status := range plan.StepStatus("").Values() {
		if n := p.Steps.Count(plan.StepStatus(status)); n > 0 {
			shown.Progress.Counts[status] = n
		}
	}
	if a := p.Approval; a != nil {
		way := plan.Way(a.Way)
		shown.Approval = &Approval{a.Deciders(), way}
		for _, change := range a.Deviations {
			shown.Other = append(shown.Other, verbs.LabelledText{Label: "Changed since", Text: change})
		}
	}
	if verdict := p.Verdict; verdict != nil {
		text := map[bool]string{true: "Approved by ", false: "Not approved by "}[verdict.Approved] + verdict.By + ". " + verdict.Feedback
		shown.Other = append(shown.Other, verbs.LabelledText{Label: "Verdict", Text: text})
	}
	names := []string{"metadata/complexity", "metadata/tags", "metadata/informed_by", "estimated_duration"}
	if p != state.Draft || state.ModeNow().Request == nil { // else the decision shows them
		names = append(names, "questions")
	}
	for _, f := range plan.PlanFields() {
		if slices.Contains(names, f.Name) {
			for _, text := range f.Texts(p) {
				shown.Other = append(shown.Other, verbs.LabelledText{Label: f.Label, Text: text})
			}
		}
	}
	if earlier := verbs.EarlierDecision(state, p); earlier != "" {
		shown.Other = append(shown.Other, verbs.LabelledText{Label: "Earlier decision", Text: earlier})
	}
	for step := range p.Steps.All() {
		shown.Steps = append(shown.Steps, workspace.step(state, p, step, approval))
	}
	for _, lack := range account.Unverified {
		shown.Steps[p.Steps.Position(lack.Step)].Unverified = lack.Why
	}
	return shown
}
