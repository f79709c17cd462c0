package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// preapproval is an approval that a person gave before the run needed it.
type preapproval struct {
	step            plan.StepID
	attempt         int
	digest, forEach string
}

func preapprovalOf(step *plan.Step, attempt int, definition string) preapproval {
	return preapproval{step.ID, attempt, plan.StartDigest(step, step.Args, definition), step.ForEach}
}

// question identifies a step's question, so that a repeated one counts as new.
type question struct {
	step    plan.StepID
	kind    plan.AskKind
	attempt int
	digest  string
}

const askBlocked plan.AskKind = "blocked" // asks what to do about the blocker

func questionOf(step *plan.Step) question {
	ask := step.OpenQuestion()
	if step.NeedsUnblocking() {
		return question{step.ID, askBlocked, step.Attempts, ""}
	}
	if ask == nil {
		return question{}
	}
	return question{step.ID, ask.Kind, ask.Attempt, ask.Digest}
}

func (w *terminalRun) allows(step *plan.Step) bool {
	ask := step.OpenQuestion()
	if ask == nil {
		return false
	}
	shown := preapprovalOf(step, ask.Attempt, ask.Definition)
	return ask.Kind == plan.AskApproval && w.preapproved[shown] && (step.ForEach != "" || ask.Digest == shown.digest)
}

// answerQuestion gets the person's answer to a step's question. Without one it stays open; one answered elsewhere is dropped.
func (w *terminalRun) answerQuestion(ctx context.Context, grown <-chan struct{}, state plan.State, step *plan.Step) error {
	asked := questionOf(step)
	answer := verbs.StepAnswer{Step: step.ID, Choice: plan.Approve, Digest: asked.digest}
	if !w.allows(step) {
		var err error
		if answer, err = w.askStep(ctx, grown, state, step); err != nil {
			return err
		}
	}
	switch answer.Choice {
	case leave:
		w.skipped[asked] = true
		return nil
	case pause:
		_, err := w.ws.verbs.PauseRun(ctx, w.caller(), "")
		w.skipped[asked] = true
		return w.reportRefusal(err)
	}
	reply, err := w.ws.verbs.AnswerStep(ctx, w.caller(), answer)
	if err != nil {
		w.skipped[asked] = true
		return w.reportRefusal(err)
	}
	return w.write(reply.Message + ".\n")
}

func (w *terminalRun) reportRefusal(err error) error {
	if err == nil {
		return nil
	}
	return w.write("Not done: " + err.Error() + ".\n")
}

func (w *terminalRun) write(text string) error {
	_, err := fmt.Fprint(w.tty, safetext.Escape(text))
	return err
}

// Choices at the terminal that do not answer the question.
const (
	leave plan.Choice = "leave" // leaves the question open
	pause plan.Choice = "pause" // pauses the run
	edit  plan.Choice = "edit"  // edits the arguments
)

func answerKeys(step *plan.Step) (keys map[string]plan.Choice, how string) {
	end := "q: pause the run. Enter alone: decide later."
	switch {
	case step.NeedsUnblocking():
		return nil, "Type an answer and Enter to try it again. Enter alone: decide later. " +
			"Ctrl-C: pause the run."
	case step.OpenQuestion().Kind == plan.AskPause:
		return nil, "Type your answer and Enter. Enter alone: decide later. Ctrl-C: pause the run."
	case step.IsUnknown():
		return map[string]plan.Choice{"r": plan.Retry, "h": plan.Happened, "s": plan.Skip, "a": plan.Abort, "q": pause},
			"r: try it again. h: it has done its work. s REASON: skip it. a: abort the run. " + end
	case step.ForEach != "" || step.Tool == "":
		return map[string]plan.Choice{"y": plan.Approve, "n": plan.Deny, "q": pause},
			"y: run it. n REASON: skip it. " + end
	}
	return map[string]plan.Choice{"y": plan.Approve, "n": plan.Deny, "e": edit, "q": pause},
		"y: run it. n REASON: skip it. e: edit its arguments. " + end
}

