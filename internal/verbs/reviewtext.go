package verbs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Review returns the text a person reads before deciding about the draft: its author, workspace and expiry, the effect
// on the current plan, and then the draft with comments next to their steps.
func (s *Service) Review(ctx context.Context, state plan.State, former *plan.Plan, remarks []PlacedComment) string {
	draft, request := state.Draft, state.ModeNow().Request
	by, since, what := draft.CreatedBy, draft.CreatedAt, "Drafted"
	if request != nil {
		by, since, what = request.By, request.At, "Submitted"
	}
	text := what + " by " + by + " at " + localTime(since) + prefixed(" in ", s.opts.Workspace)
	text += fmt.Sprintf(".\nRevision %d, plan %s", state.Revision, history.ShortDigest(plan.Digest(draft)))
	if at, limit := plan.ExpiresAt(state, s.opts.Limits, s.lastActivity(state)); limit > 0 {
		text += "; ends at " + localTime(at)
		if request != nil {
			text += ": counts as rejected"
		}
	}
	text += "."
	if request != nil && request.Base != "" {
		text += "\nIt changes the approved plan beyond its approval: " + safetext.AfterLabel(draft.Changes) + "."
	}
	if d := state.ModeNow().Decision; request != nil && d != nil && d.Outcome == plan.Returned {
		text += "\nIt was returned for changes by " + d.Way.Decider(d.By) + prefixed(": ", safetext.AfterLabel(d.Comment))
	}
	return s.ForPeople(text+line(EnforcementLine(s.Enforcement(state)))) + "\n\n" + s.ReviewDraft(ctx, state, former, remarks)
}

// ReviewDraft returns the draft, with other servers' descriptions of their tools, and comments next to their steps.
func (s *Service) ReviewDraft(ctx context.Context, state plan.State, former *plan.Plan, remarks []PlacedComment) string {
	tools, submitted, found := s.otherTools(), map[string]string(nil), state.ModeNow().DraftFindings()
	request, current, text := state.ModeNow().Request, state.Plan, ""
	if request != nil {
		submitted = request.Tools
	}
	var unanswered []string // questions that an approval now would leave open
	for _, q := range state.DecisionQuestions() {
		unanswered = append(unanswered, q.ID+" "+q.Text)
	}
	ofTool := func(step *plan.Step) string { return describeTool(tools, step, submitted[step.Tool]) }
	if current != nil && current.Status == plan.StatusActive && (request == nil || request.Base == "") {
		text = "Approving it archives the active plan " + plan.Quote(current.Objective) + " (" + progress(current) + ").\n\n"
	}
	text += hostListText(state.Draft)
	if from := state.Draft.HostPlan; from != nil {
		text += "This plan comes from " + from.Title + "'s own plan mode. An approval covers its whole text: " +
			safetext.AfterLabel(from.Text) + "\n\n"
	}
	if earlier := EarlierDecision(state, state.Draft); earlier != "" {
		text += "This is a former plan again. It was " + earlier + ".\n\n"
	}
	for _, part := range nonEmpty(s.undoneText(ctx, state), editsText(state.Draft.Edits)) {
		text += part + "\n\n"
	}
	return s.ForPeople(text + warningsText(found) + reviewText(state.Draft, former, ofTool, func(step *plan.Step) string {
		below := ""
		for _, warning := range found.WarningsOn(step.ID) {
			below += "   warning: " + safetext.AfterLabel(warning.Text) + "\n"
		}
		for _, r := range remarks {
			if r.Now == step.ID {
				below += "   comment " + safetext.AfterLabel(strings.Join(r.Lines(true), "\n")) + "\n"
			}
		}
		return below
	}) + prefixedLines("Unanswered: ", unanswered))
}

// warningsText lists the warnings about the whole plan, and the steps that have warnings next to them; it may return "".
func warningsText(found plan.GateFindings) string {
	text, steps := "", []plan.StepID(nil)
	for _, warning := range found.WarningsOn(0) {
		text += "Warning: " + safetext.AfterLabel(warning.Text) + "\n"
	}
	for _, w := range found.Warnings {
		if w.Step != 0 && !slices.Contains(steps, w.Step) {
			steps = append(steps, w.Step)
		}
	}
	if len(steps) > 0 {
		text += "See also the warnings at " + plan.IDs(steps) + ".\n"
	}
	if text == "" {
		return ""
	}
	return text + "\n"
}

// hostListText describes the host's list that a draft was made from; "" for any other draft.
func hostListText(p *plan.Plan) string {
	from := p.HostList
	if from == nil {
		return ""
	}
	text := "This draft follows the list of " + from.Host + " in its session " + from.Session + ", as reported by its hooks."
	if from.IsDetached {
		text = "This draft was made from the list of " + from.Host + " in its session " + from.Session +
			", and no longer follows it because a person changed the draft."
	}
	if !from.ApprovedAt.IsZero() {
		text += " The hooks reported that the user accepted the list there at " + localTime(from.ApprovedAt) +
			". This is not an approval here."
	}
	if done := p.Steps.Count(plan.Done); done > 0 {
		text += " Steps marked done there: " + strconv.Itoa(done) + "."
	}
	return text + "\n\n"
}

