package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// setupInput is a plan as --file gives it: the input of planning_setup_plan, and
// every other field of a plan and its steps.
type setupInput struct {
	plan.Outline
	InitialSteps []plan.Spec `json:"initial_steps,omitempty"`
}

func newSetupCommand(a *app) *cobra.Command {
	var steps []string
	var file string
	action := func(cmd *cobra.Command, args []string) (plan.SetUp, error) {
		switch {
		case file == "" && len(args) == 0:
			return plan.SetUp{}, missing(cmd, "an objective")
		case file != "" && (len(args) > 0 || len(steps) > 0):
			return plan.SetUp{}, usageError{fmt.Errorf("the objective and the steps come from --file %s; leave out the others",
				plan.Quote(file))}
		case file != "":
			in, err := readObject[setupInput](cmd.Context(), a, file)
			return in.action(), err
		}
		in := setupInput{Outline: plan.Outline{Objective: strings.Join(args, " ")}}
		for _, title := range steps {
			in.InitialSteps = append(in.InitialSteps, plan.Spec{Title: title})
		}
		return in.action(), nil
	}
	cmd := newCommand("setup", "OBJECTIVE", nil, calls(a, (*verbs.Service).SetUp, action))
	cmd.Flags().Var((*texts)(&steps), "step", "`TITLE` of a first step; may be repeated")
	cmd.Flags().StringVar(&file, "file", "", "read the plan as JSON from `FILE`, or - for standard input")
	return cmd
}

// action is what the input asks for: Unicode and longer texts than the tools for agents
// take.
func (in setupInput) action() plan.SetUp {
	action := plan.SetUp{Outline: in.Outline}
	for _, spec := range in.InitialSteps {
		action.Steps = append(action.Steps, plan.NewStep{Spec: spec})
	}
	return action
}

func newClearCommand(a *app) *cobra.Command {
	return newCommand("clear", "", noArguments, calls(a, (*verbs.Service).ClearPlan, given(verbs.ClearPlan{})))
}

// newObjectCommand is a command that takes one JSON object of the contract, hands it to
// a verb, and answers in JSON.
func newObjectCommand[In any, Out verbs.Reply](a *app, name string, do verb[In, Out]) *cobra.Command {
	var inline, file string
	cmd := newCommand(name, "", a.inJSON, calls(a, do, func(cmd *cobra.Command, _ []string) (in In, err error) {
		inlined, fromFile := cmd.Flags().Changed("json"), cmd.Flags().Changed("file")
		switch {
		case inlined && fromFile:
			return in, usageError{errors.New("--json and --file exclude each other; give one of them")}
		case inlined:
			return in, verbs.Decode([]byte(inline), &in)
		case fromFile:
			return readObject[In](cmd.Context(), a, file)
		case a.inTerminal:
			return in, missing(cmd, "an object: --json, --file or standard input")
		}
		return readObject[In](cmd.Context(), a, "-")
	}))
	cmd.Flags().StringVar(&inline, "json", "", "the `OBJECT`")
	cmd.Flags().StringVarP(&file, "file", "f", "", "read the object from `FILE`, or from standard input with -")
	return cmd
}

// readObject reads a JSON object from a file, or from standard input for "-".
func readObject[T any](ctx context.Context, a *app, file string) (object T, err error) {
	data, err := a.readInput(ctx, file)
	if err != nil {
		return object, err
	}
	err = verbs.Decode(data, &object)
	return object, err
}
