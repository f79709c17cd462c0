package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// source is a plan as parsed: not cleaned yet, with the source's own step ids.
type source struct {
	outline plan.Outline
	origin  plan.Import
	draft   bool
	root    string // JSON pointer of the plan
	steps   []sourceStep
	notes   []string
	faults  plan.Faults                 // of the parts that could not be read
	call    func(id plan.StepID) string // the source's name of a step

	find func(name string) (plan.StepID, bool) // finds the step that a reference names; nil: by number

	byPlace   bool              // number steps by position and ignore their ids
	circle    string            // the source's message about a dependency cycle
	foldLines bool              // replace line breaks by spaces in single-line fields
	names     map[string]string // the source's names of our fields, if they differ
}

// sourceStep is a step of a source with its id there, or 0. Its dependencies use the same ids.
type sourceStep struct {
	plan.Step
	at string // position for people, such as "line 12"; "" if the field says it
}

func (s *source) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// keepOrigin keeps the plan's history. It drops ids that are not valid in planloop.
func (s *source) keepOrigin(o plan.Import) {
	if o.ID != "" && !plan.IsPlanID(o.ID) {
		s.note("The plan gets an id of its own: %s can be none here.", plan.Quote(o.ID))
		o.ID = ""
	}
	if o.PreviousPlanID != "" && !plan.IsPlanID(o.PreviousPlanID) {
		s.note("The id of the version before is left out: %s can be none here.", plan.Quote(o.PreviousPlanID))
		o.PreviousPlanID = ""
	}
	if o.Status != plan.StatusReplanning && o.Status != plan.StatusFailed {
		o.Status = ""
	}
	s.origin = o
}

// action cleans the source and assigns the step ids.
func (s *source) action() (Imported, error) {
	if len(s.steps) > maxSteps {
		return Imported{}, refuse(s.root+"/steps", fmt.Sprintf("there are more than %d steps", maxSteps), "group them into fewer")
	}
	faults := s.faults
	if s.foldLines {
		p := plan.Plan{Outline: s.outline}
		foldLines(&p, plan.PlanFields())
		s.outline = p.Outline
	}
	outline, err := plan.CleanOutline(s.root, s.outline)
	faults.Add(s.unread(s.rename(err)))
	origin, err := plan.CleanImport(s.root, s.origin)
	faults.Add(s.unread(s.rename(err)))
	steps, err := s.cleanSteps()
	faults.Add(s.unread(err))
	a := plan.SetUp{Outline: outline, Steps: steps, Draft: s.draft, Import: origin}
	if err := faults.Err(); err != nil {
		return Imported{Action: a}, err
	}
	if refusal, ok := errors.AsType[*plan.ValidationError](plan.CleanAction(a)); ok { // a problem of the plan as a whole
		refusal.Field = strings.Replace(refusal.Field, "/initial_steps", s.root+"/steps", 1)
		return Imported{}, refusal
	}
	return Imported{Action: a, Notes: s.notes}, nil
}

// unread returns an error without the faults that follow from a part that could not be read.
func (s *source) unread(err error) error {
	refusal, ok := errors.AsType[*plan.ValidationError](err)
	unread, some := errors.AsType[*plan.ValidationError](s.faults.Err())
	if !ok || !some {
		return err
	}
	var rest plan.Faults
	for _, one := range refusal.All() {
		if !slices.ContainsFunc(unread.All(), func(cause *plan.ValidationError) bool {
			at := "/" + strings.TrimSuffix(strings.Trim(cause.Field, "/"), "/step_id")
			return strings.HasPrefix("/"+strings.TrimLeft(one.Field, "/")+"/", at+"/") ||
				one.Kind == plan.NotFound && path.Base(path.Dir(at)) == "steps" // perhaps that step
		}) {
			rest.Add(one)
		}
	}
	return rest.Err()
}

func (s *source) cleanSteps() ([]plan.NewStep, error) {
	var faults plan.Faults
	ids, err := s.number()
	faults.Add(err)
	steps := make([]plan.NewStep, len(s.steps))
	claims := 0
	for i, from := range s.steps {
		if s.foldLines {
			foldLines(&from.Step, plan.StepFields())
		}
		step, err := plan.CleanStep(s.field(i), plan.NewStep{Spec: from.Spec, Progress: from.Progress, ID: ids.of[i],
			Execution: from.Execution})
		for _, err := range []error{err, ids.resolve(s, i, &step)} {
			if err != nil {
				faults.Add(s.locate(i, err))
			}
		}
		if step.ClaimedBy != "" {
			claims++
		}
		step.ClaimedBy, step.LeaseUntil = "", time.Time{}
		step.Status = cmp.Or(step.Status, plan.Pending)
		if steps[i] = step; from.ID != 0 {
			steps[i].Name = s.call(from.ID)
		}
	}
	if claims > 0 {
		s.note("Claims are not imported: %s dropped.", plan.Pluralize(claims, "claim"))
	}
	faults.Add(s.acyclic(steps))
	return steps, faults.Err()
}

func (s *source) field(i int) string { return fmt.Sprintf("%s/steps/%d", s.root, i) }

