// Package template keeps recipes for plans: YAML files of the user's, of the workspace's
// and planloop's own, with typed parameters. What it reads is untrusted: bounded, parsed
// strictly, and told of with its lines. What a template makes is an outline and steps, for
// others to judge as they judge any plan; it sets up nothing and knows no verbs.
package template

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/internal/yamltext"
	"github.com/planloop/planloop/plan"
)

// What is read of a template.
const (
	maxBytes      = 256 << 10 // of its file
	maxParameters = 50
	maxName       = 64
)

// Origin says where a template comes from.
type Origin string

// The origins.
const (
	User      Origin = "user"
	Workspace Origin = "workspace" // with the files of a repository that somebody else may have written
	Shipped   Origin = "shipped"
)

// Template is a recipe for a plan.
type Template struct {
	Name        string
	Origin      Origin
	File        string // where it stands, for people; "" for a shipped one
	Description string
	Parameters  []Parameter
	Err         error // why it cannot be used; its name, origin and file are known all the same

	text    []byte
	outline plan.Outline
	steps   []plan.NewStep
}

// Text is the template as it is written.
func (t Template) Text() []byte { return t.text }

// FullName names this template and no other.
func (t Template) FullName() string { return string(t.Origin) + "/" + t.Name }

// document is the form of a template's file.
type document struct {
	Name              string               `json:"name,omitempty"`
	Description       string               `json:"description,omitempty"`
	Parameters        map[string]Parameter `json:"parameters,omitempty"`
	Objective         string               `json:"objective"`
	Summary           string               `json:"summary,omitempty"`
	ContextNotes      string               `json:"context_notes,omitempty"`
	Questions         []string             `json:"questions,omitempty"`
	Constraints       []string             `json:"constraints,omitempty"`
	Tags              []string             `json:"tags,omitempty"`
	Complexity        int                  `json:"complexity,omitempty"`
	EstimatedDuration int                  `json:"estimated_duration,omitempty"`
	Steps             []step               `json:"steps"`
}

// step is a step of a template. It depends on others by their refs, or by the ids they get.
type step struct {
	Ref string `json:"ref,omitempty"`
	plan.Spec
	DependsOn []ref  `json:"depends_on,omitempty"`
	ForEach   string `json:"for_each,omitempty" text:"list"`
}

// ref names a step.
type ref string

// UnmarshalText accepts any text; numbers come as their digits.
func (r *ref) UnmarshalText(text []byte) error {
	*r = ref(text)
	return nil
}

// MarshalText writes the name.
func (r ref) MarshalText() ([]byte, error) { return []byte(r), nil }

// synonyms are other names of a template's fields.
func synonyms() []strict.Synonym {
	return []strict.Synonym{{Key: "tasks", Field: "steps"}, {Key: "dependencies", Field: "depends_on"}}
}

