package verbs

import (
	"time"

	"github.com/planloop/planloop/plan"
)

// Face tells a verb how its caller makes calls and whether a model reads the replies. nil means a model that cannot
// make calls.
type Face interface {
	// Word writes a call in the caller's form: a tool with its arguments, a command, a button. If the caller cannot
	// make it, can is false, and the text names the way for a caller who can, or is empty.
	Word(Call) (text string, can bool)
	// Brief reports whether a model reads the replies. Long texts are then shortened to save its context.
	Brief() bool
	// Hidden names the calls that are not offered while planning mode only reads; empty if they are offered and
	// refused.
	Hidden() []string
}

// CallKind is the kind of a call.
type CallKind string

// The calls. From CallApprove on they are a person's. The comments give the object and the fields of Call in use.
const (
	CallSetUp       CallKind = "set_up"       // a plan
	CallStart       CallKind = "start"        // a plan for a goal, in free text
	CallAddSteps    CallKind = "add_steps"    // to the plan
	CallUpdate      CallKind = "update"       // add, edit and report with the arguments JSON, "" for any
	CallMark        CallKind = "mark"         // Step, with Status
	CallRead        CallKind = "read"         // the plan, or the one that ID names (see WhichPlan), from Step or Page on
	CallShowTask    CallKind = "show_task"    // Step, whole; Page of it
	CallListTasks   CallKind = "list_tasks"   // Page of them
	CallAskStatus   CallKind = "ask_status"   // the state of the plan
	CallWait        CallKind = "wait"         // for a change, For at most
	CallProve       CallKind = "prove"        // a criterion of Step
	CallSummarise   CallKind = "summarise"    // closes the plan
	CallAlert       CallKind = "alert"        // raise or clear a signal
	CallClear       CallKind = "clear"        // the signal ID
	CallSyncRules   CallKind = "sync_rules"   // into File
	CallAsk         CallKind = "ask"          // a person
	CallReply       CallKind = "reply"        // to the comment ID
	CallRun         CallKind = "run"          // the plan's tool steps
	CallRecover     CallKind = "recover"      // Step, failed or unknown, by Choice; JSON: arguments to retry with, or steps to insert
	CallReplan      CallKind = "replan"       // creates the next version of the plan, with the arguments JSON
	CallSubmit      CallKind = "submit"       // a plan to a person
	CallDraft       CallKind = "draft"        // tasks, without planloop's model
	CallUsePrompt   CallKind = "use_prompt"   // by its name; lists them
	CallApprove     CallKind = "approve"      // the draft
	CallReview      CallKind = "review"       // all waiting decisions, on a page
	CallReturn      CallKind = "return"       // the draft, to be edited
	CallReject      CallKind = "reject"       // the draft
	CallAnswer      CallKind = "answer"       // a question
	CallComment     CallKind = "comment"      // for the agents on the plan
	CallRestore     CallKind = "restore"      // the plan ID
	CallCancelMode  CallKind = "cancel_mode"  // planning mode
	CallPurge       CallKind = "purge"        // the history
	CallTakeOver    CallKind = "take_over"    // Step, from its owner
	CallCheck       CallKind = "check"        // Step by its command, in a shell
	CallPause       CallKind = "pause"        // the run
	CallResume      CallKind = "resume"       // the run that a person paused
	CallApproveStep CallKind = "approve_step" // Step, before it runs
	CallRejectStep  CallKind = "reject_step"  // Step, which is then skipped
	CallAnswerStep  CallKind = "answer_step"  // Step, its own question
	CallAbandon     CallKind = "abandon"      // the plan

	CallApplyTemplate CallKind = "apply_template" // ID, with the parameters JSON; "": list them
	CallInstall       CallKind = "install"        // planloop's server and hooks in the agent's host
	CallEnterMode     CallKind = "enter_mode"     // planning mode, as a person
)

// CallKinds lists all of them in order.
func CallKinds() []CallKind {
	return []CallKind{CallSetUp, CallStart, CallAddSteps, CallUpdate, CallMark, CallRead, CallShowTask, CallListTasks, CallAskStatus,
		CallWait, CallProve, CallSummarise, CallAlert, CallClear, CallSyncRules, CallAsk, CallReply, CallRun,
		CallRecover, CallReplan, CallSubmit, CallDraft, CallUsePrompt, CallApprove, CallReview, CallReturn, CallReject,
		CallAnswer, CallComment, CallRestore,
		CallCancelMode, CallPurge, CallTakeOver, CallCheck,
		CallPause, CallResume, CallApproveStep, CallRejectStep, CallAnswerStep, CallAbandon,
		CallApplyTemplate, CallInstall, CallEnterMode}
}

// Call is a call to make, with the arguments that are known; the caller adds the rest.
type Call struct {
	Kind   CallKind
	Step   plan.StepID
	Status plan.StepStatus
	Choice plan.Choice
	ID     string
	File   string
	JSON   string
	For    time.Duration
	Page   int // 0: the first
}

// TaskStatus returns Status in the words of planloop's JSON contract.
func (c Call) TaskStatus() TaskStatus { return taskStatus(c.Status) }
