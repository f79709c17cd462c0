// Package model asks a language model one question by running a program that the user configured: it gets the
// prompt on standard input and prints the answer. The program starts in an empty private folder, with few
// environment variables, and is ended with everything it started.
//
// The package must not know the question or its purpose: no plan, no prompt, no verdict, no configuration
// file. The answer is untrusted text.
package model

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safetext"
)

// EnvInside is set in the program's environment, so that planloop refuses to work for a process below it.
// This is not a security boundary: any program can set the variable or remove it from its own environment.
const EnvInside = "PLANLOOP_INSIDE_MODEL"

// MaxAnswer is the longest answer, in bytes.
const MaxAnswer = 512 << 10

// Time that the program has for one answer.
const (
	DefaultTimeout = 2 * time.Minute
	maxTimeout     = 30 * time.Minute
)

// Config is the section model of the user's own configuration.
type Config struct {
	Command []string      `yaml:"command"` // the program and its arguments; no shell reads them
	Timeout time.Duration `yaml:"timeout"` // for one answer; 0: DefaultTimeout
	Env     []string      `yaml:"env"`     // additional variables passed on to the program
}

// Validate returns the first unusable value as an *outbound.ConfigError. It does not look for the program.
func (c Config) Validate() error {
	if key, problem, want := process.CheckConfig(c.Command, c.Timeout, maxTimeout, c.Env); key != "" {
		return invalid(key, problem, want)
	}
	return nil
}

func invalid(key, problem, want string) error {
	return &outbound.ConfigError{Section: "model", Key: key, Problem: problem, Want: want}
}

// Model asks the configured program. Its methods are safe for concurrent use.
type Model struct {
	config   Config
	launcher *process.Launcher
}

// New returns the model of a configuration, without starting the program. The error is an
// *outbound.ConfigError.
func New(c Config, launcher *process.Launcher) (*Model, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	return &Model{config: c, launcher: launcher}, nil
}

// Name returns the program's file name without .exe.
func (m *Model) Name() string {
	return strings.TrimSuffix(filepath.Base(m.config.Command[0]), ".exe")
}

// Program returns the program's path. The error is an *outbound.ConfigError.
func (m *Model) Program() (string, error) {
	program, err := exec.LookPath(m.config.Command[0])
	if err != nil {
		return "", invalid("command", fmt.Sprintf("starts %q, which cannot be started: %v", m.config.Command[0], errors.Unwrap(err)),
			"install it, or give the absolute path of a program in your own configuration")
	}
	return program, nil
}

// Ask runs the program and returns the only JSON object in its answer. Without one it returns the whole
// answer, so that a strict decoder can report the problem.
func (m *Model) Ask(ctx context.Context, prompt string) ([]byte, error) {
	answer, err := m.run(ctx, prompt)
	if err != nil {
		return nil, err
	}
	answer = safetext.Replace(answer)
	for _, secret := range m.secrets() { // last: a dropped character may have split a secret
		answer = outbound.Redact(answer, secret)
	}
	if object, ok := Object(answer); ok {
		return object, nil
	}
	return []byte(answer), nil
}

func (m *Model) run(ctx context.Context, prompt string) (string, error) {
	program, err := m.Program()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "planloop-model-") // only the user can read it
	if err != nil {
		return "", fmt.Errorf("make a folder for the model's program: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	cmd := exec.Command(program, m.config.Command[1:]...)
	cmd.Dir, cmd.Stdin = dir, strings.NewReader(prompt)
	cmd.Env = append(process.Environment(os.Environ(), m.config.Env...), EnvInside+"=1")
	timeout := cmp.Or(m.config.Timeout, DefaultTimeout)
	result, err := m.launcher.Run(ctx, cmd, process.Options{Timeout: timeout, Output: MaxAnswer})
	switch {
	case err != nil:
		return "", fmt.Errorf("ask the model %s: %w", m.Name(), err)
	case result.TimedOut:
		return "", fmt.Errorf("the model %s has not answered within %v (timeout under model)", m.Name(), timeout)
	case result.ExitCode != 0:
		return "", fmt.Errorf("the model %s failed with exit code %d%s", m.Name(), result.ExitCode, m.complaint(result))
	case result.Truncated && len(result.Stdout) >= MaxAnswer-safetext.LongestWord: // not only the errors
		return "", fmt.Errorf("the model %s printed more than %d KiB", m.Name(), MaxAnswer>>10)
	}
	return result.Stdout, nil
}

// complaint returns the last line that a failed program printed, as the end of a sentence.
func (m *Model) complaint(result process.Result) string {
	text := cmp.Or(strings.TrimSpace(result.Stderr), strings.TrimSpace(result.Stdout))
	if text = outbound.Excerpt(text[strings.LastIndexByte(text, '\n')+1:], m.secrets()...); text == "" {
		return ""
	}
	return `: "` + text + `"`
}

// secrets returns the values of the additional variables.
func (m *Model) secrets() (values []string) {
	for _, name := range m.config.Env {
		values = append(values, os.Getenv(name))
	}
	return values
}
