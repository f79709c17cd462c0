package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

type startFlags struct {
	verbs.Start
	file, template string
	steps, set     []string
}

func newStartCommand(a *app) *cobra.Command {
	var f startFlags
	cmd := newCommand("start", "[GOAL]", func(cmd *cobra.Command, args []string) error {
		if stepSource(cmd) == "" {
			a.flags.json = a.flags.json || !a.isReadByPerson() // a command of the contract: its refusals are JSON as well
		}
		return f.check(cmd, args)
	}, func(cmd *cobra.Command, args []string) error {
		switch stepSource(cmd) {
		case "template":
			return runVerb(a, (*verbs.Service).ApplyTemplate, f.fromTemplate)(cmd, args)
		case "file":
			return runVerb(a, (*verbs.Service).SetUp, a.fromFile(f.file))(cmd, args)
		case "step":
			return runVerb(a, (*verbs.Service).SetUp, f.fromTitles)(cmd, args)
		}
		return runVerb(a, a.start, constant(f.Start))(cmd, args)
	})
	flags := cmd.Flags()
	flags.StringVarP(&f.Goal, "goal", "g", "", "the goal, as `TEXT`; the same as GOAL")
	flags.Var((*texts)(&f.steps), "step", "`TITLE` of a first step; may be repeated")
	flags.StringVar(&f.file, "file", "", "read the plan as JSON from `FILE`, or - for standard input")
	flags.StringVar(&f.template, "template", "", "make the plan from the template `NAME`")
	flags.Var((*texts)(&f.set), "set", "set a parameter of the template, as `NAME=VALUE`; may be repeated")
	flags.BoolVar(&f.Decompose, "decompose", false, "let the configured model draft the tasks")
	flags.Var((*texts)(&f.Code), "code", "an example `FILE`; may be repeated, like the next two")
	flags.Var((*texts)(&f.Memories), "memory", "a lesson from earlier work, as `TEXT`")
	flags.Var((*texts)(&f.Constraints), "constraint", "a constraint for the plan, as `TEXT`")
	complete(cmd, "template", a.completeTemplates)
	complete(cmd, "set", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return a.completeParameters(cmd, []string{f.template}, typed)
	})
	return cmd
}

// stepSource returns the flag that gives the first steps, "" if planloop asks the agent for them.
func stepSource(cmd *cobra.Command) string {
	for _, name := range []string{"template", "file", "step"} {
		if cmd.Flags().Changed(name) {
			return name
		}
	}
	return ""
}

func (f *startFlags) check(cmd *cobra.Command, args []string) (err error) {
	source, goal := stepSource(cmd), cmd.Flags().Changed("goal")
	with := map[string][]string{"template": {"template", "set"}, "file": {"file"}, "step": {"step", "goal", "memory", "constraint"},
		"": {"goal", "decompose", "code", "memory", "constraint"}}[source]
	wantsGoal := slices.Contains(with, "goal")
	cmd.LocalNonPersistentFlags().VisitAll(func(flag *pflag.Flag) {
		if flag.Changed && flag.Name != "yes" && !slices.Contains(with, flag.Name) {
			err = usageError{fmt.Errorf("--%s cannot be used with --%s; leave one of them out", flag.Name, source)}
		}
	})
	switch {
	case source == "" && err != nil:
		return usageError{errors.New("--set needs a template; name it with --template NAME")}
	case err != nil:
		return err
	case len(args) > 0 && !wantsGoal:
		return usageError{fmt.Errorf("the goal and the steps come from --%s; leave out %s", source, plan.Quote(args[0]))}
	case len(args) > 0 && goal:
		return usageError{errors.New("the goal is given twice; leave out --goal")}
	case len(args) > 0:
		f.Goal = strings.Join(args, " ")
	case wantsGoal && !goal:
		return missing(cmd, `a goal, such as "Limit login attempts"`)
	}
	return nil
}

// start calls the verb and prints a model's progress on the draft.
func (a *app) start(s *verbs.Service, ctx context.Context, c verbs.Caller, in verbs.Start) (verbs.StartReply, error) {
	c.Progress = func(done, all int, what string) {
		fmt.Fprintf(a.err, "planloop: %s (%d of %d)\n", safetext.EscapeLine(what), done, all)
	}
	return s.Start(ctx, c, in)
}

func (f *startFlags) fromTemplate(cmd *cobra.Command, _ []string) (verbs.ApplyTemplate, error) {
	if f.template == "" {
		return verbs.ApplyTemplate{}, missing(cmd, "the name of a template after --template")
	}
	parameters, err := settings(f.set)
	return verbs.ApplyTemplate{Template: f.template, Parameters: parameters}, err
}

func (f *startFlags) fromTitles(*cobra.Command, []string) (plan.SetUp, error) {
	action := plan.SetUp{Outline: plan.Outline{Objective: f.Goal,
		Metadata: plan.Metadata{Constraints: f.Constraints, InformedBy: f.Memories}}}
	for _, title := range f.steps {
		action.Steps = append(action.Steps, plan.NewStep{Spec: plan.Spec{Title: title}})
	}
	return action, nil
}

// planFile is the content of --file: the input of planning_setup_plan, plus all other fields of a plan and its steps.
type planFile struct {
	plan.Outline
	InitialSteps []plan.Spec `json:"initial_steps,omitempty"`
}

func (a *app) fromFile(file string) input[plan.SetUp] {
	return func(cmd *cobra.Command, _ []string) (plan.SetUp, error) {
		in, err := readObject[planFile](cmd.Context(), a, file)
		action := plan.SetUp{Outline: in.Outline}
		for _, spec := range in.InitialSteps {
			action.Steps = append(action.Steps, plan.NewStep{Spec: spec})
		}
		p := a.peek(cmd.Context()).Plan
		if err == nil && len(action.Steps) == 0 && p != nil && p.Status == plan.StatusActive {
			err = plan.Refuse(plan.InvalidInput, "/initial_steps", "is empty, and the file would replace the plan "+
				plan.Quote(p.Objective)+" by an empty one", "give its steps, or begin with planloop start GOAL")
		}
		return action, err
	}
}
