// Package runnable decides whether steps can be carried out as written (execution: Plan Validation): no step waits for
// itself, tools exist and accept the arguments, references and conditions are valid, and loops have a list. It also
// evaluates conditions, such as steps.S001.ok && steps.S001.value.count > 3, in the language of expr without operations
// that could cost more than a condition may: see bounds.
package runnable

import (
	"cmp"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Tools are the tools that steps may name.
type Tools interface {
	Tool(name string) (Tool, bool)
	Names() []string
}

// InvalidArgs begins the error about arguments that a tool does not take.
const InvalidArgs = "Invalid args for"

// Described is implemented by Tools that know the arguments of their tools: {path, from?: integer}.
type Described interface {
	Arguments(tool string) string
}

// Missing is implemented by Tools that know why a tool is missing; it returns "" if they do not.
type Missing interface {
	Missing(name string) string
}

// Repeatable is implemented by a Tool that knows whether its calls are safe to repeat.
type Repeatable interface {
	IsRepeatable() bool
}

// Tool is one of them.
type Tool interface {
	// CheckWith returns all faults of the arguments, each with the JSON pointer to it. Texts for
	// which isReference is true represent values that are not known yet.
	CheckWith(args json.RawMessage, isReference func(text string) bool) []*plan.ValidationError
}

// Step is a step to check.
type Step struct {
	ID plan.StepID // that it has, or will get
	plan.Spec
	Name     string   // the author's name for it; "" for its id
	Field    string   // JSON pointer to it in the author's input, or ""
	Unknown  []string // dependencies on unknown steps, as given
	Instance bool     // of a loop
}

// Candidate is the subject of a check: steps, and those they join.
type Candidate struct {
	Steps        []Step
	Also         []Step     // added together with them, and checked elsewhere
	Have         plan.Steps // existing steps; Steps replace those with the same id
	Dependencies string     // the input's name for that field; "" for depends_on
}

// Of returns a whole plan as a candidate; only its unfinished steps are checked.
func Of(steps plan.Steps) Candidate {
	c := Candidate{Have: steps}
	for step := range steps.Unfinished() {
		c.Steps = append(c.Steps, Step{ID: step.ID, Spec: step.Spec, Instance: step.Loop() != 0})
	}
	return c
}

// Check returns everything that keeps a candidate from being carried out, or nil: first circles,
// then the faults of each step. If tools is nil, tools are not checked.
func Check(c Candidate, tools Tools) *plan.ValidationError {
	e := examination{Candidate: c, tools: tools, steps: map[plan.StepID]*Step{}}
	e.Also, e.Steps = slices.Clone(c.Also), slices.Clone(c.Steps)
	for _, list := range [][]Step{e.Also, e.Steps} {
		for i := range list {
			list[i].DependsOn = list[i].LinkReferences(nil).DependsOn
			e.steps[list[i].ID] = &list[i]
		}
	}
	e.circles()
	for i := range e.Steps {
		step := &e.Steps[i]
		e.tool(step)
		e.retry(step)
		e.dependencies(step)
		e.references(step)
		e.embedded(step)
		e.condition(step)
		e.loop(step)
	}
	if len(e.faults) == 0 {
		return nil
	}
	first := *e.faults[0]
	first.Others = e.faults[1:]
	return &first
}

type examination struct {
	Candidate
	tools  Tools
	steps  map[plan.StepID]*Step // that are checked, or added together with them
	faults []*plan.ValidationError
}

// maxFaults bounds the faults reported at once.
const maxFaults = 100

// fault records a fault: a sentence of the specification, then the step, the detail and the fix.
func (e *examination) fault(step *Step, field, sentence, detail, fix string) {
	if detail != "" {
		detail = ": " + detail
	}
	e.add(step, field, sentence+" in "+e.name(step.ID)+detail, fix)
}

func (e *examination) add(step *Step, field, problem, fix string) {
	if len(e.faults) < maxFaults {
		e.faults = append(e.faults, &plan.ValidationError{Kind: plan.InvalidInput, Field: step.Field + field,
			Problem: problem, Fix: fix, IsProblemFirst: true})
	}
}

func (e *examination) name(id plan.StepID) string {
	if step := e.steps[id]; step != nil && step.Name != "" {
		return word(step.Name)
	}
	return id.String()
}

// word escapes and shortens a name for display.
func word(name string) string { return safetext.EscapeLine(plan.Shorten(name, 60)) }

// spec returns the Spec of a step, nil if it does not exist.
func (e *examination) spec(id plan.StepID) *plan.Spec {
	if step := e.steps[id]; step != nil {
		return &step.Spec
	} else if step, ok := e.Have.Get(id); ok {
		return &step.Spec
	}
	return nil
}

func (e *examination) dependenciesField() string { return "/" + cmp.Or(e.Dependencies, "depends_on") }

// maxCircles bounds the circles reported one by one.
const maxCircles = 10

// circles reports steps that wait for themselves. The first step of a circle then counts as free,
// so that the search for the next one ignores it.
func (e *examination) circles() {
	ids, place, free := make([]plan.StepID, len(e.Steps)), map[plan.StepID]int{}, map[plan.StepID]bool{}
	for i, step := range e.Steps {
		ids[i], place[step.ID] = step.ID, i-len(e.Steps) // before those that are not checked
	}
	deps := func(id plan.StepID) []plan.StepID {
		if spec := e.spec(id); spec != nil && !free[id] {
			return spec.DependsOn
		}
		return nil
	}
	for range maxCircles {
		circle := plan.Cycle(ids, deps)
		if circle == nil {
			return
		}
		first := slices.MinFunc(circle, func(a, b plan.StepID) int { return place[a] - place[b] })
		circle = circle[1:] // the first is repeated at the end
		at := slices.Index(circle, first)
		free[first] = true
		var around []string
		for _, id := range slices.Concat(circle[at:], circle[:at+1]) {
			around = append(around, e.name(id))
		}
		if len(around) > 12 {
			around = slices.Concat(around[:8], []string{"…"}, around[len(around)-3:])
		}
		step := cmp.Or(e.steps[first], &Step{ID: first})
		e.add(step, e.dependenciesField(), "Plan contains circular dependencies: "+strings.Join(around, " -> "),
			"remove one of these dependencies, or the reference that makes it one")
	}
}

func (e *examination) tool(step *Step) {
	switch {
	case step.Tool == "" && len(step.Args) > 0:
		e.fault(step, "/args", "Args without a tool", "", "name the tool that takes them, or leave them out")
		return
	case step.Tool == "" || e.tools == nil:
		return
	}
	tool, known := e.tools.Tool(step.Tool)
	if !known {
		names, why := e.tools.Names(), ""
		if tools, can := e.tools.(Missing); can {
			why = tools.Missing(step.Tool)
		}
		ours := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return strings.Contains(name, "__") })
		if tools, can := e.tools.(Described); can {
			for i, name := range ours {
				ours[i] = name + " " + tools.Arguments(name)
			}
		}
		fix := "use one of " + strings.Join(ours, ", ") + ", or leave out tool and args for a step that an agent does"
		if near := safetext.Nearest(step.Tool, names); near != "" {
			fix = "did you mean " + near + "?"
		} else if why != "" {
			fix = "`planloop servers` tells how it does"
		}
		e.fault(step, "/tool", "Unknown tool: "+word(step.Tool), why, fix)
		return
	}
	isReference := func(text string) bool { _, is := plan.ParseReference(text); return is }
	for _, one := range tool.CheckWith(step.Args, isReference) {
		e.fault(step, "/args"+one.Field, InvalidArgs+" "+word(step.Tool), one.Problem, one.Fix)
	}
}

