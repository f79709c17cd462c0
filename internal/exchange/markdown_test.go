package exchange_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// TestForeignMarkdown imports check lists of other programs.
func TestForeignMarkdown(t *testing.T) {
	for _, name := range []string{"foreign", "bullets"} {
		got := testenv.Must(exchange.Import(testdata(t, name+".md"), exchange.Markdown, exchange.ImportOptions{}))(t)
		text, _ := export(t, exchange.YAML, setUp(t, got.Action))
		golden(t, name+".golden.yaml", text)
		golden(t, name+".notes", strings.Join(got.Notes, "\n")+"\n")
	}
}

// TestPlanText checks the steps found in plans written for people.
func TestPlanText(t *testing.T) {
	for _, name := range []string{"text-ordered", "text-phases"} {
		got := testenv.Must(exchange.ReadPlanText(testdata(t, name+".md"), "Plan"))(t)
		text, _ := export(t, exchange.YAML, setUp(t, got))
		golden(t, name+".golden.yaml", text)
	}
}

func TestPlanTextSteps(t *testing.T) {
	for text, want := range map[string]string{
		"# Plan: Mend it\n\n- [x] a\n- [ ] b": "Mend it\na\nb",
		"# Plan\n\nJust prose.":               "untitled\nuntitled",
		"1. a\n2. b":                          "untitled\na\nb",
		"# T\n## Context\n1. no\n## Steps\n1. a\n2. b\n## Tests\n1. no":          "T\na\nb",
		"# T\n## Steps\n- a\n- b\n## Risks\n- no":                                "T\na\nb",
		"# T\n## Phase 1: a\n- no\n## Phase 2: b":                                "T\na\nb",
		"# T\n## Approach\n### a\ntext\n### b\n## Notes\n### no":                 "T\na\nb",
		"# T\n## Files\n1. no":                                                   "T\nT",
		"---\ntitle: x\n---\n# T\n<!-- 1. no -->\n```\n1. no\n```\n1. a\n2. b\n": "T\na\nb",
		"# T\n1. a\n\n## Notes\n1. no":                                           "T\nT",
	} {
		got, err := exchange.ReadPlanText([]byte(text), "untitled")
		if err != nil || titles(got) != want {
			t.Errorf("%q: got %q, %v, want %q", text, titles(got), err, want)
		}
	}
}

func TestPlanTextHasNotTooManyHeadings(t *testing.T) {
	for _, part := range []string{"# a\n", "## 1. a\n- b\n"} {
		_, err := exchange.ReadPlanText([]byte(strings.Repeat(part, 40_000)), "o")
		if err == nil || !strings.Contains(err.Error(), "more than 2000 headings") {
			t.Errorf("%q: %v", part, err)
		}
	}
}

func TestMarkdownItems(t *testing.T) {
	for _, c := range []struct {
		text   string
		titles string
		status plan.StepStatus // of the first step
	}{
		{"# t\n- [ ] a\n- [x] b", "a|b", plan.Pending},
		{"# t\n\t- [x] a", "a", plan.Done},
		{"# t\n* [X] a\n+ [ ] b\n3) [ ] c", "a|b|c", plan.Done},
		{"# t\n- [/] a", "a", plan.InProgress},
		{"# t\n- [-] a", "a", plan.Skipped},
		{"# t\n- [!] a", "a", plan.Failed},
		{"# t\n- [-] a\n  - status: cancelled", "a", plan.Cancelled},
		{"# t\n- [ ] a\n  - status: nonsense", "a", plan.Pending},
		{"# t\n- [ ] a\n    - [ ] b\n        - [ ] c\n- [ ] d", "a|b|c|d", plan.Pending},
		{"# t\n- [y] a\n- [ ] b", "b", plan.Pending},
		{"# t\n- [link](x)\n- [ ] b", "b", plan.Pending},
		{"# t\n- a\n- b", "a|b", plan.Pending},
		{"# t\r\n- [ ] a\r\n- [ ] b\r\n", "a|b", plan.Pending},
		{"# t\n- [ ] a\\*b \\[c\\] `d\\*`", "a*b [c] `d\\*`", plan.Pending},
		{"# t\n```\n- [ ] no\n```\n- [ ] a", "a", plan.Pending},
		{"# t\n- [ ] S012 a\n- [ ] S12 b", "a|S12 b", plan.Pending},
	} {
		got, err := exchange.Import([]byte(c.text), exchange.Markdown, exchange.ImportOptions{})
		if err != nil {
			t.Errorf("%q: %v", c.text, err)
			continue
		}
		var titles []string
		for _, s := range got.Action.Steps {
			titles = append(titles, s.Title)
		}
		if strings.Join(titles, "|") != c.titles || got.Action.Steps[0].Status != c.status {
			t.Errorf("%q: %q, the first %s", c.text, titles, got.Action.Steps[0].Status)
		}
	}
}

