package plan

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// DecideDraft is a person's decision about the draft, in the version that was shown to them (chorus:
// Plan Approval).
type DecideDraft struct {
	Outcome Outcome // Approved, Rejected or Returned
	Request string  // the open request it answers; may be empty for a person
	Digest  string  // of the version shown
	Comment string

	AcceptsEdits bool // an approval: the host that shows the plan need not ask before edits

	Comments []AddComment // on steps and on the whole, sent with the decision
	Answers  []Answer     // to open questions; an approval leaves the others open
}

// Answer answers a question of DecisionQuestions.
type Answer struct {
	Question string // its text: a question that the draft lists has no id yet
	Text     string
}

func (a DecideDraft) clean(c *cleaner) Action {
	c.oneOf("outcome", string(a.Outcome), []string{string(Approved), string(Rejected), string(Returned)})
	c.block(&a.Comment, "comment")
	if c.fits(len(a.Comments), "comments", MaxList) {
		a.Comments = slices.Clone(a.Comments)
		for i, comment := range a.Comments {
			one := cleaner{}
			a.Comments[i] = comment.clean(&one).(AddComment)
			c.Add(atComment(i, one.Err()))
		}
	}
	a.Answers = slices.Clone(a.Answers)
	for i := range a.Answers {
		c.text(&a.Answers[i].Text, fmt.Sprintf("answers/%d/text", i), Text{Max: MaxLongText, Multiline: true}, true)
	}
	return a
}

func (a DecideDraft) decide(s State, f Facts) ([]Event, error) {
	draft, err := a.openDraft(s, f)
	if err != nil {
		return nil, err
	}
	comments, onSteps, err := a.decideComments(s, draft, f)
	if err != nil {
		return nil, err
	}
	if a.Comment == "" && a.Outcome == Returned && len(comments) > 0 {
		a.Comment = "See the comments" + onSteps + "."
	}
	votes, missing, err := a.vote(s, f)
	if err != nil {
		return nil, err
	}
	questions, open, err := a.decideQuestions(s, missing == 0, f)
	if err != nil {
		return nil, err
	}
	decided, err := a.decideOutcome(s, draft, open, votes, f)
	if err != nil {
		return nil, err
	}
	if missing > 0 {
		decided = nil
	}
	return slices.Concat(approvalGiven(s, votes, missing, f), decided, questions, comments), nil
}

// decideQuestions returns the events of the answers, and lists the ids of the questions left open. The draft's own questions are
// asked with the last approval, so that they can be answered later.
func (a DecideDraft) decideQuestions(s State, isLast bool, f Facts) (events []Event, open []string, err error) {
	questions, answers, count := s.DecisionQuestions(), map[string]string{}, s.QuestionCount
	for i, answer := range a.Answers {
		if !slices.ContainsFunc(questions, func(q Question) bool { return q.Text == answer.Question }) {
			return nil, nil, Refuse(NotFound, fmt.Sprintf("/answers/%d/question", i), "is not an open question", "look at the plan again")
		}
		answers[answer.Question] = answer.Text
	}
	for _, q := range questions {
		answer, answered := answers[q.Text]
		if q.AskedAt.IsZero() && (answered || a.Outcome == Approved && isLast) {
			count++
			q.ID = fmt.Sprintf("Q%d", count)
			events = append(events, QuestionAsked{ID: q.ID, Text: q.Text, By: q.By, Plan: s.Draft.Root(), At: f.Now, Listed: true})
		}
		if answered {
			events = append(events, QuestionAnswered{ID: q.ID, Answer: answer, By: f.Actor.Name, Way: f.Actor.Way(), At: f.Now})
		} else {
			open = append(open, q.ID)
		}
	}
	return events, open, nil
}

// decideComments returns the events of the comments sent along, and names the steps they are on for a message.
func (a DecideDraft) decideComments(s State, draft *Plan, f Facts) (comments []Event, onSteps string, err error) {
	var steps []StepID
	for i, comment := range a.Comments {
		comment.PlanID = cmp.Or(comment.PlanID, draft.ID)
		events, err := comment.decide(s, f)
		if err != nil {
			return nil, "", atComment(i, err)
		}
		s = Apply(s, events...)
		comments = append(comments, events...)
		if comment.Step != 0 {
			steps = insertID(steps, comment.Step)
		}
	}
	if len(steps) > 0 {
		onSteps = " on " + IDs(steps)
	}
	return comments, onSteps, nil
}

func atComment(i int, err error) error {
	return mapFields(err, func(field string) string { return fmt.Sprintf("/comments/%d%s", i, field) })
}

