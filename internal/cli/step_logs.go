package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
	"github.com/fsnotify/fsnotify"
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

func newStepLogsCommand(a *app) *cobra.Command {
	var follow bool
	var attempt int
	cmd := newCommand("step logs", "STEP", atMostOne("a step"), func(cmd *cobra.Command, args []string) error {
		switch {
		case attempt < 0:
			return usageError{fmt.Errorf("--attempt must be 1 or more")}
		case follow && a.flags.json:
			return usageError{fmt.Errorf("--json and --follow exclude each other; give one of them")}
		}
		return a.showLogs(cmd.Context(), strings.Join(args, ""), attempt, follow)
	})
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "keep printing new output until the attempt ends")
	cmd.Flags().IntVar(&attempt, "attempt", 0, "print the log of the `N`th attempt (default: the last)")
	cmd.ValidArgsFunction = firstArgument(a.completeSteps)
	return cmd
}

type stepLog struct {
	step    *plan.Step
	attempt plan.Attempt
	log     engine.Log
	output  string // as stored in the plan, if there is no log
}

func (a *app) showLogs(ctx context.Context, named string, attempt int, follow bool) error {
	ws, state, err := a.state(ctx)
	if err != nil {
		return err
	}
	l, err := a.findLog(ctx, ws, state, named, attempt)
	if err != nil {
		return err
	}
	if a.flags.json {
		var text bytes.Buffer
		if err := copyOutput(l.reader(), &outputPrinter{out: &text}); err != nil {
			return err
		}
		return a.printJSON(struct {
			StepID  string `json:"step_id"`
			Attempt int    `json:"attempt"`
			Running bool   `json:"running"`
			Text    string `json:"text"`
		}{l.step.ID.String(), l.attempt.Attempt, l.runs(state), text.String()})
	}
	out := &outputPrinter{out: a.out, marked: true}
	if follow && l.runs(state) {
		return a.followLog(ctx, ws, l, out)
	}
	return copyOutput(l.reader(), out)
}

// findLog finds the requested log: without a step that of the only running one, without an attempt the last one with a log.
func (a *app) findLog(ctx context.Context, ws *openWorkspace, state plan.State, named string, attempt int) (l stepLog, err error) {
	if state.Plan == nil {
		return l, plan.Refuse(plan.NotFound, "", "no plan exists yet", "start one first")
	}
	kept := engine.KeptLogs(ws.place.StateDir, state.Plan.Root())
	if l.step, err = stepToLog(state, kept, named); err != nil {
		return l, err
	}
	if attempts := kept[l.step.ID]; attempt == 0 && !l.step.IsRunning() && len(attempts) > 0 {
		attempt = attempts[len(attempts)-1]
	}
	attempt = cmp.Or(attempt, l.step.Attempts)
	l.attempt = plan.Attempt{Plan: state.Plan.Root(), Step: l.step.ID, Attempt: attempt}
	l.log = engine.AgentLog(ws.place.StateDir, l.attempt)
	latest := attempt == l.step.Attempts
	if latest && l.step.IsRunning() && l.step.ActiveAgent() == "" {
		l.log = engine.RunningLog(ws.place.StateDir, state.Run.ID, l.attempt)
	}
	if latest && !l.log.Exists() && !l.step.IsRunning() {
		l.output = ws.verbs.OutputOf(ctx, state.Plan, l.step)
	}
	if l.output == "" && !l.log.Exists() && !l.runs(state) {
		what := fmt.Sprintf("no output of attempt %d at %s is kept", attempt, l.step.ID)
		if attempt == 0 {
			what = l.step.ID.String() + " has no log, because it was not tried yet"
		}
		return l, plan.Refuse(plan.NotFound, "", what, listLogs(kept))
	}
	return l, nil
}

func stepToLog(state plan.State, kept map[plan.StepID][]int, named string) (*plan.Step, error) {
	if named != "" {
		id, err := plan.ParseStepID(named)
		if err != nil {
			return nil, err
		}
		if step, ok := state.Plan.Steps.Get(id); ok {
			return step, nil
		}
		return nil, plan.Refuse(plan.NotFound, "", "step "+id.String()+" does not exist", listLogs(kept))
	}
	running := slices.Collect(state.Plan.Steps.Executing())
	switch len(running) {
	case 1:
		return running[0], nil
	case 0:
		return nil, plan.Refuse(plan.InvalidInput, "", "no step is running; name a step", listLogs(kept))
	}
	return nil, plan.Refuse(plan.InvalidInput, "", plan.Pluralize(len(running), "step")+" are running; name one",
		"such as planloop step logs "+running[0].ID.String())
}

