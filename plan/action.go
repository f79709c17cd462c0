package plan

import (
	"fmt"
	"slices"
	"strings"
)

// Action is what a verb asks of a state.
type Action interface {
	// Name is the action's word in the log.
	Name() string
	// clean returns the action as it is kept: texts normalised, and everything within
	// the general limits. What breaks them is refused through the cleaner.
	clean(*cleaner) Action
	decide(State, Facts) ([]Event, error)
}

// Bounds on words and names.
const (
	MaxName = 80 // characters of an actor's name
	maxWord = 40 // letters of an action's word in the log
)

// actor refuses an actor whose name is not fit to be kept: it is recorded as it is.
func (c *cleaner) actor(a Actor) {
	if !slices.Contains(a.Kind.Values(), string(a.Kind)) {
		c.keep(&ValidationError{Kind: InvalidInput, Field: "/actor/kind", Problem: Quote(string(a.Kind)) + " is no kind of actor",
			Fix: "use one of " + strings.Join(a.Kind.Values(), ", ")})
	}
	rule := Text{Field: "/actor/name", Max: MaxName}
	name, err := rule.Required(a.Name)
	if err == nil && name != a.Name {
		err = rule.refuse("is not trimmed and normalised", "use "+Quote(name))
	}
	c.keep(err)
}

// word refuses a word for an action that is none.
func (c *cleaner) word(word string) {
	bad := func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }
	if word == "" || len(word) > maxWord || strings.ContainsFunc(word, bad) {
		c.keep(&ValidationError{Kind: InvalidInput, Problem: Quote(word) + " is no word for an action", Fix: "use small letters and _"})
	}
}

func (c *cleaner) outline(o *Outline) {
	clean, err := CleanOutline("", *o)
	c.keep(err)
	*o = clean
}

func (c *cleaner) steps(steps *[]NewStep, name string) {
	*steps = slices.Clone(*steps)
	for i, step := range *steps {
		clean, err := CleanStep(fmt.Sprintf("/%s/%d", name, i), step)
		c.keep(err)
		if clean.Splits < 0 || clean.Splits > MaxStepID {
			c.refuse(fmt.Sprintf("%s/%d/splits", name, i), fmt.Sprintf("%d is not the number of a step", int(clean.Splits)), "name a step as S001")
		}
		(*steps)[i] = clean
	}
}

// oneOf is OneOf for a value that must be given.
func (c *cleaner) oneOf(name, value string, allowed []string) {
	if !slices.Contains(allowed, value) {
		c.refuse(name, Quote(value)+" is not known", "use one of "+strings.Join(allowed, ", "))
	}
}
