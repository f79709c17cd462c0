package notify

import (
	"net/url"
	"os/exec"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/process"
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
	if problem, want := process.CheckCommand(c.Command); problem != "" && c.Command != nil {
		return nil, invalid("command", problem, want)
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
