package plan_test

import (
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/plan"
)

// TestEveryFieldHasItsRow: the table lists each field of a step once, under its
// name in JSON, and points to it.
func TestEveryFieldHasItsRow(t *testing.T) {
	var step plan.Step
	rows := map[string]any{}
	for _, f := range plan.StepFields() {
		if rows[f.Name] != nil {
			t.Errorf("plan/fields.go has two rows for %s", f.Name)
		}
		rows[f.Name] = f.Pointer(&step)
	}
	for _, part := range []reflect.Value{reflect.ValueOf(&step.Spec).Elem(), reflect.ValueOf(&step.Progress).Elem()} {
		for i := range part.NumField() {
			name, _, _ := strings.Cut(part.Type().Field(i).Tag.Get("json"), ",")
			if rows[name] != part.Field(i).Addr().Interface() {
				t.Errorf("%s has the field %q, but plan/fields.go has no row for it, or one that points elsewhere", part.Type(), name)
			}
			delete(rows, name)
		}
	}
	if len(rows) > 0 {
		t.Errorf("plan/fields.go has rows for fields that plan.Step lacks: %v", rows)
	}
	if got, want := len(plan.SpecFields()), reflect.TypeFor[plan.Spec]().NumField(); got != want {
		t.Errorf("plan/fields.go has %d rows for plan.Spec, which has %d fields", got, want)
	}
}

// TestEveryFieldCanBePatched: a patched value reaches the field of its name, and no other.
func TestEveryFieldCanBePatched(t *testing.T) {
	texts := map[plan.FieldKind]string{
		plan.WordField: "low", plan.StepsField: "S001, S003", plan.FlagField: "yes", plan.SecondsField: "90 s", plan.JSONField: `{"a":1}`,
	}
	for _, f := range plan.SpecFields() {
		text := texts[f.Kind]
		switch {
		case f.Name == "type":
			text = "chore"
		case text == "":
			text = "some text"
		}
		var step plan.Step
		if !f.Set(&step, text) || strings.Join(f.Texts(&step), "|") != text {
			t.Errorf("%s: set to %q it says %q", f.Name, text, f.Texts(&step))
		}
		patch := plan.NewPatch(step.Spec, []plan.Field[plan.Step]{f})
		given := patch.Fields()
		if len(given) != 1 || given[0].Name != f.Name {
			t.Errorf("%s: the patch gives %d fields", f.Name, len(given))
		}
		if diff := cmp.Diff(step.Spec, patch.Apply(plan.Spec{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", f.Name, diff)
		}
	}
}

func TestFieldsRefuseWhatDoesNotFit(t *testing.T) {
	for _, f := range plan.StepFields() {
		unfit := []plan.FieldKind{plan.WordField, plan.StepsField, plan.FlagField, plan.SecondsField, plan.CountField, plan.TimeField}
		var step plan.Step
		if slices.Contains(unfit, f.Kind) && f.Set(&step, "perhaps") {
			t.Errorf("%s takes anything", f.Name)
		}
		if !cmp.Equal(step, plan.Step{}) && slices.Contains(unfit, f.Kind) {
			t.Errorf("%s was changed", f.Name)
		}
	}
}
