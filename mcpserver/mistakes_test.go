package mcpserver_test

import (
	"encoding/json"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// mistake is an entry in the table of typical errors of small models. The server understands the call, or refuses
// it and shows a correct call, which is accepted once its placeholders are filled. Where each call would drop what the
// caller said, the refusal explains in words what to do.
type mistake struct {
	name     string
	toolsets []string   // nil: all
	given    [][]string // earlier calls, after the plan that each entry starts with
	call     []string   // tool and arguments
	verdict  string     // understood, mended or explained
	outcome  string     // the refusal, the call made next, and the resulting plan
}

const mistakesFile = "testdata/mistakes.txt"

// TestMistakes makes each mistake with a server of its own.
func TestMistakes(t *testing.T) {
	head, mistakes := readMistakes(t)
	counts := map[string]int{}
	for i := range mistakes {
		m := &mistakes[i]
		t.Run(m.name, func(t *testing.T) {
			verdict, outcome := m.make(t)
			if verdict != m.verdict {
				t.Errorf("%s, want %s\n%s", verdict, m.verdict, outcome)
			}
			counts[verdict]++
			if updateGolden() {
				m.outcome = outcome
			} else if outcome != m.outcome {
				t.Errorf("got\n%s\nwant\n%s", outcome, m.outcome)
			}
		})
	}
	t.Logf("%d mistakes: %v", len(mistakes), counts)
	if len(mistakes) < 40 {
		t.Errorf("%d mistakes, want at least 40", len(mistakes))
	}
	if updateGolden() {
		writeMistakes(t, head, mistakes)
	}
}

func (m mistake) make(t *testing.T) (verdict, outcome string) {
	t.Helper()
	w := newWorldWith(t, verbs.Options{}, mcpserver.Options{Toolsets: m.toolsets})
	client := w.connect(t, handshake, nil)
	if m.toolsets == nil {
		m.given = append([][]string{{"planning_setup_plan",
			`{"objective":"Release it","initial_steps":[{"title":"Build"},{"title":"Test"},{"title":"Ship"}]}`}}, m.given...)
	}
	for _, before := range m.given {
		if result := call(t, client, before[0], json.RawMessage(before[1])); result.IsError {
			t.Fatalf("%s: %s", before, text(t, result))
		}
	}
	was := described(t, w)
	result := callOrRefusal(t, client, m.call[0], json.RawMessage(m.call[1]))
	verdict = "understood"
	var b strings.Builder
	if result.IsError {
		verdict = "mended"
		b.WriteString(text(t, result) + "\n")
		if slices.Equal(described(t, w), was) {
			refusal := text(t, result)
			explains := strings.Contains(refusal, "\nTo correct it: ") || strings.Contains(refusal, " conflict: ")
			if explains && !strings.Contains(refusal, "\nA correct call: ") {
				return "explained", withoutTimes(b.String())
			}
			result = mendedCall(t, client, &b, m.call[1], text(t, result))
		} else {
			t.Error("a refused call changed the plan")
		}
	}
	changed := false
	for _, line := range described(t, w) {
		if !slices.Contains(was, line) {
			b.WriteString("= " + line + "\n")
			changed = true
		}
	}
	if !changed && result != nil {
		first, _, _ := strings.Cut(text(t, result), "\n")
		b.WriteString("= " + first + "\n")
	}
	return verdict, withoutTimes(b.String())
}

var (
	oneCall     = regexp.MustCompile(`(plan(?:loop|ning)_\w+) (\{.*?\})(?:, then |$)`)
	suggested   = regexp.MustCompile(`did you mean (plan\w+)\?`)
	placeholder = regexp.MustCompile(`"<([^"]*)>"`)
)

// mendedCall makes the call from a refusal, with its placeholders filled.
func mendedCall(t *testing.T, client *mcp.ClientSession, b *strings.Builder, arguments, refusal string) *mcp.CallToolResult {
	t.Helper()
	_, shown, _ := strings.Cut(refusal, "\nA correct call: ")
	shown, _, _ = strings.Cut(shown, "\n")
	calls := oneCall.FindAllStringSubmatch(shown, -1)
	if name := suggested.FindStringSubmatch(refusal); calls == nil && name != nil {
		calls = [][]string{{"", name[1], arguments}}
	}
	if calls == nil {
		t.Errorf("the refusal shows no call: %s", refusal)
		return nil
	}
	var result *mcp.CallToolResult
	for _, c := range calls {
		filled := placeholder.ReplaceAllStringFunc(c[2], fill)
		if filled != c[2] {
			copied := call(t, client, c[1], json.RawMessage(c[2]))
			if !copied.IsError {
				t.Errorf("the call that is shown is accepted with its placeholders: %s", c[2])
			}
		}
		b.WriteString("> " + c[1] + " " + filled + "\n")
		if result = call(t, client, c[1], json.RawMessage(filled)); result.IsError {
			t.Errorf("the call that is shown is refused: %s", text(t, result))
		}
	}
	return result
}

// fill returns a model's likely text for a placeholder.
func fill(hole string) string {
	hint := strings.Trim(hole, `"<>`)
	first, _, choice := strings.Cut(hint, "|")
	switch {
	case choice:
		return `"` + first + `"`
	case strings.HasSuffix(hint, "id"), hint == "such as S001":
		return `"S001"`
	}
	return `"filled in"`
}

// described returns everything that a model could have changed, one line each.
func described(t *testing.T, w world) []string {
	t.Helper()
	state, err := w.service.State(t.Context())
	testenv.Check(t, err)
	lines := []string{"phase " + string(state.PhaseNow())}
	for _, signal := range state.OpenSignals("") {
		lines = append(lines, fmt.Sprintf("signal %s: %s", signal.ID, signal.Message))
	}
	for _, q := range state.OpenQuestions() {
		lines = append(lines, "question: "+q.Text)
	}
	if p := state.Plan; p != nil {
		lines = append(lines, fmt.Sprintf("plan %q is %s", p.Objective, p.Status))
		for step := range p.Steps.All() {
			lines = append(lines, describedStep(p, step))
		}
	}
	return lines
}

func describedStep(p *plan.Plan, step *plan.Step) string {
	line := fmt.Sprintf("%s %s %q", step.ID, step.Status, step.Title)
	for _, f := range plan.StepFields() {
		if texts := f.Texts(step); f.Name != "title" && f.Name != "status" && len(texts) > 0 && !slices.Contains([]string{"attempts",
			"claimed_by", "lease_until", "executed_by", "started_at", "completed_at"}, f.Name) {
			line += fmt.Sprintf("; %s: %s", f.Name, strings.Join(texts, ", "))
		}
	}
	if at := p.Steps.Position(step.ID); at != int(step.ID)-1 {
		line += fmt.Sprintf("; at place %d", at+1)
	}
	return line
}

// callOrRefusal makes a call; a protocol error counts as a refusal.
func callOrRefusal(t *testing.T, client *mcp.ClientSession, tool string, arguments any) *mcp.CallToolResult {
	t.Helper()
	result, err := client.CallTool(t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		return &mcp.CallToolResult{IsError: true, Content: []mcp.Content{&mcp.TextContent{Text: err.Error()}}}
	}
	return result
}

// readMistakes reads the table: a head, then an entry for each "## ".
func readMistakes(t *testing.T) (head string, mistakes []mistake) {
	t.Helper()
	data, err := os.ReadFile(mistakesFile)
	testenv.Check(t, err)
	entries := strings.Split(string(data), "\n## ")
	for _, entry := range entries[1:] {
		name, rest, _ := strings.Cut(entry, "\n")
		m := mistake{name: name}
		for line := range strings.Lines(rest) {
			line = strings.TrimSuffix(line, "\n")
			key, value, _ := strings.Cut(line, ": ")
			tool, arguments, _ := strings.Cut(value, " ")
			switch {
			case m.verdict != "":
				m.outcome += line + "\n"
			case key == "toolsets":
				m.toolsets = strings.Fields(value)
			case key == "given":
				m.given = append(m.given, []string{tool, arguments})
			case key == "call":
				m.call = []string{tool, arguments}
			case line == "understood", line == "mended", line == "explained":
				m.verdict = line
			case line != "":
				t.Fatalf("%s: %q", name, line)
			}
		}
		m.outcome = strings.TrimRight(m.outcome, "\n") + "\n"
		mistakes = append(mistakes, m)
	}
	return entries[0], mistakes
}

func writeMistakes(t *testing.T, head string, mistakes []mistake) {
	t.Helper()
	var b strings.Builder
	b.WriteString(strings.TrimRight(head, "\n") + "\n")
	for _, m := range mistakes {
		b.WriteString("\n## " + m.name + "\n")
		if m.toolsets != nil {
			b.WriteString("toolsets: " + strings.Join(m.toolsets, " ") + "\n")
			m.given = slices.Clip(m.given)
		}
		for _, before := range m.given {
			b.WriteString("given: " + strings.Join(before, " ") + "\n")
		}
		b.WriteString("call: " + strings.Join(m.call, " ") + "\n" + m.verdict + "\n" + m.outcome)
	}
	testenv.Check(t, os.WriteFile(mistakesFile, []byte(b.String()), 0o644))
}
