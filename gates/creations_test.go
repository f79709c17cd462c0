package gates

import (
	"fmt"
	"testing"

	"github.com/planloop/planloop/plan"
)

// A plan in which everything creates everything is not compared for ever: beyond the bound, nothing more counts as
// created and nothing more is compared.
func TestComparisonsAreBounded(t *testing.T) {
	task := Task{ID: 1, Spec: plan.Spec{Title: "Print"}}
	for i := range 1_000 {
		task.Creates = append(task.Creates, fmt.Sprintf("a/%d*.go", i))
	}
	task.Creates = append(task.Creates, "b*.go")
	c := Candidate{New: []Task{task}}
	m := newCreations(c, newGraph(c))
	if !m.covers(0, "b1.go") {
		t.Error("what is created is not known")
	}
	m.left = 10
	if m.covers(0, "b1.go") || m.left < -2 {
		t.Errorf("%d comparisons too many", -m.left)
	}
}
