package main

import (
	"cmp"
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
	cmd := newCommand("approve", "", noArguments, func(cmd *cobra.Command, _ []string) error {
		return a.approve(cmd.Context(), comment)
	})
	cmd.Flags().StringVarP(&comment, "comment", "m", "", "`TEXT` for the agent")
	return cmd
}

func newRejectCommand(a *app) *cobra.Command {
	return newCommand("reject", "[REASON...]", cobra.ArbitraryArgs, a.decidesAtOnce(plan.Rejected))
}

func newEditCommand(a *app) *cobra.Command {
	return newCommand("edit", "COMMENT...", atLeastOne("a comment: what is to be changed"), a.decidesAtOnce(plan.Returned))
}

func newCommentCommand(a *app) *cobra.Command {
	told := func(verbs.ModeReply) string { return "Agents get your comment with their next status." }
	return newCommand("comment", "TEXT...", atLeastOne("the comment"), decides(a, "commenting", (*verbs.Service).Comment, joined, told))
}

func newAnswerCommand(a *app) *cobra.Command {
	var id string
	answer := func(s *verbs.Service, ctx context.Context, c verbs.Caller, text string) (verbs.AskUserReply, error) {
		return s.Answer(ctx, c, id, text)
	}
	answered := func(reply verbs.AskUserReply) string {
		return "Question " + reply.QuestionID + " is answered; the agent gets it with its next status."
	}
	cmd := newCommand("answer", "[TEXT...]", cobra.ArbitraryArgs, func(cmd *cobra.Command, args []string) error {
		if len(args) > 0 {
			return decides(a, "answering a question", answer, joined, answered)(cmd, args)
		}
		_, state, err := a.state(cmd.Context())
		if err != nil {
			return err
		}
		return a.reply(questionsReply{orEmpty(state.OpenQuestions())})
	})
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
		return plan.Refuse(plan.Conflict, "", "approving a plan needs a terminal", "run it in a terminal of your own")
	}
	defer tty.Close()
	for {
		digest := plan.Digest(state.Draft)
		answer, err := a.askToDecide(ctx, tty, opened.verbs.Review(state, former), digest, state.Draft.Steps.Len())
		if err != nil {
			return err
		}
		answer.Request, answer.Digest = requestOf(state), digest
		answer.Comment = cmp.Or(answer.Comment, comment)
		reply, refused := opened.verbs.Decide(ctx, a.caller(), answer)
		if refused == nil {
			return a.tell(reply, decidedText(reply, answer.Comment))
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

// decidable refuses where nothing waits for a decision.
func decidable(state plan.State) error {
	switch {
	case state.Draft == nil:
		return nothingWaits()
	case state.PhaseNow() == plan.PhaseGathering:
		return plan.Refuse(plan.Conflict, "", "the plan was returned for changes and has not been submitted again",
			"wait for it, look at what was returned with planloop show --draft, or drop it with planloop reject")
	}
	return nil
}

func nothingWaits() error {
	return plan.Refuse(plan.Conflict, "", "no plan waits for a decision", "see `planloop plan status`")
}

func requestOf(state plan.State) string {
	if request := state.ModeNow().Request; request != nil {
		return request.ID
	}
	return ""
}

// codeTries is how often a code may be typed: a slip of the finger is forgiven, no more.
const codeTries = 3

// askToDecide shows a plan and has the user say what becomes of it. To approve it takes a
// code that stands below the plan, so that nobody does without having had it on the screen.
func (a *app) askToDecide(ctx context.Context, tty io.ReadWriter, shown, digest string, steps int) (plan.Answer, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(9_000))
	if err != nil {
		return plan.Answer{}, fmt.Errorf("make a code: %w", err)
	}
	code := fmt.Sprint(1_000 + n.Int64())
	there := a.world
	there.outIsTerm = true // it is shown there, wherever standard output goes
	s := there.screen()
	rest, err := pages(ctx, tty, s.Draft(shown), s.Rows(), plan.Counted(steps, "step"))
	if err != nil {
		return plan.Answer{}, err
	}
	lines := append(rest, strings.Repeat("-", 40),
		fmt.Sprintf("This is plan %s. To approve it, type %s and Enter.", history.ShortDigest(digest), s.Bold(code)),
		"To have it revised, type edit and what is to be changed; to drop it, type reject and why.",
		"Enter alone leaves it as it is.")
	question := strings.Join(lines, "\n") + "\n> "
	for range codeTries {
		if _, err := io.WriteString(tty, question); err != nil {
			return plan.Answer{}, fmt.Errorf("write to the terminal: %w", err)
		}
		line, err := readLine(ctx, tty)
		if err != nil {
			return plan.Answer{}, err
		}
		typed, whole := strings.CutSuffix(line, "\n")
		if !whole {
			_, _ = io.WriteString(tty, "\n") // Ctrl-D and Ctrl-C leave the line unfinished
		}
		word, words, _ := strings.Cut(strings.TrimSpace(typed), " ")
		answer := plan.Answer{Comment: strings.TrimSpace(words)}
		answer.Outcome = map[string]plan.Outcome{code: plan.Approved, "reject": plan.Rejected, "edit": plan.Returned}[strings.ToLower(word)]
		switch {
		case word == "" || !whole:
			return plan.Answer{}, stillWaits()
		case answer.Outcome == plan.Returned && answer.Comment == "":
			question = "Say what is to be changed, on the same line: edit COMMENT.\n> "
		case answer.Outcome != "":
			return answer, nil
		default:
			question = fmt.Sprintf("That is not the code. Type %s to approve the plan, edit or reject and your words to decide otherwise; "+
				"Enter alone leaves it as it is.\n> ", s.Bold(code))
		}
	}
	return plan.Answer{}, stillWaits()
}

// commonRows is taken for the height of a terminal that tells none.
const commonRows = 24

// pages shows what does not fit into a terminal page by page, after how much it is, and
// returns the lines that are left to be shown. A height of 0 is unknown: nothing is held up then.
func pages(ctx context.Context, tty io.ReadWriter, lines []string, rows int, steps string) ([]string, error) {
	all, page := len(lines), max(rows, commonRows)-5
	if all <= max(rows, commonRows) {
		return lines, nil
	}
	text := fmt.Sprintf("This plan is long: %s on %d lines. How to decide stands at its end.\n\n", steps, all)
	for rows > 0 && len(lines) > page {
		text += strings.Join(lines[:page], "\n") + "\n"
		lines = lines[page:]
		text += fmt.Sprintf("-- %d of %d lines. Enter shows more, all shows the rest, quit leaves the plan as it is.\n> ",
			all-len(lines), all)
		if _, err := io.WriteString(tty, text); err != nil {
			return nil, fmt.Errorf("write to the terminal: %w", err)
		}
		typed, err := readLine(ctx, tty)
		switch word := strings.ToLower(strings.TrimSpace(typed)); {
		case err != nil:
			return nil, err
		case !strings.HasSuffix(typed, "\n") || word == "quit" || word == "q":
			return nil, stillWaits()
		case word == "all":
			return lines, nil
		}
		text = ""
	}
	if _, err := io.WriteString(tty, text); err != nil {
		return nil, fmt.Errorf("write to the terminal: %w", err)
	}
	return lines, nil
}

func stillWaits() error {
	return plan.Refuse(plan.InvalidInput, "", "nothing was decided, and the plan still waits",
		"approve it with planloop approve, have it revised with planloop edit COMMENT, or drop it with planloop reject")
}

// decidesAtOnce takes a decision that needs no look at the plan first.
func (a *app) decidesAtOnce(outcome plan.Outcome) runner {
	decide := func(s *verbs.Service, ctx context.Context, c verbs.Caller, comment string) (verbs.DecisionReply, error) {
		state, err := s.State(ctx)
		if err == nil && (outcome == plan.Returned || state.Draft == nil) {
			err = decidable(state)
		}
		if err != nil {
			return verbs.DecisionReply{}, err
		}
		return s.Decide(ctx, c, plan.Answer{Outcome: outcome, Request: requestOf(state), Digest: plan.Digest(state.Draft),
			Comment: comment})
	}
	told := func(reply verbs.DecisionReply) string { return decidedText(reply, "") }
	return decides(a, "deciding on a plan", decide, joined, told)
}

// decidedText says what becomes of a plan after a decision.
func decidedText(reply verbs.DecisionReply, comment string) string {
	switch {
	case reply.Outcome == plan.Approved && comment != "":
		return "Approved. Agents get your comment with it and go on by themselves; you need do nothing.\nWatch them: planloop show --watch"
	case reply.Outcome == plan.Approved:
		return "Approved. Agents hear of it and go on by themselves; you need do nothing.\nWatch them: planloop show --watch"
	case reply.Outcome == plan.Returned:
		return "Returned. An agent revises the plan as you asked and submits it again; you will be shown what changed.\nWait for it: " +
			"planloop status --wait 10m"
	case reply.Phase == plan.PhaseExecuting:
		return "Rejected. The plan goes on as it was approved; agents hear of it with their next status."
	}
	return "Rejected. Planning mode is off, and agents hear of it with their next status."
}
