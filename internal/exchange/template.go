package exchange

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	jsonv1 "github.com/go-json-experiment/json/v1"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// Limits of a template.
const (
	maxTemplateBytes      = 128 << 10 // of its file
	maxTemplateParameters = 50
	maxTemplateName       = 64
)

// TemplateOrigin is the folder of a template. Names are unique within an origin.
type TemplateOrigin string

// The origins.
const (
	UserTemplate      TemplateOrigin = "user"
	WorkspaceTemplate TemplateOrigin = "workspace" // part of a repository that others may have written
	BuiltIn           TemplateOrigin = "builtin"
)

// Template is a plan file with parameters.
type Template struct {
	Name        string
	Origin      TemplateOrigin
	File        string // "" if it is built in
	Description string
	Parameters  []Parameter
	Text        []byte
	Err         error // why it cannot be used; name, origin and file are set regardless

	outline plan.Outline
	steps   []plan.Spec // the step at index 0 is S001
}

// Parameter is a parameter of a template.
type Parameter struct {
	Name        string         `json:"name"`
	Description string         `json:"description"`
	Default     jsontext.Value `json:"default"` // nil: a value is required
}

// TemplateChange is the plan that Make returns.
type TemplateChange struct {
	Outline plan.Outline
	Steps   []plan.NewStep
}

// FullName returns the template's unique name, such as user/bug-fix.
func (t Template) FullName() string { return string(t.Origin) + "/" + t.Name }

// ReadTemplate reads the text of a template from a file. If the template is unusable, Err has the reason, with lines.
func ReadTemplate(name string, origin TemplateOrigin, file string, text []byte) Template {
	t := Template{Name: name, Origin: origin, File: file, Text: text}
	if err := t.parse(); err != nil {
		t.refuse(err)
	}
	return t
}

// refuse records why the template cannot be used.
func (t *Template) refuse(err error) {
	first, file := plan.ValidationError{Kind: plan.InvalidInput, Problem: safetext.EscapeLine(err.Error())}, ""
	if refused, ok := errors.AsType[*plan.ValidationError](err); ok {
		first = *refused
	}
	if t.File != "" {
		file = " (" + plan.QuoteWhole(t.File) + ")"
	}
	first.Problem = "the template " + t.FullName() + file + " cannot be used: " + strings.TrimPrefix(first.Field+": "+first.Problem, ": ")
	first.Field = "" // it is in a file, not in the caller's input
	t.Err = &first
}

func (t *Template) parse() error {
	if len(t.Text) > maxTemplateBytes {
		return refuse("", fmt.Sprintf("it has more than %d KB", maxTemplateBytes>>10), "shorten it")
	}
	document, err := strict.ReadYAML(t.Text, 2*maxTemplateBytes)
	if err != nil {
		return err
	}
	var file struct {
		Description string         `json:"description"`
		Parameters  jsontext.Value `json:"parameters"`
		Plan        jsontext.Value `json:",embed"` // the other members: the plan
	}
	if err := jsonv2.Unmarshal(document.JSON, &file); err != nil {
		return located(document, malformed("", err))
	}
	if len(file.Parameters) > 0 {
		if err := jsonv2.Unmarshal(file.Parameters, &t.Parameters, jsonv2.RejectUnknownMembers(true)); err != nil {
			return located(document, malformed("/parameters", err))
		}
	}
	t.Description, err = plan.Text{Field: "/description", Max: plan.MaxLongLine}.Clean(file.Description)
	if err != nil {
		return located(document, err)
	}
	if len(file.Plan) == 0 {
		file.Plan = jsontext.Value("{}")
	}
	imported, err := Import(file.Plan, YAML, ImportOptions{})
	if err != nil {
		return located(document, err)
	}
	steps := make([]plan.Step, len(imported.Action.Steps)) // without their progress
	for i, s := range imported.Action.Steps {
		steps[i] = plan.Step{ID: s.ID, Spec: s.Spec}
	}
	t.outline, t.steps = imported.Action.Outline, numbered(steps)
	var faults plan.Faults
	faults.Add(t.checkParameters())
	faults.Add(t.checkPlaces())
	return located(document, faults.Err())
}