func (a DecideDraft) decideOutcome(s State, draft *Plan, open []string, votes []Vote, f Facts) ([]Event, error) {
	switch {
	case a.Outcome == Approved && draft.Steps.Len() == 0: // restored, or set up as a draft
		return nil, conflict("the plan has no steps, so there is nothing to approve", "request changes, or reject it")
	case a.Outcome == Approved:
		return a.approve(s, open, votes, f)
	case a.Outcome == Rejected:
		return []Event{PlanRejected{Plan: draft.ID, Reason: a.Comment, By: f.Actor.Name, Way: f.Actor.Way(), At: f.Now,
			Change: s.changesApproved()}}, nil
	case a.Comment == "" && f.Actor.Way() != WayClient: // a client's form cannot be shown again
		return nil, Refuse(InvalidInput, "/comment", "is blank", "describe the changes you want")
	}
	return []Event{PlanReturned{Plan: draft.ID, Comment: a.Comment, By: f.Actor.Name, Way: f.Actor.Way(), At: f.Now,
		Change:      s.changesApproved(),
		IdleTimeout: Limit(f.Limits.GatheringTimeout), ApprovalTimeout: Limit(f.Limits.ApprovalTimeout),
		PersonOnly: f.Limits.PersonOnly}}, nil
}

// openDraft returns the draft, or refuses the decision if the draft cannot be decided about.
func (a DecideDraft) openDraft(s State, f Facts) (*Plan, error) {
	request, way := s.ModeNow().Request, f.Actor.Way()
	switch {
	case s.Draft == nil:
		return nil, s.noLongerWaiting("no plan waits for a decision", "check the state of planning mode", f)
	case s.IsReturned() && (!f.Actor.IsPresent() || a.Outcome != Rejected): // a person may still reject a returned draft
		return nil, s.noLongerWaiting("planning continues; no plan has been submitted yet",
			"wait for the plan to be submitted", f)
	case way == WayClient && (request == nil || a.Request != request.ID),
		f.Actor.IsPresent() && a.Request != "" && (request == nil || a.Request != request.ID):
		return nil, s.noLongerWaiting("this request has already been decided or replaced", "check which request is open now", f)
	}
	return s.Draft, checkShownDigest(s, a.Digest, f)
}

// checkShownDigest refuses an action based on another version of the draft than the current one.
func checkShownDigest(s State, digest string, f Facts) error {
	switch {
	case s.Draft == nil:
		return s.noLongerWaiting("no plan waits for a decision", "check the state of planning mode", f)
	case digest != "" && digest == Digest(s.Draft):
		return nil
	}
	problem := "the plan has changed since it was shown"
	if edits := s.Draft.Edits; edits != nil {
		problem += ": " + strings.Join(edits.By, " and ") + " changed it, the last time " + FormatAgo(edits.At, f.Now)
	}
	return conflict(problem, "look at it again, then decide")
}

// noLongerWaiting refuses an action on a draft or request that no longer waits, and says why: another person
// may have been faster.
func (s State) noLongerWaiting(problem, fix string, f Facts) error {
	d, open := s.ModeNow().Decision, s.ModeNow().Request
	switch {
	case open != nil:
		problem += ": " + open.By + " submitted a newer plan " + FormatAgo(open.At, f.Now)
	case d != nil:
		by := d.Way.Decider(d.By)
		problem += ": " + map[Outcome]string{Approved: by + " approved it ", Rejected: by + " rejected it ",
			Returned: by + " requested changes ", CalledOff: by + " cancelled planning mode ", Expired: "planning mode expired ",
			Ended: "planning mode ended ", AnsweredThere: "it was answered in " + d.Comment + " "}[d.Outcome] + FormatAgo(d.At, f.Now)
	}
	return conflict(problem, fix)
}

// FormatAgo writes the time from then to now, as in "12 s ago".
func FormatAgo(then, now time.Time) string {
	d := now.Sub(then)
	for _, unit := range []struct {
		name string
		of   time.Duration
	}{{"days", 24 * time.Hour}, {"h", time.Hour}, {"min", time.Minute}, {"s", time.Second}} {
		if n := int(d / unit.of); n > 1 || n == 1 && unit.name != "days" {
			return fmt.Sprintf("%d %s ago", n, unit.name)
		}
	}
	return "just now"
}

// CheckRevisionBase refuses to approve a revision if its plan was changed since the submission; nil if it was not.
func (s State) CheckRevisionBase() error {
	if request := s.ModeNow().Request; request != nil && request.Base != "" && request.Base != Digest(s.Plan) {
		return conflict("the plan was changed while its revision waited", "reject the revision; the agent can submit it again")
	}
	if !s.hasRevision() {
		return nil
	}
	for step := range s.Draft.Steps.All() { // approved work has continued
		now, ok := s.Plan.Steps.Get(step.ID)
		if ok && (now.IsRunning() || now.IsExpanded()) && changedFields(now, step) != "" {
			fix := "wait for its end, or reject the revision"
			if now.IsExpanded() { // a loop keeps its entries, also when it has ended
				fix = "reject the revision; the agent can propose a step of its own for it"
			}
			return conflict(step.ID.String()+" was started as it was approved, and the revision would change it", fix)
		}
	}
	return nil
}

