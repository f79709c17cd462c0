package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

type showFormat string

// Values lists the formats in order.
func (showFormat) Values() []string {
	return []string{"text", "md", "yaml", "mermaid", "json", submitFormat}
}

const submitFormat = "submit" // what submit accepts

type showOptions struct {
	watch, all, draft, approved, timeline bool
	format, plan, step                    string
}

func newShowCommand(a *app) *cobra.Command {
	var o showOptions
	cmd := newCommand("show", "[STEP]", atMostOne("one step"), func(cmd *cobra.Command, args []string) error {
		o.step = strings.Join(args, "")
		if strings.HasPrefix(strings.ToLower(o.step), "v") && verbs.IsVersion(o.step) && o.plan == "" {
			o.step, o.plan = "", o.step
		}
		return a.showPlan(cmd.Context(), o)
	})
	cmd.ValidArgsFunction = firstArgument(a.completeSteps)
	flags := cmd.Flags()
	flags.BoolVarP(&o.watch, "watch", "w", false, "keep showing changes until Ctrl-C")
	flags.BoolVarP(&o.all, "all", "a", false, "show everything, without folding")
	flags.StringVarP(&o.format, "format", "f", "", "print as `FORMAT`: text, md, yaml, mermaid, json, or a draft for submit (default text)")
	flags.StringVar(&o.plan, "plan", "", "show another plan, by its `ID` or the beginning of its id")
	flags.BoolVar(&o.draft, "draft", false, "show the waiting plan in full")
	flags.BoolVar(&o.approved, "approved", false, "show the approved plan, as agents get it")
	flags.BoolVar(&o.timeline, "timeline", false, "show the work on the steps as bars over time")
	for _, other := range []string{"watch", "draft", "approved"} {
		cmd.MarkFlagsMutuallyExclusive("timeline", other)
	}
	complete(cmd, "format", words(showFormat("")))
	complete(cmd, "plan", a.completePlans)
	return cmd
}

func (a *app) showPlan(ctx context.Context, o showOptions) error {
	format, err := a.showFormat(o.format)
	if err != nil {
		return err
	}
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	switch {
	case o.draft && o.approved, (o.draft || o.approved) && (o.watch || o.plan != "" || o.step != ""), o.approved && o.format != "":
		return usageError{fmt.Errorf("--draft and --approved cannot be combined with --plan, --watch, a step or each other, " +
			"nor --approved with --format")}
	case o.draft:
		return a.showDraft(ctx, ws, format)
	case o.approved:
		return a.showApproved(ctx, ws)
	case format == submitFormat:
		return usageError{fmt.Errorf("--format submit prints a draft as input for planloop submit; add --draft")}
	case o.watch && o.step != "":
		return usageError{fmt.Errorf("--watch shows the whole plan; give --watch or a step, not both")}
	case o.watch && o.plan != "":
		return usageError{fmt.Errorf("a former plan does not change; give --watch or --plan, not both")}
	case o.watch:
		return a.watch(ctx, ws, format, o.all)
	}
	state, err := ws.verbs.State(ctx)
	if err != nil {
		return err
	}
	state, former, err := namedPlan(ctx, ws, state, o.plan)
	if err != nil {
		return err
	}
	if o.timeline {
		return a.showTimeline(ctx, ws, terminal.PlanView{Screen: a.screen(), State: state, All: o.all, Now: time.Now()}, format, o)
	}
	if o.step != "" {
		return a.showStep(ctx, ws, state, former, format, o.step)
	}
	if format == "text" {
		return a.printLines(a.view(ctx, ws, state, former, o.all).Page().Lines())
	}
	return a.printed(rendered(state, format))
}

func (a *app) showFormat(text string) (showFormat, error) {
	if a.flags.json && text != "" && text != "json" {
		return "", usageError{fmt.Errorf("--json and --format %s exclude each other; give one of them", plan.Quote(text))}
	}
	switch {
	case a.flags.json:
		return "json", nil
	case text == "":
		return "text", nil
	case text == "markdown":
		return "md", nil
	}
	if err := plan.OneOf("--format", showFormat(text)); err != nil {
		return "", err
	}
	return showFormat(text), nil
}

// namedPlan returns the state with the named plan as its plan, "": the current one, and the head of a former plan.
func namedPlan(ctx context.Context, ws *openWorkspace, state plan.State, named string) (plan.State, *plan.PastPlan, error) {
	if named == "" {
		return state, nil, nil
	}
	id, err := planID(state, named)
	if err != nil {
		return plan.State{}, nil, err
	}
	other, err := ws.verbs.PlanState(ctx, id)
	if err != nil {
		return plan.State{}, nil, err
	}
	if head, ok := state.PastPlan(id); ok && other.Revision == head.Revision {
		return other, &head, nil
	}
	return other, nil, nil
}

