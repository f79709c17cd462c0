package prompts_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/prompts"
)

// planningTools are the tools the section teaches, in the order it must keep.
var planningTools = []string{
	"planning_setup_plan",
	"planning_add_step",
	"planning_update_step",
	"planning_mark_step",
	"planning_clear_plan",
	"planning_read_plan",
}

// TestToolNamesInOrder guards against drift: every tool is taught once, in the
// canonical order, and no other planning tool is named.
func TestToolNamesInOrder(t *testing.T) {
	name := regexp.MustCompile(`planning_\w+`)
	for _, s := range prompts.Strategies() {
		if got := name.FindAllString(prompts.Section(s), -1); !slices.Equal(got, planningTools) {
			t.Errorf("section of %s names %v, want %v", s, got, planningTools)
		}
	}
}

// TestGuidance holds the section to the seven points a planning section makes,
// and to the one of our own: what to do after each reply.
func TestGuidance(t *testing.T) {
	points := []struct {
		point   string
		phrases []string
	}{
		{"when to plan and when to respond directly", []string{"Plan work that has several steps", "respond directly"}},
		{"initialising", []string{"Initialise with `planning_setup_plan`", "objective", "initial_steps"}},
		{"expanding and refining", []string{"Expand with `planning_add_step`", "Refine", "`planning_update_step`"}},
		{"step ids", []string{"Step ids follow the pattern S###", "reference the step_id when updating or marking"}},
		{"tracking status", []string{"Track status with `planning_mark_step`", "in_progress", "done", "blocked", "note"}},
		{"clearing discards", []string{"`planning_clear_plan`", "it discards the current plan"}},
		{"brief and ASCII-only", []string{"objective and steps brief and ASCII-only"}},
		{"what to do next", []string{"do what next_action says"}},
	}
	for _, s := range prompts.Strategies() {
		for _, p := range points {
			requirePhrases(t, string(s)+": "+p.point, prompts.Section(s), p.phrases)
		}
	}
}

// TestMindset holds each strategy to what it is meant to teach, in order.
func TestMindset(t *testing.T) {
	taught := map[prompts.Strategy][]string{
		prompts.React: {
			"reason -> act -> observe -> repeat", "Reason in a short burst", "tool calls",
			"Capture what you observe as a step note", "repeat",
		},
		prompts.PlanActReflect: {
			"plan -> act -> reflect", "Outline the entire plan before", "Execute the steps",
			"After each tool call or completed step", "short reflection", "step note or brief status update",
		},
		prompts.GoalDecomposeRouteSynthesise: {
			"goal framing -> decomposition -> tool routing -> synthesis", "Start by restating the goal in your own words",
			"Break the goal into concrete sub-problems", "Only then assign tools to each",
			"Close by synthesising the results into a cohesive answer",
		},
	}
	for _, s := range prompts.Strategies() {
		requirePhrases(t, string(s), mindset(t, s), taught[s])
	}
}

// TestOnlyTheMindsetDiffers compares the rest of the sections without the mindset.
func TestOnlyTheMindsetDiffers(t *testing.T) {
	frame := func(s prompts.Strategy) string {
		section, mind := prompts.Section(s), mindset(t, s)
		if n := strings.Count(section, mind); n != 1 {
			t.Fatalf("section of %s holds its mindset %d times, want once", s, n)
		}
		return strings.Replace(section, mind, "", 1)
	}
	want := frame(prompts.React)
	seen := map[string]bool{}
	for _, s := range prompts.Strategies() {
		if got := frame(s); got != want {
			t.Errorf("section of %s differs outside the mindset:\n%s", s, got)
		}
		if seen[mindset(t, s)] {
			t.Errorf("%s repeats the mindset of another strategy", s)
		}
		seen[mindset(t, s)] = true
	}
}

// TestHouseStyle checks the shape every section shares.
func TestHouseStyle(t *testing.T) {
	heading := regexp.MustCompile(`(?m)^#+ .*$`)
	item := regexp.MustCompile(`^(\d+)\. [A-Z]`)
	loud := regexp.MustCompile(`!|\b[A-Z]{6,}\b|\b(MUST|NEVER|ALWAYS)\b`)
	// Words that presume a place among the instructions, or a role.
	presumes := regexp.MustCompile(`(?i)\byou are\b|\bsystem prompt\b|\bignore\b|\bfirst instruction|` +
		`\bonly instruction|\babove\b|\bbelow\b`)
	for _, s := range prompts.Strategies() {
		section := prompts.Section(s)
		if got := heading.FindAllString(section, -1); !slices.Equal(got, []string{"## Planning"}) {
			t.Errorf("%s: headings %q, want one", s, got)
		}
		if !strings.HasPrefix(section, "## Planning\n\n") || strings.TrimSpace(section) != section {
			t.Errorf("%s: want the heading first and no space around the section", s)
		}
		if got, want := listLengths(t, section, item),
			[]int{len(planningTools), strings.Count(mindset(t, s), "\n") - 1}; !slices.Equal(got, want) {
			t.Errorf("%s: ordered lists of %v items, want %v", s, got, want)
		}
		if hit := loud.FindString(section); hit != "" {
			t.Errorf("%s: %q is not a quiet tone", s, hit)
		}
		for _, text := range []string{section, prompts.Instructions(s, nil)} {
			if hit := presumes.FindString(text); hit != "" {
				t.Errorf("%s: %q presumes a place among other instructions", s, hit)
			}
		}
	}
}

func TestASCIIOnly(t *testing.T) {
	texts := map[string]string{}
	for _, s := range prompts.Strategies() {
		texts["instructions "+string(s)] = prompts.Instructions(s, nil)
	}
	for _, p := range prompts.List() {
		texts["prompt "+p.Name] = render(t, p, map[string]string{"goal": "ship"})
		texts["menu "+p.Name] = p.Title + "\n" + p.Description
	}
	for _, p := range prompts.Described() {
		texts["menu "+p.Name] = p.Title + "\n" + p.Description
	}
	for name, text := range texts {
		for i, r := range text {
			if r != '\n' && (r < ' ' || r > '~') {
				t.Errorf("%s: %U at byte %d is not printable ASCII", name, r, i)
			}
		}
	}
}

// mindset returns the text that only this strategy has.
func mindset(t *testing.T, s prompts.Strategy) string {
	t.Helper()
	text, err := os.ReadFile("templates/mindset_" + string(s) + ".md")
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}

// requirePhrases wants every phrase in the text, in the given order.
func requirePhrases(t *testing.T, what, text string, phrases []string) {
	t.Helper()
	if len(phrases) == 0 {
		t.Errorf("%s: nothing to look for", what)
	}
	rest := text
	for _, phrase := range phrases {
		_, after, found := strings.Cut(rest, phrase)
		if !found {
			t.Errorf("%s: %q is missing or out of order in:\n%s", what, phrase, text)
			return
		}
		rest = after
	}
}

// listLengths returns the number of items of each ordered list and requires
// that each counts 1, 2, 3 without a gap.
func listLengths(t *testing.T, text string, item *regexp.Regexp) []int {
	t.Helper()
	var lengths []int
	for line := range strings.Lines(text) {
		m := item.FindStringSubmatch(line)
		switch {
		case m == nil:
			continue
		case m[1] == "1":
			lengths = append(lengths, 1)
		case len(lengths) > 0 && m[1] == string(rune('1'+lengths[len(lengths)-1])):
			lengths[len(lengths)-1]++
		default:
			t.Errorf("list item out of order: %q", line)
		}
	}
	return lengths
}
