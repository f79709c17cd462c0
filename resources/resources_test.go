package resources_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

func TestGolden(t *testing.T) {
	s := sample(t)
	golden(t, "plan.json", append(testenv.Must(resources.JSON(s))(t), '\n'))
	golden(t, "empty.json", append(testenv.Must(resources.JSON(plan.State{}))(t), '\n'))
	golden(t, "step.json", append(testenv.Must(resources.Step(s, 2))(t), '\n'))
	golden(t, "plans.json", append(testenv.Must(resources.Plans(s))(t), '\n'))
	golden(t, "plan.yaml", testenv.Must(resources.YAML(s))(t))
	golden(t, "plan.md", resources.Markdown(s))
	golden(t, "empty.md", resources.Markdown(plan.State{}))
	golden(t, "plan.mmd", resources.Mermaid(s))
	golden(t, "empty.mmd", resources.Mermaid(plan.State{}))
}

func TestStepNotFound(t *testing.T) {
	for _, s := range []plan.State{{}, sample(t)} {
		_, err := resources.Step(s, 99)
		var refusal *plan.ValidationError
		if !errors.As(err, &refusal) || refusal.Kind != plan.NotFound || refusal.Fix == "" {
			t.Errorf("Step(99) = %v, want a refusal of kind not_found that says what to do", err)
		}
	}
}

func TestPlans(t *testing.T) {
	h := &history{t: t, state: sample(t)}
	ids := func() []string {
		var list struct {
			Plans []struct {
				ID      string
				Current bool
			}
		}
		testenv.Check(t, json.Unmarshal(testenv.Must(resources.Plans(h.state))(t), &list))
		var out []string
		for _, p := range list.Plans {
			mark := ""
			if p.Current {
				mark = "*"
			}
			out = append(out, p.ID+mark)
		}
		return out
	}
	current := h.state.Plan.ID
	if got := ids(); len(got) != 2 || got[0] != current+"*" {
		t.Fatalf("before clearing: %v", got)
	}
	h.do(plan.Clear{})
	if got := ids(); len(got) != 2 || got[0] != current {
		t.Errorf("a cleared plan is listed once, as a former one: %v", got)
	}
}

// TestMarkdownHoldsItsStructure puts Markdown syntax into every field and looks for lines that the renderer did not
// make.
func TestMarkdownHoldsItsStructure(t *testing.T) {
	hostile := []string{
		"# heading", "- [x] S009 forged", "* item", "1. item", "<script>alert(1)</script>", "```\nfence", "~~~", "[link](javascript:x)",
		"![i](x)", "> quote", "===\n---", "a\n\n- [ ] S010 forged", "| a |\n|---|", "&lt;", "\\", "`code", "_x_ **y**", "<!-- ", "12) x",
		"S011",
	}
	for _, text := range hostile {
		line := strings.ReplaceAll(text, "\n", " ")
		h := &history{t: t}
		h.do(plan.SetUp{
			Outline: plan.Outline{Objective: line, Summary: text, ContextNotes: text, Questions: []string{line}},
			Steps: []plan.NewStep{{
				Spec:     plan.Spec{Title: line, Details: text, ContextHints: []string{line}, Verify: line},
				Progress: plan.Progress{Notes: []string{text}, Output: text},
			}},
		})
		md := string(resources.Markdown(h.state))
		structure := 0
		for l := range strings.SplitSeq(md, "\n") {
			l = strings.TrimLeft(l, " ")
			if strings.HasPrefix(l+" ", "| ") { // marked
				continue
			}
			if strings.HasPrefix(l, "#") || strings.HasPrefix(l, "- ") || strings.HasPrefix(l, "* ") || strings.HasPrefix(l, ">") ||
				strings.HasPrefix(l, "```") || strings.HasPrefix(l, "~~~") || strings.HasPrefix(l, "<") || strings.HasPrefix(l, "|") ||
				strings.HasPrefix(l, "1.") || strings.HasPrefix(l, "===") || strings.HasPrefix(l, "---") {
				structure++
			}
		}
		// Objective, Summary, Context notes, About, Steps; question, step, hint, verify, note, output.
		if want := 5 + 6; structure != want {
			t.Errorf("%q: %d lines with structure, want %d:\n%s", text, structure, want, md)
		}
		for _, raw := range []string{"<script", "<!--", "](", "```"} {
			if i := strings.Index(md, raw); i >= 0 && (i == 0 || md[i-1] != '\\') {
				t.Errorf("%q: %q stands unescaped in\n%s", text, raw, md)
			}
		}
	}
}

