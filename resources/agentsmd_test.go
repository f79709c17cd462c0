package resources_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/resources"
)

func TestAgentsMDGolden(t *testing.T) {
	golden(t, "agents.md", []byte(resources.AgentsMD("docs/agents.md")))
	if resources.AgentsMD("") != resources.AgentsMD(resources.AgentsFile) {
		t.Error("no file is not the default file")
	}
}

// TestAgentsMDAnswersEveryReason: for each reason the agent finds the action.
func TestAgentsMDAnswersEveryReason(t *testing.T) {
	want := []string{
		"sync_instructions", "ready_for_task", "waiting_on_signal", "waiting_on_agent", "replanning", "deadlocked",
		"gathering", "awaiting_approval", "plan_completed", "closed", "failed", "no_plan",
	}
	_, answers, _ := strings.Cut(resources.AgentsMD(""), "## What `now.reason` asks\n")
	answers, _, _ = strings.Cut(answers, "\n## ")
	var got []string
	for _, m := range regexp.MustCompile("(?m)^- `([a-z_]+)`: [a-z]").FindAllStringSubmatch(answers, -1) {
		got = append(got, m[1])
	}
	if !slices.Equal(got, want) {
		t.Errorf("reasons answered: %v, want %v", got, want)
	}
}

// TestAgentsMDTeaches holds the rule book to the order of its rules.
func TestAgentsMDTeaches(t *testing.T) {
	inOrder(t, resources.AgentsMD("AGENTS.md"), []string{
		"`next_action`: do it",
		"`planloop status --json` or `planloop_status`", "`planloop update --json '{...}'` or `planloop_update`",
		"`planloop alert --id ID --clear`, or `planloop_alert`", "`planloop check --id ID -- COMMAND`",
		"## The loop", "**Status.**", "**Gather context.**", "`context_hints`", "`relevant_file_paths`", "before you write code",
		"**Work**", "**Update** as it happens, not in a batch", "`DONE` needs evidence", "`verify`",
		"overwrite `AGENTS.md` with `instructions_content`", "mark it `DONE` in the same update", "clear the signal",
		`{"final_summary":"<`, "planloop start --goal", "planloop_start",
		"## Adding tasks", `"add_tasks"`, `"type"`, `"dependencies"`, `"context_hints"`, `"relevant_file_paths"`, "`creates`",
		"`plan_validation_failed`: nothing was stored", "Never approve your own plan",
	})
}

func TestAgentsMDShape(t *testing.T) {
	text := resources.AgentsMD("")
	requireASCII(t, text)
	if regexp.MustCompile(`(?m)^#{3,}`).MatchString(text) {
		t.Error("a heading is deeper than ##")
	}
	if !strings.HasSuffix(text, "\n") || strings.HasSuffix(text, "\n\n") || strings.Contains(text, "<!--") {
		t.Error("the text has to end with one newline and hold no comment that could be taken for a marker")
	}
	budget(t, "agents.md", text, 900)
}

func TestAgentsMDNamesOnlyPlainPaths(t *testing.T) {
	for _, path := range []string{"a`b.md", "a\nb.md", "\x1b[31m.md", "a\u202eb.md", "\xff.md", " ", strings.Repeat("a", 121)} {
		text := resources.AgentsMD(path)
		if !strings.Contains(text, "overwrite this file with") || path != " " && strings.Contains(text, path) {
			t.Errorf("path %q is repeated", path)
		}
		requireASCII(t, text)
	}
	for _, path := range []string{"CLAUDE.md", "a b/{{.File}}.md", "docs/anleitung-für-agenten.md", strings.Repeat("é", 120)} {
		if text := resources.AgentsMD(path); !strings.Contains(text, "overwrite `"+path+"` with") {
			t.Errorf("path %q is not named", path)
		}
	}
}

func requireASCII(t *testing.T, text string) {
	t.Helper()
	for i, r := range text {
		if r != '\n' && (r < ' ' || r > '~') {
			t.Errorf("%U at byte %d is not printable ASCII", r, i)
		}
	}
}

// budget limits a text to a number of tokens.
func budget(t *testing.T, name, text string, most int) {
	t.Helper()
	codec := testenv.Must(tokenizer.Get(tokenizer.O200kBase))(t)
	n := testenv.Must(codec.Count(text))(t)
	t.Logf("%s: %d tokens, %d bytes", name, n, len(text))
	if n == 0 || n > most {
		t.Errorf("%s: %d tokens, at most %d are allowed", name, n, most)
	}
}

// inOrder wants every phrase in the text, in the given order.
func inOrder(t *testing.T, text string, phrases []string) {
	t.Helper()
	rest := text
	for _, phrase := range phrases {
		_, after, found := strings.Cut(rest, phrase)
		if !found {
			t.Fatalf("%q is missing or out of order in:\n%s", phrase, text)
		}
		rest = after
	}
}
