package verbs

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/plan"
)

// Face says in whose words a reply names the next call.
type Face int

// The faces.
const (
	Tool    Face = iota // names of MCP tools
	Command             // lines of the command line
)

// words names the next call as the caller can make it: by a tool that is offered,
// or by a command.
type words struct {
	command  bool
	person   bool // a person at a terminal, who decides
	planning bool // the planning_* tools are offered
	loop     bool // the planloop_* tools are offered
	mode     bool // the tools of planning mode are offered
}

func (s *Service) words(c Caller) words {
	return words{command: c.Face == Command, person: c.Face == Command && c.Actor.Kind == plan.Person && c.Actor.AtTerminal, planning: s.offers(Planning), loop: s.offers(Loop), mode: s.offers(Mode)}
}

// choose returns the words for the command line, for the planning tools or, where
// those are not offered, for those of the loop.
func (w words) choose(command, planning, loop string) string {
	switch {
	case w.command:
		return command
	case w.planning || !w.loop:
		return planning
	}
	return loop
}

// ofLoop returns the words of the loop, or those that do without its tools.
func (w words) ofLoop(command, loop, without string) string {
	switch {
	case w.command:
		return command
	case w.loop:
		return loop
	}
	return without
}

func (w words) setup() string {
	return w.choose("planloop setup OBJECTIVE", "planning_setup_plan", "planloop_start")
}

func (w words) add() string {
	return w.choose("planloop step add TITLE", "planning_add_step", "planloop_update with add_tasks")
}

func (w words) mark(id plan.StepID, status plan.StepStatus) string {
	return w.choose("planloop step mark "+id.String()+" "+string(status), "planning_mark_step "+id.String()+" "+string(status),
		`planloop_update {"update_tasks":[{"id":`+id.Number()+`,"status":"`+string(taskStatus(status))+`"}]}`)
}

// titleTokens is what the call that marks a step leaves of a heartbeat for the
// step's title.
func (w words) titleTokens() int {
	if !w.command && !w.planning && w.loop {
		return titleTokensShort
	}
	return titleTokens
}

func (w words) read() string {
	return w.choose("planloop show", "planning_read_plan", `planloop_status {"full":true}`)
}

// withoutLoop reports whether neither the loop's tools nor its commands are at hand.
func (w words) withoutLoop() bool { return !w.command && !w.loop }

func (w words) addTasks() string {
	return w.choose("planloop update --json with add_tasks", "planloop_update with add_tasks", "planloop_update with add_tasks")
}

func (w words) summary() string {
	return w.ofLoop(`planloop update --json '{"final_summary":"..."}'`, `planloop_update {"final_summary":"..."}`, "report it")
}

func (w words) clear(id string) string {
	call := `planloop_alert {"id":` + jsonText(id) + `,"clear":true}`
	if !fits(id, idTokens) { // a part of it would name no signal
		call = `planloop_alert {"clear":true} with its id, which planloop_status tells`
	}
	return w.ofLoop("planloop alert --clear --id "+shellWord(id), call, "ask the user to run planloop alert --clear")
}

func (w words) sync(rules Rules) string {
	if w.command {
		return "Bring " + rules.File + " up to date: planloop sync."
	}
	return "Write instructions_content to " + rules.File + " (or have planloop sync run), then call planloop_status again."
}

func (w words) submit() string {
	switch {
	case w.command:
		return "planloop submit"
	case w.mode:
		return "planning_submit_plan"
	}
	return "ask the user to cancel it: no tool to submit a plan is offered here"
}

func (w words) wait() string {
	return w.ofLoop("planloop status --wait 5m", `planloop_status {"wait":50}`, "ask the user")
}

// shellWord returns text as one word of a command line, in which a shell finds
// nothing to expand or to run.
func shellWord(text string) string {
	plain := text != ""
	for _, r := range text {
		plain = plain && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("-_./:", r))
	}
	if plain {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// jsonText returns text as a JSON string.
func jsonText(text string) string {
	data, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return `""` // it is not UTF-8, which no input lets through
	}
	return string(data)
}