func editsText(e *plan.Edits) string {
	if e.String() == "" {
		return ""
	}
	return "Edited by " + strings.Join(e.By, " and ") + ": " + e.String() + "."
}

func localTime(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// reviewText returns a plan for a person's decision: everything the digest covers, unshortened. With a former draft,
// the differences come first. ofTool adds text about a step's tool, said adds text below a step.
func reviewText(p, former *plan.Plan, ofTool, said func(*plan.Step) string) string {
	shown := *p
	if p.HostPlan != nil { // its whole text comes first
		shown.ContextNotes = ""
	}
	text := planText(&shown, former, ofTool, said)
	if former == nil {
		return text
	}
	changes := reviewChanges(p, former)
	if changes == "" {
		return "Nothing has changed since the last review.\n\n" + text
	}
	since := "since the last review"
	if p.Version != former.Version {
		since = fmt.Sprintf("since version %d", former.Version)
	}
	return "Changes " + since + ":\n" + changes + "\nThe whole plan:\n" + text
}

// reviewChanges returns the differences between a plan under review and a former one, "" without any. It leaves out the
// plan's own description of them, with which the review begins.
func reviewChanges(p, former *plan.Plan) string {
	compared := Compare(former, p)
	compared.Plan = slices.DeleteFunc(compared.Plan, func(change PlanChange) bool { return change.Field == "changes" })
	return compared.changes()
}

// diff returns the line differences of two texts, with one line of context.
func diff(before, after string) string {
	unified, err := udiff.ToUnified("shown", "now", before, udiff.Lines(before, after), 1)
	if err != nil {
		return "" // the whole plan is shown anyway
	}
	text := ""
	for line := range strings.Lines(unified) {
		if !strings.HasPrefix(line, "---") && !strings.HasPrefix(line, "+++") && !strings.HasPrefix(line, "@@") {
			text += line
		}
	}
	return text
}

// planText returns all of a plan except its questions: a review ends with the unanswered ones. former, if it is the approved
// plan that this one changes, marks the steps its approver has not seen.
func planText(p, former *plan.Plan, ofTool, said func(*plan.Step) string) string {
	var text strings.Builder
	lines := []string{"Plan: " + cmp.Or(p.Summary, p.Objective)} // an imported draft has only an objective
	if p.Summary != "" && p.Objective != "" && p.Objective != strings.TrimSuffix(p.Summary, ".") {
		lines = append(lines, "Objective: "+p.Objective)
	}
	text.WriteString(prefixedLines("", append(lines, Terms(p)...)))
	for step := range p.Steps.All() {
		text.WriteString(stepText(step, ofTool) + said(step))
		if former == nil || former.ID != p.ID {
			continue
		}
		if unseen := former.Approval.UnseenNote(step.ID); unseen != "" {
			text.WriteString("   " + unseen + "\n")
		}
	}
	text.WriteString(prefixedLines("Findings: ", nonEmpty(p.ContextNotes)))
	return text.String()
}

// Terms returns the lines on the constraints and the reasoning of a plan.
func Terms(p *plan.Plan) (lines []string) {
	for _, constraint := range p.Metadata.Constraints {
		lines = append(lines, "Constraint: "+constraint)
	}
	return append(lines, nonEmpty(prefixed("Reasoning: ", p.Reasoning))...)
}

func prefixedLines(prefix string, texts []string) string {
	all := ""
	for _, text := range texts {
		all += safetext.AfterLabel(prefix+text) + "\n"
	}
	return all
}

// stepText returns a step with all fields of its spec, the risk first; ofTool adds text about its tool.
func stepText(step *plan.Step, ofTool func(*plan.Step) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s%s%s\n", step.ID, riskMark(step.Risk), step.Title, toolList(step.Tools))
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "   %s: %s\n", name, safetext.AfterLabel(text))
		}
	}
	for _, f := range plan.SpecFields() {
		switch {
		case f.Name == "title" || f.Name == "risk" || f.Name == "tools": // above
		case f.Kind == plan.FlagField && len(f.Texts(step)) > 0:
			line(f.Label, f.Help)
		default:
			for _, text := range f.Texts(step) {
				line(f.Label, text)
			}
			if f.Name == "tool" {
				b.WriteString(ofTool(step))
			}
		}
	}
	return b.String()
}

// riskMark returns the risk as a mark in front of a step (chorus: risk indicator).
func riskMark(r plan.Risk) string {
	switch r {
	case "":
		return ""
	case plan.HighRisk:
		return "[HIGH RISK] "
	}
	return "[" + string(r) + " risk] "
}

func toolList(tools []string) string {
	if len(tools) == 0 {
		return ""
	}
	return " (tools: " + strings.Join(tools, ", ") + ")"
}
