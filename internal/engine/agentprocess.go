package engine

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

// AgentAssignment is one attempt of one step for an agent.
type AgentAssignment struct {
	Agent       string // its configured name
	Run         string
	Step        plan.StepID
	Attempt     int
	Nonce       string        // identifies the reports of this attempt
	Prompt      string        // its standard input
	Environment []string      // further variables as name=value
	Timeout     time.Duration // of the step; 0: the agent's own

	Log      io.Writer              // gets all output without secrets, one write at a time; may be nil
	Started  func(process.Identity) // called with the agent's process; may be nil
	Line     func(string)           // called with the last line of output, fit for people, a few times a second; may be nil
	Reported <-chan struct{}        // closed once it has reported through the log; may be nil
}

// AgentOutcome is the result of an assignment.
type AgentOutcome struct {
	Report     *AgentReport // the last one in its output, or nil
	OtherNonce bool         // its output has a report with the nonce of another attempt
	Tail       string       // the end of its output, printable and without secrets
	ExitCode   int          // as process.ExitCode gives it
	TimedOut   bool
	Took       time.Duration
	Changed    []string // changed files while it worked: printable, relative to the workspace, at most maxChanged
	Committed  bool     // the work tree is at a different commit than before
	Unseen     bool     // changes could not be detected
}

const (
	maxTail    = 8_000            // bytes
	maxChanged = 5_000            // files
	lookTime   = 30 * time.Second // limit for reading the work tree
	briefLook  = 5 * time.Second  // the same after a cancellation, while the user waits
)

// errReported ends an agent that does not end by itself after its report.
var errReported = errors.New("it has reported")

// Work starts an agent and waits for its end: on its own, at its timeout, or after the grace period that follows its
// report. Its child processes do not survive it, as far as the system allows. The agent's failures are in the outcome.
// The error is about a command that could not be started, or wraps the cause of ctx's end; in the latter case the
// outcome is valid, too.
func (a *Agents) Work(ctx context.Context, w AgentAssignment) (AgentOutcome, error) {
	agent, ok := a.config[w.Agent]
	if !ok {
		return AgentOutcome{}, invalidAgent(w.Agent, "is not configured", "add it to agents in your own configuration")
	}
	cmd, err := a.command(agent, w)
	if err != nil {
		return AgentOutcome{}, err
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
		Timeout: cmp.Or(w.Timeout, agent.Timeout, DefaultAgentTimeout),
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
	outcome := AgentOutcome{Report: out.report, OtherNonce: out.otherNonce(), Tail: out.end(),
		ExitCode: result.ExitCode, TimedOut: result.TimedOut, Took: result.Duration}
	if !started && ctx.Err() == nil {
		return AgentOutcome{}, invalidAgent(w.Agent+".command", fmt.Sprintf("could not be started: %v", err),
			"correct it in your own configuration")
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

// found returns the path of an agent's program, and its working directory. The program is searched on PATH, but never
// in a relative directory.
func (a *Agents) found(name string, agent Agent) (program, dir string, err error) {
	program, err = exec.LookPath(agent.Command[0])
	if err != nil {
		return "", "", invalidAgent(name+".command",
			fmt.Sprintf("starts %q, which cannot be started: %v", agent.Command[0], errors.Unwrap(err)),
			"install it, or give the absolute path of a program in your own configuration")
	}
	dir = agent.Dir
	if !filepath.IsAbs(dir) {
		dir = filepath.Join(a.opts.Workspace, dir)
	}
	if info, err := os.Stat(dir); err != nil || !info.IsDir() {
		return "", "", invalidAgent(name+".dir", fmt.Sprintf("is %q, and there is no such folder", agent.Dir),
			"name one that exists, or leave dir out")
	}
	return program, dir, nil
}

func (a *Agents) command(agent Agent, w AgentAssignment) (*exec.Cmd, error) {
	program, dir, err := a.found(w.Agent, agent)
	if err != nil {
		return nil, err
	}
	cmd := exec.Command(program, agent.Command[1:]...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(w.Prompt)
	cmd.Env = append(process.Environment(a.opts.Environ, agent.Env...), w.Environment...)
	return cmd, nil
}

// look takes a snapshot of the work tree before the agent starts.
func (a *Agents) look(ctx context.Context) (worktree.Snapshot, error) {
	limited, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	snapshot, err := worktree.TakeSnapshot(limited, a.opts.Workspace)
	if err != nil {
		a.opts.Logger.Warn("what an agent changes cannot be told", "error", err)
	}
	return snapshot, err
}

// compare adds the changes since the snapshot to the outcome.
func (a *Agents) compare(ctx context.Context, before worktree.Snapshot, hidden *secrets, outcome *AgentOutcome) {
	patience := lookTime
	if ctx.Err() != nil {
		patience = briefLook
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	changed, moved, err := worktree.ChangedSince(limited, before)
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

// Hide returns a text without the secrets that an agent gets, or that planloop's environment names as secrets.
func (a *Agents) Hide(agent, text string) string {
	return secretsOf(a.opts.Environ, a.config[agent].Env).in(text)
}
