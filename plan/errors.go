package plan

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// ErrorKind classifies a refusal. The words are part of the JSON contract.
type ErrorKind string

// The kinds of refusal.
const (
	InvalidInput ErrorKind = "invalid_input" // the input itself is wrong
	NotFound     ErrorKind = "not_found"     // it names something that does not exist
	Conflict     ErrorKind = "conflict"      // the current state does not allow it
)

// Values lists the kinds.
func (ErrorKind) Values() []string { return []string{"invalid_input", "not_found", "conflict"} }

// ValidationError is the only error that refuses an input or an action (WINK: Tool Contracts,
// ToolValidationError). Nothing was changed.
type ValidationError struct {
	Kind           ErrorKind `json:"kind"`
	Field          string    `json:"field,omitempty"`         // JSON pointer into the input, or "" if it is about the state
	Problem        string    `json:"problem"`                 // the fault, in lower case, without a full stop
	Fix            string    `json:"fix,omitempty"`           // what to do instead
	ClaimedStep    StepID    `json:"claimed_step,omitzero"`   // the step claimed by another actor, if that is the reason; else 0
	Suggestion     string    `json:"suggestion,omitempty"`    // the refused text in an acceptable form, if there is one; else ""
	Phase          Phase     `json:"phase,omitempty"`         // the phase of planning mode, if that is the reason; else ""
	ApprovedPlan   string    `json:"approved_plan,omitempty"` // that only a person may replace or clear, if that is the reason; else ""
	Unverified     StepID    `json:"unverified,omitzero"`     // the step that is not verified, if that is the reason; else 0
	Output         string    `json:"output,omitempty"`        // the end of a failed command's output, if that is the reason; else ""
	IsProblemFirst bool      `json:"problem_first,omitzero"`  // the problem begins with words of a contract, so Field follows it

	Others []*ValidationError `json:"others,omitempty"` // more problems of the same input
}

// All returns each problem as a refusal of its own, this one first.
func (e *ValidationError) All() []*ValidationError {
	var all []*ValidationError
	for _, one := range append([]*ValidationError{e}, e.Others...) {
		alone := *one
		alone.Others = nil
		all = append(all, &alone)
	}
	return all
}

// Error returns the first problems, each with field and fix, in one line.
func (e *ValidationError) Error() string {
	const shown = 7
	details := e.Details()
	text := strings.Join(details[:min(len(details), shown)], "; also ")
	if more := len(details) - shown; more > 0 {
		text += "; and " + strconv.Itoa(more) + " more"
	}
	return text
}

// Details returns each problem with its field and fix.
func (e *ValidationError) Details() []string {
	var details []string
	for _, one := range e.All() {
		text := one.Problem
		switch {
		case one.Field != "" && one.IsProblemFirst:
			text += " (" + one.Field + ")"
		case one.Field != "":
			text = one.Field + ": " + text
		}
		switch {
		case one.Fix == ReadOnly:
			text += ". " + one.Fix
		case one.Fix != "":
			text += "; " + one.Fix
		}
		details = append(details, text)
	}
	return details
}

// Faults collects the problems of an input, so that one refusal lists them all.
type Faults struct {
	first error
}

// MaxFaults bounds how many refusals are collected.
const MaxFaults = 20

// Add adds an error, which may be nil. An error other than a *ValidationError is kept only if it
// comes first.
func (f *Faults) Add(err error) {
	if err == nil {
		return
	}
	if f.first == nil {
		f.first = err
		return
	}
	var all, more *ValidationError
	if !errors.As(f.first, &all) || !errors.As(err, &more) {
		return
	}
	joined := *all
	joined.Others = slices.Clip(joined.Others)
	for _, one := range more.All() {
		if len(joined.Others) < MaxFaults {
			joined.Others = append(joined.Others, one)
		}
	}
	f.first = &joined
}

// Err returns the refusal, nil if there were no errors.
func (f *Faults) Err() error { return f.first }

// Refuse returns a *ValidationError. field and fix may be empty.
func Refuse(kind ErrorKind, field, problem, fix string) error {
	return &ValidationError{Kind: kind, Field: field, Problem: problem, Fix: fix}
}

func conflict(problem, fix string) error { return Refuse(Conflict, "", problem, fix) }

// Quote returns text in double quotes for a message, shortened to 60 characters, with everything
// unprintable escaped.
func Quote(text string) string { return QuoteWhole(Shorten(text, 60)) }

// QuoteWhole is Quote for text that must not be shortened: a command, a criterion.
func QuoteWhole(text string) string {
	quoted := strconv.QuoteToGraphic(text) // lets blank letters and selectors pass
	var b strings.Builder
	for i, r := range quoted {
		switch VisibilityAt(quoted, i) {
		case Visible:
			b.WriteRune(r)
		case Hiding:
			word := strconv.QuoteRuneToASCII(r)
			b.WriteString(word[1 : len(word)-1])
		}
	}
	return b.String()
}

// Pluralize writes a number with its noun: "1 step", "2 steps", "2 entries", "2 matches", "2 paths it
// creates". A noun ending in y must have a consonant before it.
func Pluralize(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	rest := ""
	for _, joint := range []string{" of ", " to ", " it "} {
		if i := strings.Index(noun, joint); i >= 0 {
			noun, rest = noun[:i], noun[i:]+rest
		}
	}
	ending := "s"
	if stem, found := strings.CutSuffix(noun, "y"); found {
		noun, ending = stem, "ies"
	} else if stem, found := strings.CutSuffix(noun, "criterion"); found {
		noun, ending = stem, "criteria"
	} else if strings.HasSuffix(noun, "ch") {
		ending = "es"
	}
	return fmt.Sprintf("%d %s%s%s", n, noun, ending, rest)
}

// Shorten returns text with at most n characters, an ellipsis in place of the part that was cut.
func Shorten(text string, n int) string {
	if len(text) <= n {
		return text
	}
	if n < 1 {
		return ""
	}
	runes := []rune(text)
	if len(runes) <= n {
		return text
	}
	cut := func(r rune) bool { return unicode.IsSpace(r) || IsInvisible(r) } // nothing would follow a joiner
	return strings.TrimRightFunc(string(runes[:n-1]), cut) + "…"
}