func (a *app) view(ctx context.Context, ws *openWorkspace, state plan.State, former *plan.PastPlan, all bool) terminal.PlanView {
	v := terminal.PlanView{Screen: a.screen(), State: state, Former: former, All: all, Now: time.Now(), Where: "in " + ws.place.Path,
		OnPage: ws.copied != nil}
	if ws.place.Default {
		v.Where = "in the workspace named default"
	}
	if state.Plan != nil {
		v.Account = ws.verbs.Account(ctx, state.Plan)
	}
	if former != nil { // the state of a former plan has no comments
		if now, err := ws.verbs.State(ctx); err == nil {
			v.Remarks = ws.remarksOn(ctx, now, state.Plan)
		}
	} else {
		v.Remarks = ws.remarksOn(ctx, state, state.Plan)
		v.Hooks = verbs.EnforcementLine(ws.verbs.Enforcement(state))
		v.Lapsed, v.StepProgress = ws.verbs.Lapsed, map[plan.StepID]terminal.Progress{}
		for _, one := range engine.ReadRunningSteps(ws.place.StateDir) {
			v.StepProgress[one.Step] = terminal.Progress{Percent: one.Percent, What: one.What, Log: one.Log}
		}
		if state.Plan == nil || state.Plan.Status != plan.StatusDraft {
			v.Next = ws.verbs.NextActionIn(state, a.caller()).For(a.caller())
		}
	}
	return v
}

// rendered returns a state in a format for programs, safe to print.
func rendered(state plan.State, format showFormat) ([]byte, error) {
	var data []byte
	var err error
	switch format {
	case "json":
		return indented(resources.JSON(state))
	case "md":
		data = resources.Markdown(state)
	case "mermaid":
		data = resources.Mermaid(state)
	case "yaml":
		data, err = resources.YAML(state)
	}
	return []byte(safetext.Escape(string(data))), err
}

// showTimeline shows the steps of a plan over time, outside a terminal as Markdown unless a format is given.
func (a *app) showTimeline(ctx context.Context, ws *openWorkspace, v terminal.PlanView, format showFormat, o showOptions) error {
	if o.step != "" {
		return usageError{fmt.Errorf("--timeline shows the whole plan; leave out the step")}
	}
	if o.format == "" && format == "text" && !a.outIsTerminal {
		format = "md"
	}
	if !slices.Contains([]showFormat{"text", "md", "json"}, format) {
		return usageError{fmt.Errorf("the timeline is shown as text, md or json, not as %s", format)}
	}
	steps, err := ws.verbs.Timeline(ctx, v.State)
	switch {
	case err != nil:
		return err
	case format == "json":
		return a.printJSON(struct {
			Steps []history.TimelineStep `json:"steps"`
		}{steps})
	case format == "md" && len(steps) > 0:
		plain := map[string]string{"NO_COLOR": "1"}
		v.Screen = terminal.NewScreen(terminal.Options{Getenv: func(name string) string { return plain[name] }})
		return a.printLines(slices.Concat([]string{"```text"}, v.Timeline(steps), []string{"```"}))
	}
	return a.printLines(v.Timeline(steps))
}

func (a *app) showStep(ctx context.Context, ws *openWorkspace, state plan.State, former *plan.PastPlan, format showFormat,
	named string) error {
	id, err := plan.ParseStepID(named)
	if err != nil {
		return err
	}
	document, err := resources.Step(state, id) // reports a missing step
	if err != nil {
		return err
	}
	switch format {
	case "json":
		step, _ := state.Plan.Steps.Get(id)
		value, err := state.Plan.ValueOf(id, ws.verbs.KeptValue(ctx))
		if err == nil && (step.Result == nil || len(step.Result.Value) == 0) { // it is not in the document yet
			document = slices.Concat(bytes.TrimSuffix(document, []byte("}")), []byte(`,"value":`), value, []byte("}"))
		}
		return a.printed(indented(document, nil))
	case "yaml":
		data, err := resources.YAMLOf(document)
		if err != nil {
			return err
		}
		return a.print([]byte(safetext.Escape(string(data))))
	case "text":
		step, _ := state.Plan.Steps.Get(id)
		return a.printLines(a.view(ctx, ws, state, former, true).Step(step))
	}
	return usageError{fmt.Errorf("one step is shown as text, yaml or json, not as %s", format)}
}

