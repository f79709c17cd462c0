package cli

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func newApproveCommand(a *app) *cobra.Command {
	var comment, args string
	cmd := newCommand("approve", "[STEP]", atMostOne("a step"), func(cmd *cobra.Command, steps []string) error {
		if err := a.checkDecidedHere(cmd.Context()); err != nil {
			return err
		}
		_, state, err := a.state(cmd.Context())
		if err != nil {
			return err
		}
		if request, _ := requestNamed(state, strings.Join(steps, " ")); request != "" {
			return a.approve(cmd.Context(), request, comment)
		}
		id, err := stepMeant(state, steps, cmd.Flags().Changed("args"))
		switch {
		case err != nil:
			return err
		case id != 0:
			return a.approveStep(cmd.Context(), id, args, comment)
		}
		return a.approve(cmd.Context(), requestOf(state), comment)
	})
	cmd.ValidArgsFunction = firstArgument(a.completeAsking)
	cmd.Flags().StringVarP(&comment, "comment", "m", "", "`TEXT` for the agent")
	cmd.Flags().StringVar(&args, "args", "", "run the step with the arguments `JSON`")
	return cmd
}

func newRejectCommand(a *app) *cobra.Command {
	cmd := newCommand("reject", "[STEP] [REASON...]", cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
		_, state, err := a.state(cmd.Context())
		if err != nil {
			return err
		}
		id, reason := stepNamed(state, args, asking(state, plan.AskApproval))
		if id == 0 {
			return a.decideNow(plan.Rejected)(cmd, args)
		}
		deny := constant(verbs.StepAnswer{Step: id, Choice: plan.Deny, Text: strings.Join(reason, " ")})
		return runAsPerson(a, "deciding on a step", (*verbs.Service).AnswerStep, deny, verbs.StepAnswerReply.Text)(cmd, args)
	})
	cmd.ValidArgsFunction = firstArgument(a.completeAsking)
	return cmd
}

// approve shows the draft and takes the decision on the terminal, even with redirected streams. A draft that changed is shown again.
func (a *app) approve(ctx context.Context, request, comment string) error {
	if err := a.requirePerson("approving a plan"); err != nil {
		return err
	}
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	state, former, err := ws.verbs.Draft(ctx)
	if err != nil {
		return err
	}
	if request != requestOf(state) {
		_, err := ws.verbs.Decide(ctx, a.caller(), plan.DecideDraft{Outcome: plan.Approved, Request: request}) // says why not
		return err
	}
	if err := decidable(state); err != nil {
		return err
	}
	ws.servers.refreshFor(ctx, state.Draft) // the approval covers the tools as they are now
	tty, err := terminal.OpenTTY()
	if err != nil {
		return plan.Refuse(plan.Conflict, "", "approving a plan needs a terminal", "run it in your own terminal")
	}
	defer tty.Close()
	hour := a.approvalHour(ws, state)
	for {
		remarks, err := ws.verbs.PlacedComments(ctx, state, state.Draft)
		if err != nil {
			return err
		}
		digest, shown := plan.Digest(state.Draft), draftLines(a.ttyScreen(), ws.verbs.Review(ctx, state, former, remarks), remarks)
		undone, err := ws.verbs.Undone(ctx, state)
		if err != nil {
			return err
		}
		word, words, err := a.askDecision(ctx, tty, approvalPrompt{name: "plan", lines: shown, digest: digest, undone: len(undone),
			amount: plan.Pluralize(state.Draft.Steps.Len(), "step"), codeless: hour.holds(),
			how:  "To request changes, type edit and the changes; to reject it, type reject and the reason.",
			edit: "Type the changes on the same line: edit COMMENT.",
			undecided: plan.Refuse(plan.InvalidInput, "", "nothing was decided; the plan is still waiting",
				"approve it with planloop approve, request changes with planloop edit COMMENT, or reject it with planloop reject")})
		if err != nil {
			return err
		}
		decision := plan.DecideDraft{Request: requestOf(state), Digest: digest, Comment: cmp.Or(words, comment),
			Outcome: map[string]plan.Outcome{"approve": plan.Approved, "reject": plan.Rejected, "edit": plan.Returned}[word]}
		var reply verbs.DecisionReply
		var refused error
		if word == wordRestore || word == wordAccept {
			in := verbs.SettleUndone{Key: undoneKey(undone, words), Digest: digest, Accept: word == wordAccept}
			_, refused = ws.verbs.SettleUndone(ctx, a.caller(), in)
		} else if decision.Answers, err = a.askOpenQuestions(ctx, tty, state, word); err != nil {
			return err
		} else if reply, refused = ws.verbs.Decide(ctx, a.caller(), decision); refused == nil {
			hour.begin(word)
			return a.printReply(reply, decidedText(reply, decision.Comment))
		}
		before := state.Draft
		if state, err = ws.verbs.State(ctx); err != nil {
			return err
		}
		if decidable(state) != nil || refused != nil && plan.Digest(state.Draft) == digest {
			return refused
		}
		if plan.Digest(state.Draft) == digest {
			continue
		}
		former = before
		if _, err := io.WriteString(tty, "\nThe plan has changed. This is the new version:\n\n"); err != nil {
			return fmt.Errorf("write to the terminal: %w", err)
		}
	}
}

