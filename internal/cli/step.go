package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newStepCommand(a *app) *cobra.Command {
	return commandGroup(newCommand("step", "", nil, nil),
		newStepAddCommand(a), newStepEditCommand(a), newStepMoveCommand(a),
		onStep(a, "step remove", "STEP", func(id plan.StepID) runner { return a.editDraft(constant(plan.EditDraft{Remove: id})) }),
		newStepMarkCommand(a), newStepClaimCommand(a), newStepNextCommand(a), newStepLogsCommand(a), newStepSkipCommand(a),
		newStepRetryCommand(a), newStepSettleCommand(a),
		onStep(a, "step stop", "STEP", func(id plan.StepID) runner {
			return runVerb(a, (*verbs.Service).AnswerStep, constant(verbs.StepAnswer{Step: id, Choice: plan.Stop}))
		}))
}

func newStepAddCommand(a *app) *cobra.Command {
	var fields stepFlags
	var where placeFlags
	var isDraft bool
	steps := func(_ *cobra.Command, titles []string) ([]plan.NewStep, error) {
		steps, faults := make([]plan.NewStep, len(titles)), plan.Faults{}
		for i, title := range titles {
			spec, err := fields.spec(title)
			if err != nil {
				return nil, err
			}
			at := ""
			if len(titles) > 1 {
				at = fmt.Sprintf("/steps/%d", i)
			}
			steps[i], err = plan.CleanStep(at, plan.NewStep{Spec: spec})
			faults.Add(err)
		}
		return steps, faults.Err()
	}
	cmd := newCommand("step add", "TITLE...", atLeastOne("the title of a step"), func(cmd *cobra.Command, titles []string) error {
		after, err := where.after()
		if err != nil {
			return err
		}
		add := func(s *verbs.Service, ctx context.Context, c verbs.Caller, steps []plan.NewStep) (verbs.AddStepReply, error) {
			return s.AddStepsAfter(ctx, c, steps, after)
		}
		edit := func(steps []plan.NewStep) plan.EditDraft {
			return plan.EditDraft{Change: plan.AddSteps{Steps: steps}, After: after}
		}
		return changeSteps(a, isDraft, steps, add, edit)(cmd, titles)
	})
	fields.register(a, cmd)
	where.register(a, cmd)
	addDraftFlag(cmd, &isDraft)
	return cmd
}

// onStep returns a command about the step that its argument names. run returns what it does with the step.
func onStep(a *app, names, arguments string, run func(plan.StepID) runner) *cobra.Command {
	cmd := newCommand(names, arguments, exactly(1, "a step"), func(cmd *cobra.Command, args []string) error {
		id, err := plan.ParseStepID(args[0])
		if err != nil {
			return err
		}
		return run(id)(cmd, args)
	})
	cmd.ValidArgsFunction = firstArgument(a.completeSteps)
	return cmd
}

func newStepEditCommand(a *app) *cobra.Command {
	var fields stepFlags
	var isDraft bool
	cmd := onStep(a, "step edit", "STEP", func(id plan.StepID) runner {
		patch := func(cmd *cobra.Command, _ []string) (plan.Patch, error) {
			change, err := fields.patch(cmd)
			if err == nil && change.IsZero() {
				err = missing(cmd, "something to change, such as --title or --details")
			}
			return change, err
		}
		edit := func(s *verbs.Service, ctx context.Context, c verbs.Caller, change plan.Patch) (verbs.UpdateStepReply, error) {
			return s.EditStep(ctx, c, id, change)
		}
		return changeSteps(a, isDraft, patch, edit, func(change plan.Patch) plan.EditDraft {
			return plan.EditDraft{Change: plan.UpdateStep{Step: id, Patch: change}}
		})
	})
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&fields.step.Title, "title", "", "the new `TITLE`")
	fields.register(a, cmd)
	addDraftFlag(cmd, &isDraft)
	return cmd
}

