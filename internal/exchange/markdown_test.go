package exchange_test

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/plan"
)

// TestForeignMarkdown shows what becomes of check lists that others wrote.
func TestForeignMarkdown(t *testing.T) {
	for _, name := range []string{"foreign", "bullets"} {
		got, err := exchange.Import(testdata(t, name+".md"), exchange.Markdown, exchange.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		text, _ := export(t, exchange.YAML, setUp(t, got.Action))
		golden(t, name+".golden.yaml", text)
		golden(t, name+".notes", strings.Join(got.Notes, "\n")+"\n")
	}
}

func TestMarkdownItems(t *testing.T) {
	for _, c := range []struct {
		text   string
		titles string
		status plan.StepStatus // of the first
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
		got, err := exchange.Import([]byte(c.text), exchange.Markdown, exchange.Limits{})
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
