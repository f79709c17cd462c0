package cli

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newStepSkipCommand(a *app) *cobra.Command {
	var reason string
	cmd := newCommand("step skip", "STEP --reason TEXT", exactly(1, "a step"), runVerb(a, (*verbs.Service).AnswerStep,
		func(_ *cobra.Command, args []string) (verbs.StepAnswer, error) {
			return answerTo(args[0], plan.Skip, "", reason)
		}))
	cmd.ValidArgsFunction = firstArgument(a.completeSteps)
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, as `TEXT`")
	return cmd
}

func newStepRetryCommand(a *app) *cobra.Command {
	var args, reason string
	cmd := newCommand("step retry", "STEP", exactly(1, "a step"), runVerb(a, (*verbs.Service).AnswerStep,
		func(_ *cobra.Command, steps []string) (verbs.StepAnswer, error) {
			return answerTo(steps[0], plan.Retry, args, reason)
		}))
	cmd.ValidArgsFunction = firstArgument(a.completeSteps)
	cmd.Flags().StringVar(&args, "args", "", "other arguments, as `JSON`")
	cmd.Flags().StringVar(&reason, "reason", "", "the reason, as `TEXT`")
	return cmd
}

func newStepSettleCommand(a *app) *cobra.Command {
	var choice, args, reason, file string
	cmd := newCommand("step settle", "STEP --choice CHOICE", exactly(1, "a step"), runVerb(a, (*verbs.Service).AnswerStep,
		func(cmd *cobra.Command, steps []string) (verbs.StepAnswer, error) {
			if !slices.Contains(verbs.Recovery("").Values(), choice) {
				return verbs.StepAnswer{}, missing(cmd, "--choice with one of "+strings.Join(verbs.Recovery("").Values(), ", "))
			}
			answer, err := answerTo(steps[0], plan.Choice(choice), args, reason)
			if err != nil || file == "" {
				return answer, err
			}
			inserted, err := readObject[insertedSteps](cmd.Context(), a, file)
			answer.Steps = inserted.Steps
			return answer, err
		}))
	cmd.ValidArgsFunction = firstArgument(a.completeSteps)
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

// answerTo builds an answer from flags.
func answerTo(step string, choice plan.Choice, args, text string) (verbs.StepAnswer, error) {
	id, err := plan.ParseStepID(step)
	if err != nil {
		return verbs.StepAnswer{}, err
	}
	answer := verbs.StepAnswer{Step: id, Choice: choice, Text: text}
	answer.Args, err = argumentsOf(args)
	return answer, err
}

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
