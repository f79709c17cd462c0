package hook

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/plan"
)

// HostPlan returns the change that the call makes to the plan that the session's agent keeps in its host; nil if it makes none, or an
// unreadable one. read is as in ReviewedPlan.
func (c Call) HostPlan(read func(path string) string) *plan.AdoptHostPlan {
	moment := AfterTool
	if !slices.ContainsFunc(Events(c.Host), func(e Event) bool { return e.Moment == AfterTool }) {
		moment = BeforeTool
	}
	if c.Effect != Plans || c.Subagent != "" || c.Session == "" || c.Moment != moment {
		return nil
	}
	var a *plan.AdoptHostPlan
	switch c.planTool() {
	case exitPlanMode:
		a = c.shownPlan(read)
	case "todowrite", "updatetodo", "managetodolist":
		a = c.listedPlan("To-do list of Claude Code")
	case "updateplan":
		a = c.listedPlan("Plan of Codex")
	case "writetodos":
		a = c.listedPlan("To-do list of Gemini CLI")
	case "taskcreate", "taskupdate":
		a = c.changedTask()
	}
	if a == nil {
		return nil
	}
	if a.Host, a.Session = string(c.Host), c.Session; plan.CleanAction(*a) != nil {
		return nil
	}
	return a
}

const exitPlanMode = "exitplanmode" // the tool that shows a plan to the user, as planTool spells it

// planTool returns the tool's name in a normalized spelling. Some hosts prefix it with the name of an extension.
func (c Call) planTool() string {
	name := c.Tool[strings.LastIndex(c.Tool, "__")+1:]
	name = strings.ReplaceAll(strings.ToLower(name), "_", "")
	if name == "createplan" { // Cursor's
		return exitPlanMode
	}
	return name
}

// shownPlan reads a plan written for people. The user agreed to it if the tool has answered.
func (c Call) shownPlan(read func(path string) string) *plan.AdoptHostPlan {
	const objective = "Plan of Claude Code"
	found, err := exchange.ReadPlanText([]byte(c.PlanText(read)), objective)
	if err != nil || c.Moment == AfterTool && !c.IsPlanAccepted() {
		return nil
	}
	return &plan.AdoptHostPlan{Outline: found.Outline, Steps: found.Steps, IsOutlineGenerated: found.Objective == objective,
		IsHostApproved: c.Result != nil}
}

// MayShowPlan reports whether the host may be about to show its user a plan: see ReviewedPlan.
func (c Call) MayShowPlan() bool {
	isTool := (c.Moment == AskUser || c.Moment == BeforeTool) && c.IsPlanShown()
	return c.Session != "" && c.Subagent == "" && (isTool || c.Host == Codex && c.Moment == Stop)
}

// ReviewedPlan returns the plan that the host is about to show its user, to be submitted; nil if there is none that planloop can read.
// read returns the text of a file of the host, or "".
func (c Call) ReviewedPlan(read func(path string) string) *plan.SubmitPlan {
	if !c.MayShowPlan() {
		return nil
	}
	text, err := plan.HostText(c.PlanText(read))
	if err != nil {
		return nil
	}
	title := map[Host]string{Claude: "Claude Code", Codex: "Codex", Gemini: "Gemini CLI"}[c.Host]
	found, err := exchange.ReadPlanText([]byte(text), "Plan of "+title)
	a := plan.SubmitPlan{Outline: found.Outline, Steps: found.Steps,
		HostPlan: &plan.HostPlan{Host: string(c.Host), Title: title, Session: c.Session, Text: text}}
	if err != nil || plan.CleanAction(a) != nil {
		return nil
	}
	return &a
}

// IsPlanShown reports whether the call is of the tool that shows the host's plan to its user.
func (c Call) IsPlanShown() bool { return c.Effect == Plans && c.planTool() == exitPlanMode }

// IsPlanAccepted reports whether that tool has answered, and the user accepted the plan. Gemini CLI's also answers that the user did not.
func (c Call) IsPlanAccepted() bool {
	var answer struct {
		Display string `json:"returnDisplay"`
	}
	_ = json.Unmarshal(c.Result, &answer) // Gemini CLI's has it
	return c.Moment == AfterTool && c.IsPlanShown() && (c.Host != Gemini || strings.HasPrefix(answer.Display, "Plan approved"))
}

// PlanText returns the whole plan that the call shows or has shown to the host's user, "" without one. read is as in ReviewedPlan.
func (c Call) PlanText(read func(path string) string) string {
	if c.Moment == Stop {
		return cmp.Or(proposedPlan(c.Message), c.planOfTurn(read))
	}
	var given, answer struct {
		Plan string `json:"plan"`
		File string `json:"planFilePath"`  // in Claude Code
		Name string `json:"plan_filename"` // in Gemini CLI, in its folder for plans
		Path string `json:"plan_path"`     // in its older versions
	}
	_ = json.Unmarshal(c.Input, &given) // either may hold the plan
	_ = json.Unmarshal(c.Result, &answer)
	text := cmp.Or(answer.Plan, given.Plan)
	if file := cmp.Or(given.File, given.Name, given.Path); text == "" && file != "" && read != nil {
		text = read(file)
	}
	return text
}

