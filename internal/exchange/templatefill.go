package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// place says where a text may contain parameters.
type place int

const (
	fixed    place = iota // nowhere
	prose                 // anywhere
	whole                 // only as the whole text: nothing is spliced into a command
	argument              // only as the whole text, with a leading $ escaped: $S001 would be a reference
)

func placeOf(field string) place {
	switch field {
	case "title", "details", "context_hints", "acceptance_criteria", "pause", "relevant_file_paths", "creates":
		return prose
	case "verify":
		return whole
	}
	return fixed
}

// rewriter returns the new form of a text at a JSON pointer.
type rewriter func(at string, in place, text string) string

// fill returns the outline and the steps with every text rewritten. Blank entries of lists are dropped.
func (t *Template) fill(f rewriter) (plan.Outline, []plan.Spec) {
	body := plan.Plan{Outline: t.outline}
	for _, field := range plan.PlanFields() {
		fillField(field, &body, "/"+field.Name, prose, f)
	}
	steps := make([]plan.Spec, len(t.steps))
	for i, spec := range t.steps {
		s, at := plan.Step{Spec: spec}, fmt.Sprintf("/steps/%d/", i)
		for _, field := range plan.SpecFields() {
			fillField(field, &s, at+field.Name, placeOf(field.Name), f)
		}
		s.Args = fillArgs(at+"args", s.Args, f)
		steps[i] = s.Spec
	}
	return body.Outline, steps
}

func fillField[T any](field plan.Field[T], of *T, at string, in place, f rewriter) {
	switch v := field.Pointer(of).(type) {
	case *string:
		*v = f(at, in, *v)
	case *[]string:
		var list []string
		for i, text := range *v {
			if text = f(fmt.Sprintf("%s/%d", at, i), in, text); text != "" {
				list = append(list, text)
			}
		}
		*v = list
	}
}

// fillArgs rewrites the strings in a JSON value, but not the names of members.
func fillArgs(at string, args json.RawMessage, f rewriter) json.RawMessage {
	var out bytes.Buffer
	in, encoder := jsontext.NewDecoder(bytes.NewReader(args)), jsontext.NewEncoder(&out)
	for {
		token, err := in.ReadToken()
		if errors.Is(err, io.EOF) {
			return bytes.TrimSpace(out.Bytes())
		}
		if err != nil {
			return args // the check of arguments refuses them later
		}
		if around, n := in.StackIndex(in.StackDepth()); token.Kind() == '"' && (around != '{' || n%2 == 0) {
			token = jsontext.String(f(at+string(in.StackPointer()), argument, token.String()))
		}
		if encoder.WriteToken(token) != nil {
			return args
		}
	}
}

// marks matches {{name}}, {{{{ (an escaped {{), and any other {{.
var marks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{\{\{\{|\{\{ *[a-z][a-z0-9_-]* *\}\}|\{\{`)
})

// nameIn returns the name of the parameter in a mark.
func nameIn(mark string) string { return strings.Trim(mark, "{} ") }

// fillText fills in the parameters of a text. Marks in the values stay as they are.
func fillText(values map[string]string, in place, text string) string {
	return marks().ReplaceAllStringFunc(text, func(mark string) string {
		value := values[nameIn(mark)]
		switch {
		case mark == "{{{{":
			return "{{"
		case in == argument && strings.HasPrefix(value, "$"):
			return "$" + value // escaped, so that it is not a reference
		}
		return value
	})
}

// checkPlaces refuses parameters that are unknown or in a place that does not allow them.
func (t *Template) checkPlaces() error {
	var faults plan.Faults
	names := t.names()
	t.fill(func(at string, in place, text string) string {
		refuse := func(problem, fix string) { faults.Add(plan.Refuse(plan.InvalidInput, at, problem, fix)) }
		for _, mark := range marks().FindAllString(text, -1) {
			switch {
			case mark == "{{{{":
			case mark == "{{":
				refuse("has {{ without the name of a parameter and }}", "write {{{{ for two braces")
			case !slices.Contains(names, nameIn(mark)):
				refuse(mark+" is not a parameter", t.known(nameIn(mark)))
			case in == fixed:
				refuse(mark+" is in a field without parameters", "use it in prose, in paths, or as a whole value of args or verify")
			case in != prose && mark != text:
				refuse(mark+" is part of a longer text", "make it the whole value; a command takes values by env")
			}
		}
		return text
	})
	return faults.Err()
}

// TemplateOf writes a template for the given steps, without parameters and progress.
func TemplateOf(outline plan.Outline, steps []plan.Step) ([]byte, error) {
	t := Template{outline: outline, steps: numbered(steps)}
	type saved struct {
		ID plan.StepID `json:"step_id"`
		plan.Spec
	}
	var document struct {
		plan.Outline
		Steps []saved `json:"steps"`
	}
	filled, specs := t.fill(func(_ string, _ place, text string) string { return strings.ReplaceAll(text, "{{", "{{{{") })
	document.Outline = filled
	for i, spec := range specs {
		document.Steps = append(document.Steps, saved{plan.StepID(i + 1), spec})
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(document); err != nil {
		return nil, fmt.Errorf("write the template: %w", err)
	}
	return resources.YAMLOf(text.Bytes())
}
