package notify

import (
	"net/url"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/outbound"
)

// Config is the section notify of the user's own configuration. Every configured target gets every notice.
type Config struct {
	Command []string        `yaml:"command"` // a program and its arguments; it reads the notice from standard input
	Webhook outbound.Secret `yaml:"webhook"` // the address that gets the notice by POST
}

// Validate returns the first unusable value as an *outbound.ConfigError. It looks for the program and
// contacts nothing.
func (c Config) Validate() error {
	if _, problem := c.check(); problem != nil {
		return problem
	}
	if len(c.Command) == 0 {
		return nil
	}
	if _, err := exec.LookPath(c.Command[0]); err != nil {
		return invalid("command", "starts a program that cannot be found", "install it, or give its absolute path")
	}
	return nil
}

// check returns the webhook's address, nil without one, or an error for the first invalid value.
func (c Config) check() (*url.URL, *outbound.ConfigError) {
	const example = "write the program and its arguments as a list, such as command: [notify-send, planloop]"
	nul := func(s string) bool { return strings.ContainsRune(s, 0) }
	switch {
	case c.Command == nil:
	case len(c.Command) == 0 || c.Command[0] == "":
		return nil, invalid("command", "names no program", example)
	case slices.ContainsFunc(c.Command, nul):
		return nil, invalid("command", "holds a NUL byte", example)
	case filepath.Base(c.Command[0]) != c.Command[0] && !filepath.IsAbs(c.Command[0]):
		return nil, invalid("command", "begins with a relative path", "give the name of a program on PATH, or an absolute path")
	}
	if c.Webhook == "" {
		return nil, nil
	}
	address, problem := outbound.Rules{
		Example:     "webhook: https://example.com/hook",
		Credentials: "take them out; a webhook's secret is part of its path or query",
		Unencrypted: "write https://; http:// is for 127.0.0.1, [::1] and localhost",
	}.Parse(string(c.Webhook))
	if problem != nil {
		return nil, invalid("webhook", problem.Problem, problem.Want)
	}
	return address, nil
}

func invalid(key, problem, want string) *outbound.ConfigError {
	return &outbound.ConfigError{Section: "notify", Key: key, Problem: problem, Want: want}
}
