package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"strings"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// Prompts lists all prompts in a fixed order.
func Prompts() []prompts.Prompt {
	return append(prompts.List(), prompts.Described()...)
}

// Prompt renders a prompt with the workspace's data. A bad argument is a *prompts.ArgumentError, an unknown name a
// *plan.ValidationError.
func (s *Service) Prompt(ctx context.Context, c Caller, name string, args map[string]string) (string, error) {
	for _, p := range Prompts() {
		if p.Name != name {
			continue
		}
		if p.Render != nil {
			return p.Render(args)
		}
		accepted, err := p.Accept(args)
		if err != nil {
			return "", err
		}
		state, err := s.State(ctx)
		if err != nil {
			return "", err
		}
		return s.render(ctx, c, name, state, accepted)
	}
	return "", plan.Refuse(plan.NotFound, "", plan.Quote(name)+" is not a prompt", c.word(Call{Kind: CallUsePrompt}))
}

// render renders a prompt; a slash command of planning mode is carried out first.
func (s *Service) render(ctx context.Context, c Caller, name string, state plan.State, args map[string]string) (string, error) {
	var reply ModeReply
	var err error
	switch name {
	case "decompose_goal":
		return s.decomposePrompt(ctx, state, args["goal"]), nil
	case "judge_plan":
		return s.judgePrompt(ctx, state)
	case "suggest_tasks":
		found, _, err := s.collectSuggestions(ctx, c, state)
		if err != nil {
			return "", err
		}
		data := s.suggestData(ctx, state, args["focus"], withoutKnown(state, found))
		data.ForAgent = true
		return prompts.SuggestTasks(data), nil
	case "resume":
		return s.Resume(ctx, state, c)
	case "plan_with_tools":
		return s.planWithToolsPrompt(ctx, c, args), nil
	case "recover_step":
		return s.recoverPrompt(state, c, args["step_id"])
	case "replan":
		return s.replanPrompt(state, c, args)
	case "select_agent":
		return s.selectAgentPrompt(state, c, args["task"])
	case "plan":
		reply, err = s.EnterPlanModeFor(ctx, c, PlanFor{Task: args["task"]})
	case "plan_cancel":
		reply, err = s.CancelPlanMode(ctx, c)
	case "execute_plan":
		return s.executePrompt(ctx, state, c)
	default:
		reply, err = s.PlanModeStatus(ctx, c)
	}
	if err != nil {
		return "", err
	}
	return reply.Text(), nil
}

func (s *Service) executePrompt(ctx context.Context, state plan.State, c Caller) (string, error) {
	if state.Plan == nil || state.Plan.Approval == nil || state.PhaseNow() != plan.PhaseExecuting {
		return "", plan.Refuse(plan.NotFound, "", "no approved plan is being carried out", "submit one and have it approved")
	}
	remarks, err := s.OpenComments(ctx, state)
	if err != nil {
		return "", err
	}
	text := ApprovedPlan(state.Plan, remarks)
	if d := state.ModeNow().Decision; d != nil && d.Outcome == plan.Approved && d.Comment != "" {
		text += "\n\n" + DecisionText(d)
	}
	return text + "\n\nNext: " + s.NextActionIn(state, c).For(c), nil
}

func (s *Service) decomposePrompt(ctx context.Context, state plan.State, goal string) string {
	outline := plan.Outline{Objective: goal}
	if state.Plan != nil && goal == "" {
		outline = state.Plan.Outline
	}
	data := s.material(ctx, outline, Start{})
	data.ForAgent = true
	for step := range currentSteps(state).All() {
		if plan.IsMeta(step.Title) && !step.Status.IsFinished() {
			data.Task = int(step.ID)
		}
	}
	return prompts.Decompose(data)
}

func (s *Service) judgePrompt(ctx context.Context, state plan.State) (string, error) {
	p := cmp.Or(state.Draft, state.Plan)
	if p == nil {
		return "", plan.Refuse(plan.NotFound, "", "no plan exists to judge", "set one up first")
	}
	list, err := json.MarshalIndent(tasks(p), "", " ")
	if err != nil {
		return "", err
	}
	report, err := s.examine(ctx, plannedCandidate(p), nil)
	if err != nil {
		return "", err
	}
	data := prompts.JudgeData{Goal: p.Objective, Tasks: string(list), ForAgent: true}
	for _, f := range report.Findings {
		data.Findings = append(data.Findings, f.Message)
	}
	return prompts.Judge(data), nil
}

