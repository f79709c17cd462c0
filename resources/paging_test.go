package resources_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/tiktoken-go/tokenizer"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// pageOf returns a page without comments.
func pageOf(p *plan.Plan, filter resources.Filter, from plan.StepID) resources.PageView {
	return resources.Page(p, filter, from, 0, func(plan.StepID) []string { return nil })
}

func pageJSON(t *testing.T, v resources.PageView) string {
	t.Helper()
	data := testenv.Must(json.Marshal(v))(t)
	return string(data)
}

func TestPageGolden(t *testing.T) {
	p := sample(t).Plan
	views := map[string]resources.PageView{
		"whole":  pageOf(p, "", 0),
		"from":   pageOf(p, "", 4),
		"status": pageOf(p, resources.FilterOpen, 0),
		"long":   pageOf(long(t, 1000, 412, "word"), "", 0),
	}
	for name, v := range views {
		golden(t, "page-"+name+".txt", []byte(v.Text()))
		golden(t, "page-"+name+".json", []byte(pageJSON(t, v)+"\n"))
	}
}

// TestPageCost limits reading a plan of 1,000 steps to 2,000 tokens, as text and as structure, in any script and state.
func TestPageCost(t *testing.T) {
	enc := testenv.Must(tokenizer.Get(tokenizer.O200kBase))(t)
	worst := 0
	words := []string{"implementation", "middleware/auth", "计划", "日本語の", "проверка", "xq9zK", "🚀", "a_b-c.d", "ผู้ใช้", "{}[]\"\\", "ሰላም",
		"Implement The Login", "9f86d081884c7d65", "qzxwvk"}
	for _, word := range words {
		for _, done := range []int{0, 412, 990, 1000} {
			p := long(t, 1000, done, word)
			for name, v := range map[string]resources.PageView{
				"overview": pageOf(p, "", 0),
				"from":     pageOf(p, "", 500),
				"done":     pageOf(p, resources.Filter(plan.Done), 0),
			} {
				for form, text := range map[string]string{"text": v.Text(), "structure": pageJSON(t, v)} {
					n := testenv.Must(enc.Count(text))(t)
					if n > 2_000 {
						t.Errorf("%s, %d done, %s as %s: %d tokens", word, done, name, form, n)
					}
					worst = max(worst, n)
				}
			}
		}
	}
	t.Logf("the dearest page costs %d tokens", worst)
}

// TestPageReadsOn follows "more" and must meet every open step once.
func TestPageReadsOn(t *testing.T) {
	p := long(t, 300, 40, "word")
	var seen []string
	v := pageOf(p, "", 0)
	for {
		for _, s := range v.Steps {
			seen = append(seen, s.StepID)
		}
		if v.More.Left == 0 {
			break
		}
		from := testenv.Must(plan.ParseStepID(v.More.From))(t)
		v = pageOf(p, resources.Filter(v.More.Status), from)
	}
	slices.Sort(seen)
	if n := len(seen); n != 260 || len(slices.Compact(seen)) != 260 || seen[0] != "S041" || seen[n-1] != "S300" {
		t.Errorf("%d steps read, %s to %s, want 260 from S041 to S300, each once", n, seen[0], seen[n-1])
	}
}

func TestPageFoldsAreBounded(t *testing.T) {
	steps := make([]plan.NewStep, 600)
	for i := range steps {
		steps[i].Title = fmt.Sprint("step ", i)
		if i%2 == 0 {
			steps[i].Status = plan.Done
		}
	}
	h := &history{t: t}
	h.do(plan.SetUp{Outline: plan.Outline{Objective: "o"}, Steps: steps})
	v := pageOf(h.state.Plan, "", 0)
	if len(v.Folded) > 10 || !strings.Contains(v.Folded[len(v.Folded)-1], "292 more finished") {
		t.Errorf("folded: %v", v.Folded)
	}
}

func TestPageFromUnknownStep(t *testing.T) {
	p := sample(t).Plan
	if v := pageOf(p, "", 77); len(v.Steps) != 0 || v.More.Left != 0 || !strings.Contains(pageJSON(t, v), `"steps":[]`) {
		t.Errorf("behind the end there is an empty page: %+v", v)
	}
}

func TestPageFilters(t *testing.T) {
	p := sample(t).Plan
	for filter, want := range map[resources.Filter]string{
		resources.FilterOpen: "S002 S003 S004", resources.FilterReady: "", "done": "S001", "blocked": "S004", "failed": "S003",
		"in_progress": "S002", "cancelled": "S006", "skipped": "S005", "pending": "",
	} {
		var ids []string
		for _, s := range pageOf(p, filter, 0).Steps {
			ids = append(ids, s.StepID)
		}
		if got := strings.Join(ids, " "); got != want {
			t.Errorf("filter %s: %q, want %q", filter, got, want)
		}
	}
	if err := plan.OneOf("/status", resources.Filter("nope")); err == nil {
		t.Error("an unknown filter passed")
	}
}
