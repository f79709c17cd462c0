package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newStepSkipCommand(a *app) *cobra.Command {
	var reason string
	cmd := newCommand("step skip", "STEP --reason TEXT", exactly(1, "a step"), calls(a, (*verbs.Service).AnswerStep,
		func(_ *cobra.Command, args []string) (verbs.StepAnswer, error) {
			return answerTo(args[0], plan.Skip, "", reason)
		}))
	cmd.ValidArgsFunction = firstArgument(a.completeSteps)
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that says why it is not needed")
	return cmd
}

func newStepRetryCommand(a *app) *cobra.Command {
	var args, reason string
	cmd := newCommand("step retry", "STEP", exactly(1, "a step"), calls(a, (*verbs.Service).AnswerStep,
		func(_ *cobra.Command, steps []string) (verbs.StepAnswer, error) {
			return answerTo(steps[0], plan.Retry, args, reason)
		}))
	cmd.ValidArgsFunction = firstArgument(a.completeSteps)
	cmd.Flags().StringVar(&args, "args", "", "other arguments, as `JSON`")
	cmd.Flags().StringVar(&reason, "reason", "", "`TEXT` that says what is different now")
	return cmd
}

func newStepSettleCommand(a *app) *cobra.Command {
	var choice, args, reason, file string
	cmd := newCommand("step settle", "STEP --choice CHOICE", exactly(1, "a step"), calls(a, (*verbs.Service).AnswerStep,
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
	flags.StringVar(&choice, "choice", "", "what becomes of it: `CHOICE`")
	complete(cmd, "choice", words(verbs.Recovery("")))
	flags.StringVar(&args, "args", "", "with retry: other arguments, as `JSON`")
	flags.StringVar(&reason, "reason", "", "`TEXT` that says why")
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
		return nil, plan.Refuse(plan.InvalidInput, "/args", plan.Quote(plan.Shorten(text, 60))+" is no JSON object",
			`give the arguments as one, such as '{"path":"notes.md"}'`)
	}
	return object.Args, nil
}

// answerable lists the steps that a text can answer: those with a question of their own, and blocked ones.
func answerable(state plan.State) []*plan.Step {
	steps := asking(state, plan.AskPause)
	if state.Plan == nil {
		return nil
	}
	for step := range state.Plan.Steps.All() {
		if step.NeedsUnblocking() {
			steps = append(steps, step)
		}
	}
	return steps
}

// asking lists the steps with a question of one kind.
func asking(state plan.State, kind plan.AskKind) []*plan.Step {
	var steps []*plan.Step
	if state.Plan == nil {
		return nil
	}
	for step := range state.Plan.Steps.WithQuestion() {
		if step.OpenQuestion().Kind == kind {
			steps = append(steps, step)
		}
	}
	return steps
}

// stepMeant returns the step that approve applies to, 0 for the waiting plan: the named step, or without a waiting plan the only one that
// asks.
func stepMeant(state plan.State, named []string, needed bool) (plan.StepID, error) {
	if len(named) > 0 {
		return plan.ParseStepID(named[0])
	}
	ask := asking(state, plan.AskApproval)
	switch {
	case !needed && (state.Draft != nil || len(ask) == 0):
		return 0, nil
	case len(ask) == 1:
		return ask[0].ID, nil
	case len(ask) == 0:
		return 0, plan.Refuse(plan.Conflict, "", "no step asks for approval", "leave out --args, or name a step")
	}
	ids := make([]plan.StepID, len(ask))
	for i, step := range ask {
		ids[i] = step.ID
	}
	return 0, plan.Refuse(plan.Conflict, "", plan.IDs(ids)+" ask for approval", "name one: planloop approve "+ids[0].String())
}

// stepNamed returns the step named by the first word, with the remaining words: a step that asks, or any step if no plan and no question
// waits. Without a name it returns the only step that asks if nothing else waits, and otherwise 0.
func stepNamed(state plan.State, args []string, ask []*plan.Step) (plan.StepID, []string) {
	alone := state.Draft == nil && len(state.OpenQuestions()) == 0
	if len(args) > 0 {
		id, err := plan.ParseStepID(args[0])
		asks := slices.ContainsFunc(ask, func(step *plan.Step) bool { return step.ID == id })
		if err == nil && (asks || alone && strings.EqualFold(args[0], id.String())) {
			return id, args[1:]
		}
	}
	if alone && len(ask) == 1 {
		return ask[0].ID, args
	}
	return 0, args
}

// completeAsking offers the steps that ask for approval.
func (a *app) completeAsking(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return described(asking(a.peek(cmd.Context()), plan.AskApproval), func(s *plan.Step) (string, string) { return s.ID.String(), s.Title })
}

// approveStep shows a step with its call on the terminal and takes the decision there. If its question changes in the meantime, it is shown
// again.
func (a *app) approveStep(ctx context.Context, id plan.StepID, args, comment string) error {
	if err := a.personPresent("approving a step"); err != nil {
		return err
	}
	edited, err := argumentsOf(args)
	if err != nil {
		return err
	}
	opened, state, err := a.state(ctx)
	if err != nil {
		return err
	}
	tty, err := terminal.OpenTTY()
	if err != nil {
		return plan.Refuse(plan.Conflict, "", "approving a step needs a terminal", "run it in a terminal of your own")
	}
	defer tty.Close()
	opened.others.refreshFor(ctx, state.Plan)
	for {
		answer := verbs.StepAnswer{Step: id, Choice: plan.Approve, Args: edited, Text: comment}
		step := toApprove(state, id)
		if step == nil { // the refusal says what can be done
			_, err := opened.verbs.AnswerStep(ctx, a.caller(), answer)
			return err
		}
		text, digest := opened.verbs.ReviewStep(state, step, edited)
		answer.Digest = digest
		if answer, err = a.askAboutStep(ctx, tty, text, answer); err != nil {
			return err
		}
		reply, refused := opened.verbs.AnswerStep(ctx, a.caller(), answer)
		if refused == nil {
			return a.tell(reply, reply.Text())
		}
		if state, err = opened.verbs.State(ctx); err != nil {
			return err
		}
		if step := toApprove(state, id); step == nil || step.OpenQuestion() == nil || step.OpenQuestion().Digest == digest {
			return refused
		}
		if _, err := fmt.Fprintf(tty, "\n%s asks something else now:\n\n", id); err != nil {
			return fmt.Errorf("write to the terminal: %w", err)
		}
	}
}

// askAboutStep takes the user's decision on a step that asks.
func (a *app) askAboutStep(ctx context.Context, tty io.ReadWriter, shown string, answer verbs.StepAnswer) (verbs.StepAnswer, error) {
	id := answer.Step.String()
	left := plan.Refuse(plan.InvalidInput, "", "nothing was decided, and "+id+" still waits", "approve it with planloop approve "+id+
		", or have it skipped with planloop reject "+id)
	word, words, err := a.decideOn(ctx, tty, subject{name: id, shown: a.thereOn().Draft(shown), amount: "it", digest: answer.Digest,
		how:  "To run it with other arguments, type edit and them as JSON; to have it skipped, type reject and why.",
		edit: `Give the arguments on the same line: edit {"name":"value"}.`, left: left})
	switch {
	case err != nil:
		return answer, err
	case word == "edit":
		answer.Args, err = argumentsOf(words)
	case word == "reject":
		answer.Choice, answer.Args, answer.Text = plan.Deny, nil, words
	}
	return answer, err
}

// toApprove returns the step if it waits for approval, else nil.
func toApprove(state plan.State, id plan.StepID) *plan.Step {
	if state.Plan == nil {
		return nil
	}
	if step, ok := state.Plan.Steps.Get(id); ok && step.NeedsApproval() {
		return step
	}
	return nil
}
