package verbs

import (
	"bytes"
	"errors"
	"regexp"
	"strconv"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/plan"
)

// Decode reads JSON strictly into an input struct, by the rules for the arguments
// of tools. Other names that models use for our fields are understood where they can
// mean one thing only. The error about the input is a *BadCall.
func Decode(arguments []byte, into any) error {
	err := strict.Decode(arguments, into, synonyms())
	var bad *strict.Error
	if !errors.As(err, &bad) {
		return err
	}
	if wrapped, ok := into.(interface{ Wraps() []string }); ok && len(bytes.TrimSpace(arguments)) > 0 {
		for _, list := range wrapped.Wraps() {
			if strict.Decode([]byte(`{"`+list+`":`+string(arguments)+`}`), into, synonyms()) == nil {
				return nil
			}
		}
	}
	var all plan.Faults
	for _, one := range append([]*strict.Error{bad}, bad.Others...) {
		all.Add(refusal(one))
	}
	call := &BadCall{Mended: brief(bad.Mended)}
	errors.As(all.Err(), &call.ValidationError)
	return call
}

// BadCall refuses the input of a call, and says how it would be right.
type BadCall struct {
	*plan.ValidationError
	Mended  string // the arguments as given, with placeholders for what is wrong or missing; "" where nothing can be made of them
	Instead string // another call that does what this one asks for, as the caller makes it; "" for none
}

// Unwrap returns the refusal alone.
func (e *BadCall) Unwrap() error { return e.ValidationError }

// mended returns the refusal of an input that was decoded with the input mended, and any
// other error as it is.
func mended(err error, input any) error {
	var refused *plan.ValidationError
	if !errors.As(err, &refused) || refused.Kind != plan.InvalidInput || errors.As(err, new(*BadCall)) {
		return err
	}
	pointers := []string{refused.Field}
	for _, other := range refused.Others {
		pointers = append(pointers, other.Field)
	}
	return &BadCall{ValidationError: refused, Mended: brief(strict.Mended(input, pointers))}
}

// shownArguments bounds what of a call is shown again.
const shownArguments = 1_200 // bytes

// brief returns arguments fit to be shown again: without long texts, and not at all where
// they are too many all the same.
func brief(arguments []byte) string {
	if len(arguments) > shownArguments/2 {
		long := regexp.MustCompile(`:"(?:[^"\\]|\\.){80,}"`)
		arguments = long.ReplaceAll(arguments, []byte(`:"<as before>"`))
	}
	if len(arguments) > shownArguments {
		return "with that mended and the rest as before"
	}
	return safetext.Escape(string(arguments))
}

// refusal says what strict found in the words of a *plan.ValidationError. A
// type's own refusal, such as that of a step id, keeps its words.
func refusal(bad *strict.Error) error {
	e := &plan.ValidationError{Kind: plan.InvalidInput, Field: escapedPointer(bad.Pointer), Problem: bad.Problem}
	var own *plan.ValidationError
	switch {
	case errors.As(bad, &own):
		e.Problem, e.Fix = own.Problem, own.Fix
	case bad.Nearest != "":
		e.Fix = "did you mean " + strconv.Quote(bad.Nearest) + "?"
	case bad.Want != "":
		e.Fix = "give " + bad.Want
	}
	return e
}

// escapedPointer returns a JSON pointer, which repeats keys of the input, fit to be
// shown.
func escapedPointer(pointer string) string {
	quoted := strconv.QuoteToGraphic(plan.Shorten(pointer, 120))
	return safetext.Escape(quoted[1 : len(quoted)-1])
}
