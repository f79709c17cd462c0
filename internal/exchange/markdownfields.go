package exchange

import (
	"strings"

	"github.com/planloop/planloop/plan"
)

// stepField returns the field of a step that a label names in a check list.
// Title and details have places of their own.
func stepField(label string) (plan.Field[plan.Step], bool) {
	fields := plan.StepFields()
	for i := range fields {
		if f := &fields[i]; f.Label == label && f.Name != "title" && f.Name != "details" {
			return *f, true
		}
	}
	return plan.Field[plan.Step]{}, false
}

// derived reports the labels of what an exported check list says beside fields.
func derived(label string) bool { return label == "waiting on" || label == "earlier notes" }

// labelled splits "label: value" if the label is one we write.
func labelled(text string) (label, value string, ok bool) {
	label, value, ok = strings.Cut(text, ":")
	label = strings.ToLower(strings.Trim(label, "* \t"))
	value = strings.TrimSpace(strings.TrimPrefix(value, "**"))
	if !ok || derived(label) {
		return label, value, ok
	}
	_, ok = stepField(label)
	return label, value, ok
}

// set gives the field of a step that label names its value. It reports false when
// the value does not fit; it is kept as details then.
func (r *checkListReader) set(s *sourceStep, label, value string) bool {
	f, ok := stepField(label)
	switch {
	case f.Name == "evidence":
		r.once("Evidence was taken over as text.")
	case f.Name == "result":
		r.once("Results of steps are left out.")
		return true
	case f.ShownOnly, !ok:
		return true
	}
	return f.Set(&s.Step, value)
}

// about reads an item of the section with the plan's own fields.
func (r *checkListReader) about(text string) {
	label, value, _ := strings.Cut(text, ":")
	p := plan.Plan{Outline: r.src.outline}
	for _, f := range plan.PlanFields() {
		ofSection := f.Kind == plan.LinesField || f.Kind == plan.CountField || f.Kind == plan.SecondsField
		if ofSection && f.Label == strings.ToLower(label) && f.Set(&p, unescape(strings.TrimSpace(value))) {
			r.src.outline = p.Outline
			return
		}
	}
	r.context = append(r.context, unescape(text))
}

// markdownLosses says what of p a check list shows and cannot give back.
func markdownLosses(p *plan.Plan) []string {
	lost := losses(p, func(f plan.Field[plan.Plan]) bool { return !f.ShownOnly },
		func(f plan.Field[plan.Step]) bool { return !f.ShownOnly })
	if len(lost) == 0 {
		return nil
	}
	return []string{"A check list cannot give back, when it is imported, all of: " + strings.Join(lost, ", ") + "."}
}