// undoneKey returns the key of the edit with a number in the list shown; "" for all of them.
func undoneKey(undone []verbs.UndoneEdit, number string) string {
	if n, err := strconv.Atoi(number); err == nil && n >= 1 && n <= len(undone) {
		return undone[n-1].Key
	}
	return ""
}

// askOpenQuestions takes the answers that go with a decision. A question without one stays open.
func (a *app) askOpenQuestions(ctx context.Context, tty io.ReadWriter, state plan.State, word string) ([]plan.Answer, error) {
	var answers []plan.Answer
	for _, q := range state.DecisionQuestions() {
		if word == "reject" {
			break
		}
		text := strings.Join(a.ttyScreen().Draft(safetext.AfterLabel(q.ID+" "+q.Text)), "\n")
		if _, err := io.WriteString(tty, "\n"+text+"\nType your answer. Enter alone: leave it unanswered.\n> "); err != nil {
			return nil, fmt.Errorf("write to the terminal: %w", err)
		}
		line, err := readLine(ctx, tty)
		if err != nil {
			return nil, err
		}
		if line = strings.TrimSpace(line); line != "" {
			answers = append(answers, plan.Answer{Question: q.Text, Text: line})
		}
	}
	return answers, nil
}

func decidable(state plan.State) error {
	switch {
	case state.Draft == nil:
		return noWaitingPlan()
	case state.IsReturned():
		return plan.Refuse(plan.Conflict, "", "changes were requested, and the plan was not submitted again yet",
			"wait for it, read the draft with planloop show --draft, or reject it with planloop reject")
	}
	return nil
}

func noWaitingPlan() error {
	return plan.Refuse(plan.Conflict, "", "no plan is waiting for a decision", "see `planloop plan status`")
}

// requestNamed splits off the request that a decision names first, by its id or its plan's, which need not exist; "" without one.
func requestNamed(state plan.State, text string) (request, rest string) {
	first, rest, _ := strings.Cut(text, " ")
	switch {
	case state.Draft != nil && first == state.Draft.ID:
		return requestOf(state), rest
	case regexp.MustCompile(`^(R\d+|[0-9a-z-]+-\d{9,}(-v\d+)?)$`).MatchString(first):
		return first, rest
	}
	return "", text
}

func requestOf(state plan.State) string {
	if request := state.ModeNow().Request; request != nil {
		return request.ID
	}
	return ""
}

// decideNow takes a decision that does not require showing the plan.
func (a *app) decideNow(outcome plan.Outcome) runner {
	decide := func(s *verbs.Service, ctx context.Context, c verbs.Caller, comment string) (verbs.DecisionReply, error) {
		state, err := s.State(ctx)
		request, comment := requestNamed(state, comment)
		if err == nil && request == "" && (outcome == plan.Returned || state.Draft == nil) {
			err = decidable(state)
		}
		if err != nil {
			return verbs.DecisionReply{}, err
		}
		a := plan.DecideDraft{Outcome: outcome, Request: cmp.Or(request, requestOf(state)), Comment: comment}
		if state.Draft != nil {
			a.Digest = plan.Digest(state.Draft)
		}
		return s.Decide(ctx, c, a)
	}
	answer := func(reply verbs.DecisionReply) string { return decidedText(reply, "") }
	return runAsPerson(a, "deciding on a plan", decide, joinedText, answer)
}

