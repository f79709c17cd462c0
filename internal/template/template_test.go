package template_test

import (
	"encoding/json"
	"testing"

	"github.com/planloop/planloop/internal/template"
)

// TestShippedTemplates: each can be used, asks for what it needs, and makes a plan.
func TestShippedTemplates(t *testing.T) {
	all, err := template.Library{}.List(t.Context())
	if err != nil || len(all) == 0 {
		t.Fatal(all, err)
	}
	for _, one := range all {
		if one.Err != nil {
			t.Error(one.Err)
			continue
		}
		given := map[string]json.RawMessage{}
		for _, p := range one.Parameters {
			given[p.Name] = json.RawMessage(`"x"`)
		}
		made, err := one.Make(given)
		if err != nil || len(made.Steps) < 3 {
			t.Errorf("%s: %d steps, %v", one.FullName(), len(made.Steps), err)
		}
	}
}
