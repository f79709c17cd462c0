package cli

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/plan"
)

// placeFlags are the flags for a step's position.
type placeFlags struct {
	behind string
	first  bool
}

func (p *placeFlags) register(a *app, cmd *cobra.Command) {
	cmd.Flags().StringVar(&p.behind, "after", "", "the `STEP` to put it behind")
	cmd.Flags().BoolVar(&p.first, "first", false, "put it before all others")
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

// draftFlag selects the draft's steps instead of the current plan's.
type draftFlag struct{ set bool }

func (f *draftFlag) register(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&f.set, "draft", false, "of the plan that waits for a decision (people only)")
}

// stepFlags are the flags for a step's fields other than its title: one for each field of the table that has a flag.
type stepFlags struct {
	step      plan.Step // values of the fields that need no parsing
	dependsOn []string
	timeout   time.Duration
	texts     []textFlag
}

// textFlag is a flag with a text in the syntax of its field.
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
