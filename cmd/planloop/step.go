package main

import (
	"cmp"
	"context"
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
		newStepAddCommand(a), newStepEditCommand(a), newStepMarkCommand(a), newStepClaimCommand(a))
}

func newStepAddCommand(a *app) *cobra.Command {
	var fields stepFlags
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
	cmd := newCommand("step add", "TITLE...", atLeastOne("the title of a step"), calls(a, (*verbs.Service).AddSteps, steps))
	fields.register(a, cmd)
	return cmd
}

func newStepEditCommand(a *app) *cobra.Command {
	var fields stepFlags
	cmd := newCommand("step edit", "STEP", exactly(1, "a step"), func(cmd *cobra.Command, args []string) error {
		id, err := plan.ParseStepID(args[0])
		if err != nil {
			return err
		}
		change, err := fields.patch(cmd)
		if err != nil {
			return err
		}
		if change.IsZero() {
			return missing(cmd, "something to change, such as --title or --details")
		}
		edit := func(s *verbs.Service, ctx context.Context, c verbs.Caller, change plan.Patch) (verbs.UpdateStepReply, error) {
			return s.EditStep(ctx, c, id, change)
		}
		return calls(a, edit, given(change))(cmd, args)
	})
	cmd.ValidArgsFunction = firstArgument(a.completeSteps)
	cmd.Flags().SortFlags = false
	cmd.Flags().StringVar(&fields.step.Title, "title", "", "the new `TITLE`")
	fields.register(a, cmd)
	return cmd
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
	cmd := newCommand("step mark", "STEP STATUS", exactly(2, "a step and a status"), calls(a, (*verbs.Service).Mark, action))
	cmd.ValidArgsFunction = a.completeMark
	cmd.Flags().StringVar(&note, "note", "", "`TEXT` about what was observed")
	cmd.Flags().BoolVar(&force, "force", false, "take over another actor's claim (people only)")
	return cmd
}

func newStepClaimCommand(a *app) *cobra.Command {
	var force bool
	action := func(_ *cobra.Command, args []string) (plan.ClaimStep, error) {
		id, err := plan.ParseStepID(args[0])
		return plan.ClaimStep{Step: id, Force: force}, err
	}
	cmd := newCommand("step claim", "STEP", exactly(1, "a step"), calls(a, (*verbs.Service).ClaimStep, action))
	cmd.ValidArgsFunction = firstArgument(a.completeSteps)
	cmd.Flags().BoolVar(&force, "force", false, "take it even from an owner who is still at work (people only)")
	return cmd
}

// stepFlags are the flags for what a step asks for, beside its title: one for each
// field of the table that has one.
type stepFlags struct {
	step      plan.Step // what the flags say of the fields that need no reading
	dependsOn []string
	timeout   time.Duration
	texts     []textFlag
}

// textFlag is a flag whose text is read by the rules of its field.
type textFlag struct {
	field plan.Field[plan.Step]
	text  *string
}

func (f *stepFlags) register(a *app, cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false // they stand by what they are about
	for _, field := range plan.SpecFields() {
		if field.Flag == "" {
			continue
		}
		switch v := field.In(&f.step).(type) {
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

// texts is a flag that may be given again. The library's own writes CSV to say that it is
// empty, and each of the twenty takes a buffer for that at every start.
type texts []string

func (t *texts) String() string        { return strings.Join(*t, ", ") }
func (t *texts) Set(text string) error { *t = append(*t, text); return nil }
func (t *texts) Type() string          { return "stringArray" }

// spec returns what the flags say for a step of that title. It is not cleaned.
func (f *stepFlags) spec(title string) (plan.Spec, error) {
	step := f.step
	step.Title = title
	for _, field := range plan.SpecFields() {
		if list, ok := field.In(&step).(*[]string); ok {
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

// patch returns the fields whose flags were given, cleaned. An empty value erases.
func (f *stepFlags) patch(cmd *cobra.Command) (plan.Patch, error) {
	spec, err := f.spec(f.step.Title)
	if err != nil {
		return plan.Patch{}, err
	}
	given := slices.DeleteFunc(slices.Clone(plan.SpecFields()), func(field plan.Field[plan.Step]) bool {
		return !cmd.Flags().Changed(cmp.Or(field.Flag, field.Name))
	})
	return plan.CleanPatch("", plan.PatchOf(spec, given))
}

func notBlank(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(text string) bool { return strings.TrimSpace(text) == "" })
}