// approve returns the events that make the draft the current plan.
func (a DecideDraft) approve(s State, open []string, votes []Vote, f Facts) ([]Event, error) {
	if err := s.CheckRevisionBase(); err != nil {
		return nil, err
	}
	var events []Event
	var tools map[string]string
	evidence := ""
	if request := s.ModeNow().Request; request != nil {
		if request.Policy != nil {
			evidence = request.Policy.EvidenceFrom
		}
		tools = maps.Clone(request.Tools)
		maps.DeleteFunc(tools, func(tool, definition string) bool { return f.Definitions[tool] != definition }) // changed since
	}
	switch {
	case !s.isRevision():
		events = archive(s, "replaced", f.Now)
	case s.Draft.ID != s.Plan.ID:
		events = archive(s, replanned, f.Now)
	}
	events = append(events, PlanApproved{Approval: Approval{By: f.Actor.Name, Way: string(f.Actor.Way()), Digest: a.Digest,
		Comment: a.Comment, At: f.Now, Revision: s.Revision + 1, Edits: s.Draft.Edits, Tools: tools, Unanswered: open,
		AcceptsEdits: a.AcceptsEdits, Votes: votes, EvidenceFrom: evidence},
		Beside: s.HasProposal()})
	return append(events, retryChanged(s, f)...), nil
}

// retryChanged returns the events that make the failed steps of the current plan ready again to which its revision gives
// another tool or other arguments: the error was that of the former ones.
func retryChanged(s State, f Facts) (events []Event) {
	if !s.isRevision() || s.Draft.Version > s.Plan.Version { // a new version retries all
		return nil
	}
	for step := range s.Draft.Steps.All() {
		now, ok := s.Plan.Steps.Get(step.ID)
		if ok && now.Status == Failed && !now.IsExpanded() && (now.Tool != step.Tool || string(now.Args) != string(step.Args)) {
			events = append(events, StepMarked{Step: step.ID, Status: Pending, By: f.Actor.Name, At: f.Now})
		}
	}
	return events
}

// PlanApproved makes the draft the current plan and begins the executing phase.
type PlanApproved struct {
	Approval Approval `json:"approval"`
	Beside   bool     `json:"beside,omitempty"` // approved work continued while the draft waited
}

func (e PlanApproved) apply(s State) State {
	if s.Draft == nil {
		return s
	}
	p, change := *s.Draft, s.isRevision()
	if change {
		p.Steps = p.Steps.withProgressOf(s.Plan.Steps, p.Version > s.Plan.Version, e.Beside)
		e.Approval.Earlier = s.Plan.Approval.Comments()
	}
	e.Approval.Earlier = newest(slices.Concat(e.Approval.Earlier, s.ModeNow().Requested))
	p.Status, p.Approval, p.Edits, p.UpdatedAt = StatusActive, &e.Approval, nil, e.Approval.At
	if change && e.Beside && s.Plan.Status == StatusReplanning && hasFailedCritical(&p) {
		p.Status = StatusReplanning
	}
	s.Plan, s.Draft = &p, nil
	s = s.withMode(PhaseExecuting, func(m *Mode) { m.Approved = p.Root() })
	by := e.Approval.By
	if len(e.Approval.Votes) > 0 {
		by = votersOf(e.Approval.Votes)
	}
	return s.withDecision(PhaseExecuting, Decision{Outcome: Approved, By: by, Way: Way(e.Approval.Way),
		Comment: e.Approval.Comment, Change: change, Edits: e.Approval.Edits, Unanswered: e.Approval.Unanswered, At: e.Approval.At})
}

// withProgressOf returns s with the progress of the same steps in now: a person may have worked on
// them while the revision waited. In a new version, failed steps are renewed. If work continued beside it, the
// instances that loops got since are added, and questions and grants about another form of a step are dropped.
func (s Steps) withProgressOf(now Steps, isNewVersion, beside bool) Steps {
	list := s.List()
	for i, step := range list {
		merged := *step
		current, ok := now.Get(step.ID)
		if !ok {
			merged.Progress, merged.Execution = Progress{Status: Pending}, nil
		} else if merged.Progress, merged.Execution = current.Progress, current.Execution; isNewVersion && current.Status == Failed {
			merged.retryFailed()
		}
		if ok && beside && current.Execution != nil && !current.IsUnknown() && changedFields(current, step) != "" {
			merged.execute(func(x *Execution) { x.Ask, x.Approval = nil, nil })
		}
		list[i] = &merged
	}
	for current := range now.All() {
		if beside && current.Loop() != 0 && s.Position(current.ID) < 0 {
			list = append(list, current)
		}
	}
	steps := NewSteps(list)
	steps.highest = max(steps.highest, s.highest)
	return steps
}

