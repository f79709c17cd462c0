package main

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/plan"
)

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

func (f *stepFlags) register(cmd *cobra.Command) {
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
		return plan.Spec{}, usageError{fmt.Errorf("--timeout %s is not a number of seconds; give one such as 90s", f.timeout)}
	}
	step.Timeout = int(f.timeout / time.Second)
	for _, t := range f.texts {
		if *t.text != "" && !t.field.Set(&step, *t.text) {
			return plan.Spec{}, &plan.ValidationError{Kind: plan.InvalidInput, Field: "/" + t.field.Name,
				Problem: plan.Quote(*t.text) + " is not known", Fix: "use one of " + strings.Join(t.field.Values(), ", ")}
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
