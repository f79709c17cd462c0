package mcpserver

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// Tools writes calls for a model: as tools of the offered toolsets.
type Tools struct {
	Toolsets []string   // nil: all
	User     verbs.Face // how the user makes the calls that tools cannot make; may be nil
	Servers  Servers    // offered as well if the toolsets include them; may be nil
}

func (t Tools) byUser(call verbs.Call) string {
	text, _ := verbs.Caller{Face: t.User}.Can(call)
	return text
}

// Brief returns true: every word of a reply takes space in the model's context.
func (Tools) Brief() bool { return true }

// Hidden lists the offered tools that are not allowed in a read-only phase.
func (t Tools) Hidden() []string {
	var hidden []string
	passing := readOnlyTools()
	for _, row := range verbs.Table() {
		if t.offers(row.Toolset) && !passing[row.Name] {
			hidden = append(hidden, row.Name)
		}
	}
	for _, row := range toolbox.Table() {
		if slices.Contains(t.Toolsets, workspaceToolset) && !row.PlanOnly && !passing[row.Name] {
			hidden = append(hidden, row.Name)
		}
	}
	var others []string
	if t.Servers != nil && t.offersServers() {
		for _, tool := range t.Servers.Tools() {
			if !tool.ReadOnlyPhase {
				others = append(others, tool.Name)
			}
		}
	}
	if more := len(others) - maxNamedHidden; more > 0 {
		others = append(others[:maxNamedHidden], fmt.Sprintf("%d more of other servers", more))
	}
	return append(hidden, others...)
}

// maxNamedHidden limits how many hidden tools of other servers are named: there may be hundreds.
const maxNamedHidden = 3

func (t Tools) offers(toolset string) bool {
	return t.Toolsets == nil || slices.Contains(t.Toolsets, toolset)
}

// Word writes a call as a tool with its arguments. If the toolsets lack the tool, it returns the user's way
// to make the call and false.
func (t Tools) Word(call verbs.Call) (text string, can bool) {
	loop := t.offers(verbs.Loop)
	either := func(planning, ofLoop string) (string, bool) {
		if t.offers(verbs.Planning) || !loop {
			return planning, true
		}
		return ofLoop, true
	}
	only := func(toolset, tool, without string) (string, bool) {
		if t.offers(toolset) {
			return tool, true
		}
		return without, false
	}
	onlyLoop := func(ofLoop, without string) (string, bool) { return only(verbs.Loop, ofLoop, without) }
	switch call.Kind {
	case verbs.CallSetUp:
		return either("planning_setup_plan", "planloop_start")
	case verbs.CallAddSteps:
		return either("planning_add_step", `planloop_update {"add_tasks":[...]}`)
	case verbs.CallStart:
		return strings.TrimSpace("planloop_start " + call.JSON), loop
	case verbs.CallUpdate:
		return onlyLoop(strings.TrimSpace("planloop_update "+call.JSON), t.byUser(call))
	case verbs.CallMark:
		return either(fmt.Sprintf("planning_mark_step %s %s", call.Step, call.Status),
			fmt.Sprintf(`planloop_update {"update_tasks":[{"id":%s,"status":"%s"}]}`, call.Step.Number(), call.TaskStatus()))
	case verbs.CallRead:
		if call.ID != "" {
			return readOf(call), true
		}
		return either("planning_read_plan", `planloop_status {"full":true}`)
	case verbs.CallShowTask:
		if !loop {
			return `planning_read_plan {"from":"` + call.Step.String() + `"}`, true
		}
		return `planloop_status {"task":` + call.Step.Number() + pageOf(call) + "}", true
	case verbs.CallListTasks:
		return `planloop_status {"full":true` + pageOf(call) + "}", loop
	case verbs.CallAskStatus, verbs.CallJoin:
		if arguments := statusArguments(call); arguments != "" {
			return onlyLoop("planloop_status "+arguments, "ask the user to run "+t.byUser(call))
		}
		return "planloop_status", loop
	case verbs.CallWait:
		return onlyLoop(`planloop_status {"wait":50}`, "ask the user")
	case verbs.CallProve:
		return fmt.Sprintf(`planloop_update {"update_tasks":[{"id":%s,"evidence":[{"criterion":"<which one>","note":"<what you saw>"}]}]}`,
			call.Step.Number()), loop
	case verbs.CallSummarise:
		return onlyLoop(`planloop_update {"final_summary":"<results and checks>"}`, "report it")
	case verbs.CallAlert:
		return "planloop_alert", loop
	case verbs.CallClear:
		return onlyLoop(clearCall(call.ID), "ask the user to run "+t.byUser(verbs.Call{Kind: verbs.CallClear}))
	case verbs.CallSyncRules:
		return "Write instructions_content to " + call.File + " (or have planloop sync run), then call planloop_status again", loop
	case verbs.CallAsk:
		return only(verbs.Mode, "planning_ask_user", "ask the user")
	case verbs.CallReply:
		return only(verbs.Mode, fmt.Sprintf(`planning_ask_user {"reply_to":%q,"question":"<your reply>"}`, call.ID),
			"tell the user, or planloop reply "+call.ID+" TEXT")
	case verbs.CallSubmit:
		return only(verbs.Mode, strings.TrimSpace("planning_submit_plan "+call.JSON),
			"ask the user to run "+t.byUser(verbs.Call{Kind: verbs.CallCancelMode})+", because no tool here submits a plan")
	case verbs.CallRun, verbs.CallRecover, verbs.CallReplan:
		return t.carryOut(call)
	case verbs.CallDraft:
		return "start without decompose and break the goal down yourself (prompt decompose_goal)", true
	case verbs.CallAbandon:
		if t.offers(verbs.Planning) {
			return "planning_clear_plan", true
		}
	case verbs.CallApplyTemplate:
		return "planning_apply_template " + templateArguments(call), t.offers(verbs.Execution)
	case verbs.CallUsePrompt:
		return "use a listed one", true
	}
	return t.byUser(call), false
}

