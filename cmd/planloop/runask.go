package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// allowance is what a person has allowed before the run came to it.
type allowance struct {
	step            plan.StepID
	attempt         int
	digest, forEach string
}

func allowanceOf(step *plan.Step, attempt int, definition string) allowance {
	return allowance{step.ID, attempt, plan.StartDigest(step, step.Args, definition), step.ForEach}
}

// question tells what a step asks from what it asks another time.
type question struct {
	step    plan.StepID
	kind    plan.AskKind
	attempt int
	digest  string
}

// askBlocked is what a blocked step asks: what is to be done.
const askBlocked plan.AskKind = "blocked"

// questionOf is what the step asks, the zero value when it asks nothing.
func questionOf(step *plan.Step) question {
	ask := step.Asking()
	if step.WantsWord() {
		return question{step.ID, askBlocked, step.Attempts, ""}
	}
	if ask == nil {
		return question{}
	}
	return question{step.ID, ask.Kind, ask.Attempt, ask.Digest}
}

// allows reports whether what the step asks was allowed before, just as it is.
func (w *watchedRun) allows(step *plan.Step) bool {
	ask := step.Asking()
	if ask == nil {
		return false
	}
	shown := allowanceOf(step, ask.Attempt, ask.Definition)
	return ask.Kind == plan.AskApproval && w.allowed[shown] && (step.ForEach != "" || ask.Digest == shown.digest)
}

// settle has the person answer what a step asks. A question that is answered elsewhere meanwhile
// is dropped; one that is not answered is left open.
func (w *watchedRun) settle(ctx context.Context, grown <-chan struct{}, state plan.State, step *plan.Step) error {
	asked := questionOf(step)
	answer := verbs.StepAnswer{Step: step.ID, Choice: plan.Approve, Digest: asked.digest}
	if !w.allows(step) {
		var err error
		if answer, err = w.ask(ctx, grown, state, step); err != nil {
			return err
		}
	}
	switch answer.Choice {
	case leave:
		w.left[asked] = true
		return nil
	case pause:
		_, err := w.opened.verbs.PauseRun(ctx, w.caller(), "")
		w.left[asked] = true
		return w.refused(err)
	}
	reply, err := w.opened.verbs.AnswerStep(ctx, w.caller(), answer)
	if err != nil {
		w.left[asked] = true
		return w.refused(err)
	}
	return w.say(reply.Message + ".\n")
}

// refused tells that an answer was not taken.
func (w *watchedRun) refused(err error) error {
	if err == nil {
		return nil
	}
	return w.say("Not done: " + err.Error() + ".\n")
}

func (w *watchedRun) say(text string) error {
	_, err := fmt.Fprint(w.tty, safetext.Escape(text))
	return err
}

// What is typed and answers nothing.
const (
	leave plan.Choice = "leave" // the question open
	pause plan.Choice = "pause" // the run
	edit  plan.Choice = "edit"  // the arguments
)

// ways lists what can be typed at a question, and says it in words.
func ways(step *plan.Step) (keys map[string]plan.Choice, how string) {
	end := "q pauses the run; Enter alone leaves it open."
	switch {
	case step.WantsWord():
		return nil, "Type what to do about it and Enter: it is tried again with your answer. Enter alone leaves it open; " +
			"Ctrl-C pauses the run."
	case step.Asking().Kind == plan.AskPause:
		return nil, "Type your answer and Enter. Enter alone leaves it open; Ctrl-C pauses the run."
	case step.Unknown():
		return map[string]plan.Choice{"r": plan.Retry, "h": plan.Happened, "s": plan.Skip, "a": plan.Abort, "q": pause},
			"Type r to try it again, h if it has done its work, s and why to skip it, a to give the run up; " + end
	case step.ForEach != "" || step.Tool == "":
		return map[string]plan.Choice{"y": plan.Approve, "n": plan.Deny, "q": pause},
			"Type y to let it run, n (and why) to have it skipped; " + end
	}
	return map[string]plan.Choice{"y": plan.Approve, "n": plan.Deny, "e": edit, "q": pause},
		"Type y to let it run, n (and why) to have it skipped, e to edit its arguments; " + end
}

// ask shows what a step asks and takes the answer.
func (w *watchedRun) ask(ctx context.Context, grown <-chan struct{}, state plan.State, step *plan.Step) (verbs.StepAnswer, error) {
	answer := verbs.StepAnswer{Step: step.ID, Digest: questionOf(step).digest}
	keys, how := ways(step)
	told := w.review(state, step, nil, how)
	w.keys.forget()
	for {
		if _, err := fmt.Fprint(w.tty, told+"> "); err != nil {
			return answer, err
		}
		typed, ok := w.typed(ctx, grown, step)
		if answer.Choice, answer.Text = leave, ""; typed == "" {
			return answer, nil
		}
		if !ok {
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
			told = "Say why, on the same line: s REASON.\n"
		case choice == edit:
			args, problem := w.edited(ctx, step, cmp.Or(string(answer.Args), string(step.Asking().Args)), words)
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

// review is what is shown of a step that asks.
func (w *watchedRun) review(state plan.State, step *plan.Step, args json.RawMessage, how string) string {
	text, _ := w.opened.verbs.ReviewStep(state, step, args)
	return "\n" + string(terminal.Joined(append(w.thereOn().Draft(text), how)))
}

// typed waits for a line; false when the question is not open any more.
func (w *watchedRun) typed(ctx context.Context, grown <-chan struct{}, step *plan.Step) (string, bool) {
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
		state, err := w.opened.verbs.State(ctx)
		if err != nil || state.Plan == nil {
			return "", false
		}
		if now, ok := state.Plan.Steps.Get(step.ID); !ok || questionOf(now) != asked {
			_ = w.say("\nIt is not asked any more.\n")
			return "", false
		}
	}
}

// edited returns other arguments: those given behind the e, or what is left in the person's editor.
func (w *watchedRun) edited(ctx context.Context, step *plan.Step, args, given string) (json.RawMessage, string) {
	if editor := cmp.Or(w.getenv("VISUAL"), w.getenv("EDITOR")); given == "" && editor != "" && w.keys.rest() {
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
		return nil, "Not taken: " + err.Error() + "."
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
		return nil, "Not taken: " + err.Error() + "."
	}
	return edited, ""
}

// editIn has a program edit a text on the terminal of the process.
func editIn(ctx context.Context, editor, text string) (string, error) {
	file, err := os.CreateTemp("", "planloop-*.json")
	if err != nil {
		return "", err
	}
	defer os.Remove(file.Name())
	if pretty, err := indented([]byte(text)); err == nil {
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