// TestMarkdownBelongsWhereItIsNested: text below an item belongs to it at any depth, and no text is lost.
func TestMarkdownBelongsWhereItIsNested(t *testing.T) {
	got := testenv.Must(exchange.Import([]byte(strings.Join([]string{
		"Release", "=======", "", "Intro.", "",
		"- Phase one", "  - [ ] a", "    more of a", "", "    > quoted", "    - point", "      - deeper", "        - [x] b",
		"      - deepest",
		"    - **Note:** n1", "", "      n2", "      - [ ] c", "    - hint: h", "", "  tail", "", "***", "", "    code", "",
		"1) [ ] d", "2) [ ] e", "", "   ~~~", "   - [ ] no \\*", "   ~~~", "<!-- gone -->", "End.",
	}, "\n")), exchange.Markdown, exchange.ImportOptions{}))(t)
	a := got.Action
	if a.Objective != "Release" || a.Summary != "Intro.\n\n- Phase one\n  tail\n\n    code\n\nEnd." {
		t.Errorf("objective %q, summary %q", a.Objective, a.Summary)
	}
	if titles(a) != "Release\na\nb\nc\nd\ne" {
		t.Fatalf("titles %q", titles(a))
	}
	if s := a.Steps[0]; s.Details != "more of a\n\n> quoted\n- point\n  - deeper\n  - deepest" ||
		strings.Join(s.Notes, "|") != "n1\n\nn2" || strings.Join(s.ContextHints, "|") != "h" {
		t.Errorf("step %+v", s)
	}
	if s := a.Steps[4]; s.Details != "~~~\n- [ ] no \\*\n~~~" {
		t.Errorf("details %q", s.Details)
	}
}

// TestHostileMarkdown: any text is read or refused in time linear in its length, not quadratic.
func TestHostileMarkdown(t *testing.T) {
	const size, spare = 1 << 17, 16 << 20
	allocated := func(text string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := exchange.Import([]byte(text), exchange.Markdown, exchange.ImportOptions{})
		runtime.ReadMemStats(&after)
		var refusal *plan.ValidationError
		if err != nil && !errors.As(err, &refusal) {
			t.Errorf("%.60q: %v is no refusal", text, err)
		}
		return after.TotalAlloc - before.TotalAlloc
	}
	whole := hostileMarkdown(size)
	for i, half := range hostileMarkdown(size / 2) {
		for _, prefix := range []string{"", "# t\n\n- [ ] a\n\n  "} {
			few, many := allocated(prefix+half), allocated(prefix+whole[i])
			if many > 3*few+spare {
				t.Errorf("%.60q: %d MB for half of it, %d MB for all", prefix+whole[i], few>>20, many>>20)
			}
		}
	}
}

// hostileMarkdown returns texts that some parsers turn into structures which grow faster than the text.
func hostileMarkdown(size int) []string {
	var texts []string
	for _, part := range []string{
		">", "> ", "- ", "> - ", "1. ", "#", "*", "* ", "\t", " ", "\r", "[", "`", "\\", "=\n", "---\n", "-\n", "-\n\n", "- [ ] ",
		"- [ ] a\n", "- [ ]\n",
		"1. a\n", "# a\n", "```\n", "~~~\n~~~\n", "    a\n\n", "a\n-\n", "[a]: b\n", "`a``b```c", "\t-\ta\n", "\x00\n", "\v\n",
		"<a ", "<div\n", "<!-- ", "<!-- -->\n", "<script>\n", "<![CDATA[", "- - - - - - - - - - - - - - - a\n", "## a\n- b\n",
		"## a\n\nb\n\n",
		"- [ ] a\n  - [ ] b\n    - [x] c\n", strings.Repeat("> ", 100) + "a\n", strings.Repeat(" ", 1000) + "a\n",
		"## a\n\n" + strings.Repeat("b", 50) + "\n\n",
	} {
		texts = append(texts, strings.Repeat(part, size/len(part)))
	}
	fill := func(part string, count int) string { return strings.Repeat(part, min(count, size/len(part))) }
	texts = append(texts,
		"- [ ] a\n"+fill("  - note: x\n", size), "- [ ] a\n"+fill("  - note: x\n\n    y\n", size), "- [ ] a\n"+fill("  - x\n", 90_000),
		"- [ ] "+fill("a", size),
		fill(">", size/2)+"\n"+fill("a\n", 90_000), fill("- ", 30)+"a\n"+fill("\n", 90_000)+"a",
		fill("- ", 30)+"a\n"+fill(strings.Repeat(" ", 70)+"b\n", size),
		fill("a\n", 90_000)+"===\n", "```\n"+fill("a\n", 90_000), "<a"+fill(" a=b", size), "<a"+fill(" a='", size), fill("a\n", size),
	)
	for _, marker := range []string{"- a", "- [ ] a", "1. a"} {
		var stairs strings.Builder
		for i := 0; stairs.Len() < size; i++ {
			stairs.WriteString(strings.Repeat(" ", 2*(i%700)) + marker + "\n")
		}
		texts = append(texts, stairs.String())
	}
	return texts
}

