package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// recipes has a template of the user and one of the workspace, both with a parameter for the thing to move.
type recipes struct{}

func (recipes) List(context.Context) ([]verbs.Template, error) {
	what := []verbs.TemplateParameter{{Name: "what", Required: true, Wanted: "a text"},
		{Name: "risk", Default: json.RawMessage(`"low"`)}}
	return []verbs.Template{
		{Name: "foreign", Origin: "workspace", Foreign: true, Parameters: what},
		{Name: "move", Origin: "user", Description: "Move records elsewhere", Parameters: what},
		{Name: "torn", Origin: "user", Problem: "line 3: unknown field"}}, nil
}

func (r recipes) Find(ctx context.Context, name string) (verbs.Template, error) {
	all, err := r.List(ctx)
	for _, t := range all {
		if t.Name == name {
			return t, err
		}
	}
	return verbs.Template{}, plan.Refuse(plan.NotFound, "/template",
		"template "+plan.Quote(name)+" does not exist", "there are foreign, move")
}

func (r recipes) Make(ctx context.Context, name string, parameters map[string]json.RawMessage) (verbs.FromTemplate, error) {
	found, err := r.Find(ctx, name)
	made := verbs.FromTemplate{Template: found}
	if len(parameters["what"]) == 0 && err == nil {
		err = plan.Refuse(plan.InvalidInput, "/parameters/what", "is missing", "give a text")
	}
	var what string
	_ = json.Unmarshal(parameters["what"], &what)
	made.Outline.Objective = "Move the " + what
	made.Steps = []plan.NewStep{{Spec: plan.Spec{Title: "Copy the " + what, Type: plan.Chore, Risk: plan.LowRisk,
		ContextHints: []string{"Read the module file"}, RelevantFilePaths: []string{"go.mod"},
		AcceptanceCriteria: []string{"both places hold them"}}}}
	return made, err
}

// vastRecipes has many long templates, those of the workspace first.
type vastRecipes struct{ recipes }

func (vastRecipes) List(context.Context) ([]verbs.Template, error) {
	prose := strings.Repeat("Read how the session of a user expires. ", 12)
	var all []verbs.Template
	for i := range 600 {
		t := verbs.Template{Name: fmt.Sprintf("recipe-%d", i), Origin: "workspace", Foreign: i < 300, Description: prose}
		for k := range i % 50 {
			t.Parameters = append(t.Parameters, verbs.TemplateParameter{Name: fmt.Sprintf("parameter_%d", k),
				Description: prose, Default: json.RawMessage(`"` + prose + `"`)})
		}
		all = append(all, t)
	}
	return all, nil
}

// TestCostOfTemplates: a list stays small whatever the repository contains, and shows the user's own templates
// first.
func TestCostOfTemplates(t *testing.T) {
	count := counter(t)
	client := newWorldWith(t, verbs.Options{Templates: vastRecipes{}}, mcpserver.Options{}).connect(t, handshake, nil)
	result := call(t, client, "planning_apply_template", nil)
	listed := text(t, result)
	for what, n := range map[string]int{"text": count(listed), "structure": count(result.StructuredContent)} {
		t.Logf("%s: %d tokens", what, n)
		if n > 5_000 {
			t.Errorf("the %s costs %d tokens", what, n)
		}
	}
	if !strings.Contains(listed, "\nrecipe-300 ") || !strings.Contains(listed, " more are not listed") {
		t.Error(listed)
	}
}

func (recipes) Save(string, plan.Outline, []plan.Step, bool) (string, error) { return "", nil }
