package cli

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
	var comment, args string
	cmd := newCommand("approve", "[STEP]", atMostOne("a step"), func(cmd *cobra.Command, steps []string) error {
		_, state, err := a.state(cmd.Context())
		if err != nil {
			return err
		}
		id, err := stepMeant(state, steps, cmd.Flags().Changed("args"))
		switch {
		case err != nil:
			return err
		case id != 0:
			return a.approveStep(cmd.Context(), id, args, comment)
		}
		return a.approve(cmd.Context(), comment)
	})
	cmd.ValidArgsFunction = firstArgument(a.completeAsking)
	cmd.Flags().StringVarP(&comment, "comment", "m", "", "`TEXT` for the agent")
	cmd.Flags().StringVar(&args, "args", "", "run the step with the arguments `JSON` in the place of its own")
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
			return a.decidesAtOnce(plan.Rejected)(cmd, args)
		}
		deny := given(verbs.StepAnswer{Step: id, Choice: plan.Deny, Text: strings.Join(reason, " ")})
		return decides(a, "deciding on a step", (*verbs.Service).AnswerStep, deny, verbs.StepAnswerReply.Text)(cmd, args)
	})
	cmd.ValidArgsFunction = firstArgument(a.completeAsking)
	return cmd
}

func newEditCommand(a *app) *cobra.Command {
	return newCommand("edit", "COMMENT...", atLeastOne("a comment: what is to be changed"), a.decidesAtOnce(plan.Returned))
}

func newAnswerCommand(a *app) *cobra.Command {
	var id string
	answer := func(s *verbs.Service, ctx context.Context, c verbs.Caller, text string) (verbs.AskUserReply, error) {
		return s.Answer(ctx, c, id, text)
	}
	answered := func(reply verbs.AskUserReply) string {
		return "Question " + reply.QuestionID + " is answered; the agent gets it with its next status."
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
			said := given(verbs.StepAnswer{Step: step, Choice: plan.Reply, Text: strings.Join(text, " ")})
			return decides(a, "answering a step", (*verbs.Service).AnswerStep, said, verbs.StepAnswerReply.Text)(cmd, args)
		}
		return decides(a, "answering a question", answer, joined, answered)(cmd, args)
	})
	cmd.Flags().StringVar(&id, "id", "", "the `ID` of the question, when several are open")
	complete(cmd, "id", a.completeQuestions)
	return cmd
}

// questionsReply lists the open questions.
type questionsReply struct {
	Questions []plan.Question `json:"questions"`
	Steps     []stepQuestion  `json:"steps,omitempty"`
}

// stepQuestion is a step's question to a person.
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

// Text has a line for each question.
func (r questionsReply) Text() string {
	if len(r.Questions)+len(r.Steps) == 0 {
		return "No question is open."
	}
	var lines, ways []string
	for _, q := range r.Questions {
		lines = append(lines, fmt.Sprintf("%s (%s): %s", q.ID, q.By, q.Text))
	}
	for _, q := range r.Steps {
		lines = append(lines, q.StepID+": "+q.Text)
	}
	if len(r.Questions) > 0 {
		ways = append(ways, "Answer: planloop answer --id "+r.Questions[0].ID+" TEXT")
	}
	if len(r.Steps) > 0 {
		ways = append(ways, "Answer a step: planloop answer "+r.Steps[0].StepID+" TEXT")
	}
	return strings.Join(append(lines, ways...), "\n")
}

// approve shows the draft on the terminal and takes the decision there, even if standard input and output are redirected. A draft that
// changed in the meantime is shown again.
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
	opened.others.refreshFor(ctx, state.Draft) // the approval covers the tools as they are now
	tty, err := terminal.OpenTTY()
	if err != nil {
		return plan.Refuse(plan.Conflict, "", "approving a plan needs a terminal", "run it in a terminal of your own")
	}
	defer tty.Close()
	for {
		remarks, err := opened.verbs.PlacedComments(ctx, state, state.Draft)
		if err != nil {
			return err
		}
		digest, shown := plan.Digest(state.Draft), draftShown(a.thereOn(), opened.verbs.Review(state, former, remarks), remarks)
		answer, err := a.askToDecide(ctx, tty, shown, digest, state.Draft.Steps.Len())
		if err != nil {
			return err
		}
		answer.Request, answer.Digest = requestOf(state), digest
		answer.Comment = cmp.Or(answer.Comment, comment)
		reply, refused := opened.verbs.Decide(ctx, a.caller(), answer)
		if refused == nil {
			return a.tell(reply, decidedText(reply, answer.Comment))
		}
		before := state.Draft
		if state, err = opened.verbs.State(ctx); err != nil {
			return err
		}
		if decidable(state) != nil || plan.Digest(state.Draft) == digest {
			return refused
		}
		former = before
		if _, err := io.WriteString(tty, "\nThe plan was changed while you looked at it. This is the new one:\n\n"); err != nil {
			return fmt.Errorf("write to the terminal: %w", err)
		}
	}
}

// decidable refuses if no plan waits for a decision.
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

// codeTries is how often a code may be typed, which allows for a typo.
const codeTries = 3

// subject is the plan or step that the terminal asks about.
type subject struct {
	name   string   // plan, or the step's id
	shown  []string // its text, in lines
	amount string   // its size
	digest string
	how    string // the other ways to decide, shown below the text
	edit   string // the prompt for the words after edit; "": edit is not possible
	left   error  // the error if nothing was decided
	enter  string // the effect of Enter alone; "": it changes nothing
	alone  error  // the error if only Enter was typed; nil: left
}

