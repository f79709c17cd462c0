package verbs

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
)

// Templates is the library of templates for plans.
type Templates interface {
	// List lists all templates by name.
	List(ctx context.Context) ([]Template, error)
	// Find returns the template with a name, even an unusable one.
	Find(ctx context.Context, name string) (Template, error)
	// Make fills in the template with a name. With an error it still returns the known parts of the template.
	Make(ctx context.Context, name string, parameters map[string]json.RawMessage) (FromTemplate, error)
	// Save writes a plan as a template of the user, and returns its file.
	Save(name string, outline plan.Outline, steps []plan.Step, replace bool) (file string, err error)
}

// Template is a template for plans, as listed.
type Template struct {
	Name        string              `json:"name"`   // unique
	Origin      string              `json:"origin"` // user, workspace or builtin
	Description string              `json:"description,omitempty"`
	Parameters  []TemplateParameter `json:"parameters,omitempty"`
	Problem     string              `json:"problem,omitempty"` // why it is unusable
	File        string              `json:"file,omitempty"`    // if the template is shown
	Foreign     bool                `json:"-"`                 // it came with the workspace, so a person must approve its plans
	Text        string              `json:"text,omitempty"`    // its source, if the template is shown
}

// TemplateParameter is a parameter of a template.
type TemplateParameter struct {
	Name        string          `json:"name"`
	Required    bool            `json:"required,omitempty"`
	Default     json.RawMessage `json:"default,omitempty"`
	Description string          `json:"description,omitempty"`

	Wanted string `json:"-"` // a short description of the expected value
}

// FromTemplate is the plan that a template makes.
type FromTemplate struct {
	Template Template
	Outline  plan.Outline
	Steps    []plan.NewStep
}

// ApplyTemplate is the input of ApplyTemplate. Without a template, all are listed.
type ApplyTemplate struct {
	Template   string                     `json:"template,omitempty" jsonschema:"description=none: list them with their parameters"`
	Parameters map[string]json.RawMessage `json:"parameters,omitempty"`
	Draft      bool                       `json:"-"` // for people
}

// ApplyTemplateReply describes the plan that a template made, or lists the templates.
type ApplyTemplateReply struct {
	Template  string     `json:"template,omitempty"`
	Status    string     `json:"status,omitempty"`
	PlanID    string     `json:"plan_id,omitempty"`
	StepIDs   string     `json:"step_ids,omitempty"`
	Message   string     `json:"message,omitempty"`
	Warnings  []string   `json:"warnings,omitempty"`
	Templates []Template `json:"templates,omitempty"`
	LeftOff   int        `json:"left_off,omitempty"` // templates
	Replaced
	Heartbeat
	asking
}

// Limits in tokens on a list of templates and on one template in it, because templates in a cloned repository may
// have very long texts.
const (
	templatesRoom = 2_500
	templateRoom  = 300
)

// ListTemplates lists the templates with their parameters, those of the workspace last.
func (s *Service) ListTemplates(ctx context.Context, c Caller) (ApplyTemplateReply, error) {
	all, err := s.templates(ctx)
	if err != nil {
		return ApplyTemplateReply{}, err
	}
	state, err := s.State(ctx)
	if err != nil {
		return ApplyTemplateReply{}, err
	}
	workspaceLast := map[bool]int{true: 1}
	slices.SortStableFunc(all, func(a, b Template) int { return workspaceLast[a.Foreign] - workspaceLast[b.Foreign] })
	var shown []Template
	for room := templatesRoom; len(shown) < len(all); {
		t := all[len(shown)]
		if c.brief() {
			t = t.shortened()
		}
		if room -= tokens.CountCautiously(t.line()); c.brief() && room < 0 {
			break
		}
		shown = append(shown, t)
	}
	reply := ApplyTemplateReply{Templates: shown, LeftOff: len(all) - len(shown),
		Heartbeat: Heartbeat{NextAction: s.heartbeat(state, c).NextAction}, // the plan's progress does not matter here
		Message:   "Parameters with a ? are optional."}
	if slices.ContainsFunc(shown, func(t Template) bool { return t.Foreign }) {
		reply.Message += " A template of the workspace makes a draft, which a person must approve."
	}
	return reply, nil
}

// shortened returns a template that fits into a list: without its parameters' descriptions, or without parameters
// if that is still too long.
func (t Template) shortened() Template {
	t.Description, t.Problem = plan.Shorten(t.Description, titleShown*2), plan.Shorten(t.Problem, plan.MaxHint)
	if tokens.CountCautiously(t.line()) <= templateRoom {
		return t
	}
	t.Parameters = slices.Clone(t.Parameters)
	for i, p := range t.Parameters {
		t.Parameters[i] = TemplateParameter{Name: p.Name, Required: p.Required}
	}
	if tokens.CountCautiously(t.line()) > templateRoom {
		t.Parameters, t.Description = nil, "its parameters are too long to list; call it without parameters to see them"
	}
	return t
}