// planOfTurn returns the plan that Codex proposed in this turn, from the file with the session: others are old.
func (c Call) planOfTurn(read func(path string) string) (text string) {
	if c.Transcript == "" || read == nil || c.Turn == "" {
		return ""
	}
	isTurn := false
	for line := range strings.Lines(read(c.Transcript)) {
		var entry struct {
			Payload struct {
				Turn    string `json:"turn_id"`
				Role    string `json:"role"`
				Content []struct {
					Text string `json:"text"`
				} `json:"content"`
			} `json:"payload"`
		}
		_ = json.Unmarshal([]byte(line), &entry) // most entries have another form
		isTurn = isTurn && entry.Payload.Turn == "" || entry.Payload.Turn == c.Turn
		if isTurn && entry.Payload.Role == "user" { // such as a hook's answer to a plan, which continues the turn
			text = ""
		}
		if !isTurn || entry.Payload.Role != "assistant" {
			continue
		}
		for _, part := range entry.Payload.Content {
			text = cmp.Or(proposedPlan(part.Text), text)
		}
	}
	return text
}

// proposedPlan returns the last plan in a text of Codex, "" without one.
func proposedPlan(text string) string {
	const start, end = "<proposed_plan>", "</proposed_plan>"
	at := strings.LastIndex(text, start)
	if at < 0 {
		return ""
	}
	inside, _, _ := strings.Cut(text[at+len(start):], end)
	return strings.TrimSpace(inside)
}

type hostTodo struct {
	Content     string `json:"content"`     // the text, in Claude Code and opencode
	Step        string `json:"step"`        // in Codex
	Title       string `json:"title"`       // in VS Code
	Description string `json:"description"` // in Gemini CLI
	Status      string `json:"status"`
	Priority    string `json:"priority"`
}

// listedPlan reads a whole to-do list, which never contains its objective.
func (c Call) listedPlan(objective string) *plan.AdoptHostPlan {
	var given struct {
		Todos       jsontext.Value `json:"todos"` // a list, or a check list in Markdown
		TodoList    jsontext.Value `json:"todoList"`
		Plan        jsontext.Value `json:"plan"`
		Content     string         `json:"content"` // a check list in Markdown
		Explanation string         `json:"explanation"`
	}
	if json.Unmarshal(c.Input, &given) != nil {
		return nil
	}
	var todos []hostTodo
	for _, list := range []jsontext.Value{given.TodoList, given.Todos, given.Plan} {
		if list.Kind() != jsontext.KindBeginArray {
			continue
		}
		if json.Unmarshal(list, &todos) != nil {
			return nil
		}
		return hostTodos(todos, objective, given.Explanation)
	}
	if text := ""; json.Unmarshal(given.Todos, &text) == nil {
		given.Content = text
	}
	read, err := exchange.Import([]byte(given.Content), exchange.Markdown, exchange.ImportOptions{})
	if err != nil {
		return nil
	}
	return &plan.AdoptHostPlan{Outline: read.Action.Outline, Steps: read.Action.Steps, IsOutlineGenerated: true}
}

func hostTodos(todos []hostTodo, objective, why string) *plan.AdoptHostPlan {
	a := &plan.AdoptHostPlan{Outline: plan.Outline{Objective: objective, Summary: why}, IsOutlineGenerated: true}
	if utf8.RuneCountInString(why) > plan.MaxSummary {
		a.Summary, a.ContextNotes = "", why
	}
	for _, todo := range todos {
		step := plan.NewStep{Progress: plan.Progress{Status: plan.ReadStatus(todo.Status)},
			Spec: plan.Spec{Title: line(cmp.Or(todo.Content, todo.Step, todo.Title, todo.Description))}}
		if todo.Priority != "" && todo.Priority != "medium" && todo.Priority != "normal" {
			step.ContextHints = []string{"Priority: " + line(plan.Shorten(todo.Priority, 40))}
		}
		a.Steps = append(a.Steps, step)
	}
	return a
}

type taskID string // given as a string or a number

func (id *taskID) UnmarshalJSON(value []byte) error {
	if jsontext.Value(value).Kind() == jsontext.KindNumber {
		*id = taskID(value)
		return nil
	}
	return json.Unmarshal(value, (*string)(id))
}

// changedTask reads a task that was created, with the id from the answer, or changed.
func (c Call) changedTask() *plan.AdoptHostPlan {
	var given struct {
		ID          taskID   `json:"taskId"`
		Subject     *string  `json:"subject"`
		Description *string  `json:"description"`
		Owner       *string  `json:"owner"`
		Status      string   `json:"status"`
		After       []taskID `json:"addBlockedBy"`
		Before      []taskID `json:"addBlocks"`
	}
	var answer struct {
		Task struct {
			ID taskID `json:"id"`
		} `json:"task"`
	}
	if json.Unmarshal(c.Input, &given) != nil {
		return nil
	}
	_ = json.Unmarshal(c.Result, &answer) // only the answer to TaskCreate has a task
	name := cmp.Or(given.ID, answer.Task.ID)
	if name == "" {
		return nil
	}
	t := &plan.TaskChange{Name: string(name), Title: given.Subject, Details: given.Description, Agent: given.Owner,
		Status: plan.ReadStatus(given.Status), IsRemoved: given.Status == "deleted", DependsOn: names(given.After),
		Dependents: names(given.Before)}
	if t.Title != nil && strings.TrimSpace(*t.Title) == "" {
		t.Title = nil
	}
	for _, text := range []*string{t.Title, t.Agent} {
		if text != nil {
			*text = line(*text)
		}
	}
	return &plan.AdoptHostPlan{Outline: plan.Outline{Objective: "Tasks of Claude Code"}, Task: t, IsOutlineGenerated: true}
}

func names(ids []taskID) (list []string) {
	for _, id := range ids {
		list = append(list, string(id))
	}
	return list
}

func line(text string) string { return strings.Join(strings.Fields(text), " ") }
