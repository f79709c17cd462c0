package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newAnswerCommand(a *app) *cobra.Command {
	var id string
	answer := func(s *verbs.Service, ctx context.Context, c verbs.Caller, text string) (verbs.AskUserReply, error) {
		return s.Answer(ctx, c, id, text)
	}
	answered := func(reply verbs.AskUserReply) string {
		return "Question " + reply.QuestionID + " is answered; the agent sees it on its next status check."
	}
	cmd := newCommand("answer", "[STEP] [TEXT...]", cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
		_, state, err := a.state(cmd.Context())
		switch {
		case err != nil:
			return err
		case len(args) == 0:
			return a.reply(questionsReply{orEmpty(state.OpenQuestions()), pauses(state)})
		}
		if step, text := stepNamed(state, args, answerable(state)); step != 0 && id == "" {
			said := constant(verbs.StepAnswer{Step: step, Choice: plan.Reply, Text: strings.Join(text, " ")})
			return runAsPerson(a, "answering a step", (*verbs.Service).AnswerStep, said, verbs.StepAnswerReply.Text)(cmd, args)
		}
		return runAsPerson(a, "answering a question", answer, joinedText, answered)(cmd, args)
	})
	cmd.Flags().StringVar(&id, "id", "", "the `ID` of the question, when several are open")
	complete(cmd, "id", a.completeQuestions)
	return cmd
}

type questionsReply struct {
	Questions []plan.Question `json:"questions"`
	Steps     []stepQuestion  `json:"steps,omitempty"`
}

type stepQuestion struct {
	StepID string `json:"step_id"`
	Text   string `json:"text"`
}

func pauses(state plan.State) []stepQuestion {
	var open []stepQuestion
	for _, step := range answerable(state) {
		text := "is blocked: " + verbs.WhyBlocked(step)
		if ask := step.OpenQuestion(); ask != nil {
			text = ask.Text
		}
		open = append(open, stepQuestion{step.ID.String(), text})
	}
	return open
}

func (r questionsReply) Text() string {
	if len(r.Questions)+len(r.Steps) == 0 {
		return "There are no open questions."
	}
	var lines, ways []string
	for _, q := range r.Questions {
		lines = append(lines, fmt.Sprintf("%s (%s): %s", q.ID, q.By, safetext.AfterLabel(q.Text)))
	}
	for _, q := range r.Steps {
		lines = append(lines, q.StepID+": "+safetext.AfterLabel(q.Text))
	}
	if len(r.Questions) > 0 {
		ways = append(ways, "Answer: planloop answer --id "+r.Questions[0].ID+" TEXT")
	}
	if len(r.Steps) > 0 {
		ways = append(ways, "Answer a step: planloop answer "+r.Steps[0].StepID+" TEXT")
	}
	return strings.Join(append(lines, ways...), "\n")
}

// answerable lists the steps that a text can answer: those with a question of their own, and blocked ones.
func answerable(state plan.State) []*plan.Step {
	return append(asking(state, plan.AskPause), stepsWhere(state, (*plan.Step).NeedsUnblocking)...)
}

func asking(state plan.State, kind plan.AskKind) []*plan.Step {
	return stepsWhere(state, func(step *plan.Step) bool {
		question := step.OpenQuestion()
		return question != nil && question.Kind == kind
	})
}

func stepsWhere(state plan.State, matches func(*plan.Step) bool) []*plan.Step {
	var steps []*plan.Step
	if state.Plan != nil {
		for step := range state.Plan.Steps.All() {
			if matches(step) {
				steps = append(steps, step)
			}
		}
	}
	return steps
}

// stepNamed returns the step named by the first word, with the remaining words: a step that asks, or any step if no plan and no question
// waits. Without a name it returns the only step that asks if nothing else waits, and otherwise 0.
func stepNamed(state plan.State, args []string, ask []*plan.Step) (plan.StepID, []string) {
	single := state.Draft == nil && len(state.OpenQuestions()) == 0
	if len(args) > 0 {
		id, err := plan.ParseStepID(args[0])
		asks := slices.ContainsFunc(ask, func(step *plan.Step) bool { return step.ID == id })
		if err == nil && (asks || single && strings.EqualFold(args[0], id.String())) {
			return id, args[1:]
		}
	}
	if single && len(ask) == 1 {
		return ask[0].ID, args
	}
	return 0, args
}

func (a *app) completeAsking(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return described(asking(a.peek(cmd.Context()), plan.AskApproval), func(s *plan.Step) (string, string) { return s.ID.String(), s.Title })
}