func (a *app) showDraft(ctx context.Context, ws *openWorkspace, format showFormat) error {
	state, former, err := ws.verbs.Draft(ctx)
	if err != nil {
		return err
	}
	if state.Draft == nil {
		return noWaitingPlan()
	}
	if format == submitFormat {
		return a.printJSON(verbs.DraftSubmission(state.Draft))
	}
	if format != "text" {
		state.Plan, state.Draft = state.Draft, nil
		return a.printed(rendered(state, format))
	}
	s := a.screen()
	remarks, err := ws.verbs.PlacedComments(ctx, state, state.Draft)
	if err != nil {
		return err
	}
	lines := draftLines(s, ws.verbs.ReviewDraft(ctx, state, former, remarks), remarks)
	lines = append(lines, "", s.Faint("This is plan "+history.ShortDigest(plan.Digest(state.Draft))+"."))
	if held := verbs.EnforcementLine(ws.verbs.Enforcement(state)); held != "" {
		lines = append(lines, s.Hang("", s.Faint, held)...)
	}
	caller := a.caller()
	hint := "Decide: planloop approve, planloop edit COMMENT (request changes), or planloop reject."
	switch {
	case caller.Actor.Kind == plan.Agent:
		hint = ws.verbs.NextActionIn(state, caller).For(caller)
	case ws.copied != nil:
		hint = "Decide " + ws.decidePlace() + "."
	case state.IsReturned():
		hint = "Changes were requested: wait for the new version, or reject it with planloop reject."
	}
	return a.printLines(append(lines, s.Next(hint)...))
}

// draftLines returns the text of a draft, followed by the comments on the whole plan; comments on steps are in the text.
func draftLines(s terminal.Screen, text string, remarks []verbs.PlacedComment) []string {
	ofWhole := slices.DeleteFunc(slices.Clone(remarks), func(r verbs.PlacedComment) bool { return r.Now != 0 })
	return append(s.Draft(text), s.Remarks(ofWhole)...)
}

func (a *app) showApproved(ctx context.Context, ws *openWorkspace) error {
	state, err := ws.verbs.State(ctx)
	if err != nil {
		return err
	}
	if state.Plan == nil || state.Plan.Approval == nil {
		return plan.Refuse(plan.Conflict, "", "no plan is approved", "see `planloop plan status`")
	}
	remarks, err := ws.verbs.OpenComments(ctx, state)
	if err != nil {
		return err
	}
	text := verbs.ApprovedPlan(state.Plan, remarks)
	if a.flags.json {
		return a.printJSON(struct {
			PlanID   string         `json:"plan_id"`
			Approval *plan.Approval `json:"approval"`
			Text     string         `json:"approved_plan"`
		}{state.Plan.ID, state.Plan.Approval, text})
	}
	return a.print([]byte(strings.TrimSuffix(safetext.Escape(text), "\n") + "\n"))
}

// watch shows the plan at every change by any process, until ctx ends, which is not an error. It does not poll: the log reports its growth.
func (a *app) watch(ctx context.Context, ws *openWorkspace, format showFormat, all bool) error {
	grown, err := ws.verbs.Watch(ctx)
	if err != nil {
		return err
	}
	w := planWatch{app: a, ws: ws, format: format, all: all}
	if a.outIsTerminal && format != "json" {
		err = terminal.Live{Out: a.out, Screen: a.screen, Page: w.page}.Run(ctx, grown)
	} else {
		err = w.append(ctx, grown)
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		return nil
	}
	return err
}

type planWatch struct {
	*app
	ws     *openWorkspace
	format showFormat
	all    bool
}

// append prints the renderings one after another, separated by empty lines; JSON is one document per line.
func (w planWatch) append(ctx context.Context, grown <-chan struct{}) error {
	for shown := (plan.State{Revision: -1}); ; {
		state, err := w.ws.verbs.State(ctx)
		if err != nil {
			return err
		}
		if !state.IsSame(shown) {
			data, err := w.rendering(ctx, state)
			if err != nil {
				return err
			}
			if shown.Revision >= 0 && w.format != "json" {
				data = append([]byte("\n"), data...)
			}
			if err := w.print(data); err != nil {
				return err
			}
			shown = state
		}
		if _, ok := <-grown; !ok {
			return ctx.Err()
		}
	}
}

func (w planWatch) rendering(ctx context.Context, state plan.State) ([]byte, error) {
	if w.format == "text" {
		return w.joined(w.view(ctx, w.ws, state, nil, w.all).Page().Lines()), nil
	}
	data, err := rendered(state, w.format)
	if err != nil || w.format != "json" {
		return data, err
	}
	var line bytes.Buffer
	err = json.Compact(&line, data)
	return append(line.Bytes(), '\n'), err
}

func (w planWatch) page(ctx context.Context) (terminal.Page, plan.Revision, error) {
	state, err := w.ws.verbs.State(ctx)
	if err != nil {
		return terminal.Page{}, 0, err
	}
	if w.format == "text" {
		return w.view(ctx, w.ws, state, nil, w.all).Page(), state.Revision, nil
	}
	data, err := rendered(state, w.format)
	return terminal.TextPage(string(data)), state.Revision, err
}