// retry refuses a policy for a step that is not safe to repeat, as far as that is known.
func (e *examination) retry(step *Step) {
	isUnsafe := step.Tool == ""
	if e.tools != nil && !isUnsafe {
		tool, known := e.tools.Tool(step.Tool)
		repeatable, knows := tool.(Repeatable)
		isUnsafe = known && knows && !repeatable.IsRepeatable()
	}
	if len(step.Retry) > 0 && !step.Idempotent && isUnsafe {
		e.fault(step, "/retry", "Invalid retry", "the step is not marked as safe to repeat", `add "idempotent": true, or leave retry out`)
	}
}

func (e *examination) dependencies(step *Step) {
	unknown := slices.Clone(step.Unknown)
	sources := step.ReferencedSteps() // unknown ones are reported by references
	for _, id := range step.DependsOn {
		if e.spec(id) == nil && !slices.Contains(sources, id) {
			unknown = append(unknown, id.String())
		}
	}
	for _, name := range unknown {
		e.fault(step, e.dependenciesField(), "Unknown dependency: "+word(name), "", "name "+e.known())
	}
}

// known lists the existing steps for a message.
func (e *examination) known() string {
	all := len(e.steps) + e.Have.Len()
	if all > 8 {
		return "one of the " + plan.Pluralize(all, "step") + " of the plan"
	}
	var names []string
	for step := range e.Have.All() {
		if e.steps[step.ID] == nil {
			names = append(names, step.ID.String())
		}
	}
	for _, step := range slices.Concat(e.Also, e.Steps) {
		names = append(names, e.name(step.ID))
	}
	return "one of " + strings.Join(names, ", ")
}