func newStepMoveCommand(a *app) *cobra.Command {
	var where placeFlags
	var isDraft bool
	cmd := onStep(a, "step move", "STEP", func(id plan.StepID) runner {
		move := func(cmd *cobra.Command, _ []string) (plan.MoveStep, error) {
			after, err := where.after()
			switch {
			case err != nil:
				return plan.MoveStep{}, err
			case after == nil:
				return plan.MoveStep{}, missing(cmd, "a new place: --after STEP or --first")
			}
			return plan.MoveStep{Step: id, After: *after}, nil
		}
		ofDraft := func(move plan.MoveStep) plan.EditDraft { return plan.EditDraft{Change: move} }
		return changeSteps(a, isDraft, move, (*verbs.Service).MoveStep, ofDraft)
	})
	where.register(a, cmd)
	addDraftFlag(cmd, &isDraft)
	return cmd
}

// changeSteps changes steps of the current plan, or of the draft: with the flag, or if a person asks and only a draft exists.
func changeSteps[In any, Out verbs.Reply](a *app, isDraft bool, in input[In], change verb[In, Out], edit func(In) plan.EditDraft) runner {
	return func(cmd *cobra.Command, args []string) error {
		if !isDraft && a.whyNoPerson() == "" {
			_, state, err := a.state(cmd.Context())
			if err != nil {
				return err
			}
			isDraft = state.Draft != nil && (state.Plan == nil || state.Plan.IsCleared())
		}
		if !isDraft {
			return runVerb(a, change, in)(cmd, args)
		}
		return a.editDraft(func(cmd *cobra.Command, args []string) (plan.EditDraft, error) {
			what, err := in(cmd, args)
			return edit(what), err
		})(cmd, args)
	}
}

func (a *app) editDraft(in input[plan.EditDraft]) runner {
	edit := func(s *verbs.Service, ctx context.Context, c verbs.Caller, e plan.EditDraft) (verbs.DraftEditReply, error) {
		state, err := s.State(ctx)
		if err == nil {
			err = decidable(state)
		}
		if err != nil {
			return verbs.DraftEditReply{}, err
		}
		e.Digest = plan.Digest(state.Draft)
		return s.EditDraft(ctx, c, e)
	}
	answer := func(reply verbs.DraftEditReply) string { return reply.Message + "\nRead it: planloop show --draft" }
	return runAsPerson(a, "changing a draft", edit, in, answer)
}

func newStepMarkCommand(a *app) *cobra.Command {
	var note string
	var force bool
	action := func(cmd *cobra.Command, args []string) (plan.MarkStep, error) {
		id, err := plan.ParseStepID(args[0])
		if err != nil {
			return plan.MarkStep{}, err
		}
		action := plan.MarkStep{Step: id, Status: plan.ReadStatus(args[1]), Force: force}
		if action.Status == "" {
			return action, plan.Refuse(plan.InvalidInput, "/status", plan.Quote(args[1])+" is not a status",
				"use one of "+strings.Join(action.Status.Values(), ", "))
		}
		if cmd.Flags().Changed("note") {
			action.Note, err = plan.Text{Field: "/note", Max: plan.MaxLongText, Multiline: true}.Required(note)
		}
		return action, err
	}
	cmd := newCommand("step mark", "STEP STATUS", exactly(2, "a step and a status"), runVerb(a, (*verbs.Service).Mark, action))
	cmd.ValidArgsFunction = a.completeMark
	cmd.Flags().StringVar(&note, "note", "", "an observation, as `TEXT`")
	cmd.Flags().BoolVar(&force, "force", false, "take over another actor's claim, accept without verification (people only)")
	return cmd
}

func newStepClaimCommand(a *app) *cobra.Command {
	var force bool
	cmd := onStep(a, "step claim", "STEP", func(id plan.StepID) runner {
		return runVerb(a, (*verbs.Service).ClaimStep, constant(plan.ClaimStep{Step: id, Force: force}))
	})
	cmd.Flags().BoolVar(&force, "force", false, "take it even from an owner at work (people only)")
	return cmd
}

