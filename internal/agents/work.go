package agents

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/worktree"
	"github.com/planloop/planloop/plan"
)

// Assignment is one attempt of one step, as an agent is given it.
type Assignment struct {
	Agent       string // which of the configuration works on it
	Run         string
	Step        plan.StepID
	Attempt     int
	Nonce       string        // by which a report is known as that of this attempt
	Prompt      string        // its standard input
	Environment []string      // variables as name=value, besides those of the agent
	Timeout     time.Duration // of the step; 0: the agent's own

	Log      io.Writer              // gets all it prints without secrets, one write at a time; may be nil
	Started  func(process.Identity) // is told what runs; may be nil
	Line     func(string)           // is told the last line it printed, fit for people, a few times a second; may be nil
	Reported <-chan struct{}        // closed when it has reported in another way; may be nil
}

// Outcome is what came of an assignment.
type Outcome struct {
	Report     *Report // the last one in its output; nil: none
	OtherNonce bool    // its output has what would be a report, but with the nonce of another attempt
	Tail       string  // the end of its output, printable and without secrets
	ExitCode   int     // that of process.ExitCode
	TimedOut   bool
	Took       time.Duration
	Changed    []string // the files that changed while it worked: printable, relative to the workspace, the first of them
	Committed  bool     // the work tree stands at another commit than before
	Unseen     bool     // what changed could not be told
}

const (
	maxTail    = 8_000            // bytes of an output that an outcome has
	maxChanged = 5_000            // files that an outcome names
	lookTime   = 30 * time.Second // to find out what stands in the work tree
	briefLook  = 5 * time.Second  // the same, while somebody waits for the end
)

// errReported ends an agent that does not end by itself after its report.
var errReported = errors.New("it has reported")

// Work starts an agent and waits until it has ended, by itself or because its time is up: that of
// the step, or the grace after its report. Nothing that it started outlives it, as far as the system
// allows. What it did wrong is in the outcome; the error is about a command that could not be
// started, or wraps the cause for which ctx was ended, and then the outcome tells of what was seen.
func (a *Agents) Work(ctx context.Context, w Assignment) (Outcome, error) {
	agent, ok := a.config[w.Agent]
	if !ok {
		return Outcome{}, invalid(w.Agent, "is not configured", "add it to agents in your own configuration")
	}
	cmd, err := a.command(agent, w)
	if err != nil {
		return Outcome{}, err
	}
	before, unseen := a.look(ctx)
	out := newOutput(w, secretsOf(a.opts.Environ, agent.Env))
	cmd.Stdout, cmd.Stderr = out.stream(), out.stream()
	started := false
	working, end := context.WithCancelCause(ctx)
	var owned sync.WaitGroup
	owned.Go(func() { out.endAfter(working, a.opts.Grace, w.Reported, end) })
	owned.Go(func() { out.tellLines(working) })
	result, err := a.opts.Launcher.Run(working, cmd, process.Options{
		Timeout: cmp.Or(w.Timeout, agent.Timeout, DefaultTimeout),
		Output:  1,
		Started: func(id process.Identity) {
			started = true
			if w.Started != nil {
				w.Started(id)
			}
		},
	})
	end(nil)
	owned.Wait()
	out.close()
	outcome := Outcome{Report: out.report, OtherNonce: out.otherNonce(), Tail: out.end(),
		ExitCode: result.ExitCode, TimedOut: result.TimedOut, Took: result.Duration}
	if !started && ctx.Err() == nil {
		return Outcome{}, invalid(w.Agent+".command", fmt.Sprintf("could not be started: %v", err), "correct it in your own configuration")
	}
	if outcome.Unseen = unseen != nil; !outcome.Unseen {
		a.compare(ctx, before, out.secrets, &outcome)
	}
	if ctx.Err() != nil && err != nil {
		return outcome, err
	}
	if err != nil && !errors.Is(err, errReported) {
		a.opts.Logger.Warn("an agent ended in an unusual way", "agent", w.Agent, "step", w.Step.String(), "error", err)
	}
	return outcome, nil
}

// found is where an agent's program is, and the folder in which it works. A program is looked for on
// PATH, but never below a relative folder.
func (a *Agents) found(name string, agent Agent) (program, dir string, err error) {
	program, err = exec.LookPath(agent.Command[0])
	if err != nil {
		return "", "", invalid(name+".command", fmt.Sprintf("starts %q, which cannot be started: %v", agent.Command[0], errors.Unwrap(err)),
			"install it, or give the absolute path of a program in your own configuration")
	}
	dir = agent.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.opts.Workspace, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", "", invalid(name+".dir", fmt.Sprintf("is %q, and there is no such folder", agent.Dir),
			"name one that exists, or leave dir out")
	}
	return program, dir, nil
}

// command is what is started.
func (a *Agents) command(agent Agent, w Assignment) (*exec.Cmd, error) {
	program, dir, err := a.found(w.Agent, agent)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, agent.Command[1:]...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(w.Prompt)
	cmd.Env = append(process.Environment(a.opts.Environ, agent.Env...), w.Environment...)
	return cmd, nil
}

// look takes down what stands in the work tree, before the agent is started.
func (a *Agents) look(ctx context.Context) (worktree.Snapshot, error) {
	limited, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	snapshot, err := worktree.Look(limited, a.opts.Workspace)
	if err != nil {
		a.opts.Logger.Warn("what an agent changes cannot be told", "error", err)
	}
	return snapshot, err
}

// compare tells what has changed since.
func (a *Agents) compare(ctx context.Context, before worktree.Snapshot, hidden *secrets, outcome *Outcome) {
	patience := lookTime
	if ctx.Err() != nil {
		patience = briefLook
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	changed, moved, err := worktree.After(limited, before)
	if err != nil {
		a.opts.Logger.Warn("what an agent changed cannot be told", "error", err)
		outcome.Unseen = true
		return
	}
	outcome.Committed = moved
	for _, name := range changed[:min(len(changed), maxChanged)] {
		outcome.Changed = append(outcome.Changed, safetext.EscapeLine(hidden.in(name)))
	}
}

// Hide returns a text without the secrets that an agent is given, or that its environment names as such.
func (a *Agents) Hide(agent, text string) string {
	return secretsOf(a.opts.Environ, a.config[agent].Env).in(text)
}