// embedded reports references within a longer text, where they are not replaced; a shell would
// expand them to nothing.
func (e *examination) embedded(step *Step) {
	found := map[string]bool{}
	for _, match := range embeddedReference().FindAllStringSubmatch(string(step.Args), -1) {
		text := match[1]
		ref, is := plan.ParseReference(text)
		whole := strings.Contains(string(step.Args), `"`+text+`"`) || strings.Contains(string(step.Args), `"`+text+`.`) ||
			strings.Contains(string(step.Args), `"`+text+`[`)
		if !is || e.spec(ref.Step) == nil || whole || found[text] {
			continue
		}
		found[text] = true
		e.fault(step, "/args", InvalidArgs+" "+step.Tool,
			plan.Quote(text)+" is part of a longer text, where references are not filled in",
			`make it a whole value; a command takes it by env, such as {"command":"echo \"$VALUE\"","env":{"VALUE":"`+text+`"}}`)
	}
}

// embeddedReference matches a reference within a longer text; two dollars are a literal one.
var embeddedReference = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[^$](\$(?:S\d{3,}|step_\d+))\b`) })

func (e *examination) references(step *Step) {
	for _, ref := range step.References() {
		text, source := plan.Quote(ref.Text), e.spec(ref.Step)
		if ref.Step != 0 && e.steps[ref.Step] != nil && e.steps[ref.Step].Name != "" {
			text = plan.Quote(strings.Replace(ref.Text, ref.Step.String(), e.name(ref.Step), 1))
		}
		literal := ""
		if strings.HasPrefix(ref.Pointer, "/args") {
			literal = ", or write " + plan.Quote("$"+ref.Text) + " for the text itself"
		}
		switch {
		case ref.Pointer == "/for_each" && (ref.Problem != "" || ref.Step == 0): // reported by loop
		case ref.Problem != "":
			e.fault(step, ref.Pointer, "Invalid reference: "+text, ref.Problem, "refer to a value as in $S001.path[0].to"+literal)
		case ref.Step == 0 && step.ForEach == "" && !step.Instance:
			e.fault(step, ref.Pointer, "Invalid reference: "+text, "item exists only in a loop", "give the step for_each"+literal)
		case ref.Step == 0:
		case source == nil:
			e.fault(step, ref.Pointer, "Invalid reference: "+text, "that step does not exist", "name "+e.known()+literal)
		case source.When != "" && step.When == "":
			e.fault(step, ref.Pointer, "Invalid reference: "+text, e.name(ref.Step)+" is run under a condition, so it may have no value",
				"give this step a condition as well, such as steps."+ref.Step.String()+".ok")
		}
	}
}

func (e *examination) condition(step *Step) {
	if step.When == "" {
		return
	}
	compiled, err := Compile(step.When)
	switch {
	case err != nil:
		e.refused(step, "/when", "Invalid condition", err)
	case compiled.UsesItem() && step.ForEach == "" && !step.Instance:
		e.fault(step, "/when", "Invalid condition", "item exists only in a loop", "give the step for_each, or name a step")
	}
}

func (e *examination) loop(step *Step) {
	if step.ForEach == "" {
		return
	}
	each, err := plan.ParseForEach(step.ForEach)
	switch {
	case err != nil:
		e.refused(step, "/for_each", "Invalid loop", err)
	case each.Glob != "" && !doublestar.ValidatePattern(each.Glob):
		e.fault(step, "/for_each", "Invalid loop", plan.Quote(each.Glob)+" is not a valid pattern", "give one such as docs/**/*.md")
	}
}

// refused is fault for a refusal without a field.
func (e *examination) refused(step *Step, field, sentence string, err error) {
	detail, fix := err.Error(), ""
	if refused, is := err.(*plan.ValidationError); is {
		detail, fix = refused.Problem, refused.Fix
	}
	e.fault(step, field, sentence, detail, fix)
}
