package verbs

import (
	"cmp"
	"context"
	"strings"
	"sync"
	"time"

	"github.com/planloop/planloop/plan"
)

// Caller is the caller of a verb and its form of calls.
type Caller struct {
	Actor plan.Actor
	Local string // the actor's name on this machine, if a team gives it another one
	Face  Face
	Of    string // id of the plan that the caller means; "": the plan it saw last

	// Session identifies the session that calls, also across connections: the host's, else the actor by its name. It is "" if
	// several sessions use the connection and the call does not say which.
	Session string

	Yield    func()                           // called before a long wait, so that the caller's next call can start; may be nil
	Progress func(done, all int, what string) // receives the progress of a long call; may be nil
	// Background runs a function that may outlive the call, until its context ends. Nil: not supported.
	Background func(func(context.Context))

	begins      beginning // it must not replace another session's plan; see besideOthers
	besideDraft bool      // its plan would replace a draft from elsewhere
	held        bool      // planning mode holds the caller, so that it can begin no track
	began       string    // the track that the call has begun, and beside which plan; "" if none

	wrong *plan.ValidationError // errors in the form of the input; the rest is still checked, but nothing is changed
}

func (c Caller) yield() {
	if c.Yield != nil {
		c.Yield()
	}
}

// detached returns the caller for work that may outlive its call.
func (c Caller) detached() Caller {
	return Caller{Actor: c.Actor, Local: c.Local, Of: c.Of, Face: c.Face, Session: c.Session}
}

// As returns the caller as it is named on the service's track.
func (s *Service) As(c Caller) Caller {
	c.Actor.Name, c.Local = c.local(), ""
	if s.opts.Actor != nil {
		c.Local, c.Actor = c.Actor.Name, s.opts.Actor(c.Actor)
	}
	return c
}

func (c Caller) local() string { return cmp.Or(c.Local, c.Actor.Name) }

func (c Caller) progress(done, all int, what string) {
	if c.Progress != nil {
		c.Progress(done, all, what)
	}
}

func (c Caller) word(call Call) string {
	text, _ := c.Can(call)
	return text
}

// Can writes a call in the caller's form, and reports whether the caller can make it.
func (c Caller) Can(call Call) (text string, can bool) {
	if c.Face == nil {
		return strings.ReplaceAll(string(call.Kind), "_", " "), false
	}
	return c.Face.Word(call)
}

func (c Caller) brief() bool { return c.Face == nil || c.Face.Brief() }

// decides reports whether the caller is a person at a terminal or page and may decide.
func (c Caller) decides() bool { return c.Actor.IsPresent() }

// scoped reports whether planloop started the caller for one attempt of one step. Such an agent sees only that step,
// and is then told to end.
func (c Caller) scoped() bool { return c.Actor.Scope != (plan.Attempt{}) }

// beyond refuses a scoped caller calls that are judged before they are decided, or that change nothing. Instructions
// for a correct call would not help it.
func (c Caller) beyond() error {
	if !c.scoped() {
		return nil
	}
	return c.Actor.Scope.OutOfScopeError()
}

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
	CallJoin        CallKind = "join"         // the track ID
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
	CallDiscard       CallKind = "discard"        // the approved plan, as a person
)

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

	WithDependents bool // with plan.Retry
}

// TaskStatus returns Status in the words of planloop's JSON contract.
func (c Call) TaskStatus() TaskStatus { return taskStatus(c.Status) }

// lastSeen remembers what each caller saw last. Step ids restart with every plan, so after a plan was replaced, S002 is
// a different step.
type lastSeen struct {
	mu      sync.Mutex
	callers map[string]sighting // by name
}

type sighting struct {
	known       bool          // it saw a state
	plan        string        // id of the plan's first version
	revision    plan.Revision // of the state
	signals     []plan.Signal // of the workspace
	input       plan.Revision // up to which it got people's input; at first the revision at which it came here
	inputBefore plan.Revision // input before the last status
	planEdits   plan.Revision // up to which it was shown people's edits of the current plan; 0: never
}

// maxSeen limits the callers remembered; beyond it all are forgotten.
const maxSeen = 10_000

func (t *lastSeen) get(c Caller) sighting {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.callers[c.Actor.Name]
}

func (t *lastSeen) set(c Caller, change func(*sighting)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.callers == nil || len(t.callers) >= maxSeen {
		t.callers = map[string]sighting{}
	}
	last := t.callers[c.Actor.Name]
	change(&last)
	t.callers[c.Actor.Name] = last
}

// know notes that a caller has seen the plan of s.
func (t *lastSeen) know(c Caller, s plan.State) {
	t.set(c, func(last *sighting) {
		if !last.known {
			last.known, last.input = true, s.Revision
		}
		last.revision, last.signals, last.plan = s.Revision, s.WorkspaceSignals(), ""
		last.input, last.planEdits = min(last.input, s.Revision), min(last.planEdits, s.Revision) // the log may have been purged
		if s.Plan != nil {
			last.plan = s.Plan.Root()
		}
	})
}

// check refuses a caller, once, if its last plan was replaced, since its step ids mean other steps. read names the call
// that reads the plan.
func (t *lastSeen) check(c Caller, s plan.State, read string) error {
	if s.Plan == nil {
		return nil
	}
	last := t.get(c).plan
	if c.Of == s.Plan.ID || c.Of == "" && (last == "" || last == s.Plan.Root()) {
		return nil
	}
	t.know(c, s)
	return plan.Refuse(plan.Conflict, "", "the plan was replaced by "+plan.Quote(s.Plan.Objective)+", which has other steps",
		"read it before you continue: "+read)
}
