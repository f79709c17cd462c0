// Package review provides a workspace's data for people, and the acts they may call on it by name, as plain data, for
// every face that shows it: the page over HTTP and the MCP App. It must not know HTTP, browsers or protocols, and keeps no
// state of its own but unsent texts.
package review

import (
	"strings"
	"time"

	"context"
	"slices"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// View is everything to see in a workspace.
type View struct {
	Workspace Place                    `json:"workspace"`
	Log       string                   `json:"log"` // see verbs.Service.LogID; each act names it
	Revision  plan.Revision            `json:"revision"`
	UpdatedAt time.Time                `json:"updated_at,omitzero"`
	Now       time.Time                `json:"now"`
	Phase     plan.Phase               `json:"phase"`
	Headline  string                   `json:"headline"`  // the current work in a sentence
	Situation []verbs.PageFact         `json:"situation"` // about the current plan, in the order of the status
	Waiting   []Waiting                `json:"waiting"`
	Plan      *Plan                    `json:"plan,omitempty"`
	Draft     *Draft                   `json:"draft,omitempty"`
	Decision  *Decision                `json:"decision,omitempty"` // the last one
	Questions []Question               `json:"questions"`
	Comments  []Comment                `json:"comments"`
	Signals   []Signal                 `json:"signals"` // open ones
	Agents    []verbs.AgentEnforcement `json:"agents"`  // how far planning mode is enforced for them, while it is on
	Run       *Run                     `json:"run,omitempty"`
	Plans     []PastPlan               `json:"plans"` // newest first
	Can       Can                      `json:"can"`
	Tag       string                   `json:"tag,omitempty"` // names this view in a request for the next one
}

// Plan is a plan with all its steps, unshortened.
type Plan struct {
	ID         string               `json:"id"`
	Objective  string               `json:"objective"`
	Summary    string               `json:"summary,omitempty"`
	Status     plan.PlanStatus      `json:"status"`
	Version    int                  `json:"version"`
	Digest     string               `json:"digest"` // of the parts that an approval covers
	Short      string               `json:"short"`  // its beginning, for people to compare
	Progress   Progress             `json:"progress"`
	Changes    string               `json:"changes,omitempty"`
	Approval   *Approval            `json:"approval,omitempty"`
	CreatedBy  string               `json:"created_by"`
	CreatedAt  time.Time            `json:"created_at"`
	Other      []verbs.LabelledText `json:"other,omitempty"`      // other fields
	Difference *Difference          `json:"difference,omitempty"` // from the version shown or in force before
	Steps      []Step               `json:"steps"`
	LeftOut    int                  `json:"left_out,omitempty"` // number of further steps that did not fit

	OnlyChanged bool `json:"only_changed,omitempty"` // the other steps are as in the view that the reader has: see View.Since
}

// Progress counts steps. Counts has only nonzero numbers.
type Progress struct {
	Done       int            `json:"done"`
	Of         int            `json:"of"`
	Counts     map[string]int `json:"counts"`
	Unverified int            `json:"unverified,omitempty"` // done steps that are not verified
	Checked    string         `json:"checked,omitempty"`    // how much of the finished work is verified; "" if nothing is to be
}

// Approval is a person's approval of a plan.
type Approval struct {
	By  string   `json:"by"` // with the way it came
	Way plan.Way `json:"way"`
}

// Step is a step with its specification and results.
type Step struct {
	ID     plan.StepID `json:"id"`
	Number int         `json:"number"`
	Title  string      `json:"title"`

	Details          string             `json:"details,omitempty"`
	Type             plan.StepType      `json:"type,omitempty"`
	Risk             plan.Risk          `json:"risk,omitempty"`
	DependsOn        []int              `json:"depends_on,omitempty"`
	WaitingOn        []int              `json:"waiting_on,omitempty"` // unfinished ones of depends_on
	Hints            []string           `json:"hints,omitempty"`
	Paths            []string           `json:"paths,omitempty"`
	Creates          []string           `json:"creates,omitempty"`
	Criteria         []Criterion        `json:"criteria,omitempty"`
	Verify           string             `json:"verify,omitempty"`
	Verified         bool               `json:"verified,omitempty"`   // by a recorded run of verify
	Unverified       string             `json:"unverified,omitempty"` // why it is done and not verified
	SuggestedAgent   string             `json:"suggested_agent,omitempty"`
	Tools            []string           `json:"tools,omitempty"`
	Tool             string             `json:"tool,omitempty"`
	Args             string             `json:"args,omitempty"`      // JSON, one line per member
	ToolSays         string             `json:"tool_says,omitempty"` // another server's description of the tool
	Critical         bool               `json:"critical,omitempty"`
	Idempotent       bool               `json:"idempotent,omitempty"`
	RequiresApproval bool               `json:"requires_approval,omitempty"`
	Always           bool               `json:"always,omitempty"`  // it runs at the end of a run
	Timeout          int                `json:"timeout,omitempty"` // seconds
	Pause            string             `json:"pause,omitempty"`
	When             string             `json:"when,omitempty"`
	ForEach          string             `json:"for_each,omitempty"`
	Unseen           string             `json:"unseen,omitempty"`   // why the approver has not seen it
	Edited           string             `json:"edited,omitempty"`   // a person's change before the approval
	Warnings         []plan.GateWarning `json:"warnings,omitempty"` // from the quality gates, in a draft

	Status        plan.StepStatus      `json:"status"`
	Ready         bool                 `json:"ready,omitempty"`
	Notes         []string             `json:"notes,omitempty"`
	Evidence      []Evidence           `json:"evidence,omitempty"` // except that of the criteria
	Output        string               `json:"output,omitempty"`
	Error         string               `json:"error,omitempty"`
	AffectedFiles []string             `json:"affected_files,omitempty"`
	Attempts      int                  `json:"attempts,omitempty"`
	ClaimedBy     string               `json:"claimed_by,omitempty"`
	Lapsed        bool                 `json:"lapsed,omitempty"` // its claim has lapsed
	ExecutedBy    string               `json:"executed_by,omitempty"`
	StartedAt     time.Time            `json:"started_at,omitzero"`
	CompletedAt   time.Time            `json:"completed_at,omitzero"`
	Agent         string               `json:"agent,omitempty"` // started for it by planloop
	Of            int                  `json:"of,omitempty"`    // its loop
	Ask           *Ask                 `json:"ask,omitempty"`
	Stale         bool                 `json:"stale,omitempty"` // it used a value that was replaced
	Other         []verbs.LabelledText `json:"other,omitempty"` // other results and state
}

// Criterion is a criterion with its evidence.
type Criterion struct {
	Text     string     `json:"text"`
	Evidence []Evidence `json:"evidence,omitempty"`
}

// Evidence supports the claim that a step is done.
type Evidence struct {
	Note     string    `json:"note,omitempty"`
	Command  string    `json:"command,omitempty"`
	ExitCode *int      `json:"exit_code,omitempty"`
	Output   string    `json:"output,omitempty"`
	Recorded bool      `json:"recorded,omitempty"` // planloop ran the command itself
	Stale    bool      `json:"stale,omitempty"`    // from an earlier attempt
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at,omitzero"`
}

// Ask is a step's question to a person.
type Ask struct {
	Kind    AskKind       `json:"kind"`
	Text    string        `json:"text,omitempty"`
	Digest  string        `json:"digest,omitempty"` // of the call in question
	Short   string        `json:"short,omitempty"`  // its beginning, for people to compare
	Args    string        `json:"args,omitempty"`   // for the call; JSON, one line per member
	Attempt int           `json:"attempt,omitempty"`
	Choices []plan.Choice `json:"choices"`
	At      time.Time     `json:"at,omitzero"`
	Early   bool          `json:"early,omitempty"` // no run has reached the step yet
}

// AskKind is the kind of a question: a plan.AskKind, or blocked.
type AskKind string

// AskBlocked asks how to unblock a step.
const AskBlocked AskKind = "blocked"

// Values lists the kinds.
func (AskKind) Values() []string { return append(plan.AskKind("").Values(), string(AskBlocked)) }

// Draft is a plan without a decision so far.
type Draft struct {
	Plan      Plan               `json:"plan"`
	Request   string             `json:"request,omitempty"` // "" if it was not submitted
	By        string             `json:"by"`
	At        time.Time          `json:"at"`
	Expires   time.Time          `json:"expires,omitzero"`
	Decidable bool               `json:"decidable"`                      // it waits for a decision, not for the agent
	Changes   bool               `json:"changes,omitempty"`              // it changes the approved plan
	Outdated  string             `json:"outdated,omitempty"`             // why it can no longer be approved
	NoVote    string             `json:"no_vote,omitempty"`              // why the viewer's approval would not count
	Archives  string             `json:"archives,omitempty"`             // the objective of the active plan that an approval would archive
	Adopted   string             `json:"adopted,omitempty"`              // the host list it was made from
	Host      string             `json:"host,omitempty"`                 // the host that shows it to its user now
	HostText  string             `json:"host_text,omitempty" text:"any"` // its whole text there
	HostEdits bool               `json:"host_edits,omitempty"`           // an approval may let that host edit files without asking
	Returned  *Decision          `json:"returned,omitempty"`             // the request for changes of its former form
	Warnings  []plan.GateWarning `json:"warnings,omitempty"`             // from the quality gates, about the whole plan
	Edited    *Said              `json:"edited,omitempty"`               // people's changes since its submission

	Situation []verbs.PageFact `json:"situation"` // as in View, about the draft

	Undone     []Undone   `json:"undone,omitempty"`     // people's edits of former drafts that it does not keep
	Unanswered []Question `json:"unanswered,omitempty"` // that an approval now would leave open
}

// Undone is a person's edit of a former draft that the waiting one does not keep.
type Undone struct {
	Key  string `json:"key"`
	Text string `json:"text"`
	Want string `json:"want,omitempty"` // the value the person gave
}

// Decision is the end of a request or of planning mode.
type Decision struct {
	Outcome plan.Outcome `json:"outcome"`
	By      string       `json:"by"`
	Way     plan.Way     `json:"way,omitempty"`
	Comment string       `json:"comment,omitempty"`
	At      time.Time    `json:"at"`
}

// Difference lists the differences from a former plan.
type Difference struct {
	From  Compared      `json:"from"`
	Plan  []FieldChange `json:"plan"`
	Steps []StepChange  `json:"steps"`
}

// Compared identifies the plan to compare with.
type Compared struct {
	ID      string    `json:"id"`
	Version int       `json:"version"`
	At      time.Time `json:"at"`
}

// FieldChange is a field that differs, with its texts.
type FieldChange struct {
	Field string   `json:"field"`
	Label string   `json:"label"`
	Was   []string `json:"was"`
	Now   []string `json:"now"`
}

// StepChange is a step that differs.
type StepChange struct {
	ID     plan.StepID      `json:"id"`           // the former one of a removed step
	Was    plan.StepID      `json:"was,omitzero"` // its former id, if that changed
	Title  string           `json:"title"`
	Change verbs.ChangeKind `json:"change"`
	Fields []FieldChange    `json:"fields,omitempty"`
}

// Question is an agent's question to a person without an answer.
type Question struct {
	ID   string    `json:"id"`
	Text string    `json:"text"`
	By   string    `json:"by"`
	At   time.Time `json:"at,omitzero"` // zero: the draft lists it
}

// Comment is a person's comment for the agents on the plan, placed in the plan shown: the waiting draft, else the
// current plan.
type Comment struct {
	ID string `json:"id,omitempty"` // "" in an old log: it cannot be met or replied to
	Said
	Step     int                `json:"step,omitempty"`  // its current number; 0: it is gone, or the comment is on the whole plan
	Title    string             `json:"title,omitempty"` // of the step at that time
	Question bool               `json:"question,omitempty"`
	Reply    *Said              `json:"reply,omitempty"`
	Met      verbs.CommentState `json:"met"`
}

// Said is a text with its author and time.
type Said struct {
	Text string    `json:"text"`
	By   string    `json:"by"`
	At   time.Time `json:"at"`
}

// Signal is an open signal.
type Signal struct {
	ID      string           `json:"id"`
	Level   plan.SignalLevel `json:"level"`
	Message string           `json:"message"`
	Step    int              `json:"step,omitempty"`
	Output  string           `json:"output,omitempty"`
	By      string           `json:"by"`
	At      time.Time        `json:"at"`
}

// Run is the run of the plan, open or over.
type Run struct {
	ID      string          `json:"id"`
	State   RunState        `json:"state"`
	Reason  plan.StopReason `json:"reason,omitempty"` // why it is paused or over
	Note    string          `json:"note,omitempty"`
	By      string          `json:"by,omitempty"`
	Since   time.Time       `json:"since,omitzero"`
	Ended   time.Time       `json:"ended,omitzero"`
	Steps   []RunStep       `json:"steps"`
	Asks    []verbs.AskView `json:"asks"`               // what it waits for; how is empty where the page has the step's buttons
	CanHere bool            `json:"can_here,omitempty"` // it can be started from here
}

// RunState is the state of a run.
type RunState string

// The states of a run.
const (
	RunGoesOn RunState = "running"
	RunPaused RunState = "paused"
	RunBroken RunState = "interrupted" // all engines left without ending it
	RunOver   RunState = "over"
	RunNotYet RunState = "none" // none has begun yet, but planloop can carry out steps
)

// Values lists the states.
func (RunState) Values() []string {
	return []string{string(RunGoesOn), string(RunPaused), string(RunBroken), string(RunOver), string(RunNotYet)}
}

// RunStep is a step that an engine carries out.
type RunStep struct {
	Step    int    `json:"step"`
	Percent int    `json:"percent,omitempty"`
	What    string `json:"what,omitempty"`
	Tail    string `json:"tail,omitempty"` // the end of its output

	Stopping bool `json:"stopping,omitempty"` // a request to stop it was made
}

// PastPlan is the head of a former plan.
type PastPlan struct {
	ID         string    `json:"id"`
	Objective  string    `json:"objective"`
	Version    int       `json:"version"`
	Steps      int       `json:"steps"`
	Done       int       `json:"done"`
	Became     string    `json:"became"` // its final state and successor, in words
	CreatedAt  time.Time `json:"created_at"`
	ArchivedAt time.Time `json:"archived_at"`
}

// Former is a former plan in its last form.
type Former struct {
	PastPlan
	Plan      Plan             `json:"plan"`
	Situation []verbs.PageFact `json:"situation"`
	Comments  []Comment        `json:"comments"` // placed in this form
}

// Face is the face of a caller in front of a page, with the page's buttons as calls. Other faces can embed it.
type Face struct{}

// Brief is false: people read the replies.
func (Face) Brief() bool { return false }

// Hidden is empty: a call that is not possible now is refused.
func (Face) Hidden() []string { return nil }

// Word returns the label of the page's button for a call.
func (Face) Word(call verbs.Call) (string, bool) {
	button, is := map[verbs.CallKind]string{verbs.CallApprove: "Approve", verbs.CallReturn: "Ask for changes", verbs.CallReject: "Reject",
		verbs.CallAnswer: "Answer", verbs.CallComment: "Comment", verbs.CallCancelMode: "End planning mode",
		verbs.CallEnterMode: "Plan first", verbs.CallRun: "Run", verbs.CallResume: "Run", verbs.CallPause: "Pause",
		verbs.CallClear: "Clear", verbs.CallRead: "look at the plan",
		verbs.CallShowTask: "look at " + call.Step.String(), verbs.CallApproveStep: "Approve " + call.Step.String(),
		verbs.CallRejectStep: "Reject " + call.Step.String(), verbs.CallAnswerStep: "Answer " + call.Step.String(),
		verbs.CallRecover: "decide what becomes of " + call.Step.String()}[call.Kind]
	if !is {
		button = strings.ReplaceAll(string(call.Kind), "_", " ")
	}
	return button, is
}

func viewer() verbs.Caller {
	return verbs.Caller{Actor: plan.NewActor(plan.ChannelPage, "you"), Face: Face{}}
}

// LogLine is a change as a sentence.
type LogLine struct {
	Revision plan.Revision  `json:"revision"`
	At       time.Time      `json:"at"`
	Who      string         `json:"who"`
	Kind     plan.ActorKind `json:"kind"`
	Text     string         `json:"text"`
}

// Log is a part of the log, newest first.
type Log struct {
	Lines []LogLine `json:"lines"`
	More  bool      `json:"more,omitempty"` // there are older ones
}

// ReadLog returns the last n changes before a revision; 0 means the newest. With the id of a former plan it returns
// changes from its creation until it was replaced.
func ReadLog(ctx context.Context, workspace *Workspace, of string, before plan.Revision, n int) (Log, error) {
	page, who := Log{Lines: []LogLine{}}, []string(nil)
	state, err := workspace.Service.State(ctx)
	if err != nil {
		return page, err
	}
	last, first := state.Revision, time.Time{}
	if head, is := state.PastPlan(of); is {
		last, first = head.Revision+1, head.CreatedAt
	}
	if before <= 0 || before > last+1 {
		before = last + 1
	}
	after := max(0, before-1-plan.Revision(max(1, n)))
	for record, err := range workspace.Service.Records(ctx, after) {
		if err != nil {
			return page, err
		}
		if record.Seq >= before {
			break
		}
		if record.Time.Before(first) {
			after = 0 // older records belong to other plans
			continue
		}
		by := &record.Actor
		if by.Kind == plan.Planloop { // instead of the engine's name
			by.Name = string(plan.Planloop)
		}
		who = append(who, by.Name)
		page.Lines = append(page.Lines, LogLine{record.Seq, record.Time, by.Name, by.Kind, history.SentenceIn(state, record)})
	}
	slices.Reverse(page.Lines)
	page.More = after > 0
	workspace.show(&page, who...)
	return page, nil
}
