package template

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// Of writes a template that makes the steps again, without parameters. What the steps have
// become is left out, and so is a dependency on a step that is not among them.
func Of(outline plan.Outline, steps []plan.Step) ([]byte, error) {
	t := Template{outline: outline}
	names, taken, ids := map[plan.StepID]ref{}, map[ref]bool{}, map[plan.StepID]plan.StepID{}
	for i, s := range steps {
		names[s.ID] = refOf(s.Title, taken)
		taken[names[s.ID]] = true
		ids[s.ID] = plan.StepID(i + 1)
	}
	moved := func(name string) (plan.StepID, bool) {
		id, err := plan.ParseStepID(name)
		return ids[id], err == nil && ids[id] != 0
	}
	for _, s := range steps {
		t.steps = append(t.steps, plan.NewStep{Spec: s.Spec.Linked(moved)})
	}
	t.fill(func(_ string, in place, text string) []string {
		text = strings.ReplaceAll(text, "{{", "{{{{")
		if in == argument {
			text = quoted(text)
		}
		return []string{text}
	})
	o := t.outline
	d := document{Objective: o.Objective, Summary: o.Summary, ContextNotes: o.ContextNotes, Questions: o.Questions,
		Constraints: o.Metadata.Constraints, Tags: o.Metadata.Tags, Complexity: o.Metadata.Complexity,
		EstimatedDuration: o.EstimatedDuration}
	for i, s := range t.steps {
		made := step{Ref: string(names[steps[i].ID]), Spec: s.Spec, ForEach: s.ForEach}
		for _, id := range steps[i].DependsOn {
			if name, there := names[id]; there {
				made.DependsOn = append(made.DependsOn, name)
			}
		}
		made.Spec.DependsOn = nil
		d.Steps = append(d.Steps, made)
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(d); err != nil {
		return nil, fmt.Errorf("write the template: %w", err)
	}
	return resources.YAMLOf(jsontext.Value(text.Bytes()))
}

// refOf is a name for a step by the first words of its title, which no other has.
func refOf(title string, taken map[ref]bool) ref {
	words := strings.FieldsFunc(strings.ToLower(title), func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
	name := strings.Join(words[:min(len(words), 4)], "-")
	if _, err := plan.ParseStepID(name); err == nil || name == "" || len(name) > maxName {
		name = "part"
	}
	unique := ref(name)
	for n := 2; taken[unique]; n++ {
		unique = ref(fmt.Sprintf("%s-%d", name, n))
	}
	return unique
}
