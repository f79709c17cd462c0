package verbs

import (
	"bytes"
	"cmp"
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
// until when, what becomes of the current plan, and then the draft itself.
func (s *Service) Review(state plan.State, former *plan.Plan) string {
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
	switch current := state.Plan; {
	case request != nil && request.Base != "":
		text += "\nIt changes the approved plan, and goes beyond what was approved: " + barred(draft.Changes) + "."
	case current != nil && current.Status == plan.StatusActive:
		text += "\nApproving it archives the active plan " + plan.Quote(current.Objective) + " (" + progress(current) + ")."
	}
	if d := state.ModeNow().Decision; request != nil && d != nil && d.Outcome == plan.Returned {
		text += "\nIt was returned by " + d.Way.Decider(d.By) + " for changes"
		if d.Comment != "" {
			text += ": " + barred(d.Comment)
		}
	}
	return text + "\n\n" + s.ReviewDraft(state, former)
}

// ReviewDraft is the draft itself, with what the tools of other servers say of themselves.
func (s *Service) ReviewDraft(state plan.State, former *plan.Plan) string {
	tools, submitted := s.otherTools(), map[string]string(nil)
	if request := state.ModeNow().Request; request != nil {
		submitted = request.Tools
	}
	return ReviewText(state.Draft, former, func(step *plan.Step) string { return described(tools, step, submitted[step.Tool]) })
}

// moment is a time for people, whose clock is that of the machine.
func moment(t time.Time) string { return t.Local().Format("2006-01-02 15:04") }

// ReviewText is a plan as a person is to see it before deciding: everything the digest
// covers, nothing shortened. With a former draft, what differs comes first. ofTool, which may be nil, tells
// of a step's tool what the plan does not.
func ReviewText(p, former *plan.Plan, ofTool func(*plan.Step) string) string {
	text := whole(p, former, ofTool)
	if former == nil {
		return text
	}
	if unchanged(p, former) {
		return "Nothing has changed since it was shown.\n\n" + text
	}
	return "What has changed since it was shown:\n" + changes(p, former) + "\nThe whole plan:\n" + text
}

// unchanged reports whether a plan reads as a former form of it did.
func unchanged(p, former *plan.Plan) bool { return whole(p, nil, nil) == whole(former, nil, nil) }

// changes is what differs between two plans, step by step, in lines that begin with
// + and -.
func changes(p, former *plan.Plan) string {
	var text strings.Builder
	was := counterparts(p, former)
	text.WriteString(diff(head(former), head(p)))
	now := formerIDs(was)
	for step := range p.Steps.All() {
		old, ok := was[step.ID]
		if !ok {
			text.WriteString(marked("+", wholeStep(step, nil)))
			continue
		}
		if old.ID != step.ID {
			fmt.Fprintf(&text, " Step %d is now %d: %s\n", int(old.ID), int(step.ID), step.Title)
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

// counterparts finds for each step of a plan the one that it was in a former form of it. A
// submission, and a version from elsewhere, numbers its steps anew, so it goes by the title
// first. What is left has another title under the same number.
func counterparts(p, former *plan.Plan) map[plan.StepID]*plan.Step {
	was, taken := map[plan.StepID]*plan.Step{}, map[plan.StepID]bool{}
	pair := func(find func(step *plan.Step) *plan.Step) {
		for step := range p.Steps.All() {
			if was[step.ID] != nil {
				continue
			}
			if old := find(step); old != nil && !taken[old.ID] {
				was[step.ID], taken[old.ID] = old, true
			}
		}
	}
	byID := func(step *plan.Step) *plan.Step { old, _ := former.Steps.Get(step.ID); return old }
	if p.ID != former.ID {
		titled := map[string][]*plan.Step{}
		for old := range former.Steps.All() {
			titled[old.Title] = append(titled[old.Title], old)
		}
		pair(func(step *plan.Step) *plan.Step {
			if old := byID(step); old != nil && old.Title == step.Title {
				return old
			}
			return nil
		})
		pair(func(step *plan.Step) *plan.Step {
			free := slices.DeleteFunc(titled[step.Title], func(old *plan.Step) bool { return taken[old.ID] })
			if titled[step.Title] = free; len(free) == 0 {
				return nil
			}
			return free[0]
		})
	}
	pair(byID)
	return was
}

// formerIDs tells which id each step that was kept has now.
func formerIDs(was map[plan.StepID]*plan.Step) map[plan.StepID]plan.StepID {
	now := map[plan.StepID]plan.StepID{}
	for id, old := range was {
		now[old.ID] = id
	}
	return now
}

// renumbered is a step of a former plan with the numbers that it and its dependencies have now.
func renumbered(old *plan.Step, now map[plan.StepID]plan.StepID) *plan.Step {
	step := *old
	step.ID, step.DependsOn = now[old.ID], slices.Clone(old.DependsOn)
	for i, id := range step.DependsOn {
		step.DependsOn[i] = cmp.Or(now[id], id)
	}
	return &step
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
func whole(p, former *plan.Plan, ofTool func(*plan.Step) string) string {
	var text strings.Builder
	text.WriteString(head(p))
	for step := range p.Steps.All() {
		text.WriteString(wholeStep(step, ofTool))
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

// ReviewStep is what a person is shown before deciding whether a step is run, with other arguments
// where some are given, and the digest of what it would run.
func (s *Service) ReviewStep(state plan.State, step *plan.Step, args json.RawMessage) (text, digest string) {
	text = step.ID.String() + " of " + plan.Quote(state.Plan.Objective) + asksWhat(step)
	tools := s.otherTools()
	definition := tools[step.Tool].Definition
	digest, runs := plan.StartDigest(step, step.Args, definition), step.Args
	if ask := step.Asking(); ask != nil {
		digest, runs = ask.Digest, ask.Args
		if ask.Kind == plan.AskApproval {
			definition = ask.Definition
			text = joined(text, ask.Text)
		}
	} else if !step.WantsWord() {
		text = joined(text, plan.ToolChanged(state, step, definition)) +
			"; what it refers to is filled in then, and it asks again if that changes what it runs"
	}
	if len(args) > 0 {
		runs = args
	}
	text += ".\n\n" + wholeStep(step, func(step *plan.Step) string { return described(tools, step, definition) })
	if len(runs) > 0 {
		text += "   runs with: " + barred(pretty(runs)) + "\n"
	}
	switch {
	case step.WantsWord():
		text += "   blocked by: " + barred(WhyBlocked(step)) + "\n"
	case step.Error != "":
		text += "   failed before: " + barred(step.Error) + "\n"
	}
	return text, digest
}

// joined is a sentence with the reason for it, if there is one.
func joined(sentence, reason string) string { return strings.TrimSuffix(sentence+": "+reason, ": ") }

// asksWhat says of a step what a person is to decide.
func asksWhat(step *plan.Step) string {
	switch ask := step.Asking(); {
	case step.WantsWord():
		return " is blocked"
	case ask == nil:
	case ask.Kind == plan.AskPause:
		return " asks you"
	case ask.Kind == plan.AskUnknown:
		return " was started, and nobody knows what came of it"
	case ask.Attempt > 1:
		return fmt.Sprintf(" asks again, before attempt %d", ask.Attempt)
	}
	return " asks before it runs"
}

// ReviewForeseen is what a person is shown of what a run is going to ask.
func (s *Service) ReviewForeseen(state plan.State, foreseen []plan.Foreseen) string {
	text, tools := "Running "+plan.Quote(state.Plan.Objective)+" is going to ask you:\n", s.otherTools()
	for _, f := range foreseen {
		text += "\n" + wholeStep(f.Step, func(step *plan.Step) string { return described(tools, step, f.Definition) })
		if f.Reason != "" {
			text += "   why it asks: " + f.Reason + "\n"
		}
		switch {
		case f.Kind == plan.AskPause:
			text += "   you answer it when the run comes to it\n"
		case !f.Known:
			text += "   you are asked when it is known what it refers to\n"
		}
	}
	return text + s.startsUnasked(state, foreseen)
}

// startsUnasked tells for which steps a run starts agents without asking, "" for none.
func (s *Service) startsUnasked(state plan.State, foreseen []plan.Foreseen) string {
	var names []string
	steps := map[string][]plan.StepID{}
	for step := range state.Plan.Steps.All() {
		asks := slices.ContainsFunc(foreseen, func(f plan.Foreseen) bool { return f.Step.ID == step.ID })
		agent := s.agentFor(state, step)
		if agent == "" || asks || step.Status != plan.Pending {
			continue
		}
		if steps[agent] == nil {
			names = append(names, agent)
		}
		steps[agent] = append(steps[agent], step.ID)
	}
	if names == nil {
		return ""
	}
	for i, name := range names {
		names[i] = name + " for " + plan.IDs(steps[name])
	}
	return "\nAgents are started without asking: " + strings.Join(names, ", ") + ". What they may do is up to their own flags.\n"
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
