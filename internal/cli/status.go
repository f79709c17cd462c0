package cli

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newStatusCommand(a *app) *cobra.Command {
	var wait time.Duration
	var task string
	in := func(*cobra.Command, []string) (verbs.Status, error) {
		if wait < 0 {
			return verbs.Status{}, usageError{fmt.Errorf("--wait %s is negative; give a time such as 30s", wait)}
		}
		in := verbs.Status{Wait: int((wait + time.Second - 1) / time.Second)}
		if task == "" {
			return in, nil
		}
		step, err := plan.ParseStepID(task)
		in.Task = (*verbs.TaskID)(&step)
		return in, err
	}
	cmd := newCommand("status", "", noArguments, func(cmd *cobra.Command, args []string) error {
		reply, err := callVerb(cmd, args, a, (*verbs.Service).Status, in)
		switch {
		case err != nil:
			return err
		case !a.flags.json && task == "" && a.caller().Actor.IsPresent():
			return a.statusForPerson(cmd.Context(), reply)
		case !a.flags.json && reply.Now.InstructionsContent != "": // the next action names planloop sync
			reply.Now.InstructionsContent, reply.Now.AgentInstructions = "", ""
		}
		return a.reply(reply)
	})
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait at most `TIME`, such as 30s, for a change")
	cmd.Flags().StringVar(&task, "task", "", "show this `TASK` in full, such as 2")
	return cmd
}

func newResumeCommand(a *app) *cobra.Command {
	return newCommand("resume", "", noArguments, func(cmd *cobra.Command, _ []string) error {
		ws, state, err := a.state(cmd.Context())
		if err != nil {
			return err
		}
		text, err := ws.verbs.Resume(cmd.Context(), state, a.caller())
		if err != nil {
			return err
		}
		return a.reply(textReply{text})
	})
}

// textReply is a reply that consists of a text.
type textReply struct {
	Said string `json:"text"`
}

// Text returns the text.
func (r textReply) Text() string { return r.Said }

// statusForPerson prints the status for a person at the terminal: first the waiting decisions with their commands, then the progress. It
// leaves out instructions for agents.
func (a *app) statusForPerson(ctx context.Context, reply verbs.StatusReply) error {
	ws, state, err := a.state(ctx)
	if err != nil {
		return err
	}
	waiting, err := review.WaitingIn(ctx, &review.Workspace{Place: placeOf(ws.place), Service: ws.verbs})
	if err != nil {
		return err
	}
	s := a.screen()
	var lines []string
	tell := func(margin, text string) { lines = append(lines, s.Told(margin+safetext.EscapeLine(text))...) }
	if len(waiting) > 0 {
		lines = append(lines, s.Bold("Waiting for you:"))
	}
	for _, w := range waiting {
		tell("  ", waitingText(w))
		tell("    ", commandFor(state, w))
	}
	if len(lines) > 0 {
		lines = append(lines, "")
	}
	if reply.Session != nil {
		text := plan.QuoteWhole(reply.Session.Goal)
		if reply.Progress != "" {
			text += " (" + reply.Progress + ")"
		}
		tell("", text)
	}
	tell("", "Workspace: "+reply.Workspace)
	if !slices.ContainsFunc(waiting, func(w review.Waiting) bool { return w.Kind == review.PlanWaits }) {
		tell("", ws.verbs.Headline(state, a.caller()))
	}
	if reply.Now.Earlier != "" {
		tell("", "Restored; earlier decision: "+reply.Now.Earlier)
	}
	if reply.Run != nil {
		tell("", reply.Run.Text())
	}
	for _, signal := range reply.Signals {
		if signal.Level != plan.Blocker { // blockers are listed as waiting
			tell("", fmt.Sprintf("%s %s: %s", signal.Level, plan.Quote(signal.ID), signal.Message))
		}
	}
	if held := verbs.EnforcementLine(reply.Enforcement); held != "" {
		tell("", held)
	}
	if reply.Summary != "" {
		tell("", "Final summary:")
		for line := range strings.Lines(reply.Summary) {
			tell("  ", strings.TrimSuffix(line, "\n"))
		}
	}
	if reply.Now.Reason == verbs.SyncInstructions {
		tell("", reply.Now.Message+" Update it: planloop sync")
	}
	if len(waiting) == 0 {
		lines = append(lines, s.Next(ws.verbs.NextActionIn(state, a.caller()).For(a.caller()))...)
	}
	return a.printLines(lines)
}

// commandFor returns the command that deals with an item of the inbox.
func commandFor(state plan.State, w review.Waiting) string {
	switch w.Kind {
	case review.PlanWaits:
		return "planloop approve, or planloop review in a browser; planloop edit COMMENT (request changes); planloop reject"
	case review.QuestionWaits:
		return "planloop answer --id " + w.ID + " TEXT"
	case review.ReplyWaits:
		return "planloop comment shows it in full; to resolve it: planloop comment --met " + w.ID
	case review.BlockerWaits:
		return "once fixed: " + commandText(verbs.Call{Kind: verbs.CallClear, ID: w.ID})
	}
	var step *plan.Step
	if state.Plan != nil {
		step, _ = state.Plan.Steps.Get(plan.StepID(w.Step))
	}
	if step == nil { // removed since
		return commandText(verbs.Call{Kind: verbs.CallRead})
	}
	call := func(act verbs.CallKind, choice plan.Choice) string {
		return commandText(verbs.Call{Kind: act, Step: step.ID, Choice: choice})
	}
	skip := call(verbs.CallRecover, plan.Skip)
	switch ask := step.OpenQuestion(); {
	case step.IsUnknown():
		return "if it has happened: " + call(verbs.CallRecover, plan.Happened) + "; to do it again: " + call(verbs.CallRecover, plan.Retry)
	case ask != nil && ask.Kind == plan.AskApproval:
		return call(verbs.CallApproveStep, "") + ", or " + call(verbs.CallRejectStep, "")
	case ask != nil, step.NeedsUnblocking():
		return call(verbs.CallAnswerStep, "")
	case step.Status == plan.Failed:
		return call(verbs.CallRecover, plan.Retry) + ", or " + skip
	}
	return skip + ", or drop the dependency: planloop step edit " + step.ID.String() + " --depends-on IDS"
}

// commandText returns a call as a person types it.
func commandText(call verbs.Call) string {
	text, _ := terminal.CommandLine{}.Word(call)
	return text
}
