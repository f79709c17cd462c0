// Package agents starts the host of an agent, such as claude -p or codex exec, for one attempt of
// one step: with the prompt on its standard input, in an environment that is listed, so that all it
// starts can be ended. It listens for the report, keeps secrets out of what it hands on, and says
// what has changed in the work tree.
//
// It must not know the log, what the prompt says, or what a report leads to.
package agents

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

// Config is the section agents of the user's own configuration: agents by name.
type Config map[string]Agent

// Agent says how an agent's host is started.
type Agent struct {
	Command []string      `yaml:"command"` // the program and its arguments; no shell reads them
	Timeout time.Duration `yaml:"timeout"` // of an attempt whose step has none; 0: DefaultTimeout
	Dir     string        `yaml:"dir"`     // where it works, absolute or below the workspace; "": the workspace
	Env     []string      `yaml:"env"`     // variables that it is given besides the usual ones
	Starts  *int          `yaml:"starts"`  // that a run may make at most; nil: any number
}

// Default is the name of the agent that works on steps which suggest none that there is.
const Default = "default"

// DefaultTimeout is how long an attempt may take where nobody says.
const DefaultTimeout = time.Hour

// Bounds of the configuration.
const (
	minTimeout = time.Second
	maxTimeout = 24 * time.Hour
	maxName    = 32
	maxStarts  = 10_000
)

// Options configure Agents. The zero value of a field means its default.
type Options struct {
	Workspace string            // the directory in which they work, absolute
	Environ   []string          // variables as name=value; nil: those of this process
	Launcher  *process.Launcher // nil: one without a program
	Grace     time.Duration     // for ending by itself after a report; default 60 s
	Logger    *slog.Logger      // nil: discards
}

const defaultGrace = time.Minute

// Agents starts agents. Its methods may be called from several goroutines.
type Agents struct {
	config Config
	opts   Options
}

// New returns what starts the agents of a configuration. Its error is an *outbound.ConfigError.
func New(c Config, o Options) (*Agents, error) {
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

// For is the agent that works on a step: the one that the step suggests, or the default one. It is
// false where there is neither.
func (a *Agents) For(suggested string) (name string, ok bool) {
	for _, name := range []string{strings.ToLower(strings.TrimSpace(suggested)), Default} {
		if _, ok := a.config[name]; ok {
			return name, true
		}
	}
	return "", false
}

// Starts is how many starts of an agent a run may make; 0 is any number.
func (a *Agents) Starts(name string) int {
	if starts := a.config[name].Starts; starts != nil {
		return *starts
	}
	return 0
}

// Program is what is started for an agent, for people.
func (a *Agents) Program(name string) string {
	if command := a.config[name].Command; len(command) > 0 {
		return filepath.Base(command[0])
	}
	return ""
}

// Check returns why an agent cannot be started here, as an *outbound.ConfigError: its program is not
// there, or the folder in which it works.
func (a *Agents) Check(name string) error {
	_, _, err := a.found(name, a.config[name])
	return err
}

// Unset are the variables that an agent is to be given, and that have no value here.
func (a *Agents) Unset(name string) []string {
	var unset []string
	for _, variable := range a.config[name].Env {
		if !slices.ContainsFunc(a.opts.Environ, func(s string) bool { return strings.HasPrefix(s, variable+"=") && s != variable+"=" }) {
			unset = append(unset, variable)
		}
	}
	return unset
}

// Names are the names of the agents.
func (a *Agents) Names() []string { return slices.Sorted(maps.Keys(a.config)) }

// Validate returns the first thing that cannot be used, as an *outbound.ConfigError. It looks
// neither at the environment nor for the programs.
func (c Config) Validate() error {
	for _, name := range slices.Sorted(maps.Keys(c)) {
		if !validName(name) {
			return invalid(fmt.Sprintf("%.40q", name), "is no name of an agent",
				fmt.Sprintf("use at most %d lower-case letters, digits, dashes and underscores", maxName))
		}
		if fault := c[name].fault(); fault != nil {
			fault.Key = name + "." + fault.Key
			return fault
		}
	}
	return nil
}

func validName(name string) bool {
	return name != "" && len(name) <= maxName && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_-") == ""
}

func invalid(key, problem, want string) *outbound.ConfigError {
	return &outbound.ConfigError{Section: "agents", Key: key, Problem: problem, Want: want}
}

// fault is the first thing about an agent that cannot be used; nil for none.
func (a Agent) fault() *outbound.ConfigError {
	problem, want := process.CheckCommand(a.Command)
	switch {
	case problem != "":
		return invalid("command", problem, want)
	case a.Timeout != 0 && (a.Timeout < minTimeout || a.Timeout > maxTimeout):
		return invalid("timeout", fmt.Sprintf("of %s is out of range", a.Timeout),
			fmt.Sprintf("write a time with its unit, from %s to %s, such as timeout: 30m", minTimeout, maxTimeout))
	case a.Starts != nil && (*a.Starts < 1 || *a.Starts > maxStarts):
		return invalid("starts", fmt.Sprintf("is %d", *a.Starts),
			fmt.Sprintf("write a number from 1 to %d, or leave it out for no bound", maxStarts))
	}
	for _, name := range a.Env {
		if !outbound.VariableName(name) {
			return invalid("env", "holds what is no name of a variable", "list names such as ANTHROPIC_API_KEY, not values")
		}
	}
	return nil
}