func listLogs(kept map[plan.StepID][]int) string {
	if len(kept) == 0 {
		return "planloop run keeps logs of its agents' steps; none exist yet"
	}
	var words []string
	for _, id := range slices.Sorted(maps.Keys(kept)) {
		words = append(words, id.String())
		if attempts := kept[id]; len(attempts) > 1 {
			words[len(words)-1] += fmt.Sprintf(" (attempts %s)", strings.Trim(strings.ReplaceAll(fmt.Sprint(attempts), " ", ", "), "[]"))
		}
	}
	return "logs exist for " + strings.Join(words, ", ")
}

func (l stepLog) runs(state plan.State) bool {
	if state.Plan == nil || state.Plan.Root() != l.attempt.Plan {
		return false
	}
	step, ok := state.Plan.Steps.Get(l.attempt.Step)
	return ok && step.IsRunning() && step.Attempts == l.attempt.Attempt
}

func (l stepLog) reader() io.Reader {
	if l.output != "" {
		return strings.NewReader(l.output)
	}
	return l.log.Open()
}

func (l stepLog) end(max int) string {
	if l.output != "" {
		return safetext.Tail(l.output, max)
	}
	return l.log.End(max)
}

func copyOutput(from io.Reader, out *outputPrinter) error {
	if closer, ok := from.(io.Closer); ok {
		defer closer.Close()
	}
	if _, err := io.Copy(out, from); err != nil {
		return err
	}
	return out.flush()
}

const logPollInterval = time.Second // for dead engines, and for growth without an event

// followLog prints a log as it grows, until the attempt ends, its engine is gone, or ctx ends.
func (a *app) followLog(ctx context.Context, ws *openWorkspace, l stepLog, out *outputPrinter) error {
	grown, err := ws.verbs.Watch(ctx)
	if err != nil {
		return err
	}
	files, err := fsnotify.NewWatcher()
	if err != nil {
		return fmt.Errorf("watch the log: %w", err)
	}
	defer files.Close()
	reader := l.log.Open()
	defer reader.Close()
	tick := time.NewTicker(logPollInterval)
	defer tick.Stop()
	for {
		state, err := ws.verbs.State(ctx)
		if ctx.Err() != nil {
			return out.flush()
		}
		if err != nil {
			return err
		}
		over := !l.runs(state) || ws.presence.Seen(l.step.ClaimedBy).IsGone
		_ = files.Add(l.log.Folder()) // the folder may be created only now
		for unchanged := true; unchanged; {
			if _, err := io.Copy(out, reader); err != nil || over {
				return errors.Join(err, out.flush())
			}
			select {
			case <-files.Events:
			case <-files.Errors: // some events were lost
			case <-grown:
				unchanged = false
			case <-tick.C:
				unchanged = false
			case <-ctx.Done():
				unchanged = false
			}
		}
	}
}

const maxHeldLine = 64 << 10 // bytes of an unfinished line

const maxKey = 16 << 10 // bytes of a private key

// outputPrinter passes on a program's output by lines, without secrets and escape sequences; it writes out what else hides text.
type outputPrinter struct {
	out    io.Writer
	marked bool   // the lines begin with safetext.Mark
	rest   []byte // an unfinished line, or the beginning of a private key
}

func (p *outputPrinter) Write(data []byte) (int, error) {
	p.rest = append(p.rest, data...)
	end := bytes.LastIndexByte(p.rest, '\n') + 1
	key := bytes.LastIndex(p.rest[:end], []byte("-----BEGIN "))
	if key >= 0 && end-key < maxKey && !bytes.Contains(p.rest[key:end], []byte("-----END ")) {
		end = bytes.LastIndexByte(p.rest[:key], '\n') + 1
	}
	if end == 0 && len(p.rest) > maxHeldLine {
		end = len(p.rest)
		for back := 1; back < utf8.UTFMax; back++ { // the last character may be incomplete
			if last := p.rest[end-back:]; utf8.RuneStart(last[0]) && !utf8.FullRune(last) {
				end -= back
				break
			}
		}
	}
	if err := p.pass(end); err != nil {
		return 0, err
	}
	return len(data), nil
}

// flush ends the last line.
func (p *outputPrinter) flush() error {
	if len(p.rest) > 0 {
		p.rest = append(p.rest, '\n')
	}
	return p.pass(len(p.rest))
}

func (p *outputPrinter) pass(end int) error {
	if end == 0 {
		return nil
	}
	text := safetext.Escape(plan.Mask(safetext.Newlines(ansi.Strip(string(p.rest[:end])))))
	if p.marked {
		text = safetext.Marked(strings.TrimSuffix(text, "\n")) + "\n"
	}
	p.rest = append(p.rest[:0], p.rest[end:]...)
	if _, err := io.WriteString(p.out, text); err != nil {
		return fmt.Errorf("write to standard output: %w", err)
	}
	return nil
}