func decidedText(reply verbs.DecisionReply, comment string) string {
	switch {
	case reply.IsOpen:
		return reply.Message
	case reply.Runs && comment != "":
		return "Approved. Agents get your comment. Start it: planloop run"
	case reply.Runs:
		return "Approved. Start it: planloop run"
	case reply.Outcome == plan.Approved && comment != "":
		return "Approved. The agent continues with your comment.\nWatch: planloop show --watch"
	case reply.Outcome == plan.Approved:
		return "Approved. The agent continues.\nWatch: planloop show --watch"
	case reply.Outcome == plan.Returned:
		return "Changes requested. You will see what changed when the agent submits again.\nWait for it: " +
			"planloop status --wait 10m"
	case reply.Phase == plan.PhaseExecuting:
		return "Rejected. The approved plan continues; agents see that on their next status check."
	}
	return "Rejected. The agent will be told, and will ask what to do instead."
}

// stepMeant returns the step to approve, 0 for the waiting plan: the named step, or without a waiting plan the only one that asks.
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

// approveStep shows a step with its call and takes the decision on the terminal. If its question changes, it is shown again.
func (a *app) approveStep(ctx context.Context, id plan.StepID, args, comment string) error {
	if err := a.requirePerson("approving a step"); err != nil {
		return err
	}
	edited, err := argumentsOf(args)
	if err != nil {
		return err
	}
	ws, state, err := a.state(ctx)
	if err != nil {
		return err
	}
	tty, err := terminal.OpenTTY()
	if err != nil {
		return plan.Refuse(plan.Conflict, "", "approving a step needs a terminal", "run it in your own terminal")
	}
	defer tty.Close()
	ws.servers.refreshFor(ctx, state.Plan)
	hour := a.approvalHour(ws, state)
	for {
		answer := verbs.StepAnswer{Step: id, Choice: plan.Approve, Args: edited, Text: comment}
		step := toApprove(state, id)
		if step == nil { // the refusal says what can be done
			_, err := ws.verbs.AnswerStep(ctx, a.caller(), answer)
			return err
		}
		text, digest := ws.verbs.ReviewStep(state, step, edited)
		answer.Digest = digest
		if answer, err = a.askAboutStep(ctx, tty, text, answer, hour.holds()); err != nil {
			return err
		}
		reply, refused := ws.verbs.AnswerStep(ctx, a.caller(), answer)
		if refused == nil {
			hour.begin(string(answer.Choice))
			return a.printReply(reply, reply.Text())
		}
		if state, err = ws.verbs.State(ctx); err != nil {
			return err
		}
		if step := toApprove(state, id); step == nil || step.OpenQuestion() == nil || step.OpenQuestion().Digest == digest {
			return refused
		}
		if _, err := fmt.Fprintf(tty, "\n%s has a new question:\n\n", id); err != nil {
			return fmt.Errorf("write to the terminal: %w", err)
		}
	}
}

func (a *app) askAboutStep(ctx context.Context, tty io.ReadWriter, shown string, answer verbs.StepAnswer,
	codeless bool) (verbs.StepAnswer, error) {
	id := answer.Step.String()
	left := plan.Refuse(plan.InvalidInput, "", "nothing was decided; "+id+" is still waiting", "approve it with planloop approve "+id+
		", or skip it with planloop reject "+id)
	word, words, err := a.askDecision(ctx, tty, approvalPrompt{name: id, lines: a.ttyScreen().Draft(shown), amount: "it",
		digest: answer.Digest, codeless: codeless,
		how:  "To change its arguments, type edit and JSON; to skip it, type reject and the reason.",
		edit: `Give the arguments on the same line: edit {"name":"value"}.`, undecided: left})
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

func toApprove(state plan.State, id plan.StepID) *plan.Step {
	if state.Plan != nil {
		if step, ok := state.Plan.Steps.Get(id); ok && step.NeedsApproval() {
			return step
		}
	}
	return nil
}
