package agents_test

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/agents"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/process"
)

func TestFor(t *testing.T) {
	program := []string{"true"}
	both, err := agents.New(agents.Config{"default": {Command: program}, "reviewer": {Command: program, Starts: 3}}, agents.Options{})
	if err != nil {
		t.Fatal(err)
	}
	one, err := agents.New(agents.Config{"reviewer": {Command: program}}, agents.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a               *agents.Agents
		suggested, want string
	}{
		{both, "", "default"}, {both, "reviewer", "reviewer"}, {both, " Reviewer ", "reviewer"}, {both, "a database expert", "default"},
		{one, "", ""}, {one, "reviewer", "reviewer"}, {one, "default", ""},
	} {
		if name, ok := c.a.For(c.suggested); name != c.want || ok != (c.want != "") {
			t.Errorf("%q: %q %t", c.suggested, name, ok)
		}
	}
	if both.Starts("reviewer") != 3 || both.Starts("default") != 0 || both.Starts("nobody") != 0 {
		t.Error("how many starts?")
	}
}

func TestConfigurationsThatCannotBeUsed(t *testing.T) {
	command := []string{"claude", "-p"}
	for says, c := range map[string]agents.Config{
		`agents: "A B" is no name`:               {"A B": {Command: command}},
		`agents: "" is no name`:                  {"": {Command: command}},
		`xxx" is no name`:                        {strings.Repeat("x", 33): {Command: command}},
		"x.command names no program":             {"x": {}},
		"x.command begins with a relative path":  {"x": {Command: []string{"./claude"}}},
		"x.command cannot be given to a program": {"x": {Command: []string{"claude", "a\x00b"}}},
		"x.timeout of 1ms is out of range":       {"x": {Command: command, Timeout: time.Millisecond}},
		"x.timeout of 25h0m0s is out of range":   {"x": {Command: command, Timeout: 25 * time.Hour}},
		"x.starts is -1":                         {"x": {Command: command, Starts: -1}},
		"x.env holds what is no name":            {"x": {Command: command, Env: []string{"KEY=secret"}}},
	} {
		_, err := agents.New(c, agents.Options{})
		if !errors.Is(err, outbound.ErrConfig) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// BenchmarkWork is what planloop adds to a command that does nothing, in a folder without files.
func BenchmarkWork(b *testing.B) {
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	a, err := agents.New(agents.Config{"default": {Command: []string{"true"}}},
		agents.Options{Workspace: b.TempDir(), Launcher: &process.Launcher{Program: self}})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := a.Work(b.Context(), agents.Assignment{Agent: "default", Nonce: nonce, Log: io.Discard}); err != nil {
			b.Fatal(err)
		}
	}
}
