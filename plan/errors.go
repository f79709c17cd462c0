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
	InvalidInput ErrorKind = "invalid_input" // the input is wrong in itself
	NotFound     ErrorKind = "not_found"     // it names something that is not there
	Conflict     ErrorKind = "conflict"      // the state does not allow it now
)

// Values lists the kinds.
func (ErrorKind) Values() []string { return []string{"invalid_input", "not_found", "conflict"} }

// ValidationError is the one error that refuses an input or an action
// (WINK: Tool Contracts, ToolValidationError). Nothing was changed.
type ValidationError struct {
	Kind    ErrorKind
	Field   string // JSON pointer into the input, or "" when it is about the state
	Problem string // what was wrong, lower case, without a full stop
	Fix     string // what to do instead
	Claimed StepID // by another actor, where that is what does not allow it; 0 elsewhere
	Plain   string // the refused text as it would be taken, where nothing is lost but accents; "" elsewhere
	Held    Phase  // of planning mode, where that is what does not allow it; "" elsewhere
	Leads   bool   // the problem begins with words of a contract: they stand first, and the field behind them

	Others []*ValidationError // what else is wrong with the same input
}

// Error says where, what and what to do, in one line, of the first things that are wrong.
func (e *ValidationError) Error() string {
	const shown = 7
	details := e.Details()
	text := strings.Join(details[:min(len(details), shown)], "; also ")
	if more := len(details) - shown; more > 0 {
		text += "; and " + strconv.Itoa(more) + " more"
	}
	return text
}

// Details says where, what and what to do, of each thing that is wrong.
func (e *ValidationError) Details() []string {
	var details []string
	for _, one := range append([]*ValidationError{e}, e.Others...) {
		text := one.Problem
		switch {
		case one.Field != "" && one.Leads:
			text += " (" + one.Field + ")"
		case one.Field != "":
			text = one.Field + ": " + text
		}
		if one.Fix != "" {
			text += "; " + one.Fix
		}
		details = append(details, text)
	}
	return details
}

// Faults collects what is wrong with an input, so that one refusal tells of all of it.
type Faults struct {
	first error
}

// maxFaults bounds how many refusals are collected.
const maxFaults = 20

// Add takes an error, which may be nil. Of errors that are no *ValidationError it keeps
// one that comes first.
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
	for _, one := range append([]*ValidationError{more}, more.Others...) {
		if single := *one; len(joined.Others) < maxFaults {
			single.Others = nil
			joined.Others = append(joined.Others, &single)
		}
	}
	f.first = &joined
}

// Err returns the refusal, nil when nothing is wrong.
func (f *Faults) Err() error { return f.first }

// Refuse returns a *ValidationError. field and fix may be empty.
func Refuse(kind ErrorKind, field, problem, fix string) error {
	return &ValidationError{Kind: kind, Field: field, Problem: problem, Fix: fix}
}

func conflict(problem, fix string) error { return Refuse(Conflict, "", problem, fix) }

// Quote returns text in double quotes for a message: shortened to 60
// characters, with everything unprintable escaped.
func Quote(text string) string { return QuoteWhole(Shorten(text, 60)) }

// QuoteWhole is Quote for what must not be shortened: a command, a criterion.
func QuoteWhole(text string) string {
	quoted := strconv.QuoteToGraphic(text) // which lets blank letters and selectors pass
	var b strings.Builder
	for i, r := range quoted {
		switch LookAt(quoted, i) {
		case Shows:
			b.WriteRune(r)
		case Hides:
			word := strconv.QuoteRuneToASCII(r)
			b.WriteString(word[1 : len(word)-1])
		}
	}
	return b.String()
}

// Counted writes a number with its noun: "1 step", "2 steps", "2 entries",
// "2 matches", "2 paths it creates". A noun in y has a consonant before it.
func Counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	behind := ""
	for _, joint := range []string{" of ", " to ", " it "} {
		if i := strings.Index(noun, joint); i >= 0 {
			noun, behind = noun[:i], noun[i:]+behind
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
	return fmt.Sprintf("%d %s%s%s", n, noun, ending, behind)
}

// Shorten returns text with at most n characters, an ellipsis in place of what
// was cut.
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
	cut := func(r rune) bool { return unicode.IsSpace(r) || Invisible(r) } // a joiner would join nothing
	return strings.TrimRightFunc(string(runes[:n-1]), cut) + "…"
}
