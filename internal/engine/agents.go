package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/worktree"
	"github.com/planloop/planloop/plan"
)

// AgentConfig is the section agents of the user's own configuration: agents by name.
type AgentConfig map[string]Agent

// Agent says how to start an agent's host.
type Agent struct {
	Command []string      `yaml:"command"` // the program and its arguments; no shell reads them
	Timeout time.Duration `yaml:"timeout"` // of an attempt, if the step has none; 0: DefaultAgentTimeout
	Dir     string        `yaml:"dir"`     // work folder, absolute or below the workspace; "": the workspace
	Env     []string      `yaml:"env"`     // variables passed on to it, in addition to the usual ones
	Starts  *int          `yaml:"starts"`  // most starts in a run; nil: unlimited
}

// DefaultAgent is the name of the agent for steps that suggest no known agent.
const DefaultAgent = "default"

// DefaultAgentTimeout limits an attempt without a configured timeout.
const DefaultAgentTimeout = time.Hour

// Limits of the configuration.
const (
	maxTimeout = 24 * time.Hour
	maxName    = 32
	maxStarts  = 10_000
)

// AgentOptions configure Agents. The zero value of a field means its default.
type AgentOptions struct {
	Workspace string            // the agents' directory, absolute
	Mirror    string            // planloop's own file in it, which counts as nobody's change, with slashes; "": none
	Environ   []string          // variables as name=value; nil: those of this process
	Launcher  *process.Launcher // nil: the zero Launcher
	Grace     time.Duration     // time for an agent to end by itself after its report; default 60 s
	Logger    *slog.Logger      // nil: discards
}

const defaultGrace = time.Minute

// Agents starts agents. Its methods are safe for concurrent use.
type Agents struct {
	config AgentConfig
	opts   AgentOptions
}

// NewAgents returns the Agents for a configuration. Its error is an *outbound.ConfigError.
func NewAgents(c AgentConfig, o AgentOptions) (*Agents, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	o.Launcher = cmp.Or(o.Launcher, &process.Launcher{})
	o.Grace = cmp.Or(o.Grace, defaultGrace)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Agents{config: c, opts: o}, nil
}

// For returns the agent for a step: the one that the step suggests, else the default one. It returns false if
// neither is configured.
func (a *Agents) For(suggested string) (name string, ok bool) {
	for _, name := range []string{strings.ToLower(strings.TrimSpace(suggested)), DefaultAgent} {
		if _, ok := a.config[name]; ok {
			return name, true
		}
	}
	return "", false
}

// Starts returns the most starts of an agent in a run; 0 means unlimited.
func (a *Agents) Starts(name string) int {
	return *cmp.Or(a.config[name].Starts, new(0))
}

// Program returns the name of an agent's program, for people.
func (a *Agents) Program(name string) string {
	if command := a.config[name].Command; len(command) > 0 {
		return filepath.Base(command[0])
	}
	return ""
}

// Check returns an *outbound.ConfigError if an agent cannot be started here, because its program or its folder does
// not exist.
func (a *Agents) Check(name string) error {
	_, _, err := a.locate(name)
	return err
}

// Unset returns the variables configured for an agent that have no value here.
func (a *Agents) Unset(name string) []string {
	var unset []string
	for _, variable := range a.config[name].Env {
		if !slices.ContainsFunc(a.opts.Environ, func(s string) bool { return strings.HasPrefix(s, variable+"=") && s != variable+"=" }) {
			unset = append(unset, variable)
		}
	}
	return unset
}

// Names returns the names of the agents.
func (a *Agents) Names() []string { return slices.Sorted(maps.Keys(a.config)) }

// Validate returns the first invalid value as an *outbound.ConfigError. It checks neither the environment nor the
// programs.
func (c AgentConfig) Validate() error {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		agent := c[name]
		key, problem, want := process.CheckConfig(agent.Command, agent.Timeout, maxTimeout, agent.Env)
		switch {
		case name == "" || len(name) > maxName || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") != "":
			return invalidAgent(fmt.Sprintf("%.40q", name), "is not a valid agent name",
				fmt.Sprintf("use at most %d lower-case letters, digits, dashes and underscores", maxName))
		case key != "":
			return invalidAgent(name+"."+key, problem, want)
		case agent.Starts != nil && (*agent.Starts < 1 || *agent.Starts > maxStarts):
			return invalidAgent(name+".starts", fmt.Sprintf("is %d", *agent.Starts),
				fmt.Sprintf("write a number from 1 to %d, or leave it out for no limit", maxStarts))
		}
	}
	return nil
}

func invalidAgent(key, problem, want string) error {
	return &outbound.ConfigError{Section: "agents", Key: key, Problem: problem, Want: want}
}