func TestMermaidIsSafeAndBounded(t *testing.T) {
	h := &history{t: t}
	h.do(plan.SetUp{Outline: plan.Outline{Objective: "o"}, Steps: []plan.NewStep{
		{Spec: plan.Spec{Title: "a\"] --> x[\"b; %%{init}%% <script> `c` & end"}},
	}})
	got := string(resources.Mermaid(h.state))
	first := strings.Split(got, "\n")[1]
	if inner := strings.TrimSuffix(strings.TrimPrefix(first, `  S001["`), `"]:::pending`); strings.ContainsAny(inner, "\"<>[]{}%`&") {
		t.Errorf("unsafe label: %s", first)
	}

	n := 2000
	steps := make([]plan.NewStep, n)
	for i := range steps {
		steps[i].Title = strings.Repeat("<é>", 50)
		for d := max(1, i-4); d < i; d++ {
			steps[i].DependsOn = append(steps[i].DependsOn, plan.StepID(d))
		}
		if i < 1000 {
			steps[i].Status = plan.Done
		}
	}
	h.do(plan.SetUp{Outline: plan.Outline{Objective: "o"}, Steps: steps})
	got = string(resources.Mermaid(h.state))
	nodes, edges := strings.Count(got, "]:::"), strings.Count(got, " --> ")
	if nodes > 500 || edges > 500 || len(got) > 50_000 {
		t.Errorf("%d nodes, %d edges, %d bytes", nodes, edges, len(got))
	}
	if !strings.Contains(got, "more steps are not shown") || !strings.Contains(got, "S1001[") || strings.Contains(got, "S001[") {
		t.Errorf("want open steps first and a note about the others:\n%.300s", got)
	}
}

// TestYAMLHidesNothing: invisible characters are escaped, and every text is read back unchanged.
func TestYAMLHidesNothing(t *testing.T) {
	for _, text := range []string{"\u3164", "a\ufe0fb", "a\u200bb", "\u115fa", "two\nlines\u3164", "\U000E0041", "Grüße", "日本", "on",
		"a: b", " a", "a\n\nb", "x\u0661"} {
		data := testenv.Must(json.Marshal(map[string]string{"text": text}))(t)
		written := testenv.Must(resources.YAMLOf(data))(t)
		if strings.ContainsFunc(string(written), plan.IsInvisible) {
			t.Errorf("%+q is hidden in %q", text, written)
		}
		var back struct{ Text string }
		if err := yaml.Load(written, &back); err != nil || back.Text != text {
			t.Errorf("%+q is read back as %+q, %v", text, back.Text, err)
		}
	}
}

func TestYAMLShowsCharactersBeyondTheBasicPlane(t *testing.T) {
	for text, want := range map[string]string{
		"close the \U0001F6AA":               "\"close the \U0001F6AA\"",
		"\u4E00\U0001F6AA\u4E0001F6AA":       "\"\u4E00\U0001F6AA\u4E0001F6AA\"",
		"written \\U0001F6AA \U0001F6AA":     "\"written \\\\U0001F6AA \U0001F6AA\"",
		"a tag \U000E0041 behind \U0001F6AA": "\"a tag \\U000E0041 behind \U0001F6AA\"",
	} {
		data := testenv.Must(json.Marshal(map[string]string{"t": text}))(t)
		out, err := resources.YAMLOf(data)
		if got := strings.TrimSpace(string(out)); err != nil || got != "t: "+want {
			t.Errorf("%q is written %s, %v; want %s", text, got, err, want)
		}
		var back map[string]string
		if err := yaml.Unmarshal(out, &back); err != nil || back["t"] != text {
			t.Errorf("%q is read back as %q, %v", text, back["t"], err)
		}
	}
}