// ApprovedPlan returns the approved plan, whole, with the open comments.
func ApprovedPlan(p *plan.Plan, remarks []PlacedComment) string {
	data := prompts.ApprovedPlanData{Said: append(Terms(p), commentLines(remarks, 0)...)}
	for step := range p.Steps.All() {
		data.Steps = append(data.Steps, approvedStep(p, step, true, remarks))
	}
	return prompts.ApprovedPlan(data)
}

// Token limits of the approved plan's lines in a status, and of a line without its texts.
const (
	approvedRoom = 250
	lineTokens   = 16
)

// ApprovedLines returns the approved plan as guidance (chorus: Plan injection during execution): a line per step. Of a
// long plan the lines start at the current step, and the others are counted. It names the call that reads the whole plan.
func ApprovedLines(p *plan.Plan, current *plan.Step, c Caller) string {
	data := prompts.ApprovedPlanData{ReadOn: c.word(Call{Kind: CallRead, ID: string(ApprovedPlanOnly)})}
	cost := func(s prompts.ApprovedStep) int {
		return lineTokens + tokens.CountCautiously(s.Title+strings.Join(s.Tools, ", "))
	}
	all := 0
	for step := range p.Steps.All() {
		if all += cost(approvedStep(p, step, false, nil)); all > approvedRoom {
			break
		}
	}
	room, begun := approvedRoom, all <= approvedRoom // then all lines fit
	for step := range p.Steps.All() {
		if begun = begun || step == current; begun && room >= 0 {
			shown := approvedStep(p, step, false, nil)
			room -= cost(shown)
			if room >= 0 || step == current {
				data.Steps = append(data.Steps, shown)
				continue
			}
		}
		if step.Status.IsFinished() {
			data.Done++
		} else {
			data.Left++
		}
	}
	return prompts.ApprovedPlan(data)
}

// approvalRoom is the token limit of the plan in the answer to an approval: up to furtherRoom of it for comments on the
// whole plan, and as much for titles of steps that do not fit whole.
const (
	approvalRoom = 6_000
	furtherRoom  = approvalRoom / 6
)

// approvalAnswer returns the approved plan for the answer to an approval. Of a very long plan it returns as many whole
// steps as fit, then titles, and the call that reads on.
func approvalAnswer(p *plan.Plan, c Caller, remarks []PlacedComment) string {
	comments := commentLines(remarks, 0)
	fitting := firstFitting(comments, furtherRoom)
	data, titles, all := prompts.ApprovedPlanData{Said: append(Terms(p), fitting...)}, false, 0
	if len(fitting) < len(comments) {
		data.Said = append(data.Said, "(all comments, whole: "+c.allComments()+")")
	}
	for step := range p.Steps.All() {
		all += costOf(approvedStep(p, step, true, remarks))
	}
	room, further := approvalRoom-costOf(data.Said), 0
	if all > room {
		room, further = room-furtherRoom, furtherRoom
	}
	for step := range p.Steps.All() {
		shown := approvedStep(p, step, !titles, remarks)
		if !titles && costOf(shown) > room {
			titles, room, shown = true, room+further, approvedStep(p, step, false, nil)
			data.ReadOn = remainingSteps(p, p.Steps.Position(step.ID), ApprovedPlanOnly, c)
		}
		if room -= costOf(shown); room < 0 {
			data.Left++
			continue
		}
		data.Steps = append(data.Steps, shown)
	}
	return prompts.ApprovedPlan(data)
}

// approvedStep returns a step of the approved plan, by title or whole.
func approvedStep(p *plan.Plan, step *plan.Step, whole bool, remarks []PlacedComment) prompts.ApprovedStep {
	shown := prompts.ApprovedStep{Number: int(step.ID), Title: step.Title, Tools: step.Tools,
		Remark: p.Approval.Remark(step.ID)}
	if !whole {
		shown.Title = tokens.ShortenCautiously(step.Title, 2*titleTokens, plan.MaxTitle)
		cost := func(i int) int { return tokens.CountCautiously(step.Tools[i]) }
		shown.Tools = step.Tools[:tokens.First(len(step.Tools), titleTokens, cost)]
		return shown
	}
	for _, f := range plan.SpecFields() {
		if f.Name == "title" || f.Name == "tools" { // on the first line
			continue
		}
		label := f.Label
		if p.Approval.HasChanged(step.ID, f.Name) {
			label += " (changed since: the approver has not seen this)"
		}
		for _, text := range f.Texts(step) {
			shown.Lines = append(shown.Lines, label+": "+text)
		}
	}
	shown.Lines = append(shown.Lines, commentLines(remarks, step.ID)...)
	return shown
}