func newStepNextCommand(a *app) *cobra.Command {
	return newCommand("step next", "", noArguments, runVerb(a, (*verbs.Service).NextStep,
		func(*cobra.Command, []string) (verbs.NextStep, error) {
			return verbs.NextStep{Agent: a.flags.agent}, nil
		}))
}

func newStepSkipCommand(a *app) *cobra.Command {
	var reason string
	cmd := onStep(a, "step skip", "STEP --reason TEXT", func(id plan.StepID) runner {
		return runVerb(a, (*verbs.Service).AnswerStep, constant(verbs.StepAnswer{Step: id, Choice: plan.Skip, Text: reason}))
	})
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, as `TEXT`")
	return cmd
}

func newStepRetryCommand(a *app) *cobra.Command {
	var args, reason string
	dependents := false
	cmd := onStep(a, "step retry", "STEP", func(id plan.StepID) runner {
		return runVerb(a, (*verbs.Service).AnswerStep, func(*cobra.Command, []string) (verbs.StepAnswer, error) {
			given, err := argumentsOf(args)
			return verbs.StepAnswer{Step: id, Choice: plan.Retry, Text: reason, Args: given, WithDependents: dependents}, err
		})
	})
	cmd.Flags().BoolVar(&dependents, "with-dependents", false, "also do again the ended steps that depend on it")
	cmd.Flags().StringVar(&args, "args", "", "other arguments, as `JSON`")
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, as `TEXT`")
	return cmd
}

func newStepSettleCommand(a *app) *cobra.Command {
	var choice, args, reason, file string
	cmd := onStep(a, "step settle", "STEP --choice CHOICE", func(id plan.StepID) runner {
		return runVerb(a, (*verbs.Service).AnswerStep, func(cmd *cobra.Command, _ []string) (verbs.StepAnswer, error) {
			answer := verbs.StepAnswer{Step: id, Choice: plan.Choice(choice), Text: reason}
			if !slices.Contains(verbs.Recovery("").Values(), choice) {
				return answer, missing(cmd, "--choice with one of "+strings.Join(verbs.Recovery("").Values(), ", "))
			}
			var err error
			if answer.Args, err = argumentsOf(args); err != nil || file == "" {
				return answer, err
			}
			inserted, err := readObject[insertedSteps](cmd.Context(), a, file)
			answer.Steps = inserted.Steps
			return answer, err
		})
	})
	flags := cmd.Flags()
	flags.StringVar(&choice, "choice", "", "the outcome, as `CHOICE`")
	complete(cmd, "choice", words(verbs.Recovery("")))
	flags.StringVar(&args, "args", "", "with retry: other arguments, as `JSON`")
	flags.StringVar(&reason, "reason", "", "the reason, as `TEXT`")
	flags.StringVarP(&file, "file", "f", "", "with insert: read the steps from `FILE`, or from standard input with -")
	return cmd
}

// insertedSteps is the content of the file for step settle.
type insertedSteps struct {
	Steps []verbs.NewTask `json:"steps"`
}

// Wraps names the list that may be given without its object.
func (insertedSteps) Wraps() []string { return []string{"steps"} }

// argumentsOf parses arguments given as text; nil if empty.
func argumentsOf(text string) (json.RawMessage, error) {
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	var object struct {
		Args json.RawMessage `json:"args"`
	}
	if err := verbs.Decode([]byte(`{"args":`+text+`}`), &object); err != nil || !strings.HasPrefix(strings.TrimSpace(text), "{") {
		return nil, plan.Refuse(plan.InvalidInput, "/args", plan.Quote(plan.Shorten(text, 60))+" is not a JSON object",
			`give an object such as '{"path":"notes.md"}'`)
	}
	return object.Args, nil
}

type placeFlags struct {
	behind string
	first  bool
}

