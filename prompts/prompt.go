// Package prompts contains every text that steers a model: the planning section, the server's instructions, the prompts
// a person picks from a menu, and those that ask a model to plan, to judge a plan or to suggest tasks. Each text is a
// Markdown template in templates/, rendered by name from plain data, so that wording is read, reviewed and changed as
// text.
//
// Text from outside (files, plans, the output of tools) is data. Each of its lines is marked, control characters are
// made visible, and the constants in quote.go limit it; the prompt says if something was cut.
//
// The package knows the names of tools and commands, because the texts teach them. It must not know how a text reaches
// a model (MCP, a command line, a file), nor hold or look up any state of a plan.
package prompts

import (
	"embed"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/template"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Argument is one value a person may give with a prompt.
type Argument struct {
	Name        string
	Description string
	Required    bool // it cannot be left out
	Lines       bool // may have several lines
}

// Prompt is a text a person asks for by name, as a slash command for example.
type Prompt struct {
	Name        string
	Title       string // for a menu
	Description string // for a menu, one sentence
	Arguments   []Argument

	// Render returns the text for the model. An unknown or invalid argument is an [*ArgumentError]. Render is nil for
	// the prompts of [Described].
	Render func(args map[string]string) (string, error)
}

// ArgumentError reports an argument that a prompt refuses.
type ArgumentError struct {
	Prompt   string
	Argument string
	Err      error // the problem and its fix
}

func (e *ArgumentError) Error() string {
	return fmt.Sprintf("prompt %s: argument %.60q: %v", e.Prompt, e.Argument, e.Err)
}

// Unwrap returns the cause.
func (e *ArgumentError) Unwrap() error { return e.Err }

// List returns the prompts that need no data except their arguments, one for each strategy, in a fixed order. The
// caller owns the result. [Described] lists the others.
func List() []Prompt {
	return []Prompt{
		strategyPrompt(React, "Plan: reason, act, observe", "Work in short turns: think briefly, act, note the result."),
		strategyPrompt(PlanActReflect, "Plan: outline, act, reflect",
			"Outline the whole plan first, carry it out, reflect after each step."),
		strategyPrompt(GoalDecomposeRouteSynthesise, "Plan: frame, split, route, join",
			"Restate the goal, split it into sub-problems, pick tools, join the results."),
	}
}

// strategyPrompt returns the prompt with the planning section of one strategy, and a goal if given.
func strategyPrompt(s Strategy, title, description string) Prompt {
	p := Prompt{Name: string(s), Title: title, Description: description,
		Arguments: []Argument{{Name: "goal", Description: "What to achieve, on one line (optional)."}}}
	accept := Prompt{Name: p.Name, Arguments: slices.Clone(p.Arguments)}.Accept
	p.Render = func(args map[string]string) (string, error) {
		accepted, err := accept(args)
		if err != nil {
			return "", err
		}
		return mustRender("strategy", struct{ Section, Goal string }{Section(s), safetext.Marked(accepted["goal"])}), nil
	}
	return p
}

// Described returns the prompts that need the plan or the files, in a fixed order. Their Render is nil: the caller
// checks the arguments with [Prompt.Accept], gathers the data and calls the function of the same name, such as
// [Decompose], with ForAgent set if the data has such a field. The caller owns the result.
func Described() []Prompt {
	return []Prompt{
		{Name: "decompose_goal", Title: "Decompose a goal into tasks",
			Description: "Turn a goal and its specification into a task list that passes the gates.",
			Arguments:   []Argument{{Name: "goal", Description: "The goal, on one line (default: the plan's objective)."}}},
		{Name: "judge_plan", Title: "Judge the plan", Description: "Review the plan as a senior engineer and hand in a verdict."},
		{Name: "suggest_tasks", Title: "Suggest further tasks",
			Description: "Look for gaps, TODO marks and missing tests that no task covers yet.",
			Arguments:   []Argument{{Name: "focus", Description: "Where to look first, on one line (optional)."}}},
		{Name: "resume", Title: "Resume the plan", Description: "Summarise the plan's progress and its next action."},
		{Name: "plan_with_tools", Title: "Plan steps that tools carry out",
			Description: "Turn a request into steps that planloop can run with its tools.",
			Arguments: []Argument{
				{Name: "request", Description: "The request.", Required: true, Lines: true},
				{Name: "existing_code", Description: "Paths of relevant code, or the code itself (optional).", Lines: true},
				{Name: "memories", Description: "Lessons of earlier work, one per line (optional).", Lines: true},
				{Name: "constraints", Description: "Constraints of the plan, one per line (optional).", Lines: true}}},
		{Name: "recover_step", Title: "Recover from a failed step",
			Description: "Decide whether to retry, skip, insert steps or abort.",
			Arguments:   []Argument{{Name: "step_id", Description: "The failed step (default: the one that blocks the plan)."}}},
		{Name: "replan", Title: "Revise the plan", Description: "Make the next version of a plan that cannot continue.",
			Arguments: []Argument{
				{Name: "discoveries", Description: "New findings, one per line (optional).", Lines: true},
				{Name: "constraints", Description: "Constraints of the new plan, one per line (optional).", Lines: true}}},
		{Name: "select_agent", Title: "Select an agent",
			Description: "Choose the agent for the current step by the plan, its history and the last error.",
			Arguments:   []Argument{{Name: "task", Description: "The task, on one line (default: the plan's objective)."}}},

		// People's slash commands (chorus: Slash Command), carried out before they are answered.
		{Name: "plan", Title: "Plan before acting", Description: "Enter planning mode: read-only until you approve a plan.",
			Arguments: []Argument{{Name: "task", Description: "The task to plan, on one line (optional)."}}},
		{Name: "plan_status", Title: "Planning mode: status", Description: "Show the state of planning mode."},
		{Name: "plan_cancel", Title: "Planning mode: cancel", Description: "Leave planning mode without a plan."},
		{Name: "execute_plan", Title: "Carry out the approved plan", Description: "Hand the approved plan to the agent, whole."},
	}
}

// Limits of arguments in characters, after trimming: of a goal, and of one with several lines.
const (
	goalLimit  = plan.MaxLongLine
	linesLimit = maxCode
)

// Accept checks the arguments of a prompt and returns them trimmed, without blank ones. An [*ArgumentError] reports the
// first one, in alphabetical order, that is unknown or not valid text, or else the first required one that is missing.
func (p Prompt) Accept(args map[string]string) (map[string]string, error) {
	var names []string
	for _, a := range p.Arguments {
		names = append(names, a.Name)
	}
	use := "use " + strings.Join(names, ", ")
	if names == nil {
		use = "this prompt takes none"
	}
	accepted := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(args)) {
		if !slices.Contains(names, name) {
			return nil, &ArgumentError{Prompt: p.Name, Argument: name, Err: errors.New("unknown argument: " + use)}
		}
		rule := plan.Text{Max: goalLimit}
		if p.Arguments[slices.Index(names, name)].Lines {
			rule = plan.Text{Max: linesLimit, Multiline: true}
		}
		text, err := rule.Clean(args[name])
		if err != nil {
			return nil, &ArgumentError{Prompt: p.Name, Argument: name, Err: err}
		}
		if text != "" {
			accepted[name] = text
		}
	}
	for _, a := range p.Arguments {
		if a.Required && accepted[a.Name] == "" {
			return nil, &ArgumentError{Prompt: p.Name, Argument: a.Name, Err: errors.New("is missing: " + a.Description)}
		}
	}
	return accepted, nil
}

//go:embed templates/*.md
var files embed.FS

// steering parses the few files that every server needs at its start, templates all of them; each on first use, since
// most commands render nothing. The files are part of the program, so tests catch a template that does not parse.
var (
	steering  = sync.OnceValue(func() *template.Template { return parsed("templates/instructions.md", "templates/mindset_*.md") })
	templates = sync.OnceValue(func() *template.Template { return parsed("templates/*.md") })
)

func parsed(patterns ...string) *template.Template {
	return template.Must(template.New("").Funcs(quoting()).Option("missingkey=error").ParseFS(files, patterns...))
}

// mustRender executes the named template. Templates only print plain fields, so no data can make them fail; the tests
// render every branch. The result has no trailing newline, so that texts can be nested.
func mustRender(name string, data any) string {
	var b strings.Builder
	set := templates
	if name == "instructions" || strings.HasPrefix(name, "mindset_") {
		set = steering
	}
	if err := set().ExecuteTemplate(&b, name+".md", data); err != nil {
		panic(err)
	}
	return strings.TrimRight(b.String(), "\n")
}
