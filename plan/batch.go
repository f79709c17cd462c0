package plan

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Batch asks for several actions in order, all of them or none (planloop: update).
// Each is judged in the state that those before it lead to.
type Batch struct {
	Word  string // the action's word in the log
	Parts []Part
}

// Part is one action of a batch, and where it stands in the input.
type Part struct {
	Field  string // JSON pointer
	Action Action
}

// partsPerStep bounds a batch: what is asked of each step a plan may have.
const partsPerStep = 4

// Name is the action's word in the log.
func (b Batch) Name() string { return b.Word }

func (b Batch) clean(c *cleaner) Action {
	c.word(b.Word)
	b.Parts = slices.Clone(b.Parts)
	for i := range b.Parts {
		part := cleaner{}
		b.Parts[i].Action = b.Parts[i].Action.clean(&part)
		c.keep(within(b.Parts[i].Field, part.err))
	}
	return b
}

// traits of a batch are those that all parts have, and what any part asks for.
func (b Batch) traits() traits {
	all := traits{signal: true, anyPlan: len(b.Parts) > 0 && traitsOf(b.Parts[0].Action).anyPlan}
	free := true // of parts that a read-only phase refuses
	for _, part := range b.Parts {
		t := traitsOf(part.Action)
		all.signal = all.signal && t.signal
		all.planning, free = all.planning || t.planning, free && (t.planning || t.beside)
		all.claims = append(all.claims, t.claims...)
		if t.standing > all.standing {
			all.standing, all.act = t.standing, t.act
		}
	}
	all.planning = all.planning && free
	return all
}

func (b Batch) decide(s State, f Facts) ([]Event, error) {
	if most := partsPerStep * f.Limits.MaxSteps; len(b.Parts) > most {
		return nil, conflict(fmt.Sprintf("%d changes are asked for at once, at most %d are made", len(b.Parts), most), "ask for them in turns")
	}
	var all []Event
	for _, part := range b.Parts {
		events, err := part.Action.decide(s, f)
		if err != nil {
			return nil, within(part.Field, err)
		}
		for _, e := range events {
			s = Apply(s, e)
		}
		all = append(all, events...)
	}
	return all, nil
}

// within returns a refusal whose field stands in field.
func within(field string, err error) error {
	var refused *ValidationError
	if !errors.As(err, &refused) || field == "" {
		return err
	}
	inner := *refused
	switch { // the words of the input are not those of the action
	case inner.Field == "/step_id":
		inner.Field = "/id"
	case strings.HasPrefix(inner.Field, "/steps"):
		inner.Field = strings.TrimPrefix(inner.Field, "/steps")
	}
	inner.Field = strings.Replace(inner.Field, "/depends_on", "/dependencies", 1)
	inner.Field = field + inner.Field
	return &inner
}
