package exchange

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// source is a plan as a parser found it: not cleaned yet, its steps and
// dependencies numbered in its own way.
type source struct {
	outline plan.Outline
	draft   bool
	root    string // JSON pointer of the plan
	steps   []sourceStep
	notes   []string
	call    func(id plan.StepID) string // what the source calls a step

	foldLines bool              // line breaks where one line is asked for become blanks
	names     map[string]string // what the source calls our fields, where that differs
}

// sourceStep is a step of a source, with the id it has there, 0 for none. Its
// dependencies name such ids.
type sourceStep struct {
	plan.Step
	at string // where it stands, for people: "line 12"; "" when the field says it
}

func (s *source) note(format string, args ...any) {
	s.notes = append(s.notes, fmt.Sprintf(format, args...))
}

// action cleans the source and gives its steps the ids that will be minted.
func (s *source) action() (Imported, error) {
	if len(s.steps) > maxSteps {
		return Imported{}, refuse(s.root+"/steps", fmt.Sprintf("there are more than %d steps", maxSteps), "group them into fewer")
	}
	outline, err := s.cleanOutline()
	if err != nil {
		return Imported{}, err
	}
	steps, err := s.cleanSteps()
	if err != nil {
		return Imported{}, err
	}
	a := plan.SetUp{Outline: outline, Steps: steps, Draft: s.draft}
	return Imported{Action: a, Notes: s.notes}, nil
}

func (s *source) cleanOutline() (plan.Outline, error) {
	if s.foldLines {
		p := plan.Plan{Outline: s.outline}
		foldLines(&p, plan.PlanFields())
		s.outline = p.Outline
	}
	outline, err := plan.CleanOutline(s.root, s.outline)
	return outline, s.rename(err)
}

func (s *source) cleanSteps() ([]plan.NewStep, error) {
	minted, err := s.number()
	if err != nil {
		return nil, err
	}
	steps := make([]plan.NewStep, len(s.steps))
	claims := 0
	for i, from := range s.steps {
		if s.foldLines {
			foldLines(&from.Step, plan.StepFields())
		}
		step, err := plan.CleanStep(s.field(i), plan.NewStep{Spec: from.Spec, Progress: from.Progress})
		if err != nil {
			return nil, s.locate(i, err)
		}
		if step.ClaimedBy != "" {
			claims++
		}
		step.ClaimedBy, step.LeaseUntil = "", time.Time{}
		step.Status = cmp.Or(step.Status, plan.Pending)
		if err := minted.resolve(s, i, &step); err != nil {
			return nil, s.locate(i, err)
		}
		steps[i] = step
	}
	if claims > 0 {
		s.note("Who works on a step is not carried over: %s dropped.", plan.Counted(claims, "claim"))
	}
	return steps, s.acyclic(steps)
}

func (s *source) field(i int) string { return fmt.Sprintf("%s/steps/%d", s.root, i) }

// locate says where in the source err is, in the source's words.
func (s *source) locate(i int, err error) error {
	err = s.rename(err)
	if at := s.steps[i].at; at != "" {
		return fmt.Errorf("%s: %w", at, err)
	}
	return err
}

// rename puts the source's names of fields in the place of ours.
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

// numbering maps the ids of a source to those that will be minted.
type numbering map[plan.StepID]plan.StepID

// number tells which id each step of the source gets. Where no step has an id of
// its own, dependencies name the ids to come.
func (s *source) number() (numbering, error) {
	minted := numbering{}
	for i, step := range s.steps {
		if step.ID == 0 {
			continue
		}
		if _, taken := minted[step.ID]; taken {
			return nil, s.locate(i, refuse(s.field(i)+"/step_id", s.call(step.ID)+" appears twice", "give each step an id of its own"))
		}
		minted[step.ID] = plan.StepID(i + 1)
	}
	if len(minted) == 0 {
		for i := range s.steps {
			minted[plan.StepID(i+1)] = plan.StepID(i + 1)
		}
	}
	var changed []plan.StepID // the own ids of the steps that get another
	for _, step := range s.steps {
		if step.ID != 0 && step.ID != minted[step.ID] && s.call(step.ID) == step.ID.String() {
			changed = append(changed, step.ID)
		}
	}
	if len(changed) > 0 {
		s.note("Steps were renumbered: %s is %s here, %s got another number. Ids inside texts were not changed.",
			s.call(changed[0]), minted[changed[0]], plan.Counted(len(changed), "step"))
	}
	return minted, nil
}

// resolve makes everything in step that names another step name its new id.
func (m numbering) resolve(s *source, i int, step *plan.NewStep) error {
	for k, dep := range step.DependsOn {
		id, ok := m[dep]
		if !ok {
			return &plan.ValidationError{Kind: plan.NotFound, Field: fmt.Sprintf("%s/depends_on/%d", s.field(i), k),
				Problem: "there is no step " + s.call(dep), Fix: "name a step of the plan"}
		}
		step.DependsOn[k] = id
	}
	known := func(id plan.StepID) bool { return m[id] != 0 }
	if err := step.CheckReferences(s.field(i), known); err != nil {
		return err
	}
	step.Spec = step.Linked(func(name string) (plan.StepID, bool) {
		ref, ok := plan.ParseReference("$" + name)
		return m[ref.Step], ok && known(ref.Step)
	})
	return nil
}

// acyclic refuses dependencies that run in a circle, in the source's own words.
func (s *source) acyclic(steps []plan.NewStep) error {
	ids := make([]plan.StepID, len(steps))
	for i := range steps {
		ids[i] = plan.StepID(i + 1)
	}
	cycle := plan.Cycle(ids, func(id plan.StepID) []plan.StepID { return steps[id-1].DependsOn })
	if cycle == nil {
		return nil
	}
	const shown = 12
	words := make([]string, 0, shown)
	for _, id := range cycle[:min(len(cycle), shown)] {
		words = append(words, s.call(cmp.Or(s.steps[id-1].ID, id)))
	}
	if len(cycle) > shown {
		words = append(words, "…")
	}
	first := int(cycle[0]) - 1
	problem := "the dependencies form a circle: " + strings.Join(words, " -> ")
	return s.locate(first, refuse(s.field(first)+"/depends_on", problem, "drop one of them"))
}

// foldLine makes one line of text that has several, or tabs.
func foldLine(text string) string {
	if !strings.ContainsAny(text, "\n\r\t") {
		return text
	}
	return strings.Join(strings.Fields(text), " ")
}

// foldLines folds every field that is to be one line, or a list of lines.
func foldLines[T any](of *T, fields []plan.Field[T]) {
	for _, f := range fields {
		switch value := f.In(of).(type) {
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
