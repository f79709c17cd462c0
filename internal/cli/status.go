package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

func newStatusCommand(a *app) *cobra.Command {
	var wait time.Duration
	var task string
	var page int
	var line bool
	in := func(*cobra.Command, []string) (verbs.Status, error) {
		if wait < 0 {
			return verbs.Status{}, usageError{fmt.Errorf("--wait %s is negative; give a time such as 30s", wait)}
		}
		in := verbs.Status{Wait: int((wait + time.Second - 1) / time.Second), Page: page}
		if task == "" {
			return in, nil
		}
		step, err := plan.ParseStepID(task)
		in.Task = (*verbs.TaskID)(&step)
		return in, err
	}
	cmd := newCommand("status", "", noArguments, func(cmd *cobra.Command, args []string) error {
		if line {
			return a.statusLine(cmd.Context())
		}
		reply, err := callVerb(cmd, args, a, (*verbs.Service).Status, in)
		switch {
		case err != nil:
			return err
		case !a.flags.json && task == "" && page == 0 && a.caller().Actor.IsPresent():
			return a.statusForPerson(cmd.Context(), reply)
		case !a.flags.json && reply.Now.InstructionsContent != "": // the next action names planloop sync
			reply.Now.InstructionsContent, reply.Now.AgentInstructions = "", ""
		}
		return a.reply(reply)
	})
	cmd.Flags().DurationVar(&wait, "wait", 0, "wait at most `TIME`, such as 30s, for a change")
	cmd.Flags().BoolVar(&line, lineFlag, false, "print one short line for a status bar, or nothing")
	cmd.Flags().IntVar(&page, "page", 0, "show a `PAGE` of all facts that bind agents, from 1")
	cmd.Flags().StringVar(&task, "task", "", "show this `TASK` in full, such as 2")
	return cmd
}

// lineFlag is the flag of status for a status bar, which is redrawn often and has no room for faults or questions.
const lineFlag = "line"

// statusLine prints the state of the calling session's track in one line. It prints nothing if that fails or takes too long.
func (a *app) statusLine(ctx context.Context) error {
	type statusBar struct { // what Claude Code writes to the command's standard input
		Session string `json:"session_id"`
		Dir     string `json:"cwd"`
	}
	var bar statusBar
	if !a.inIsTerminal {
		inTime, cancel := context.WithTimeout(ctx, 200*time.Millisecond)
		defer cancel()
		bar, _ = await(inTime, func() (bar statusBar, err error) {
			return bar, json.UnmarshalDecode(jsontext.NewDecoder(io.LimitReader(a.in, hook.MaxPayload)), &bar)
		})
	}
	a.noWarnings, a.hookSession = true, cmp.Or(bar.Session, lineFlag) // an unknown session is on the only open track, else on main
	a.hostLookup = workspace.Lookup{Dir: bar.Dir, Hosted: bar.Dir != ""}
	ctx, cancel := context.WithTimeout(ctx, hookTimeout)
	defer cancel()
	state, err := await(ctx, func() (plan.State, error) { _, state, err := a.state(ctx); return state, err })
	if line := a.screen().StatusLine(state); line != "" && err == nil {
		return a.printLines([]string{line})
	}
	return nil
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

// statusForPerson prints the status for a person at the terminal: five lines, and one for each waiting item with its command. It leaves out
// instructions for agents.
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
	tell := func(label, text string) {
		lines = append(lines, s.Hang(s.Bold(label), s.Plain, safetext.EscapeLine(text))...)
	}
	subject := "none yet"
	if reply.Session != nil {
		subject = plan.QuoteWhole(reply.Session.Goal)
	}
	tell("Plan: ", subject+" in "+reply.Workspace)
	tell("Phase: ", a.phaseText(ws, state, reply))
	waits := plan.Pluralize(len(waiting), "item")
	if len(waiting) == 0 {
		waits = "nothing"
	}
	tell("Waiting for you: ", waits)
	for _, w := range waiting {
		tell("  ", terminal.SentenceEnd(waitingText(w))+" "+a.commandFor(ws, state, w))
	}
	if reply.Session == nil {
		lines = append(lines, s.Next(ws.verbs.NextActionIn(state, a.caller()).For(a.caller()))...)
	} else {
		tell("Work: ", ws.workText(state, a.caller()))
		progress := "not started"
		if state.Plan != nil {
			progress = ws.verbs.Account(ctx, state.Plan).String()
		}
		tell("Progress: ", progress)
	}
	for _, other := range a.otherTracks(ctx, ws.place) {
		tell("Other track ", other.line())
	}
	for _, shared := range reply.Shared {
		tell("Warning: ", shared)
	}
	if reply.Now.Reason == verbs.SyncInstructions && !ws.presence.HasServed() { // else agents get the rules over MCP
		tell("", reply.Now.Message+" Update it: planloop sync")
	}
	return a.printLines(lines)
}