// TestPlansOfHosts reads plans like those of hosts' plan modes. Each golden file shows the objective, the steps
// and the first words of the notes.
func TestPlansOfHosts(t *testing.T) {
	names := testenv.Must(filepath.Glob("testdata/plans/*.md"))(t)
	if len(names) < 40 {
		t.Fatalf("only %d plans", len(names))
	}
	for _, name := range names {
		got := testenv.Must(exchange.ReadPlanText(testenv.Must(os.ReadFile(name))(t), "Untitled plan"))(t)
		var b strings.Builder
		fmt.Fprintln(&b, got.Objective)
		for i, step := range setUp(t, got).Plan.Steps.List() {
			fmt.Fprintf(&b, "\n%s %s\n", step.ID, step.Title)
			if step.Details != "" {
				fmt.Fprintf(&b, "  details: %.60q\n", step.Details)
			}
			if step.Verify != "" {
				fmt.Fprintf(&b, "  verify: %s\n", step.Verify)
			}
			if got.Steps[i].Status != plan.Pending {
				fmt.Fprintf(&b, "  status: %s\n", got.Steps[i].Status)
			}
			if n := utf8.RuneCountInString(step.Title); n > plan.MaxTitle || strings.Contains(step.Title, "** ") {
				t.Errorf("%s: the title %q", name, step.Title)
			}
		}
		fmt.Fprintf(&b, "\nsummary: %.120q\nnotes: %.120q\n", got.Summary, got.ContextNotes)
		golden(t, strings.TrimPrefix(strings.TrimSuffix(name, ".md")+".txt", "testdata/"), b.String())
	}
}

// TestOnlyListedCommandsRun: only plain commands that the text before the steps lists as "will run" become commands.
func TestOnlyListedCommandsRun(t *testing.T) {
	for text, want := range map[string]string{
		"Will run: `go test ./...`\n\n1. a\n2. b":                                                        "go test ./...",
		"# T\n**Commands I will run**\n\n```sh\n$ make lint\n# no\nmake test\n```\n`no`\n1. a\n2. b":     "make lint && make test",
		"# T\n## Commands that will run\n1. `make`: builds `x`\n\nNo: `make no`\n\n## Steps\n1. a\n2. b": "make",
		"# T\n\nWill run:\n- `rm -rf x; y`\n- `a | b`\n- `$(x)`\n- `make`\n\n1. a\n2. b":                 "make",
		"# T\nThe server will run `migrate` at its start.\n\n1. a\n2. b":                                 "",
		"1. a\n2. b\n\nWill run: `make`":                                                                 "",
		"# T\n## Verification\nWill run: `make`":                                                         "",
		"# T\n```\nWill run: `make`\n```\n1. a\n2. b":                                                    "",
		"Will run: `make`\n- [ ] a\n- [ ] b\n  - verify: rm x\n  - tool: bash_execute":                   "make",
		"- [ ] a\n- [ ] b\n  - verify: rm x":                                                             "",
	} {
		got, err := exchange.ReadPlanText([]byte(text), "untitled")
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		for i, step := range got.Steps {
			if last := i == len(got.Steps)-1; step.Tool != "" || last && step.Verify != want || !last && step.Verify != "" {
				t.Errorf("%q: step %d runs %q %q, want %q", text, i+1, step.Tool, step.Verify, want)
			}
		}
	}
}

// FuzzPlanText: any text becomes a plan with short titles, or is refused with a reason.
func FuzzPlanText(f *testing.F) {
	for _, name := range testenv.Must(filepath.Glob("testdata/plans/*.md"))(f) {
		f.Add(string(testenv.Must(os.ReadFile(name))(f)))
	}
	for _, text := range append(hostileMarkdown(1<<14), "1. \n2. ```\n   x",
		"## 1.\n## 2.", "## Step 1\n\n**x**\n## Step 2", "**\n**Step 1**\n| 1 | | |") {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got, err := exchange.ReadPlanText([]byte(text), "untitled")
		var refusal *plan.ValidationError
		if err != nil {
			if !errors.As(err, &refusal) || refusal.Problem == "" || refusal.Fix == "" {
				t.Fatalf("%v is no refusal", err)
			}
			return
		}
		for _, step := range setUp(t, got).Plan.Steps.List() {
			if utf8.RuneCountInString(step.Title) > plan.MaxTitle {
				t.Fatalf("the title %q is too long", step.Title)
			}
		}
	})
}