func (s *Service) templates(ctx context.Context) ([]Template, error) {
	if s.opts.Templates == nil {
		return nil, plan.Refuse(plan.Conflict, "", "templates are not available here", "set up a plan")
	}
	return s.opts.Templates.List(ctx)
}

// ShowTemplate returns the template with a name.
func (s *Service) ShowTemplate(ctx context.Context, c Caller, name string) (Template, error) {
	if _, err := s.templates(ctx); err != nil {
		return Template{}, err
	}
	found, err := s.opts.Templates.Find(ctx, name)
	return found, c.listing(err)
}

// listing adds the call that lists the templates to an error about an unknown name.
func (c Caller) listing(err error) error {
	if refused, ok := errors.AsType[*plan.ValidationError](err); ok && refused.Kind == plan.NotFound && refused.Fix == "" {
		return plan.Refuse(refused.Kind, refused.Field, refused.Problem, "list them: "+c.word(Call{Kind: CallApplyTemplate}))
	}
	return err
}

// ApplyTemplate makes a plan from a template. The gates judge it like any plan. In a read-only phase of planning
// mode it is submitted; from a template of the workspace it becomes a draft.
func (s *Service) ApplyTemplate(ctx context.Context, c Caller, in ApplyTemplate) (ApplyTemplateReply, error) {
	if in.Template == "" {
		return s.ListTemplates(ctx, c)
	}
	if err := c.beyond(); err != nil {
		return ApplyTemplateReply{}, err
	}
	if _, err := s.templates(ctx); err != nil {
		return ApplyTemplateReply{}, err
	}
	made, err := s.opts.Templates.Make(ctx, in.Template, in.Parameters)
	if err != nil {
		return ApplyTemplateReply{}, made.Template.mended(c, in, c.listing(err))
	}
	state, err := s.State(ctx)
	if err != nil {
		return ApplyTemplateReply{}, err
	}
	batch := plan.Batch{Word: "apply_template", Parts: []plan.Part{{Action: made.action(state, in.Draft)}}}
	candidate := gates.Candidate{Objective: made.Outline.Objective, Replaces: true}
	for i, step := range made.Steps {
		candidate.New = append(candidate.New, gates.Task{ID: plan.StepID(i + 1), Spec: step.Spec})
	}
	report, err := s.check(ctx, c, candidate, "/steps", nil, &batch)
	if refused, ok := errors.AsType[*RefusedPlan](err); ok {
		refused.Drafted = "The quality gates refused the plan from the template " + made.Template.Name + " with these parameters."
		refused.Next = "change the parameters, correct the template, or write the plan yourself"
	}
	if err != nil {
		return ApplyTemplateReply{}, err
	}
	outcome, err := s.do(ctx, c, batch)
	if err != nil {
		return ApplyTemplateReply{}, err
	}
	reply := ApplyTemplateReply{Template: made.Template.Name, Warnings: warnings(report)}
	if _, submitted := batch.Parts[0].Action.(plan.SubmitPlan); submitted {
		told := s.submitted(ctx, outcome.Before.Draft, outcome.After, c)
		reply.Status, reply.PlanID, reply.Message, reply.Heartbeat = told.Status, told.PlanID, told.Message, told.Heartbeat
		reply.Warnings, reply.ask = told.Warnings, told.ask
		return reply, nil
	}
	draft := batch.Parts[0].Action.(plan.SetUp).Draft
	told := s.setUpReply(c, outcome, draft)
	reply.Status, reply.PlanID, reply.StepIDs, reply.Replaced, reply.Heartbeat = told.Status, told.PlanID, told.StepIDs, told.Replaced,
		told.Heartbeat
	reply.Message, _, _ = strings.Cut(told.Text(), "\n")
	if draft {
		reply.NextAction = s.view(outcome.After, c, Rules{}).awaitingApproval().For(c)
	}
	return reply, nil
}

func (m FromTemplate) action(state plan.State, draft bool) plan.Action {
	outline := m.Outline
	if m.Template.Foreign {
		origin := "Made from the template " + m.Template.Name + ", which is part of the workspace's files."
		outline.ContextNotes = strings.TrimSpace(origin + "\n\n" + outline.ContextNotes)
	}
	if !state.PhaseNow().IsRestricted() {
		return plan.SetUp{Outline: outline, Steps: m.Steps, Draft: draft || m.Template.Foreign}
	}
	outline.Summary = cmp.Or(outline.Summary, plan.Shorten(outline.Objective, plan.MaxSummary))
	outline.Objective = cmp.Or(state.ModeNow().Task, outline.Objective)
	return plan.SubmitPlan{Outline: outline, Steps: m.Steps}
}