func (w *terminalRun) askStep(ctx context.Context, grown <-chan struct{}, state plan.State, step *plan.Step) (verbs.StepAnswer, error) {
	answer := verbs.StepAnswer{Step: step.ID, Digest: questionOf(step).digest}
	keys, how := answerKeys(step)
	told := w.review(state, step, nil, how)
	w.keys.dropTyped()
	for {
		if _, err := fmt.Fprint(w.tty, told+"> "); err != nil {
			return answer, err
		}
		typed, ok := w.readTyped(ctx, grown, step)
		if answer.Choice, answer.Text = leave, ""; typed == "" || !ok {
			return answer, nil
		}
		if keys == nil {
			answer.Choice, answer.Text = plan.Reply, typed
			return answer, nil
		}
		word, words, _ := strings.Cut(typed, " ")
		choice, known := keys[strings.ToLower(word)]
		switch {
		case !known:
			told = how + "\n"
		case choice == plan.Skip && words == "":
			told = "Type the reason on the same line: s REASON.\n"
		case choice == edit:
			args, problem := w.edited(ctx, step, cmp.Or(string(answer.Args), string(step.OpenQuestion().Args)), words)
			if problem != "" {
				told = safetext.Escape(problem) + "\n" + how + "\n"
				continue
			}
			answer.Args = args
			told = w.review(state, step, args, how)
		default:
			answer.Choice, answer.Text = choice, strings.TrimSpace(words)
			if choice != plan.Approve {
				answer.Args = nil
			}
			return answer, nil
		}
	}
}

func (w *terminalRun) review(state plan.State, step *plan.Step, args json.RawMessage, how string) string {
	text, _ := w.ws.verbs.ReviewStep(state, step, args)
	return "\n" + string(w.joined(append(w.ttyScreen().Draft(text), how)))
}

// readTyped waits for a line; it returns false once the question is closed.
func (w *terminalRun) readTyped(ctx context.Context, grown <-chan struct{}, step *plan.Step) (string, bool) {
	asked := questionOf(step)
	for {
		select {
		case line, ok := <-w.keys.lines:
			return strings.TrimSpace(line), ok
		case <-ctx.Done():
			return "", false
		case <-w.done:
			return "", false
		case <-grown:
		}
		state, err := w.ws.verbs.State(ctx)
		if err != nil || state.Plan == nil {
			return "", false
		}
		if now, ok := state.Plan.Steps.Get(step.ID); !ok || questionOf(now) != asked {
			_ = w.write("\nThis question is closed.\n")
			return "", false
		}
	}
}

// edited returns changed arguments: those typed after the e, or the text saved in the person's editor.
func (w *terminalRun) edited(ctx context.Context, step *plan.Step, args, given string) (json.RawMessage, string) {
	if editor := cmp.Or(w.getenv("VISUAL"), w.getenv("EDITOR")); given == "" && editor != "" && w.keys.pause() {
		var err error
		given, err = editIn(ctx, editor, args)
		w.keys.listen()
		if err != nil {
			return nil, "The arguments were not edited: " + err.Error() + "."
		}
	}
	if given == "" {
		return nil, `Give the arguments on the same line: e {"name":"value"}.`
	}
	edited, err := argumentsOf(given)
	if err != nil {
		return nil, "Invalid: " + err.Error() + "."
	}
	box, err := w.box()
	if err != nil {
		return nil, err.Error()
	}
	defer box.Close()
	tool, ok := box.Tools().Lookup(step.Tool)
	if !ok {
		return edited, ""
	}
	var faults plan.Faults
	for _, fault := range tool.Check(edited) {
		faults.Add(fault)
	}
	if err := faults.Err(); err != nil {
		return nil, "Invalid: " + err.Error() + "."
	}
	return edited, ""
}

func editIn(ctx context.Context, editor, text string) (string, error) {
	file, err := os.CreateTemp("", "planloop-*.json")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name())
	if pretty, err := indented([]byte(text), nil); err == nil {
		text = string(pretty)
	}
	_, err = file.WriteString(text)
	if err = cmp.Or(err, file.Close()); err != nil {
		return "", err
	}
	cmd := exec.CommandContext(ctx, "sh", "-c", editor+` "$1"`, "sh", file.Name())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s: %w", editor, err)
	}
	edited, err := os.ReadFile(file.Name())
	return strings.TrimSpace(string(edited)), err
}
