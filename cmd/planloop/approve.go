package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newApproveCommand(a *app) *cobra.Command {
	var comment string
	cmd := &cobra.Command{
		Use:   "approve",
		Short: "Look at the submitted plan, and approve it",
		Long: `Shows the whole plan that waits for a decision and asks you to type a short code.
It needs a terminal: no script and no agent approves. What was shown is what is
approved; a plan that changed meanwhile is shown again.`,
		Example: `  planloop approve
  planloop approve --comment "start with the tests"`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.approve(cmd.Context(), comment) },
	}
	cmd.Flags().StringVarP(&comment, "comment", "m", "", "`TEXT` for the agent")
	return cmd
}

func newRejectCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "reject [REASON...]",
		Short: "Reject the submitted plan, and end planning mode",
		Long: `Drops the plan that waits for a decision and ends planning mode; the plan that was
current before goes on. It needs a terminal.`,
		Example: `  planloop reject "we stay on Postgres"`,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.decideAtOnce(cmd, plan.Rejected, strings.Join(args, " "))
		},
	}
}

func newEditCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use:   "edit COMMENT...",
		Short: "Have the submitted plan revised by your comment",
		Long: `Returns the plan that waits for a decision to the agent, which revises it by your
comment and submits it again. It needs a terminal.`,
		Example: `  planloop edit "split step 2, and add a way back"`,
		Args:    atLeastOne("a comment: what is to be changed"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.decideAtOnce(cmd, plan.Returned, strings.Join(args, " "))
		},
	}
}

// approve shows the draft on the terminal and takes the decision there, whatever
// standard input and output are. A draft that changed meanwhile is shown again.
func (a *app) approve(ctx context.Context, comment string) error {
	if err := a.personPresent("approving a plan"); err != nil {
		return err
	}
	opened, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	state, former, err := opened.verbs.Draft(ctx)
	if err != nil {
		return err
	}
	if err := decidable(state); err != nil {
		return err
	}
	tty, err := terminal.OpenTTY()
	if err != nil {
		return &plan.ValidationError{Kind: plan.Conflict, Problem: "approving a plan needs a terminal",
			Fix: "run it in a terminal of your own"}
	}
	defer tty.Close()
	for {
		digest := plan.Digest(state.Draft)
		if err := a.askForCode(ctx, tty, verbs.ReviewText(state.Draft, former), digest); err != nil {
			return err
		}
		reply, refused := opened.verbs.Decide(ctx, a.caller(), verbs.Decision{Outcome: plan.Approved, Request: requestOf(state),
			Digest: digest, Comment: comment})
		if refused == nil {
			return a.tell(reply, approvedText(comment))
		}
		shown := state.Draft
		if state, err = opened.verbs.State(ctx); err != nil {
			return err
		}
		if decidable(state) != nil || plan.Digest(state.Draft) == digest {
			return refused
		}
		former = shown
		if _, err := io.WriteString(tty, "\nThe plan was changed while you looked at it. This is the new one:\n\n"); err != nil {
			return fmt.Errorf("write to the terminal: %w", err)
		}
	}
}

func approvedText(comment string) string {
	text := "Approved. Agents hear of it and go on by themselves; you need do nothing."
	if comment != "" {
		text = "Approved. Agents get your comment with it and go on by themselves; you need do nothing."
	}
	return text + "\nWatch them: planloop show --watch"
}

// decidable refuses where nothing waits for a decision.
func decidable(state plan.State) error {
	switch {
	case state.Draft == nil:
		return nothingWaits()
	case state.PhaseNow() == plan.PhaseGathering:
		return &plan.ValidationError{Kind: plan.Conflict, Problem: "the plan was returned to be edited and has not been submitted again",
			Fix: "wait for it, or look at what was returned: planloop show --draft"}
	}
	return nil
}

func nothingWaits() error {
	return &plan.ValidationError{Kind: plan.Conflict, Problem: "no plan waits for a decision", Fix: "see `planloop plan status`"}
}

func requestOf(state plan.State) string {
	if request := state.ModeNow().Request; request != nil {
		return request.ID
	}
	return ""
}

// askForCode shows a plan and has the user type a code that stands below it, so that
// nobody approves without having had it on the screen.
func (a *app) askForCode(ctx context.Context, tty io.ReadWriter, shown, digest string) error {
	n, err := rand.Int(rand.Reader, big.NewInt(9_000))
	if err != nil {
		return fmt.Errorf("make a code: %w", err)
	}
	code := fmt.Sprint(1_000 + n.Int64())
	there := a.world
	there.outIsTerm = true // it is shown there, wherever standard output goes
	s := there.screen()
	lines := append(s.Draft(shown), strings.Repeat("-", 40), fmt.Sprintf("This is plan %s. To approve it, type %s and Enter; Enter "+
		"alone leaves it as it is.", history.ShortDigest(digest), s.Bold(code)))
	if _, err := fmt.Fprint(tty, strings.Join(lines, "\n"), "\n> "); err != nil {
		return fmt.Errorf("write to the terminal: %w", err)
	}
	line, err := readLine(ctx, tty)
	if err != nil {
		return err
	}
	if !strings.HasSuffix(line, "\n") {
		_, _ = io.WriteString(tty, "\n") // Ctrl-D and Ctrl-C leave the line unfinished
	}
	if strings.TrimSpace(line) == code {
		return nil
	}
	return &plan.ValidationError{Kind: plan.InvalidInput, Problem: "nothing was decided, and the plan still waits",
		Fix: "approve it with planloop approve, have it revised with planloop edit COMMENT, or drop it with planloop reject"}
}

// decideAtOnce takes a decision that needs no look at the plan first.
func (a *app) decideAtOnce(cmd *cobra.Command, outcome plan.Outcome, comment string) error {
	if err := a.personPresent("deciding about a plan"); err != nil {
		return err
	}
	service, err := a.service(cmd.Context())
	if err != nil {
		return err
	}
	state, err := service.State(cmd.Context())
	if err != nil {
		return err
	}
	if state.Draft == nil {
		return nothingWaits()
	}
	if outcome == plan.Returned {
		if err := decidable(state); err != nil {
			return err
		}
	}
	reply, err := service.Decide(cmd.Context(), a.caller(), verbs.Decision{Outcome: outcome, Request: requestOf(state),
		Digest: plan.Digest(state.Draft), Comment: comment})
	if err != nil {
		return err
	}
	return a.tell(reply, decidedText(reply))
}

// decidedText says what becomes of a plan that was not approved.
func decidedText(reply verbs.DecisionReply) string {
	switch {
	case reply.Outcome == plan.Returned:
		return "Returned. An agent revises the plan by your comment and submits it again; then you see what changed.\nWait for it: " +
			"planloop status --wait 10m"
	case reply.Phase == plan.PhaseExecuting:
		return "Rejected. The plan goes on as it was approved; agents hear of it with their next status."
	}
	return "Rejected. Planning mode is off, and agents hear of it with their next status."
}
