package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

type commentOptions struct {
	step, met, reopen string
	question          bool
}

func newCommentCommand(a *app) *cobra.Command {
	var o commentOptions
	answer := func(reply verbs.CommentReply) string { return reply.ID + ": " + reply.Message }
	cmd := newCommand("comment", "[TEXT...]", cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
		switch id := cmp.Or(o.met, o.reopen); {
		case id != "" && len(args) > 0:
			return usageError{fmt.Errorf("--met and --reopen take no text; leave it out, or write another comment")}
		case id != "":
			meet := func(s *verbs.Service, ctx context.Context, c verbs.Caller, id string) (verbs.CommentReply, error) {
				return s.ResolveComment(ctx, c, id, o.met != "")
			}
			return runAsPerson(a, "resolving a comment", meet, constant(id), answer)(cmd, args)
		case len(args) == 0 && (o.step != "" || o.question):
			return missing(cmd, "the comment")
		case len(args) == 0:
			return a.listComments(cmd.Context())
		}
		return runAsPerson(a, "commenting", (*verbs.Service).Comment, o.comment, answer)(cmd, args)
	})
	flags := cmd.Flags()
	flags.StringVar(&o.step, "step", "", "comment on the step `ID` of the waiting plan, or else of the current plan")
	flags.BoolVar(&o.question, "question", false, "ask the agent a question")
	flags.StringVar(&o.met, "met", "", "mark the comment `ID` as resolved")
	flags.StringVar(&o.reopen, "reopen", "", "reopen the comment `ID`")
	cmd.MarkFlagsMutuallyExclusive("met", "reopen")
	complete(cmd, "step", a.completeSteps)
	return cmd
}

func (o commentOptions) comment(_ *cobra.Command, args []string) (in plan.AddComment, err error) {
	in = plan.AddComment{Text: strings.Join(args, " "), IsQuestion: o.question}
	if o.step != "" {
		in.Step, err = plan.ParseStepID(o.step)
	}
	return in, err
}

func newReplyCommand(a *app) *cobra.Command {
	reply := func(_ *cobra.Command, args []string) (plan.ReplyToComment, error) {
		if len(args) < 2 {
			return plan.ReplyToComment{}, usageError{fmt.Errorf("give the id of the comment and the reply, such as planloop reply C1 TEXT")}
		}
		return plan.ReplyToComment{Comment: args[0], Text: strings.Join(args[1:], " ")}, nil
	}
	return newCommand("reply", "ID TEXT...", cobra.ArbitraryArgs, runVerb(a, (*verbs.Service).ReplyToComment, reply))
}

// remarksOn returns the comments on a plan, nil if a former version of it cannot be read.
func (o *openWorkspace) remarksOn(ctx context.Context, state plan.State, shown *plan.Plan) []verbs.PlacedComment {
	if shown == nil {
		return nil
	}
	remarks, _ := o.verbs.PlacedComments(ctx, state, shown)
	return remarks
}

func (a *app) listComments(ctx context.Context) error {
	ws, state, err := a.state(ctx)
	if err != nil {
		return err
	}
	remarks, err := ws.verbs.OpenComments(ctx, state)
	return a.replyOf(commentsReply{orEmpty(remarks)}, err)
}

type commentsReply struct {
	Comments []verbs.PlacedComment `json:"comments"`
}

func (r commentsReply) Text() string {
	if len(r.Comments) == 0 {
		return "There are no open comments."
	}
	var lines []string
	for _, c := range r.Comments {
		for _, line := range c.Lines(false) {
			lines = append(lines, safetext.AfterLabel(line))
		}
	}
	return strings.Join(append(lines, "Resolve one: planloop comment --met ID"), "\n")
}
