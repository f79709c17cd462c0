package verbs

import (
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// Face is what a verb has to know of where its caller sits: how the caller makes
// calls, and who reads the replies. nil stands for a model that has no calls.
type Face interface {
	// Word writes a call as the caller makes it: a tool with its arguments, a command,
	// a button. can is false when this caller cannot make it; the text then names the
	// way of whoever can, or is empty.
	Word(Call) (text string, can bool)
	// Brief reports whether a model reads the replies, each word of which costs it
	// room: long texts are shortened then.
	Brief() bool
	// Hidden names the calls that are not offered while planning mode only reads; none
	// where they are offered and refused.
	Hidden() []string
}

// Act is what a call does.
type Act string

// What can be called next. Those from ActApprove on are a person's.
const (
	ActSetUp       Act = "set_up"       // a plan
	ActStart       Act = "start"        // a plan for a goal, in any letters
	ActAddSteps    Act = "add_steps"    // to the plan
	ActUpdate      Act = "update"       // add, edit and report with the arguments JSON, "" for any
	ActMark        Act = "mark"         // Step, with Status
	ActRead        Act = "read"         // the whole plan; the draft, the approved one or the comments, if ID says so, from Step or Page on
	ActShowTask    Act = "show_task"    // Step, whole; Page of it
	ActListTasks   Act = "list_tasks"   // Page of them
	ActAskStatus   Act = "ask_status"   // where the plan stands
	ActWait        Act = "wait"         // for a change, For at most
	ActProve       Act = "prove"        // a criterion of Step
	ActSummarise   Act = "summarise"    // which closes the plan
	ActAlert       Act = "alert"        // raise or clear a signal
	ActClear       Act = "clear"        // the signal ID
	ActSyncRules   Act = "sync_rules"   // into File
	ActAsk         Act = "ask"          // a person
	ActReply       Act = "reply"        // to the comment ID
	ActRun         Act = "run"          // the plan: what tools do of it
	ActRecover     Act = "recover"      // Step, which failed or is unknown, by Choice; JSON: arguments to retry with, or steps to insert
	ActReplan      Act = "replan"       // which makes the next version of the plan, with the arguments JSON
	ActSubmit      Act = "submit"       // a plan to a person
	ActDraft       Act = "draft"        // tasks, without a model of planloop's
	ActUsePrompt   Act = "use_prompt"   // by its name; lists them
	ActApprove     Act = "approve"      // the draft
	ActReview      Act = "review"       // all that waits, on a page
	ActReturn      Act = "return"       // the draft, to be edited
	ActReject      Act = "reject"       // the draft
	ActAnswer      Act = "answer"       // a question
	ActComment     Act = "comment"      // for whoever works on the plan
	ActRestore     Act = "restore"      // the plan ID
	ActCancelMode  Act = "cancel_mode"  // planning mode
	ActPurge       Act = "purge"        // the history
	ActTakeOver    Act = "take_over"    // Step, from whoever holds it
	ActCheck       Act = "check"        // Step by its command, in a shell
	ActPause       Act = "pause"        // the run
	ActResume      Act = "resume"       // the run that a person paused
	ActApproveStep Act = "approve_step" // Step, which asks before it runs
	ActRejectStep  Act = "reject_step"  // Step, which is skipped then
	ActAnswerStep  Act = "answer_step"  // Step, which asks its own question
	ActAbandon     Act = "abandon"      // the plan

	ActApplyTemplate Act = "apply_template" // ID, with the parameters JSON
	ActInstall       Act = "install"        // planloop's server and hooks in the agent's host
	ActEnterMode     Act = "enter_mode"     // planning mode, as a person
)

// Acts lists them all, in order.
func Acts() []Act {
	return []Act{ActSetUp, ActStart, ActAddSteps, ActUpdate, ActMark, ActRead, ActShowTask, ActListTasks, ActAskStatus,
		ActWait, ActProve, ActSummarise, ActAlert, ActClear, ActSyncRules, ActAsk, ActReply, ActRun,
		ActRecover, ActReplan, ActSubmit, ActDraft, ActUsePrompt, ActApprove, ActReview, ActReturn, ActReject,
		ActAnswer, ActComment, ActRestore,
		ActCancelMode, ActPurge, ActTakeOver, ActCheck, ActPause, ActResume, ActApproveStep, ActRejectStep, ActAnswerStep, ActAbandon,
		ActApplyTemplate, ActInstall, ActEnterMode}
}

// Call is something to be called, with the arguments that are known; what the
// caller has to think up is left out.
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

// TaskStatus is Status in the words of planloop's JSON contract.
func (c Call) TaskStatus() TaskStatus { return taskStatus(c.Status) }

// word writes a call as the caller makes it.
func (c Caller) word(call Call) string {
	text, _ := c.Can(call)
	return text
}

// Can writes a call as the caller makes it, and reports whether it can be made.
func (c Caller) Can(call Call) (text string, can bool) {
	if c.Face == nil {
		return strings.ReplaceAll(string(call.Act), "_", " "), false
	}
	return c.Face.Word(call)
}

// brief reports whether a model reads the replies.
func (c Caller) brief() bool { return c.Face == nil || c.Face.Brief() }

// decides reports whether the caller is a person who is there to decide.
func (c Caller) decides() bool { return c.Actor.Present() }
