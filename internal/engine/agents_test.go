package engine_test

import (
	"errors"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/outbound"
)

func TestFor(t *testing.T) {
	program := []string{"true"}
	config := engine.AgentConfig{"default": {Command: program}, "reviewer": {Command: program, Starts: new(3)}}
	both, err := engine.NewAgents(config, engine.AgentOptions{})
	if err != nil {
		t.Fatal(err)
	}
	one, err := engine.NewAgents(engine.AgentConfig{"reviewer": {Command: program}}, engine.AgentOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		a               *engine.Agents
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
	for says, c := range map[string]engine.AgentConfig{
		`agents."A B" is not a valid agent name`: {"A B": {Command: command}},
		`agents."" is not a valid agent name`:    {"": {Command: command}},
		`xxx" is not a valid agent name`:         {strings.Repeat("x", 33): {Command: command}},
		"x.command names no program":             {"x": {}},
		"x.command begins with a relative path":  {"x": {Command: []string{"./claude"}}},
		"x.command cannot be given to a program": {"x": {Command: []string{"claude", "a\x00b"}}},
		"x.timeout of 1ms is out of range":       {"x": {Command: command, Timeout: time.Millisecond}},
		"x.timeout of 25h0m0s is out of range":   {"x": {Command: command, Timeout: 25 * time.Hour}},
		"x.starts is 0":                          {"x": {Command: command, Starts: new(0)}},
		"x.starts is -1":                         {"x": {Command: command, Starts: new(-1)}},
		"x.env holds a text that cannot be":      {"x": {Command: command, Env: []string{"KEY=secret"}}},
	} {
		_, err := engine.NewAgents(c, engine.AgentOptions{})
		if !errors.Is(err, outbound.ErrConfig) || !strings.Contains(err.Error(), says) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", says, err)
		}
	}
}

// A missing program or folder, and variables without a value, are reported before anything is started.
func TestWhatKeepsAnAgentFromBeingStarted(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	a, err := engine.NewAgents(engine.AgentConfig{"fine": {Command: []string{self}, Dir: "below", Env: []string{"KEY"}},
		"gone": {Command: []string{"no-such-program"}}, "lost": {Command: []string{self}, Dir: "nowhere"},
		"poor": {Command: []string{self}, Env: []string{"KEY", "EMPTY", "NONE"}}},
		engine.AgentOptions{Workspace: t.TempDir(), Environ: []string{"KEY=1", "EMPTY="}})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"poor": "", "gone": `agents.gone.command starts "no-such-program", which cannot be started`,
		"lost": `agents.lost.dir is "nowhere", but that folder does not exist`, "fine": "agents.fine.dir"} {
		err := a.Check(name)
		if got := err != nil; got != (want != "") || got && (!errors.Is(err, outbound.ErrConfig) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if unset := a.Unset("poor"); !slices.Equal(unset, []string{"EMPTY", "NONE"}) || a.Unset("fine") != nil {
		t.Error(unset)
	}
	if names := a.Names(); !slices.Equal(names, []string{"fine", "gone", "lost", "poor"}) {
		t.Error(names)
	}
}

// BenchmarkWork measures planloop's overhead for a command that does nothing, in a folder without files.
func BenchmarkWork(b *testing.B) {
	a, err := engine.NewAgents(engine.AgentConfig{"default": {Command: []string{"true"}}},
		engine.AgentOptions{Workspace: b.TempDir(), Launcher: launcher()})
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if _, err := a.Work(b.Context(), engine.AgentAssignment{Agent: "default", Nonce: nonce, Log: io.Discard}); err != nil {
			b.Fatal(err)
		}
	}
}