// askToDecide shows a plan and takes the user's decision on it.
func (a *app) askToDecide(ctx context.Context, tty io.ReadWriter, shown []string, digest string, steps int) (plan.DecideDraft, error) {
	word, words, err := a.decideOn(ctx, tty, subject{name: "plan", shown: shown, amount: plan.Pluralize(steps, "step"),
		digest: digest, how: "To have it revised, type edit and what is to be changed; to drop it, type reject and why.",
		edit: "Say what is to be changed, on the same line: edit COMMENT.", left: stillWaits()})
	return plan.DecideDraft{Comment: words,
		Outcome: map[string]plan.Outcome{"approve": plan.Approved, "reject": plan.Rejected, "edit": plan.Returned}[word]}, err
}

// thereOn returns the screen of the user's terminal, wherever standard output goes.
func (a *app) thereOn() terminal.Screen {
	there := a.world
	there.outIsTerm = true
	return there.screen()
}

// decideOn shows the subject and returns approve, edit or reject, with the words typed after it. Approving takes a code that is shown below
// the text, so the whole text must have been on the screen first.
func (a *app) decideOn(ctx context.Context, tty io.ReadWriter, on subject) (word, words string, err error) {
	n, err := rand.Int(rand.Reader, big.NewInt(9_000))
	if err != nil {
		return "", "", fmt.Errorf("make a code: %w", err)
	}
	code, s := fmt.Sprint(1_000+n.Int64()), a.thereOn()
	rest, err := pages(ctx, tty, on, s.Rows())
	if err != nil {
		return "", "", err
	}
	enter := cmp.Or(on.enter, "Enter alone leaves it as it is.")
	lines := append(rest, strings.Repeat("-", 40), fmt.Sprintf("This is %s %s. To approve it, type %s and Enter.", on.name,
		history.ShortDigest(on.digest), s.Bold(code)), on.how, enter)
	question := strings.Join(lines, "\n") + "\n> "
	for range codeTries {
		if _, err := io.WriteString(tty, question); err != nil {
			return "", "", fmt.Errorf("write to the terminal: %w", err)
		}
		line, err := readLine(ctx, tty)
		if err != nil {
			return "", "", err
		}
		typed, whole := strings.CutSuffix(line, "\n")
		if !whole {
			_, _ = io.WriteString(tty, "\n") // Ctrl-D and Ctrl-C leave the line unfinished
		}
		first, words, _ := strings.Cut(strings.TrimSpace(typed), " ")
		word = map[string]string{code: "approve", "reject": "reject", "edit": "edit"}[strings.ToLower(first)]
		if word == "edit" && on.edit == "" {
			word = ""
		}
		words = strings.TrimSpace(words)
		switch {
		case !whole:
			return "", "", on.left
		case first == "":
			return "", "", cmp.Or(on.alone, on.left)
		case word == "edit" && words == "":
			question = on.edit + "\n> "
		case word != "":
			return word, words, nil
		default:
			question = fmt.Sprintf("That is not the code. Type %s to approve %s, %s to decide otherwise; %s\n> ",
				s.Bold(code), on.called(), on.otherwise(), enter)
		}
	}
	return "", "", on.left
}

func (on subject) called() string {
	if on.name == "plan" || on.name == "list" {
		return "the " + on.name
	}
	return on.name
}

func (on subject) otherwise() string {
	if on.edit == "" {
		return "reject"
	}
	return "edit or reject and your words"
}

// commonRows is the assumed height of a terminal that does not report one.
const commonRows = 24

// pages shows a long text page by page, starting with its size, and returns the lines that are left to show. A height of 0 is unknown: then
// nothing waits for a key.
func pages(ctx context.Context, tty io.ReadWriter, on subject, rows int) ([]string, error) {
	lines, all, page := on.shown, len(on.shown), max(rows, commonRows)-5
	if all <= max(rows, commonRows) {
		return lines, nil
	}
	text := fmt.Sprintf("%s is long: %s on %d lines. How to decide stands at its end.\n\n",
		strings.Replace(on.name, "plan", "This plan", 1), on.amount, all)
	for rows > 0 && len(lines) > page {
		text += strings.Join(lines[:page], "\n") + "\n"
		lines = lines[page:]
		text += fmt.Sprintf("-- %d of %d lines. Enter shows more, all shows the rest, quit leaves %s as it is.\n> ",
			all-len(lines), all, on.called())
		if _, err := io.WriteString(tty, text); err != nil {
			return nil, fmt.Errorf("write to the terminal: %w", err)
		}
		typed, err := readLine(ctx, tty)
		switch word := strings.ToLower(strings.TrimSpace(typed)); {
		case err != nil:
			return nil, err
		case !strings.HasSuffix(typed, "\n") || word == "quit" || word == "q":
			return nil, on.left
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

// decidesAtOnce takes a decision that does not require showing the plan.
func (a *app) decidesAtOnce(outcome plan.Outcome) runner {
	decide := func(s *verbs.Service, ctx context.Context, c verbs.Caller, comment string) (verbs.DecisionReply, error) {
		state, err := s.State(ctx)
		if err == nil && (outcome == plan.Returned || state.Draft == nil) {
			err = decidable(state)
		}
		if err != nil {
			return verbs.DecisionReply{}, err
		}
		return s.Decide(ctx, c, plan.DecideDraft{Outcome: outcome, Request: requestOf(state), Digest: plan.Digest(state.Draft),
			Comment: comment})
	}
	told := func(reply verbs.DecisionReply) string { return decidedText(reply, "") }
	return decides(a, "deciding on a plan", decide, joined, told)
}

// decidedText returns the effect of a decision on a plan.
func decidedText(reply verbs.DecisionReply, comment string) string {
	switch {
	case reply.Runs && comment != "":
		return "Approved; your comment is told to agents. Start it: planloop run"
	case reply.Runs:
		return "Approved. Start it: planloop run"
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
