package prompts

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

var errNoArguments = errors.New("unknown argument: this prompt takes none")

// Argument is one value a person may give with a prompt.
type Argument struct {
	Name        string
	Description string
	Required    bool
}

// Prompt is a text a person asks for by name, as a slash command for example.
type Prompt struct {
	Name        string
	Title       string // for a menu
	Description string // for a menu, one sentence
	Arguments   []Argument

	// Render returns the text for the model. An argument that is unknown or
	// not acceptable is an [*ArgumentError]. It is nil for what [Described] lists.
	Render func(args map[string]string) (string, error)
}

// ArgumentError reports an argument a prompt refuses.
type ArgumentError struct {
	Prompt   string
	Argument string
	Err      error // what is wrong and what to do
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("prompt %s: argument %.60q: %v", e.Prompt, e.Argument, e.Err)
}

// Unwrap returns the cause.
func (e *ArgumentError) Unwrap() error { return e.Err }

// List returns the prompts that need no data but their arguments, one for each
// strategy, in a fixed order. The caller owns the result. [Described] lists the
// others.
func List() []Prompt {
	return []Prompt{
		strategyPrompt(React,
			"Plan: reason, act, observe",
			"Work in short turns: think briefly, act, note what was observed."),
		strategyPrompt(PlanActReflect,
			"Plan: outline, act, reflect",
			"Outline the whole plan first, carry it out, reflect after each step."),
		strategyPrompt(GoalDecomposeRouteSynthesise,
			"Plan: frame, split, route, join",
			"Restate the goal, split it into sub-problems, pick tools, join the results."),
	}
}

// strategyPrompt is the planning section of one strategy, with a goal if given.
func strategyPrompt(s Strategy, title, description string) Prompt {
	p := Prompt{
		Name:        string(s),
		Title:       title,
		Description: description,
		Arguments:   []Argument{{Name: "goal", Description: "What to achieve, on one line (optional)."}},
	}
	name, arguments := p.Name, slices.Clone(p.Arguments)
	p.Render = func(args map[string]string) (string, error) {
		if err := checkNames(name, arguments, args); err != nil {
			return "", err
		}
		g, err := parseGoal(args["goal"])
		if err != nil {
			return "", &ArgumentError{Prompt: name, Argument: "goal", Err: err}
		}
		return render("strategy", struct {
			Section string
			Goal    *goal
		}{Section(s), g})
	}
	return p
}

// checkNames refuses the first argument, in alphabetical order, that the prompt
// does not have.
func checkNames(prompt string, known []Argument, args map[string]string) error {
	names := make([]string, len(known))
	for i, a := range known {
		names[i] = a.Name
	}
	for _, given := range slices.Sorted(maps.Keys(args)) {
		if slices.Contains(names, given) {
			continue
		}
		err := fmt.Errorf("unknown argument: use %s", strings.Join(names, ", "))
		if len(names) == 0 {
			err = errNoArguments
		}
		return &ArgumentError{Prompt: prompt, Argument: given, Err: err}
	}
	return nil
}