// malformed describes the value at a JSON pointer that has the wrong form.
func malformed(at string, err error) error {
	if semantic, ok := errors.AsType[*jsonv2.SemanticError](err); ok {
		at = plan.Shorten(at+string(semantic.JSONPointer), 200)
	}
	return refuse(at, "has the wrong form",
		"write a plan with description: TEXT and parameters: [{name: NAME, description: TEXT, default: TEXT}]")
}

// located adds the lines of a document to errors about its fields.
func located(document strict.YAML, err error) error {
	refused, ok := errors.AsType[*plan.ValidationError](err)
	if !ok {
		return err
	}
	var faults plan.Faults
	for _, one := range refused.All() {
		problem := one.Problem
		if one.Field != "" {
			problem = fmt.Sprintf("line %d: %s", document.Line(one.Field), problem)
		}
		faults.Add(refuse(one.Field, problem, one.Fix))
	}
	return faults.Err()
}

// numbered renumbers steps from S001 on, with their references and dependencies. Dependencies on steps
// outside the list are dropped.
func numbered(steps []plan.Step) []plan.Spec {
	ids := map[plan.StepID]plan.StepID{}
	for i, s := range steps {
		ids[s.ID] = plan.StepID(i + 1)
	}
	named := func(name string) (plan.StepID, bool) {
		id, err := plan.ParseStepID(name)
		return ids[id], err == nil && ids[id] != 0
	}
	specs := make([]plan.Spec, len(steps))
	for i, s := range steps {
		depends := s.DependsOn
		s.DependsOn = nil
		for _, id := range depends {
			if ids[id] != 0 {
				s.DependsOn = append(s.DependsOn, ids[id])
			}
		}
		specs[i] = s.LinkReferences(named)
	}
	return specs
}

var validName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(?:[-_][a-z0-9]+)*$`) })

func checkName(name string) error {
	if len(name) <= maxTemplateName && validName().MatchString(name) {
		return nil
	}
	return refuse("", plan.Quote(name)+" is not a valid name of a template",
		fmt.Sprintf("use at most %d lower-case letters and digits, with single dashes between them", maxTemplateName))
}

var validParameter = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z][a-z0-9_-]{0,39}$`) })

func (t *Template) checkParameters() error {
	if len(t.Parameters) > maxTemplateParameters {
		return refuse("/parameters", fmt.Sprintf("there are more than %d parameters", maxTemplateParameters), "use fewer")
	}
	var faults plan.Faults
	for i := range t.Parameters {
		p, at := &t.Parameters[i], fmt.Sprintf("/parameters/%d", i)
		refused := func(field, problem, fix string) { faults.Add(refuse(at+field, problem, fix)) }
		if !validParameter().MatchString(p.Name) {
			refused("/name", plan.Quote(p.Name)+" is not a valid name of a parameter", "use lower-case letters, digits, _ and -")
		} else if slices.Index(t.names(), p.Name) < i {
			refused("/name", plan.Quote(p.Name)+" is declared twice", "remove one of them")
		}
		var err error
		p.Description, err = plan.Text{Field: at + "/description", Max: plan.MaxHint}.Clean(p.Description)
		faults.Add(err)
		if p.Default == nil {
			continue
		}
		text, isText := textOf(json.RawMessage(p.Default))
		if !isText {
			refused("/default", "is not a text", "give one text")
		}
		text, err = plan.Text{Field: at + "/default", Max: plan.MaxLongLine}.Clean(text)
		faults.Add(err)
		p.Default, _ = jsontext.AppendQuote(nil, text)
	}
	return faults.Err()
}

func (t *Template) names() []string {
	names := make([]string, len(t.Parameters))
	for i, p := range t.Parameters {
		names[i] = p.Name
	}
	return names
}

