package main

import (
	"bufio"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"math/big"
	"strings"

	"github.com/spf13/cobra"

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
		RunE: func(cmd *cobra.Command, _ []string) error { return a.approve(cmd, comment) },
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

// errUnread says that a decision could not be read from the terminal.
var errUnread = errors.New("the terminal could not be read")

// approve shows the draft on the terminal and takes the decision there, whatever
// standard input and output are.
func (a *app) approve(cmd *cobra.Command, comment string) error {
	if err := a.personPresent("approving a plan"); err != nil {
		return err
	}
	service, err := a.service(cmd.Context())
	if err != nil {
		return err
	}
	state, former, err := service.Draft(cmd.Context())
	if err != nil {
		return err
	}
	if state.Draft == nil {
		return nothingWaits()
	}
	terminal, err := openTerminal()
	if err != nil {
		return &plan.ValidationError{Kind: plan.Conflict, Problem: "approving a plan needs a terminal", Fix: "run it in a terminal of your own"}
	}
	defer terminal.Close()
	digest := plan.Digest(state.Draft)
	agreed, err := askForCode(terminal, verbs.Shown(state.Draft, former), digest)
	if err != nil {
		return err
	}
	if !agreed {
		return a.reply(said{"Nothing was decided; the plan still waits. planloop edit COMMENT has it revised, planloop reject drops it."})
	}
	reply, err := service.Decide(cmd.Context(), a.caller(), verbs.Decision{Outcome: plan.Approved, Request: requestOf(state), Digest: digest, Comment: comment})
	if err != nil {
		return err
	}
	return a.reply(reply)
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
func askForCode(terminal io.ReadWriter, shown, digest string) (bool, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(9_000))
	if err != nil {
		return false, fmt.Errorf("make a code: %w", err)
	}
	code := fmt.Sprint(1_000 + n.Int64())
	_, err = fmt.Fprintf(terminal, "%s\n%s\nThis is plan %s. Type %s to approve it, anything else to leave it: ", printable(shown), strings.Repeat("-", 40), digest[:8], code)
	if err != nil {
		return false, fmt.Errorf("write to the terminal: %w", err)
	}
	line, err := bufio.NewReader(io.LimitReader(terminal, 1_000)).ReadString('\n')
	if err != nil && line == "" {
		return false, fmt.Errorf("%w: %w", errUnread, err)
	}
	return strings.TrimSpace(line) == code, nil
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
	reply, err := service.Decide(cmd.Context(), a.caller(), verbs.Decision{Outcome: outcome, Request: requestOf(state), Digest: plan.Digest(state.Draft), Comment: comment})
	if err != nil {
		return err
	}
	return a.reply(reply)
}
