package engine

import (
	"cmp"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/process"
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