// textOf returns the content of a JSON string, or the text of a number, true or false.
func textOf(value json.RawMessage) (text string, ok bool) {
	switch jsontext.Value(value).Kind() {
	case '"':
		return text, json.Unmarshal(value, &text) == nil
	case '0', 't', 'f':
		return string(value), true
	}
	return "", false
}

// Wanted describes the expected value of a parameter.
func (p Parameter) Wanted() string {
	if p.Description == "" {
		return "a text"
	}
	return "a text: " + plan.Shorten(p.Description, 120)
}

// values returns the text of each parameter. The error lists all problems.
func (t *Template) values(given map[string]json.RawMessage) (map[string]string, error) {
	var faults plan.Faults
	refused := func(name, problem, fix string) {
		faults.Add(refuse("/parameters/"+plan.Shorten(name, 60), problem, fix))
	}
	values := map[string]string{}
	for _, p := range t.Parameters {
		raw := given[p.Name]
		if len(raw) == 0 || string(raw) == "null" {
			raw = json.RawMessage(p.Default)
		}
		text, isText := textOf(raw)
		text, err := plan.Text{Field: "/parameters/" + p.Name, Max: plan.MaxLongLine}.Clean(text)
		switch {
		case err != nil:
			faults.Add(err)
		case len(raw) > 0 && !isText:
			refused(p.Name, "is not a text", "give "+p.Wanted())
		case text == "" && p.Default == nil:
			refused(p.Name, "is missing", "give "+p.Wanted())
		case strict.Placeholder(text, p.Name):
			refused(p.Name, plan.Quote(text)+" is a placeholder", "give the text itself")
		}
		values[p.Name] = text
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if _, known := values[name]; !known {
			refused(name, "is not a parameter of the template", t.known(name))
		}
	}
	return values, faults.Err()
}

// known suggests a parameter for an unknown name.
func (t *Template) known(name string) string {
	names := t.names()
	if near := safetext.Nearest(name, names); near != "" {
		return "did you mean " + near + "?"
	}
	if len(names) == 0 {
		return "it has no parameters"
	}
	return "its parameters are " + strings.Join(names, ", ")
}

// Make fills in the template with the given values.
func (t *Template) Make(given map[string]json.RawMessage) (TemplateChange, error) {
	if t.Err != nil {
		return TemplateChange{}, t.Err
	}
	values, err := t.values(given)
	if err != nil {
		return TemplateChange{}, err
	}
	outline, steps := t.fill(func(_ string, in place, text string) string { return fillText(values, in, text) })
	var made TemplateChange
	var faults plan.Faults
	made.Outline, err = plan.CleanOutline("", outline)
	faults.Add(err)
	for i, spec := range steps {
		step, err := plan.CleanStep(fmt.Sprintf("/steps/%d", i), plan.NewStep{Spec: spec})
		faults.Add(err)
		made.Steps = append(made.Steps, step)
	}
	return made, faults.Err()
}

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
		refused := func(problem, fix string) { faults.Add(refuse(at, problem, fix)) }
		for _, mark := range marks().FindAllString(text, -1) {
			switch {
			case mark == "{{{{":
			case mark == "{{":
				refused("has {{ without the name of a parameter and }}", "write {{{{ for two braces")
			case !slices.Contains(names, nameIn(mark)):
				refused(mark+" is not a parameter", t.known(nameIn(mark)))
			case in == fixed:
				refused(mark+" is in a field without parameters", "use it in prose, in paths, or as a whole value of args or verify")
			case in != prose && mark != text:
				refused(mark+" is part of a longer text", "make it the whole value; a command takes values by env")
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
	text, err := jsonv2.Marshal(document, jsonv1.DefaultOptionsV1())
	if err != nil {
		return nil, fmt.Errorf("write the template: %w", err)
	}
	return resources.YAMLOf(text)
}