// PlanRejected drops the draft. A plan that it would have revised continues.
type PlanRejected struct {
	Plan   string    `json:"plan_id"`
	Change bool      `json:"change,omitempty"` // it was a change to the approved plan
	Reason string    `json:"reason,omitempty"`
	By     string    `json:"by"`
	Way    Way       `json:"way"`
	At     time.Time `json:"at"`
}

func (e PlanRejected) apply(s State) State {
	d := Decision{Outcome: Rejected, By: e.By, Way: e.Way, Comment: e.Reason, Change: s.isRevision(), At: e.At,
		Draft: !s.PhaseNow().IsRestricted()}
	if s.HasProposal() {
		d.Change, d.Draft = s.changesApproved(), false
		return s.withoutProposal(d)
	}
	s, phase := s.withoutDraft()
	return s.withDecision(phase, d)
}

// PlanReturned goes back to gathering, or begins it for a draft that was never submitted; for a proposal the
// phase stays. The draft stays until the next submission.
type PlanReturned struct {
	Plan            string    `json:"plan_id"`
	Change          bool      `json:"change,omitempty"` // it was a change to the approved plan
	Comment         string    `json:"comment"`
	By              string    `json:"by"`
	Way             Way       `json:"way"`
	At              time.Time `json:"at"`
	IdleTimeout     Limit     `json:"quiet"` // longest time in gathering without a sign of life
	ApprovalTimeout Limit     `json:"wait,omitempty"`
	PersonOnly      bool      `json:"person_only,omitempty"`
}

func (e PlanReturned) apply(s State) State {
	if request := s.ModeNow().Request; s.HasProposal() {
		d := Decision{Outcome: Returned, By: e.By, Way: e.Way, Comment: e.Comment, Change: s.changesApproved(), Edits: s.Draft.Edits,
			Findings: s.ModeNow().DraftFindings(), At: e.At}
		return s.withDecision(s.Phase, d).withMode(s.Phase, func(m *Mode) { m.Returned = request })
	}
	from := s.PhaseNow()
	s = s.withMode(PhaseGathering, func(m *Mode) {
		if !from.IsRestricted() && s.Draft != nil { // returned without having been submitted
			*m = newMode(m, from, e.By, e.At)
			m.Task = s.Draft.Objective
		}
		m.IdleTimeout, m.ApprovalTimeout, m.PersonOnly = e.IdleTimeout, e.ApprovalTimeout, m.PersonOnly || e.PersonOnly
	})
	d := Decision{Outcome: Returned, By: e.By, Way: e.Way, Comment: e.Comment, Change: s.isRevision(), At: e.At}
	if s.Draft != nil {
		d.Edits = s.Draft.Edits
	}
	d.Findings = s.ModeNow().DraftFindings()
	return s.withDecision(PhaseGathering, d)
}

// newMode returns the mode that a decision or submission begins if planning mode was not entered before.
func newMode(former *Mode, from Phase, by string, at time.Time) Mode {
	return Mode{By: by, Since: at, Approved: former.Approved, Resume: from == PhaseExecuting}
}

// RecordNoDecision records that a client asked its user, or could not, and got no decision. The plan
// stays submitted: some hosts decline without asking their user.
type RecordNoDecision struct {
	Request string
	How     string // declined, cancelled, unsupported, timed_out, failed or invalid; none of these is a decision
}

func (a RecordNoDecision) clean(c *cleaner) Action {
	c.oneOf("how", a.How, []string{"declined", "cancelled", "unsupported", "timed_out", "failed", "invalid"})
	return a
}

func (a RecordNoDecision) decide(s State, f Facts) ([]Event, error) {
	if request := s.ModeNow().Request; request == nil || request.ID != a.Request {
		return nil, nil
	}
	return []Event{NoDecisionReceived{Request: a.Request, How: a.How, By: f.Actor.Name, At: f.Now}}, nil
}

// NoDecisionReceived records that a client got no decision. It changes nothing.
type NoDecisionReceived struct {
	Request string    `json:"request"`
	How     string    `json:"how"`
	By      string    `json:"by"`
	At      time.Time `json:"at"`
}

func (NoDecisionReceived) apply(s State) State { return s }
