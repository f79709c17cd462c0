package prompts

import "errors"

var errMissing = errors.New("it is missing: give one line of text")

// Described returns the prompts whose texts need to know the plan or the files,
// in a fixed order: decompose_goal, judge_plan, suggest_tasks and resume. Their
// Render is nil: the caller checks what a person gave with [Prompt.Accept],
// gathers the data and calls [Decompose], [Judge], [SuggestTasks] or [Resume]
// with ForAgent set. The caller owns the result.
func Described() []Prompt {
	return []Prompt{
		{
			Name:        "decompose_goal",
			Title:       "Decompose a goal into tasks",
			Description: "Turn a goal and its specification into a task list that passes the gates.",
			Arguments:   []Argument{{Name: "goal", Description: "What to achieve, on one line (default: the plan's objective)."}},
		},
		{
			Name:        "judge_plan",
			Title:       "Judge the plan",
			Description: "Review the plan as a senior engineer and hand in a verdict.",
		},
		{
			Name:        "suggest_tasks",
			Title:       "Suggest further tasks",
			Description: "Look for gaps, TODO marks and missing tests that no task covers yet.",
			Arguments:   []Argument{{Name: "focus", Description: "What to look at first, on one line (optional)."}},
		},
		{
			Name:        "resume",
			Title:       "Resume the plan",
			Description: "Tell in short where the plan stands and what comes next.",
		},
	}
}

// Accept checks the arguments given with a prompt and returns them trimmed,
// without blank ones. What is unknown, missing or no plain line is an
// [*ArgumentError].
func (p Prompt) Accept(args map[string]string) (map[string]string, error) {
	if err := checkNames(p.Name, p.Arguments, args); err != nil {
		return nil, err
	}
	accepted := map[string]string{}
	for _, a := range p.Arguments {
		line, err := parseGoal(args[a.Name])
		switch {
		case err != nil:
			return nil, &ArgumentError{Prompt: p.Name, Argument: a.Name, Err: err}
		case line != nil:
			accepted[a.Name] = line.Text
		case a.Required:
			return nil, &ArgumentError{Prompt: p.Name, Argument: a.Name, Err: errMissing}
		}
	}
	return accepted, nil
}