// AgentAssignment is one attempt of one step for an agent.
type AgentAssignment struct {
	Agent       string // its configured name
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
	Unread     string       // why its report cannot be read, "" if none was found or it could be read
	Tail       string       // the end of its output, printable and without secrets
	ExitCode   int          // as process.ExitCode gives it
	TimedOut   bool
	Took       time.Duration
	Changed    []string // changed files while it worked: printable, relative to the workspace, at most maxChanged
	Committed  bool     // the work tree is at a different commit than before
	Unseen     bool     // changes could not be detected
}

const (
	maxTail         = 8_000            // bytes
	maxChanged      = 5_000            // files
	snapshotTimeout = 30 * time.Second // for reading the work tree
	cancelTimeout   = 5 * time.Second  // the same after a cancellation, while the user waits
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
	program, dir, err := a.locate(w.Agent)
	if err != nil {
		return AgentOutcome{}, err
	}
	out := newAgentOutput(w, secretsOf(a.opts.Environ, agent.Env))
	cmd := exec.Command(program, agent.Command[1:]...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(w.Prompt)
	cmd.Stdout, cmd.Stderr = out.stream(), out.stream()
	cmd.Env = append(process.Environment(a.opts.Environ, agent.Env...), w.Environment...)
	before, unseen := a.snapshot(ctx)
	started := false
	working, end := context.WithCancelCause(ctx)
	var watchers sync.WaitGroup
	watchers.Go(func() { out.endAfterReport(working, a.opts.Grace, w.Reported, end) })
	watchers.Go(func() { out.showLines(working) })
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
	watchers.Wait()
	out.close()
	if !started && ctx.Err() == nil {
		return AgentOutcome{}, invalidAgent(w.Agent+".command", fmt.Sprintf("could not be started: %v", err),
			"correct it in your own configuration")
	}
	isOther := func(s *stream) bool { return s.reports.otherNonce }
	unread := ""
	for _, s := range out.streams {
		unread = cmp.Or(unread, s.reports.unread)
	}
	outcome := AgentOutcome{Report: out.report, OtherNonce: slices.ContainsFunc(out.streams, isOther), Tail: out.end(),
		Unread:   out.secrets.removeFrom(unread),
		ExitCode: result.ExitCode, TimedOut: result.TimedOut, Took: result.Duration, Unseen: unseen != nil}
	if !outcome.Unseen {
		a.addChanges(ctx, before, out.secrets, &outcome)
	}
	if ctx.Err() != nil && err != nil {
		return outcome, err
	}
	if err != nil && !errors.Is(err, errReported) {
		a.opts.Logger.Warn("an agent ended with an error", "agent", w.Agent, "step", w.Step.String(), "error", err)
	}
	return outcome, nil
}

// locate returns the path of an agent's program, and its working directory. The program is searched on PATH, but never
// in a relative directory.
func (a *Agents) locate(name string) (program, dir string, err error) {
	agent := a.config[name]
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
		return "", "", invalidAgent(name+".dir", fmt.Sprintf("is %q, but that folder does not exist", agent.Dir),
			"name one that exists, or leave dir out")
	}
	return program, dir, nil
}

// snapshot reads the work tree before the agent starts.
func (a *Agents) snapshot(ctx context.Context) (worktree.Snapshot, error) {
	limited, cancel := context.WithTimeout(ctx, snapshotTimeout)
	defer cancel()
	snapshot, err := worktree.TakeSnapshot(limited, a.opts.Workspace)
	if err != nil {
		a.opts.Logger.Warn("cannot detect the changes an agent will make", "error", err)
	}
	return snapshot, err
}

func (a *Agents) addChanges(ctx context.Context, before worktree.Snapshot, hidden *secrets, outcome *AgentOutcome) {
	timeout := snapshotTimeout
	if ctx.Err() != nil {
		timeout = cancelTimeout
	}
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()
	changed, moved, err := worktree.ChangedSince(limited, before)
	if err != nil {
		a.opts.Logger.Warn("cannot detect the changes an agent made", "error", err)
		outcome.Unseen = true
		return
	}
	outcome.Committed = moved
	changed = slices.DeleteFunc(changed, func(name string) bool { return name == a.opts.Mirror })
	for _, name := range changed[:min(len(changed), maxChanged)] {
		outcome.Changed = append(outcome.Changed, safetext.EscapeLine(hidden.removeFrom(name)))
	}
}

// Hide returns a text without the secrets that an agent gets, or that planloop's environment names as secrets.
func (a *Agents) Hide(agent, text string) string {
	return secretsOf(a.opts.Environ, a.config[agent].Env).removeFrom(text)
}
