package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newAnswerCommand(a *app) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use:   "answer [TEXT...]",
		Short: "Answer a question that an agent asked",
		Long: `Answers a question; the agent gets the answer with its next status. Without a text
it lists the open questions. Answering needs a terminal.`,
		Example: `  planloop answer
  planloop answer "the EU region"
  planloop answer --id Q2 "no"`,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			service, err := a.service(cmd.Context())
			if err != nil {
				return err
			}
			if len(args) == 0 {
				state, err := service.State(cmd.Context())
				if err != nil {
					return err
				}
				return a.reply(questionsReply{orEmpty(state.OpenQuestions())})
			}
			if err := a.personPresent("answering a question"); err != nil {
				return err
			}
			reply, err := service.Answer(cmd.Context(), a.caller(), id, strings.Join(args, " "))
			if err != nil {
				return err
			}
			return a.tell(reply, "Question "+reply.QuestionID+" is answered; the agent gets it with its next status.")
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "the `ID` of the question, when several are open")
	complete(cmd, "id", a.completeQuestions)
	return cmd
}

// questionsReply lists the open questions.
type questionsReply struct {
	Questions []plan.Question `json:"questions"`
}

// Text is a line for each question.
func (r questionsReply) Text() string {
	if len(r.Questions) == 0 {
		return "No question is open."
	}
	var lines []string
	for _, q := range r.Questions {
		lines = append(lines, fmt.Sprintf("%s (%s): %s", q.ID, q.By, q.Text))
	}
	return strings.Join(append(lines, "Answer: planloop answer --id "+r.Questions[0].ID+" TEXT"), "\n")
}

func newCommentCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "comment TEXT...",
		Short: "Tell the agent something with its next status",
		Long: `Keeps a comment, which agents get with their next status. It needs a terminal:
what agents find out belongs into notes.`,
		Example: `  planloop comment "mind that the staging database is shared"`,
		Args:    atLeastOne("the comment"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := a.personPresent("commenting"); err != nil {
				return err
			}
			service, err := a.service(cmd.Context())
			if err != nil {
				return err
			}
			var reply verbs.ModeReply
			if reply, err = service.Comment(cmd.Context(), a.caller(), strings.Join(args, " ")); err != nil {
				return err
			}
			return a.tell(reply, "Agents get your comment with their next status.")
		},
	}
}
