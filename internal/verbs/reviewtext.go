package verbs

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/plan"
)

// Review is what a person is shown before deciding about the draft: who asks, where and
// until when, what becomes of the current plan, and then the draft itself, with comments beside their steps.
func (s *Service) Review(state plan.State, former *plan.Plan, remarks []Remark) string {
	draft, request := state.Draft, state.ModeNow().Request
	by, since, what := draft.CreatedBy, draft.CreatedAt, "Drafted"
	if request != nil {
		by, since, what = request.By, request.At, "Submitted"
	}
	text := what + " by " + by + " at " + moment(since)
	if s.opts.Workspace != "" {
		text += " in " + s.opts.Workspace
	}
	text += fmt.Sprintf(".\nRevision %d, plan %s", state.Revision, history.ShortDigest(plan.Digest(draft)))
	if at, limit := plan.ExpiresAt(state, s.opts.Limits, s.lastActivity(state)); limit > 0 {
		text += "; it expires at " + moment(at)
	}
	text += "."
	if request != nil && request.Base != "" {
		text += "\nIt changes the approved plan, and goes beyond what was approved: " + barred(draft.Changes) + "."
	}
	if d := state.ModeNow().Decision; request != nil && d != nil && d.Outcome == plan.Returned {
		text += "\nIt was returned by " + d.Way.Decider(d.By) + " for changes"
		if d.Comment != "" {
			text += ": " + barred(d.Comment)
		}
	}
	return text + line(HeldLine(s.Enforcement(state))) + "\n\n" + s.ReviewDraft(state, former, remarks)
}

// ReviewDraft is the draft itself, with what the tools of other servers say of themselves and comments beside their steps.
func (s *Service) ReviewDraft(state plan.State, former *plan.Plan, remarks []Remark) string {
	tools, submitted, found := s.otherTools(), map[string]string(nil), state.ModeNow().FoundOfDraft()
	if request := state.ModeNow().Request; request != nil {
		submitted = request.Tools
	}
	ofTool := func(step *plan.Step) string { return described(tools, step, submitted[step.Tool]) }
	text := archives(state) + adopted(state.Draft)
	for _, told := range []string{undoneText(state.ModeNow().Request), editsText(state.Draft.Edits)} {
		if told != "" {
			text += told + "\n\n"
		}
	}
	return text + cautions(found) + reviewText(state.Draft, former, ofTool, func(step *plan.Step) string {
		below := ""
		for _, warning := range found.WarningsOn(step.ID) {
			below += "   warning: " + barred(warning) + "\n"
		}
		return below + remarksBelow(remarks, step.ID)
	})
}

// cautions tells, before the plan, what was found of all of it and which steps have warnings beside them; "" for nothing.
func cautions(found plan.Found) string {
	text, steps := "", []plan.StepID(nil)
	for _, warning := range found.WarningsOn(0) {
		text += "Warning: " + barred(warning) + "\n"
	}
	for _, w := range found.Warnings {
		if w.Step != 0 && !slices.Contains(steps, w.Step) {
			steps = append(steps, w.Step)
		}
	}
	if len(steps) > 0 {
		text += "There are warnings about " + plan.IDs(steps) + ", beside the steps.\n"
	}
	if text == "" {
		return ""
	}
	return text + "\n"
}

// remarksBelow are the comments on a step, below what it says.
func remarksBelow(remarks []Remark, step plan.StepID) string {
	text := ""
	for _, r := range remarks {
		if r.Now == step {
			text += "   comment " + barred(strings.Join(r.Lines(true), "\n")) + "\n"
		}
	}
	return text
}

// archives says which plan gives way to the draft; "" for none.
func archives(state plan.State) string {
	request, current := state.ModeNow().Request, state.Plan
	if current == nil || current.Status != plan.StatusActive || request != nil && request.Base != "" {
		return ""
	}
	return "Approving it archives the active plan " + plan.Quote(current.Objective) + " (" + progress(current) + ").\n\n"
}

// adopted says that a draft was made of a host's own list, and what the host says of it; "" of any other.
func adopted(p *plan.Plan) string {
	from := p.Adopted
	if from == nil {
		return ""
	}
	text := "It follows the list that " + from.Host + " keeps in its session " + from.Session + ", as its hooks tell."
	if from.Left {
		text = "It was made of the list that " + from.Host + " keeps in its session " + from.Session +
			", and follows that no more, since a person changed it."
	}
	if !from.Approved.IsZero() {
		text += " They say that its user agreed to it there at " + moment(from.Approved) + ": that is no approval here."
	}
	if done := p.Steps.Count(plan.Done); done > 0 {
		text += " " + plan.Counted(done, "step") + " " + map[bool]string{true: "is", false: "are"}[done == 1] + " marked done there."
	}
	return text + "\n\n"
}

// editsText says who changed a draft, and what of it; "" where nobody did.
func editsText(e *plan.Edits) string {
	if e.String() == "" {
		return ""
	}
	return "Changed by " + strings.Join(e.By, " and ") + " since it was made: " + e.String() + "."
}

// moment is a time for people, whose clock is that of the machine.
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// reviewText is a plan as a person is to see it before deciding: everything the digest
// covers, nothing shortened. With a former draft, what differs comes first. ofTool, which may be nil, tells
// of a step's tool what the plan does not, and said, which may be nil, what stands below a step.
func reviewText(p, former *plan.Plan, ofTool, said func(*plan.Step) string) string {
	text := whole(p, former, ofTool, said)
	if former == nil {
		return text
	}
	if unchanged(p, former) {
		return "Nothing has changed since it was shown.\n\n" + text
	}
	since := "since it was shown"
	if p.Version != former.Version {
		since = fmt.Sprintf("since version %d", former.Version)
	}
	return "What has changed " + since + ":\n" + changes(p, former) + "\nThe whole plan:\n" + text
}

