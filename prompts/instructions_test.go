package prompts_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/planloop/planloop/prompts"
)

// toolsOf lists the tools that may be named if a toolset is offered.
func toolsOf(toolset string) []string {
	switch toolset {
	case "planning":
		return planningTools
	case "loop":
		return []string{"planloop_start", "planloop_status", "planloop_update", "planloop_alert"}
	case "execution":
		return []string{"planning_execute_plan"}
	case "mode":
		return []string{"planning_enter_plan_mode", "planning_submit_plan", "planning_ask_user"}
	}
	return nil
}

// everyOffer calls f for each strategy with each choice of toolsets.
func everyOffer(f func(toolsets []string, text string)) {
	all := []string{"planning", "loop", "mode", "execution"}
	for _, s := range prompts.Strategies() {
		for choice := range 1 << len(all) {
			toolsets := []string{"workspace"}
			for i, toolset := range all {
				if choice&(1<<i) != 0 {
					toolsets = append(toolsets, toolset)
				}
			}
			f(toolsets, prompts.Instructions(s, toolsets))
		}
	}
}

// TestInstructionsNameOnlyWhatIsOffered: a call to a tool that is not offered fails.
func TestInstructionsNameOnlyWhatIsOffered(t *testing.T) {
	name := regexp.MustCompile(`plan(?:ning|loop)_\w+`)
	everyOffer(func(toolsets []string, text string) {
		var offered []string
		for _, toolset := range toolsets {
			offered = append(offered, toolsOf(toolset)...)
		}
		for _, tool := range name.FindAllString(text, -1) {
			if !slices.Contains(offered, tool) {
				t.Errorf("%v: %s is named and not offered", toolsets, tool)
			}
		}
		if !strings.Contains(text, "follow next_action") || !strings.Contains(text, "Never approve your own plan") {
			t.Errorf("%v: a rule that holds everywhere is missing:\n%s", toolsets, text)
		}
		if strings.Contains(text, "planning mode") != slices.Contains(toolsets, "mode") {
			t.Errorf("%v: planning mode is recommended where it is not, or not where it is", toolsets)
		}
	})
}

// TestInstructionsTeach holds the digest of the default surface to its rules.
func TestInstructionsTeach(t *testing.T) {
	for _, s := range prompts.Strategies() {
		text := prompts.Instructions(s, nil)
		requirePhrases(t, string(s), text, []string{
			"Ask `planloop_status` for the next action", "after compaction", "follow next_action", "`planning_setup_plan`",
			"`planning_add_step`",
			"`planning_update_step`", "`planning_clear_plan` discards", "`planloop_update` add_tasks",
			"context_hints and relevant_file_paths",
			"before writing code", "`planning_mark_step`", "step_id (S001)", "as work happens", "blocked with the reason",
			"done only with evidence",
			"A blocker signal stops other work", "`planloop_alert`", "final_summary", "brief and ASCII-only", "Never approve your own plan",
			"For complex or ambiguous tasks enter planning mode first", "`planning_enter_plan_mode(reason)`", "read-only",
			"`planning_submit_plan`",
			"user for approval", mindset(t, s),
		})
	}
	if got := prompts.Instructions(prompts.React, []string{"planning", "loop"}); strings.Contains(got, "planning mode") ||
		!strings.Contains(got, "planloop_status") {
		t.Errorf("instructions without planning mode:\n%s", got)
	}
}

// TestInstructionsStartWithWhenToUseThem: some hosts load little more than the first line, so it must make sense alone.
func TestInstructionsStartWithWhenToUseThem(t *testing.T) {
	everyOffer(func(_ []string, text string) {
		first, rest, _ := strings.Cut(text, "\n\n")
		requirePhrases(t, "first line", first, []string{"planloop", "on disk", "survives compaction", "Use it to", "three or more steps"})
		if strings.Contains(first, "\n") || !strings.HasPrefix(rest, "- ") || strings.TrimSpace(text) != text {
			t.Errorf("want one line, then the rules, and no space around:\n%s", text)
		}
	})
}

// TestBudget: a client pays for the instructions in every conversation, and
// some cut them at 2 KB.
func TestBudget(t *testing.T) {
	const maxTokens, maxBytes = 400, 2000
	everyOffer(func(toolsets []string, text string) {
		n := tokens(t, text)
		if len(toolsets) > 4 || !slices.Contains(toolsets, "execution") {
			t.Logf("%v: %d tokens, %d bytes", toolsets, n, len(text))
		}
		if n == 0 || n > maxTokens || len(text) > maxBytes {
			t.Errorf("%v: %d tokens and %d bytes, at most %d and %d are allowed", toolsets, n, len(text), maxTokens, maxBytes)
		}
	})
}

func tokens(t testing.TB, text string) int {
	t.Helper()
	codec, err := tokenizer.Get(tokenizer.O200kBase)
	if err != nil {
		t.Fatal(err)
	}
	n, err := codec.Count(text)
	if err != nil {
		t.Fatal(err)
	}
	return n
}
