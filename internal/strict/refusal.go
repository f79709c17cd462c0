package strict

import (
	"errors"
	"strconv"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Refusal returns all faults of the input as a *plan.ValidationError. A type's own refusal, such as that of a step id,
// keeps its words.
func (e *Error) Refusal() *plan.ValidationError {
	var all plan.Faults
	for _, one := range append([]*Error{e}, e.Others...) {
		all.Add(one.refusal())
	}
	var refused *plan.ValidationError
	errors.As(all.Err(), &refused)
	return refused
}

func (e *Error) refusal() *plan.ValidationError {
	refused := &plan.ValidationError{Kind: plan.InvalidInput, Field: ShownPointer(e.Pointer), Problem: e.Problem}
	var own *plan.ValidationError
	switch {
	case errors.As(e, &own):
		refused.Problem, refused.Fix = own.Problem, own.Fix
	case e.Nearest != "":
		refused.Fix = "did you mean " + strconv.Quote(e.Nearest) + "?"
	case e.Want != "":
		refused.Fix = "give " + e.Want
	}
	return refused
}

// ShownPointer returns a JSON pointer, which repeats keys of the input, in printable form.
func ShownPointer(pointer string) string {
	quoted := strconv.QuoteToGraphic(plan.Shorten(pointer, 120))
	return safetext.Escape(quoted[1 : len(quoted)-1])
}