// unchanged reports whether a plan reads as a former form of it did.
func unchanged(p, former *plan.Plan) bool {
	return whole(p, nil, nil, nil) == whole(former, nil, nil, nil)
}

// changes is what differs between two plans, step by step, in lines that begin with
// + and -.
func changes(p, former *plan.Plan) string {
	var text strings.Builder
	was := counterparts(p, former)
	text.WriteString(diff(head(former), head(p)))
	now, moved := formerIDs(was), movedSteps(former, p, was)
	for step := range p.Steps.All() {
		old, ok := was[step.ID]
		if !ok {
			text.WriteString(marked("+", wholeStep(step, nil)))
			continue
		}
		if old.ID != step.ID {
			fmt.Fprintf(&text, " Step %d is now %d: %s\n", int(old.ID), int(step.ID), step.Title)
		} else if moved[step.ID] {
			fmt.Fprintf(&text, " Step %d is moved from place %d to %d: %s\n", int(step.ID), former.Steps.Position(old.ID)+1,
				p.Steps.Position(step.ID)+1, step.Title)
		}
		text.WriteString(diff(wholeStep(renumbered(old, now), nil), wholeStep(step, nil)))
	}
	for old := range former.Steps.All() {
		if _, kept := now[old.ID]; !kept {
			text.WriteString(marked("-", wholeStep(old, nil)))
		}
	}
	text.WriteString(diff(tailOf(former), tailOf(p)))
	return text.String()
}

func marked(sign, text string) string {
	return sign + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+sign) + "\n"
}

// diff is the difference of two texts in lines, with one line around each change.
func diff(before, after string) string {
	if before == after {
		return ""
	}
	edits := udiff.Lines(before, after)
	unified, err := udiff.ToUnified("shown", "now", before, edits, 1)
	if err != nil {
		return "" // the whole plan follows all the same
	}
	var lines []string
	for line := range strings.Lines(unified) {
		if strings.HasPrefix(line, "---") || strings.HasPrefix(line, "+++") || strings.HasPrefix(line, "@@") {
			continue
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "")
}

// whole is all of a plan. A change of an approved one says which steps its approver has not
// seen: former has the approval.
func whole(p, former *plan.Plan, ofTool, said func(*plan.Step) string) string {
	var text strings.Builder
	text.WriteString(head(p))
	for step := range p.Steps.All() {
		text.WriteString(wholeStep(step, ofTool))
		if said != nil {
			text.WriteString(said(step))
		}
		if former == nil || former.ID != p.ID {
			continue
		}
		if unseen := former.Approval.NotSeen(step.ID); unseen != "" {
			text.WriteString("   " + unseen + "\n")
		}
	}
	text.WriteString(tailOf(p))
	return text.String()
}

// head is what a plan is about.
func head(p *plan.Plan) string {
	if p.Summary == "" { // a draft that was imported has an objective alone
		return "Plan: " + barred(p.Objective) + "\n"
	}
	text := "Plan: " + barred(p.Summary) + "\n"
	if p.Objective != "" && p.Objective != strings.TrimSuffix(p.Summary, ".") {
		text += "Objective: " + barred(p.Objective) + "\n"
	}
	return text
}

// tailOf is what stands behind the steps.
func tailOf(p *plan.Plan) string {
	var b strings.Builder
	for _, question := range p.Questions {
		fmt.Fprintf(&b, "Question: %s\n", barred(question))
	}
	if p.ContextNotes != "" {
		fmt.Fprintf(&b, "Findings: %s\n", barred(p.ContextNotes))
	}
	return b.String()
}

// Further stands before all but the first line of a text in what a person reviews: no line
// of ours begins like that.
const Further = "     | "

// barred keeps a text's further lines from posing as lines of ours.
func barred(text string) string { return strings.ReplaceAll(text, "\n", "\n"+Further) }

// wholeStep is a step with all its spec says, the risk in front, and what ofTool, which may be nil, tells of its tool.
func wholeStep(step *plan.Step, ofTool func(*plan.Step) string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d. %s %s%s\n", int(step.ID), riskMark(step.Risk), step.Title, toolList(step.Tools))
	line := func(name, text string) {
		if text != "" {
			fmt.Fprintf(&b, "   %s: %s\n", name, barred(text))
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
			if f.Name == "tool" && ofTool != nil {
				b.WriteString(ofTool(step))
			}
		}
	}
	return b.String()
}

// pretty is JSON with a line for each member.
func pretty(value json.RawMessage) string {
	var b bytes.Buffer
	if json.Indent(&b, value, "", "  ") != nil {
		return string(value)
	}
	return b.String()
}

// riskMark is the risk as people see it at a glance (chorus: risk indicator).
func riskMark(r plan.Risk) string {
	switch r {
	case "":
		return "[risk not said]"
	case plan.HighRisk:
		return "[HIGH RISK]"
	}
	return "[" + string(r) + " risk]"
}

func toolList(tools []string) string {
	if len(tools) == 0 {
		return ""
	}
	return " (tools: " + strings.Join(tools, ", ") + ")"
}

// noticeSteps is the steps as a notice shows them.
func noticeSteps(p *plan.Plan) []NoticeStep {
	var steps []NoticeStep
	for step := range p.Steps.All() {
		steps = append(steps, NoticeStep{ID: step.ID.String(), Title: step.Title + toolList(step.Tools), Risk: step.Risk})
	}
	return steps
}
