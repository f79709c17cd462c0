package exchange

import (
	"cmp"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/yamltext"
	"github.com/planloop/planloop/plan"
)

// hostList is how a host's own tool calls the list of what is to do. The list is told whole each time.
type hostList struct {
	key   string   // of the list
	text  string   // of an entry's text
	tells []string // besides the text and the status, what only says so again
	one   bool     // at most one entry may be in progress
}

func todoWrite() hostList {
	return hostList{key: "todos", text: "content", tells: []string{"activeForm", "id", "title"}}
}

func updatePlan() hostList { return hostList{key: "plan", text: "step", one: true} }

func writeTodos() hostList { return hostList{key: "todos", text: "description", one: true} }

// hostListRows are the lists of Claude Code, Codex and Gemini CLI.
func hostListRows() []row {
	three := map[plan.StepStatus]string{plan.Pending: "pending", plan.InProgress: "in_progress", plan.Done: "completed",
		plan.Skipped: "completed", plan.Cancelled: "completed"}
	five := map[plan.StepStatus]string{plan.Pending: "pending", plan.InProgress: "in_progress", plan.Done: "completed",
		plan.Skipped: "cancelled", plan.Cancelled: "cancelled", plan.Blocked: "blocked"}
	return []row{
		{format: TodoWrite, json: true, about: "the to-do list of Claude Code (TodoWrite)", text: "To-do list of Claude Code",
			is: todoWrite().is, read: todoWrite().read, write: todoWrite().write, words: vocabulary{words: three}},
		{format: UpdatePlan, json: true, about: "the plan of Codex (update_plan)", text: "Plan of Codex",
			is: updatePlan().is, read: updatePlan().read, write: updatePlan().write, words: vocabulary{words: three},
			plan: []string{"summary"}},
		{format: WriteTodos, json: true, about: "the to-do list of Gemini CLI (write_todos)", text: "To-do list of Gemini CLI",
			is: writeTodos().is, read: writeTodos().read, write: writeTodos().write, words: vocabulary{words: five}},
	}
}

func (h hostList) is(s shape) bool {
	first := s.members
	if !s.list {
		first = firstMembers(s.members[h.key])
	}
	return first[h.text] != nil && first["status"] != nil && first["id"] == nil && first["title"] == nil && first["priority"] == nil
}

func (h hostList) read(in input) (*source, error) {
	members, entries, err := listOf(in.text, h.key)
	if err != nil {
		return nil, err
	}
	l := in.list("")
	for name, value := range members {
		var text string
		switch {
		case name == h.key:
		case name == "explanation" && json.Unmarshal(value, &text) == nil:
			if l.outline.Summary = text; utf8.RuneCountInString(text) > plan.MaxSummary {
				l.outline.Summary, l.outline.ContextNotes = "", text
			}
		default:
			l.unknown[plan.Shorten(name, 60)] = true
		}
	}
	for _, entry := range entries {
		text := cmp.Or(textOf(entry[h.text]), textOf(entry["title"]))
		t := task{Step: plan.Step{Spec: plan.Spec{Title: text},
			Progress: plan.Progress{Status: l.status(textOf(entry["status"]))}}}
		for name := range entry {
			if name == "priority" { // of an older TodoWrite
				t.priority = unusual(textOf(entry[name]))
			} else if name != h.text && name != "status" && !slices.Contains(h.tells, name) {
				l.unknown[plan.Shorten(h.key+"[]."+name, 60)] = true
			}
		}
		l.add(t)
	}
	return l.done()
}

// listOf reads a list of objects: alone, or as the member of an object, whose members it returns.
func listOf(text []byte, key string) (members map[string]jsontext.Value, entries []map[string]jsontext.Value, err error) {
	if pointer, problem := plan.CheckJSON(text, yamltext.MaxNesting); problem != "" {
		return nil, nil, refuse(pointer, problem, "give one JSON value")
	}
	whole, at := jsontext.Value(text), ""
	if members = membersOf(text); members != nil {
		whole, at = members[key], "/"+key
	}
	if whole.Kind() != jsontext.KindBeginArray {
		return nil, nil, refuse(at, "there is no list", "give an object with the list "+plan.Quote(key))
	}
	if err := json.Unmarshal(whole, &entries); err != nil {
		return nil, nil, decodeError(at, err)
	}
	if len(entries) > maxSteps {
		return nil, nil, refuse(at, "there are too many entries", "import a part of them")
	}
	return members, entries, nil
}

// textOf is a value as text: a text, or a number or a word as it is written; "" of what is neither.
func textOf(value jsontext.Value) string {
	var text string
	if json.Unmarshal(value, &text, scalarsAsText()) != nil {
		return ""
	}
	return text
}

// unusual is a priority, "" for the middle one.
func unusual(priority string) string {
	if priority == "medium" || priority == "normal" {
		return ""
	}
	return priority
}

func (h hostList) write(r *row, s plan.State) ([]byte, []string, error) {
	notes, entries, under := r.losses(s.Plan), []any{}, 0
	for step := range s.Plan.Steps.All() {
		word := r.words.write(step.Status)
		if step.Status == plan.InProgress {
			if under++; h.one && under > 1 {
				word = r.words.write(plan.Pending)
			}
		}
		entry := map[string]any{h.text: step.Title, "status": word}
		if slices.Contains(h.tells, "activeForm") {
			entry["activeForm"] = step.Title
		}
		entries = append(entries, entry)
	}
	if h.one && under > 1 {
		notes = append(notes, "At most one step is in progress there: "+plan.Counted(under-1, "other")+" "+becomes(under-1)+" pending.")
	}
	whole := map[string]any{h.key: entries}
	if slices.Contains(r.plan, "summary") && s.Plan.Summary != "" {
		whole["explanation"] = s.Plan.Summary
	}
	data, err := json.Marshal(whole, json.Deterministic(true))
	return append(data, '\n'), notes, err
}