// named is what a template or a step of it may be called.
var named = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[a-z0-9]+(?:[-_][a-z0-9]+)*$`) })

// checkName refuses what no template can be called.
func checkName(name string) error {
	if len(name) <= maxName && named().MatchString(name) {
		return nil
	}
	return plan.Refuse(plan.InvalidInput, "/template", plan.Quote(name)+" is no name of a template",
		fmt.Sprintf("use at most %d lower-case letters and digits, with single dashes between them", maxName))
}

// Read reads the text of a template, which stands in a file, "" for none. What is wrong with it is told in Err, with the lines.
func Read(name string, origin Origin, file string, text []byte) Template {
	t := Template{Name: name, Origin: origin, File: file, text: text}
	r := reader{Template: &t}
	if err := r.read(); err != nil {
		r.faults.Add(err)
	}
	if err := r.faults.Err(); err != nil {
		t.refuse(err)
	}
	return t
}

// refuse says why the template cannot be used.
func (t *Template) refuse(err error) {
	var faults plan.Faults
	fix := "correct it"
	if t.File != "" {
		fix = "correct " + plan.QuoteWhole(t.File)
	}
	faults.Add(plan.Refuse(plan.InvalidInput, "", "the template "+t.FullName()+" cannot be used", fix))
	faults.Add(err)
	t.Err = faults.Err()
}

// reader reads one template and collects what is wrong with it.
type reader struct {
	*Template
	faults plan.Faults
	yaml   yamltext.Document
}

// fault notes what is wrong with the value at a JSON pointer.
func (r *reader) fault(at, problem, fix string) {
	if r.yaml.JSON != nil {
		problem = fmt.Sprintf("line %d: %s", r.yaml.Line(at), problem)
	}
	r.faults.Add(plan.Refuse(plan.InvalidInput, plan.Shorten(at, 200), problem, fix))
}

// refused notes a refusal of a value, and what else it tells of, with the lines.
func (r *reader) refused(err error) {
	var wrong *plan.ValidationError
	if !errors.As(err, &wrong) {
		return
	}
	for _, one := range append([]*plan.ValidationError{wrong}, wrong.Others...) {
		r.fault(one.Field, one.Problem, one.Fix)
	}
}

func (r *reader) read() (err error) {
	if len(r.text) > maxBytes {
		return plan.Refuse(plan.InvalidInput, "", fmt.Sprintf("it has more than %d KB", maxBytes>>10), "shorten it")
	}
	if !utf8.Valid(r.text) {
		return plan.Refuse(plan.InvalidInput, "", "it is not valid UTF-8", "save it as UTF-8")
	}
	text := bytes.ReplaceAll(bytes.TrimPrefix(r.text, []byte("\uFEFF")), []byte("\r\n"), []byte("\n"))
	if r.yaml, err = yamltext.Read(text, 2*maxBytes); err != nil {
		return err
	}
	var d document
	if !r.decode(&d) {
		return nil
	}
	if d.Name != "" && d.Name != r.Name {
		r.fault("/name", plan.Quote(d.Name)+" is not the name of its file", "write "+r.Name+", or leave it out")
	}
	rule := plan.Text{Field: "/description", Max: plan.MaxLongLine}
	r.Description, err = rule.Clean(strings.Join(strings.Fields(d.Description), " "))
	r.refused(err)
	r.declare(d.Parameters)
	r.write(d)
	r.defaults()
	return nil
}

// decode reads the document strictly, and tells of everything that is wrong with its form.
func (r *reader) decode(d *document) bool {
	err := strict.Decode(r.yaml.JSON, d, synonyms())
	var bad *strict.Error
	if !errors.As(err, &bad) {
		r.faults.Add(err)
		return err == nil
	}
	r.refused(bad.Refusal())
	return false
}

// declare takes the parameters in the order in which they are written.
func (r *reader) declare(declared map[string]Parameter) {
	if len(declared) > maxParameters {
		r.fault("/parameters", fmt.Sprintf("there are more than %d parameters", maxParameters), "group them into fewer")
		return
	}
	order := r.yaml.Keys("/parameters")
	names := slices.SortedFunc(maps.Keys(declared), func(a, b string) int {
		return cmp.Compare(slices.Index(order, a), slices.Index(order, b))
	})
	for _, name := range names {
		p := declared[name]
		p.Name = name
		r.refused(p.check(r.Origin))
		r.Parameters = append(r.Parameters, p)
	}
}

// write makes the outline and the steps, with the places for parameters still in them.
func (r *reader) write(d document) {
	r.outline = plan.Outline{Objective: d.Objective, Summary: d.Summary, ContextNotes: d.ContextNotes, Questions: d.Questions,
		EstimatedDuration: d.EstimatedDuration,
		Metadata:          plan.Metadata{Constraints: d.Constraints, Tags: d.Tags, Complexity: d.Complexity}}
	if len(d.Steps) == 0 || len(d.Steps) > plan.DefaultMaxSteps {
		r.fault("/steps", fmt.Sprintf("there are %d steps", len(d.Steps)), fmt.Sprintf("write 1 to %d", plan.DefaultMaxSteps))
		return
	}
	ids := r.refs(d.Steps)
	for i, s := range d.Steps {
		at, spec := fmt.Sprintf("/steps/%d", i), s.Spec
		spec.ForEach = s.ForEach
		for k, name := range s.DependsOn {
			if id, ok := ids.find(string(name)); ok {
				spec.DependsOn = append(spec.DependsOn, id)
				continue
			}
			r.fault(fmt.Sprintf("%s/depends_on/%d", at, k), "there is no step "+plan.Quote(string(name)),
				"give the ref of a step of the template, or its id")
		}
		spec = spec.Linked(ids.find)
		r.refused(spec.CheckReferences(at, func(id plan.StepID) bool { return id <= ids.last }))
		r.steps = append(r.steps, plan.NewStep{Spec: spec})
	}
	if r.faults.Err() != nil {
		return
	}
	r.acyclic()
	r.checkPlaces()
	_, err := clean(r.outline, r.steps)
	r.refused(err)
}

// defaults checks what the parameters are worth when nothing is given for them.
func (r *reader) defaults() {
	for _, p := range r.Parameters {
		if _, problem, fix := p.read(p.Default); problem != "" {
			r.fault("/parameters/"+p.Name+"/default", problem, fix)
		}
	}
}

// refs are the ids of the steps that have a name.
type refs struct {
	named map[string]plan.StepID
	last  plan.StepID
}

func (r *reader) refs(steps []step) refs {
	all := refs{map[string]plan.StepID{}, plan.StepID(len(steps))}
	for i, s := range steps {
		at, name := fmt.Sprintf("/steps/%d/ref", i), strings.TrimSpace(s.Ref)
		_, taken := all.named[name]
		switch _, looksLikeID := plan.ParseStepID(name); {
		case name == "":
			continue
		case looksLikeID == nil:
			r.fault(at, plan.Quote(name)+" looks like a step id", "give a name, such as schema")
		case taken:
			r.fault(at, plan.Quote(name)+" is the ref of another step", "give each its own")
		}
		all.named[name] = plan.StepID(i + 1)
	}
	return all
}

func (r refs) find(name string) (plan.StepID, bool) {
	if id, ok := r.named[strings.TrimSpace(name)]; ok {
		return id, true
	}
	id, err := plan.ParseStepID(name)
	return id, err == nil && id <= r.last
}

func (r *reader) acyclic() {
	ids := make([]plan.StepID, len(r.steps))
	for i := range ids {
		ids[i] = plan.StepID(i + 1)
	}
	if cycle := plan.Cycle(ids, func(id plan.StepID) []plan.StepID { return r.steps[id-1].DependsOn }); cycle != nil {
		r.fault(fmt.Sprintf("/steps/%d/depends_on", cycle[0]-1), "the dependencies form a circle: "+plan.ListIDs(cycle),
			"drop one of them")
	}
}

// Made is what a template makes of its parameters.
type Made struct {
	Outline plan.Outline
	Steps   []plan.NewStep
}

// clean normalises what was made, by the rules for any plan.
func clean(outline plan.Outline, steps []plan.NewStep) (made Made, err error) {
	var faults plan.Faults
	made.Outline, err = plan.CleanOutline("", outline)
	var wrong *plan.ValidationError
	if errors.As(err, &wrong) {
		for _, one := range append([]*plan.ValidationError{wrong}, wrong.Others...) {
			one.Field = strings.TrimPrefix(one.Field, "/metadata") // which a template has not
		}
	}
	faults.Add(err)
	for i, s := range steps {
		s, err = plan.CleanStep(fmt.Sprintf("/steps/%d", i), s)
		faults.Add(err)
		made.Steps = append(made.Steps, s)
	}
	return made, faults.Err()
}

// Make fills in the template. The error tells of everything that is wrong with the values.
func (t *Template) Make(given map[string]json.RawMessage) (Made, error) {
	if t.Err != nil {
		return Made{}, t.Err
	}
	values, err := t.values(given)
	if err != nil {
		return Made{}, err
	}
	whole := *t
	whole.fill(func(_ string, in place, text string) []string { return filled(values, in, text) })
	return clean(whole.outline, whole.steps)
}