func (p *placeFlags) register(a *app, cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.behind, "after", "", "put it after this `STEP`")
	cmd.Flags().BoolVar(&p.first, "first", false, "put it at the front")
	cmd.MarkFlagsMutuallyExclusive("after", "first")
	complete(cmd, "after", a.completeSteps)
}

// after returns the step to insert after, 0 for the first position, nil if no flag is given.
func (p *placeFlags) after() (*plan.StepID, error) {
	if p.first {
		return new(plan.StepID(0)), nil
	}
	if p.behind == "" {
		return nil, nil
	}
	id, err := plan.ParseStepID(p.behind)
	return &id, err
}

func addDraftFlag(cmd *cobra.Command, isDraft *bool) {
	cmd.Flags().BoolVar(isDraft, "draft", false, "change the waiting plan (people only)")
}

// stepFlags are the flags for a step's fields other than its title: one for each field of the table that has a flag.
type stepFlags struct {
	step      plan.Step // values of the fields that need no parsing
	dependsOn []string
	timeout   time.Duration
	texts     []textFlag
}

type textFlag struct {
	field plan.Field[plan.Step]
	text  *string
}

func (f *stepFlags) register(a *app, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false // keep them grouped by topic
	for _, field := range plan.SpecFields() {
		if field.Flag == "" {
			continue
		}
		switch v := field.Pointer(&f.step).(type) {
		case *string:
			flags.StringVar(v, field.Flag, "", field.Help)
		case *[]string:
			flags.Var((*texts)(v), field.Flag, field.Help)
		case *bool:
			flags.BoolVar(v, field.Flag, false, field.Help)
		case *int:
			flags.DurationVar(&f.timeout, field.Flag, 0, field.Help)
		case *[]plan.StepID:
			flags.StringSliceVar(&f.dependsOn, field.Flag, nil, field.Help)
			complete(cmd, field.Flag, a.completeSteps)
		default:
			f.texts = append(f.texts, textFlag{field, flags.String(field.Flag, "", field.Help)})
			if field.Kind == plan.WordField {
				complete(cmd, field.Flag, words(field))
			}
		}
	}
}

// spec returns a step with the given title and the flags' values, not cleaned.
func (f *stepFlags) spec(title string) (plan.Spec, error) {
	step := f.step
	step.Title = title
	for _, field := range plan.SpecFields() {
		if list, ok := field.Pointer(&step).(*[]string); ok {
			*list = notBlank(*list)
		}
	}
	for i, text := range notBlank(f.dependsOn) {
		id, err := plan.ParseStepID(text)
		if err != nil {
			return plan.Spec{}, fmt.Errorf("depends_on/%d: %w", i, err)
		}
		step.DependsOn = append(step.DependsOn, id)
	}
	if f.timeout%time.Second != 0 {
		return plan.Spec{}, usageError{fmt.Errorf("--timeout %s is not a whole number of seconds; give a time such as 90s", f.timeout)}
	}
	step.Timeout = int(f.timeout / time.Second)
	for _, t := range f.texts {
		if *t.text != "" && !t.field.Set(&step, *t.text) {
			return plan.Spec{}, plan.Refuse(plan.InvalidInput, "/"+t.field.Name, plan.Quote(*t.text)+" is not known",
				"use one of "+strings.Join(t.field.Values(), ", "))
		}
	}
	return step.Spec, nil
}

// patch returns the fields whose flags were given, cleaned. An empty value clears a field.
func (f *stepFlags) patch(cmd *cobra.Command) (plan.Patch, error) {
	spec, err := f.spec(f.step.Title)
	if err != nil {
		return plan.Patch{}, err
	}
	given := slices.DeleteFunc(slices.Clone(plan.SpecFields()), func(field plan.Field[plan.Step]) bool {
		return !cmd.Flags().Changed(cmp.Or(field.Flag, field.Name))
	})
	return plan.CleanPatch("", plan.NewPatch(spec, given))
}

func notBlank(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.TrimSpace(text) == "" })
}
