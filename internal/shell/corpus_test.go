package shell_test

import (
	"os"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/shell"
)

// corpus reads the commands of a file: one on a line, \n in it a newline, # a source.
func corpus(t testing.TB, name string) []string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var commands []string
	for line := range strings.Lines(string(text)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		commands = append(commands, strings.ReplaceAll(line, "␤", "\n"))
	}
	if len(commands) < 200 {
		t.Fatalf("%s has %d commands: that is no corpus", name, len(commands))
	}
	return commands
}

func TestRefusedCorpus(t *testing.T) {
	for _, command := range corpus(t, "refused.txt") {
		v := shell.Classify(command)
		if v.Allowed {
			t.Errorf("allowed: %s", command)
			continue
		}
		if v.Reason == "" {
			t.Errorf("no reason: %s", command)
		}
		if v.Instead != "" && !shell.Classify(v.Instead).Allowed {
			t.Errorf("%s: instead is offered what is refused: %s", command, v.Instead)
		}
	}
}

// TestUnknownCorpus: these commands are neither plainly reading nor changes.
func TestUnknownCorpus(t *testing.T) {
	for _, command := range corpus(t, "unknown.txt") {
		if v := shell.ClassifyForHost(command); v.Allowed || v.Changes {
			t.Errorf("%s: %+v", command, v)
		}
	}
}

// TestChangesCorpus: these commands are changes, for any shell.
func TestChangesCorpus(t *testing.T) {
	for _, command := range corpus(t, "changes.txt") {
		if !shell.ClassifyForHost(command).Changes || !shell.Classify(command).Changes {
			t.Errorf("not a change: %s", command)
		}
	}
	for _, command := range []string{"cargo test", "npm test", "pip list", "yarn build", "npx jest && cargo build"} {
		if shell.ClassifyForHost(command).Changes || !shell.Classify(command).Changes {
			t.Errorf("%s must be refused by planloop's own shell only", command)
		}
	}
}

// TestAllowedCorpus: every everyday command is allowed.
func TestAllowedCorpus(t *testing.T) {
	for _, command := range corpus(t, "allowed.txt") {
		if v := shell.Classify(command); !v.Allowed || v.Changes {
			t.Errorf("refused: %s: %s", command, v.Reason)
		}
	}
}

// TestHostileCorpus: a hostile line is refused, or bash and zsh run it without an effect.
func TestHostileCorpus(t *testing.T) {
	o, commands, ran := newOracle(t), corpus(t, "hostile.txt"), 0
	for _, command := range commands {
		if shell.Classify(command).Allowed {
			t.Logf("allowed: %s", command)
			o.run(command)
			ran++
		}
	}
	if refused := corpus(t, "refused.txt"); len(commands)+len(refused) < 5000 {
		t.Errorf("%d hostile commands are too few", len(commands)+len(refused))
	}
	t.Logf("%d of %d hostile commands are allowed, and harmless", ran, len(commands))
}