// phaseText returns the phase of planning mode, how far it is enforced, and the state of the plan beyond its progress.
func (a *app) phaseText(ws *openWorkspace, state plan.State, reply verbs.StatusReply) string {
	texts := []string{terminal.ModeView{State: state, Limits: ws.config.Limits(), Now: time.Now(), OnPage: ws.copied != nil}.Phase()}
	if reply.Session != nil && reply.Session.Status != "" && reply.Session.Status != plan.StatusDraft {
		texts = append(texts, "the plan is "+string(reply.Session.Status))
	}
	if reply.Now.Earlier != "" {
		texts = append(texts, "restored; earlier decision: "+reply.Now.Earlier)
	}
	if reply.Run != nil {
		texts = append(texts, reply.Run.Text())
	}
	if n := len(state.OpenSignals(plan.Warning)); n > 0 { // blockers are listed as waiting
		texts = append(texts, plan.Pluralize(n, "warning")+": planloop show")
	}
	if hooks := verbs.EnforcementLine(reply.Enforcement); hooks != "" {
		texts = append(texts, hooks)
	}
	return strings.Join(texts, "; ")
}

// listed is the most steps that a line of the status names.
const listed = 3

// workText names the agents at work with their steps; without any, the next step.
func (ws *openWorkspace) workText(state plan.State, c verbs.Caller) string {
	switch mode := state.ModeNow(); state.PhaseNow() {
	case plan.PhaseGathering:
		return mode.By + " reads and will submit a plan; nothing can be changed yet"
	case plan.PhaseSubmitted:
		return cmp.Or(mode.Request, &plan.Request{By: mode.By}).By + " waits for your decision"
	}
	var texts []string
	if state.Plan != nil {
		for step := range state.Plan.Steps.Running() {
			if by := verbs.Carrier(step); by != "" && !ws.verbs.Lapsed(step) {
				texts = append(texts, by+" works on "+step.ID.String()+" "+plan.Quote(step.Title))
			}
		}
	}
	if len(texts) == 0 {
		return ws.verbs.Headline(state, c)
	}
	return firstOf(texts)
}

// firstOf joins the first texts, and counts the others.
func firstOf(texts []string) string {
	if more := len(texts) - listed; more > 0 {
		texts = append(texts[:listed:listed], fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, "; ")
}

// commandFor returns the command that deals with an item of the inbox.
func (a *app) commandFor(ws *openWorkspace, state plan.State, w review.Waiting) string {
	if where := ws.decidePlace(); where != "" && w.Kind != review.BlockerWaits {
		return "Decide " + where + "."
	}
	switch w.Kind {
	case review.PlanWaits:
		return "planloop approve, or planloop review in a browser; planloop edit COMMENT; planloop reject"
	case review.QuestionWaits:
		return "planloop answer --id " + w.ID + " TEXT"
	case review.ReplyWaits:
		return "planloop comment shows it in full; to resolve it: planloop comment --met " + w.ID
	case review.BlockerWaits:
		return "Once fixed: " + a.commandText(verbs.Call{Kind: verbs.CallClear, ID: w.ID})
	}
	var step *plan.Step
	if state.Plan != nil {
		step, _ = state.Plan.Steps.Get(plan.StepID(w.Step))
	}
	if step == nil { // removed since
		return a.commandText(verbs.Call{Kind: verbs.CallRead})
	}
	call := func(act verbs.CallKind, choice plan.Choice) string {
		return a.commandText(verbs.Call{Kind: act, Step: step.ID, Choice: choice})
	}
	skip := call(verbs.CallRecover, plan.Skip)
	switch ask := step.OpenQuestion(); {
	case step.IsUnknown():
		return "If it has happened: " + call(verbs.CallRecover, plan.Happened) + "; to do it again: " + call(verbs.CallRecover, plan.Retry)
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
func (a *app) commandText(call verbs.Call) string {
	text, _ := a.face().Word(call)
	return text
}
