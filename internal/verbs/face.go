package verbs

import (
	"strings"
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

// Act is the kind of a call.
type Act string

// The calls. From ActApprove on they are a person's. The comments give the object and the fields of Call in use.
const (
	ActSetUp       Act = "set_up"       // a plan
	ActStart       Act = "start"        // a plan for a goal, in free text
	ActAddSteps    Act = "add_steps"    // to the plan
	ActUpdate      Act = "update"       // add, edit and report with the arguments JSON, "" for any
	ActMark        Act = "mark"         // Step, with Status
	ActRead        Act = "read"         // the whole plan; the draft, the approved plan or the comments, if ID says so; from Step or Page on
	ActShowTask    Act = "show_task"    // Step, whole; Page of it
	ActListTasks   Act = "list_tasks"   // Page of them
	ActAskStatus   Act = "ask_status"   // the state of the plan
	ActWait        Act = "wait"         // for a change, For at most
	ActProve       Act = "prove"        // a criterion of Step
	ActSummarise   Act = "summarise"    // closes the plan
	ActAlert       Act = "alert"        // raise or clear a signal
	ActClear       Act = "clear"        // the signal ID
	ActSyncRules   Act = "sync_rules"   // into File
	ActAsk         Act = "ask"          // a person
	ActReply       Act = "reply"        // to the comment ID
	ActRun         Act = "run"          // the plan's tool steps
	ActRecover     Act = "recover"      // Step, failed or unknown, by Choice; JSON: arguments to retry with, or steps to insert
	ActReplan      Act = "replan"       // creates the next version of the plan, with the arguments JSON
	ActSubmit      Act = "submit"       // a plan to a person
	ActDraft       Act = "draft"        // tasks, without planloop's model
	ActUsePrompt   Act = "use_prompt"   // by its name; lists them
	ActApprove     Act = "approve"      // the draft
	ActReview      Act = "review"       // all waiting decisions, on a page
	ActReturn      Act = "return"       // the draft, to be edited
	ActReject      Act = "reject"       // the draft
	ActAnswer      Act = "answer"       // a question
	ActComment     Act = "comment"      // for the agents on the plan
	ActRestore     Act = "restore"      // the plan ID
	ActCancelMode  Act = "cancel_mode"  // planning mode
	ActPurge       Act = "purge"        // the history
	ActTakeOver    Act = "take_over"    // Step, from its owner
	ActCheck       Act = "check"        // Step by its command, in a shell
	ActPause       Act = "pause"        // the run
	ActResume      Act = "resume"       // the run that a person paused
	ActApproveStep Act = "approve_step" // Step, before it runs
	ActRejectStep  Act = "reject_step"  // Step, which is then skipped
	ActAnswerStep  Act = "answer_step"  // Step, its own question
	ActAbandon     Act = "abandon"      // the plan

	ActApplyTemplate Act = "apply_template" // ID, with the parameters JSON; "": list them
	ActInstall       Act = "install"        // planloop's server and hooks in the agent's host
	ActEnterMode     Act = "enter_mode"     // planning mode, as a person
)

// Acts lists all of them in order.
func Acts() []Act {
	return []Act{ActSetUp, ActStart, ActAddSteps, ActUpdate, ActMark, ActRead, ActShowTask, ActListTasks, ActAskStatus,
		ActWait, ActProve, ActSummarise, ActAlert, ActClear, ActSyncRules, ActAsk, ActReply, ActRun,
		ActRecover, ActReplan, ActSubmit, ActDraft, ActUsePrompt, ActApprove, ActReview, ActReturn, ActReject,
		ActAnswer, ActComment, ActRestore,
		ActCancelMode, ActPurge, ActTakeOver, ActCheck, ActPause, ActResume, ActApproveStep, ActRejectStep, ActAnswerStep, ActAbandon,
		ActApplyTemplate, ActInstall, ActEnterMode}
}

// Call is a call to make, with the arguments that are known; the caller adds the rest.
type Call struct {
	Act    Act
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

func (c Caller) word(call Call) string {
	text, _ := c.Can(call)
	return text
}

// Can writes a call in the caller's form, and reports whether the caller can make it.
func (c Caller) Can(call Call) (text string, can bool) {
	if c.Face == nil {
		return strings.ReplaceAll(string(call.Act), "_", " "), false
	}
	return c.Face.Word(call)
}

func (c Caller) brief() bool { return c.Face == nil || c.Face.Brief() }

// decides reports whether the caller is a person at a terminal or page and may decide.
func (c Caller) decides() bool { return c.Actor.Present() }
