package web

import (
	"reflect"
	"slices"
	"testing"

	"github.com/planloop/planloop/internal/review"
)

// TestOnlyChangedSteps checks that a page that names the view it has gets the steps that changed since, and otherwise all.
func TestOnlyChangedSteps(t *testing.T) {
	f := serve(t, nil)
	b := f.launch()
	b.typeCode()
	f.submit("w1")
	draft := b.view("w1").Draft.Plan.Digest
	if done := b.act("w1", "add_step", map[string]any{"digest": draft, "fields": map[string]any{"title": "Look"}}); done.status != 200 {
		t.Fatal(done)
	}
	first := b.view("w1")
	if first.Tag == "" || first.Draft.Plan.OnlyChanged || len(first.Draft.Plan.Steps) < 2 {
		t.Fatalf("the first view: %+v", first)
	}
	since := func(workspace, tag string) (v review.View) {
		b.get("/api/view?workspace="+workspace+"&known="+tag).into(t, &v)
		return v
	}
	if same := since("w1", first.Tag); same.Tag != first.Tag || !same.Draft.Plan.OnlyChanged || len(same.Draft.Plan.Steps) > 0 {
		t.Errorf("without a change: %+v", same)
	}
	edit := map[string]any{"step": "S001", "digest": first.Draft.Plan.Digest, "fields": map[string]any{"title": "Look again"}}
	if done := b.act("w1", "edit_step", edit); done.status != 200 {
		t.Fatal(done)
	}
	next, whole := since("w1", first.Tag), b.view("w1")
	if d := next.Draft.Plan; !d.OnlyChanged || len(d.Steps) != 1 || d.Steps[0].Title != "Look again" || next.Tag == first.Tag {
		t.Errorf("after an edit: %+v", next)
	}
	merged := append(slices.Clone(next.Draft.Plan.Steps), first.Draft.Plan.Steps[1:]...)
	if !reflect.DeepEqual(merged, whole.Draft.Plan.Steps) {
		t.Errorf("put together:\n%+v\nwant\n%+v", merged, whole.Draft.Plan.Steps)
	}
	remove := map[string]any{"step": "S001", "digest": whole.Draft.Plan.Digest}
	if done := b.act("w1", "remove_step", remove); done.status != 200 {
		t.Fatal(done)
	}
	for what, v := range map[string]review.View{"other steps": since("w1", whole.Tag), "an unknown view": since("w1", "x"),
		"none": since("w1", "")} {
		if v.Draft.Plan.OnlyChanged || len(v.Draft.Plan.Steps) != len(whole.Draft.Plan.Steps)-1 {
			t.Errorf("%s: %+v", what, v.Draft.Plan)
		}
	}
	if other := since("w2", whole.Tag); other.Plan != nil && other.Plan.OnlyChanged {
		t.Errorf("another workspace: %+v", other)
	}
}