// mended adds a corrected call to an error about the parameters.
func (t Template) mended(c Caller, in ApplyTemplate, err error) error {
	refused, ok := errors.AsType[*plan.ValidationError](err)
	if !ok || refused.Kind != plan.InvalidInput || t.Problem != "" {
		return err
	}
	wrong := map[string]bool{}
	for _, one := range refused.All() {
		if name, is := strings.CutPrefix(one.Field, "/parameters/"); is {
			wrong[name] = true
		}
	}
	var members []string
	for _, p := range t.Parameters {
		given, known := string(in.Parameters[p.Name]), len(in.Parameters[p.Name]) > 0
		if wrong[p.Name] {
			given = object("<" + p.Wanted + ">")
		}
		if wrong[p.Name] || known {
			members = append(members, object(p.Name)+":"+given)
		}
	}
	if len(wrong) == 0 {
		return err
	}
	call := Call{Kind: CallApplyTemplate, ID: in.Template, JSON: "{" + strings.Join(members, ",") + "}"}
	return &BadCall{ValidationError: refused, Instead: c.word(call)}
}

// SaveTemplate is the input of SaveTemplate.
type SaveTemplate struct {
	Name    string
	PlanID  string // "": the current one
	Replace bool   // replace the user's template of that name
}

// SavedTemplate names the saved template and its file.
type SavedTemplate struct {
	Template string `json:"template"`
	File     string `json:"file"`
	Steps    int    `json:"steps"`
	LeftOut  int    `json:"left_out,omitempty"` // steps that were cancelled or made by a loop

	ambiguous bool // another template has this name
}

// SaveTemplate saves a plan as a template of the user, without progress and without steps that were cancelled or
// made by a loop.
func (s *Service) SaveTemplate(ctx context.Context, in SaveTemplate) (SavedTemplate, error) {
	if _, err := s.templates(ctx); err != nil {
		return SavedTemplate{}, err
	}
	state, err := s.State(ctx)
	if err == nil && in.PlanID != "" {
		state, err = s.PlanState(ctx, in.PlanID)
	}
	if err != nil {
		return SavedTemplate{}, err
	}
	if state.Plan == nil {
		return SavedTemplate{}, plan.Refuse(plan.NotFound, "", "this workspace has no plan to save as a template", "set one up first")
	}
	reply := SavedTemplate{Template: "user/" + in.Name}
	used := map[plan.StepID]bool{}
	for step := range state.Plan.Steps.All() {
		for _, id := range step.ReferencedSteps() {
			used[id] = used[id] || step.Status != plan.Cancelled
		}
	}
	var steps []plan.Step
	for step := range state.Plan.Steps.All() {
		if step.Loop() != 0 || step.Status == plan.Cancelled && !used[step.ID] {
			reply.LeftOut++
			continue
		}
		steps = append(steps, plan.Step{ID: step.ID, Spec: step.Spec})
	}
	reply.Steps = len(steps)
	if reply.File, err = s.opts.Templates.Save(in.Name, state.Plan.Outline, steps, in.Replace); err == nil {
		all, _ := s.templates(ctx) // only for the note
		reply.ambiguous = slices.ContainsFunc(all, func(t Template) bool { return t.Name == reply.Template })
	}
	return reply, err
}

func (r SavedTemplate) Text() string {
	text := "Template " + r.Template + " has " + plan.Pluralize(r.Steps, "step")
	if r.LeftOut > 0 {
		text += ", " + plan.Pluralize(r.LeftOut, "cancelled or repeated step") + " left out"
	}
	if text += ": " + r.File; r.ambiguous {
		text += "\nOther templates have the same name, so use the full name: " + r.Template
	}
	return text
}

func (r ApplyTemplateReply) Text() string {
	if r.Template == "" {
		text := r.Message
		for _, t := range r.Templates {
			text += "\n" + t.line()
		}
		if r.LeftOff > 0 {
			text += fmt.Sprintf("\n%d more are not listed.", r.LeftOff)
		}
		return text + "\nNext: " + r.NextAction
	}
	text := "Template " + r.Template + ": " + strings.TrimSuffix(r.Message, ".") + "."
	text += warningLines(r.Warnings)
	if r.Status == string(AwaitingApproval) {
		text += "\nPlan: " + r.PlanID
	}
	return text + "\nNext: " + r.NextAction
}

func (t Template) line() string {
	text := t.Name + " (" + t.Origin + ")"
	if t.Problem != "" {
		return text + ": " + t.Problem
	}
	text += prefixed(": ", t.Description)
	for _, p := range t.Parameters {
		text += "\n  " + p.line()
	}
	return text
}

func (p TemplateParameter) line() string {
	text := p.Name
	if !p.Required {
		text += "?"
	}
	if len(p.Default) > 0 && string(p.Default) != `""` {
		text += " (default " + string(p.Default) + ")"
	}
	return text + prefixed(": ", p.Description)
}