// clearCall returns the call that clears a signal. A shortened id would not match the signal.
func clearCall(id string) string {
	if tokens.Shorten(id, maxIDTokens, 60) != id {
		return `planloop_alert {"id":"<as in planloop_status>","clear":true}`
	}
	return `planloop_alert {"id":` + quote(id) + `,"clear":true}`
}

// carryOut returns the call that runs the plan, replans it, or settles a failed or interrupted step. Without
// the tools for that, updates and marks can do most of it.
func (t Tools) carryOut(call verbs.Call) (text string, can bool) {
	tools, loop := t.offers(verbs.Execution), t.offers(verbs.Loop)
	mark := map[plan.Choice]plan.StepStatus{plan.Retry: plan.Pending, plan.Happened: plan.Done}[call.Choice]
	switch {
	case tools && call.Kind == verbs.CallRun:
		return "planning_execute_plan", true
	case tools && call.Kind == verbs.CallReplan:
		return strings.TrimSpace("planning_replan " + call.JSON), true
	case loop && call.Kind == verbs.CallReplan:
		return `planloop_update {"replan":{"changes":"..."}}`, true
	case call.Kind != verbs.CallRecover:
	case tools:
		more := map[plan.Choice]string{plan.Skip: `,"reason":"<why>"`}[call.Choice]
		if call.WithDependents {
			more = `,"with_dependents":true`
		} else if call.JSON != "" {
			more = map[plan.Choice]string{plan.Retry: `,"args":`, plan.Insert: `,"steps":`}[call.Choice] + call.JSON
		}
		return fmt.Sprintf(`planning_recover_step {"step_id":"%s","choice":"%s"%s}`, call.Step, call.Choice, more), true
	case mark != "":
		return t.Word(verbs.Call{Kind: verbs.CallMark, Step: call.Step, Status: mark})
	case loop && call.Choice == plan.Skip:
		return fmt.Sprintf(`planloop_update {"update_tasks":[{"id":%s,"skip":"<why>"}]}`, call.Step.Number()), true
	}
	return t.byUser(call), false
}

// readOf returns the call that reads the draft or the approved plan.
func readOf(call verbs.Call) string {
	switch {
	case call.Page > 0:
		return fmt.Sprintf(`planning_read_plan {"of":%q,"from":"%d"}`, call.ID, call.Page)
	case call.Step == 0:
		return fmt.Sprintf(`planning_read_plan {"of":%q}`, call.ID)
	}
	return fmt.Sprintf(`planning_read_plan {"of":%q,"from":%q}`, call.ID, call.Step)
}

func templateArguments(call verbs.Call) string {
	if call.ID == "" {
		return "{}" // lists them
	}
	return `{"template":` + quote(call.ID) + `,"parameters":` + call.JSON + "}"
}

func quote(text string) string {
	quoted, _ := jsontext.AppendQuote(nil, text) // input is always UTF-8
	return string(quoted)
}

func pageOf(call verbs.Call) string {
	if call.Page < 2 {
		return ""
	}
	return `,"page":` + strconv.Itoa(call.Page)
}

// maxIDTokens limits a signal's id in a reply.
const maxIDTokens = 14

// statusArguments returns the arguments of a call of planloop_status for a track or a page, "" for neither.
func statusArguments(call verbs.Call) string {
	switch {
	case call.Kind == verbs.CallJoin:
		return `{"track":"` + call.ID + `"}`
	case call.Page > 0:
		return fmt.Sprintf(`{"page":%d}`, call.Page)
	}
	return ""
}