// locate adds the position in the source to err, in the source's words.
func (s *source) locate(i int, err error) error {
	err = s.rename(err)
	if at := s.steps[i].at; at != "" {
		return fmt.Errorf("%s: %w", at, err)
	}
	return err
}

// rename replaces our names of fields by the source's.
func (s *source) rename(err error) error {
	var refusal *plan.ValidationError
	if len(s.names) == 0 || !errors.As(err, &refusal) {
		return err
	}
	words := strings.Split(refusal.Field, "/")
	for i, word := range words {
		if theirs, ok := s.names[word]; ok {
			words[i] = theirs
		}
	}
	renamed := *refusal
	renamed.Field = strings.Join(words, "/")
	return &renamed
}

// numbering maps the steps to their ids in planloop.
type numbering struct {
	of    []plan.StepID               // by position
	named map[plan.StepID]plan.StepID // by id in the source
}

// number keeps the ids of the steps, or numbers them by position. A step without an id gets the id after
// the highest. If no step has an id, dependencies refer to positions.
func (s *source) number() (numbering, error) {
	n := numbering{of: make([]plan.StepID, len(s.steps)), named: map[plan.StepID]plan.StepID{}}
	var faults plan.Faults
	highest := plan.StepID(0)
	for i, step := range s.steps {
		if n.of[i] = step.ID; s.byPlace {
			n.of[i] = plan.StepID(i + 1)
		}
		highest = max(highest, n.of[i])
		if _, taken := n.named[step.ID]; taken {
			faults.Add(s.locate(i, refuse(s.field(i)+"/step_id", s.call(step.ID)+" appears twice", "give each step an id of its own")))
		} else if step.ID != 0 {
			n.named[step.ID] = n.of[i]
		}
	}
	if highest > plan.MaxKeptID {
		faults.Add(refuse(s.root+"/steps", s.call(highest)+" is too high a number for a step", "count them from "+s.call(1)))
	}
	for i, id := range n.of {
		if id == 0 {
			highest++
			n.of[i] = highest
		}
	}
	if len(n.named) == 0 {
		for _, id := range n.of {
			n.named[id] = id
		}
	}
	return n, faults.Err()
}

// find returns the id of the step that a reference names.
func (n numbering) find(name string) (plan.StepID, bool) {
	ref, _ := plan.ParseReference("$" + name)
	id, ok := n.named[ref.Step]
	return id, ok
}

// resolve replaces the ids in a step's dependencies and references by the new ones.
func (n numbering) resolve(s *source, i int, step *plan.NewStep) error {
	var faults plan.Faults
	var dependsOn []plan.StepID
	for k, dep := range step.DependsOn {
		if id, ok := n.named[dep]; ok {
			dependsOn = append(dependsOn, id)
		} else {
			faults.Add(plan.Refuse(plan.NotFound, fmt.Sprintf("%s/depends_on/%d", s.field(i), k),
				"step "+s.call(dep)+" does not exist", "name a step of the plan"))
		}
	}
	step.DependsOn = dependsOn
	find := n.find
	if s.find != nil {
		find = s.find
	}
	known := func(id plan.StepID) bool { _, ok := find(id.String()); return ok }
	if err := step.CheckReferences(s.field(i), known); err != nil {
		faults.Add(err)
	} else {
		step.Spec = step.LinkReferences(find)
	}
	return faults.Err()
}

// acyclic refuses a dependency cycle, in the source's own words.
func (s *source) acyclic(steps []plan.NewStep) error {
	ids, places := make([]plan.StepID, len(steps)), make(map[plan.StepID]int, len(steps))
	for i, step := range steps {
		ids[i], places[step.ID] = step.ID, i
	}
	cycle := plan.Cycle(ids, func(id plan.StepID) []plan.StepID { return steps[places[id]].DependsOn })
	if cycle == nil {
		return nil
	}
	const shown = 12
	words := make([]string, 0, shown)
	for _, id := range cycle[:min(len(cycle), shown)] {
		words = append(words, s.call(cmp.Or(s.steps[places[id]].ID, id)))
	}
	if len(cycle) > shown {
		words = append(words, "…")
	}
	first := places[cycle[0]]
	return s.locate(first, &plan.ValidationError{Kind: plan.InvalidInput, Field: s.field(first) + "/depends_on",
		IsProblemFirst: s.circle != "",
		Problem:        cmp.Or(s.circle, "the dependencies form a circle") + ": " + strings.Join(words, " -> "), Fix: "drop one of them"})
}

// foldLine joins the lines of a text and replaces tabs by spaces.
func foldLine(text string) string {
	if !strings.ContainsAny(text, "\n\r\t") {
		return text
	}
	return strings.Join(strings.Fields(text), " ")
}

// foldLines folds every single-line field, and the elements of lists of lines.
func foldLines[T any](of *T, fields []plan.Field[T]) {
	for _, f := range fields {
		switch value := f.Pointer(of).(type) {
		case *string:
			if f.Kind == plan.LineField {
				*value = foldLine(*value)
			}
		case *[]string:
			if f.Kind != plan.BlocksField {
				for i, text := range *value {
					(*value)[i] = foldLine(text)
				}
			}
		}
	}
}
