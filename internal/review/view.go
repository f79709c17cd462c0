// Package review is what a person is shown of a workspace and may do there, as plain data
// and calls by name, for every face that shows it: the page over HTTP and the MCP App.
// It must know no HTTP, browser or protocol, and keeps no state of its own.
package review

import (
	"time"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// View is what there is to see of a workspace.
type View struct {
	Workspace Place               `json:"workspace"`
	Revision  plan.Revision       `json:"revision"`
	UpdatedAt time.Time           `json:"updated_at,omitzero"`
	Now       time.Time           `json:"now"`
	Phase     plan.Phase          `json:"phase"`
	Headline  string              `json:"headline"` // what goes on, in a sentence
	Waiting   []Waiting           `json:"waiting"`
	Plan      *Plan               `json:"plan,omitempty"`
	Draft     *Draft              `json:"draft,omitempty"`
	Decision  *Decision           `json:"decision,omitempty"` // the last
	Questions []Question          `json:"questions"`
	Comments  []Comment           `json:"comments"`
	Signals   []Signal            `json:"signals"` // that are open
	Agents    []verbs.Enforcement `json:"agents"`  // how far planning mode holds them, while it does
	Run       *Run                `json:"run,omitempty"`
	Plans     []PastPlan          `json:"plans"` // newest first
	Can       Can                 `json:"can"`
}

// Plan is a plan with all its steps, nothing shortened.
type Plan struct {
	ID           string          `json:"id"`
	Objective    string          `json:"objective"`
	Summary      string          `json:"summary,omitempty"`
	Status       plan.PlanStatus `json:"status"`
	Version      int             `json:"version"`
	Digest       string          `json:"digest"` // of what an approval binds
	Short        string          `json:"short"`  // its beginning, as people compare it
	Progress     Progress        `json:"progress"`
	Constraints  []string        `json:"constraints,omitempty"`
	ContextNotes string          `json:"context_notes,omitempty"`
	Questions    []string        `json:"questions,omitempty"`
	Reasoning    string          `json:"reasoning,omitempty"`
	Changes      string          `json:"changes,omitempty"`
	Discoveries  []string        `json:"discoveries,omitempty"`
	Approval     *Approval       `json:"approval,omitempty"`
	Verdict      *plan.Verdict   `json:"verdict,omitempty"`
	FinalSummary string          `json:"final_summary,omitempty"`
	CreatedBy    string          `json:"created_by"`
	CreatedAt    time.Time       `json:"created_at"`
	Other        []verbs.Told    `json:"other,omitempty"`      // what else it says
	Difference   *Difference     `json:"difference,omitempty"` // to what was shown, or in force, before
	Steps        []Step          `json:"steps"`
	LeftOut      int             `json:"left_out,omitempty"` // how many more steps there are than there is room for
}

// Progress counts steps. Counts has the statuses of which there are some.
type Progress struct {
	Done   int            `json:"done"`
	Of     int            `json:"of"`
	Counts map[string]int `json:"counts"`
}

// Approval is who agreed to a plan, and what was changed since without asking again.
type Approval struct {
	By         string    `json:"by"` // and by which way
	Way        plan.Way  `json:"way"`
	Comment    string    `json:"comment,omitempty"`
	At         time.Time `json:"at"`
	Edits      string    `json:"edits,omitempty"` // what people had changed of what was submitted
	Deviations []string  `json:"deviations,omitempty"`
}

// Step is a step with all that it asks for and what has become of it.
type Step struct {
	ID     plan.StepID `json:"id"`
	Number int         `json:"number"`
	Title  string      `json:"title"`

	Details          string        `json:"details,omitempty"`
	Type             plan.StepType `json:"type,omitempty"`
	Risk             plan.Risk     `json:"risk,omitempty"`
	DependsOn        []int         `json:"depends_on,omitempty"`
	WaitingOn        []int         `json:"waiting_on,omitempty"` // those of them that are not done
	Hints            []string      `json:"hints,omitempty"`
	Paths            []string      `json:"paths,omitempty"`
	Creates          []string      `json:"creates,omitempty"`
	Criteria         []Criterion   `json:"criteria,omitempty"`
	Verify           string        `json:"verify,omitempty"`
	Verified         bool          `json:"verified,omitempty"` // by a recorded run of it
	SuggestedAgent   string        `json:"suggested_agent,omitempty"`
	Tools            []string      `json:"tools,omitempty"`
	Tool             string        `json:"tool,omitempty"`
	Args             string        `json:"args,omitempty"`      // JSON, with a line for each member
	ToolSays         string        `json:"tool_says,omitempty"` // what another server says of the tool
	Critical         bool          `json:"critical,omitempty"`
	Idempotent       bool          `json:"idempotent,omitempty"`
	RequiresApproval bool          `json:"requires_approval,omitempty"`
	Timeout          int           `json:"timeout,omitempty"` // seconds
	Pause            string        `json:"pause,omitempty"`
	When             string        `json:"when,omitempty"`
	ForEach          string        `json:"for_each,omitempty"`
	Unseen           string        `json:"unseen,omitempty"`   // why its approver has not seen it
	Edited           string        `json:"edited,omitempty"`   // what a person did to it before the approval
	Warnings         []string      `json:"warnings,omitempty"` // of the quality gates, in a draft

	Status        plan.StepStatus `json:"status"`
	Ready         bool            `json:"ready,omitempty"`
	Notes         []string        `json:"notes,omitempty"`
	Evidence      []Evidence      `json:"evidence,omitempty"` // but for that of the criteria
	Output        string          `json:"output,omitempty"`
	Error         string          `json:"error,omitempty"`
	AffectedFiles []string        `json:"affected_files,omitempty"`
	Attempts      int             `json:"attempts,omitempty"`
	ClaimedBy     string          `json:"claimed_by,omitempty"`
	Lapsed        bool            `json:"lapsed,omitempty"` // whoever claimed it is gone
	ExecutedBy    string          `json:"executed_by,omitempty"`
	StartedAt     time.Time       `json:"started_at,omitzero"`
	CompletedAt   time.Time       `json:"completed_at,omitzero"`
	Agent         string          `json:"agent,omitempty"` // that planloop started for it
	Of            int             `json:"of,omitempty"`    // the loop it is an entry of
	Ask           *Ask            `json:"ask,omitempty"`
	Other         []verbs.Told    `json:"other,omitempty"` // what else there is to tell of it
}

// Criterion is a criterion with what shows that it is met.
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
	Stale    bool      `json:"stale,omitempty"`    // of an earlier try
	By       string    `json:"by,omitempty"`
	At       time.Time `json:"at,omitzero"`
}

// Ask is what a step asks a person.
type Ask struct {
	Kind    AskKind       `json:"kind"`
	Text    string        `json:"text,omitempty"`
	Digest  string        `json:"digest,omitempty"` // of what is asked about
	Short   string        `json:"short,omitempty"`  // its beginning, as people compare it
	Args    string        `json:"args,omitempty"`   // it would run with; JSON, with a line for each member
	Attempt int           `json:"attempt,omitempty"`
	Choices []plan.Choice `json:"choices"`
	At      time.Time     `json:"at,omitzero"`
	Early   bool          `json:"early,omitempty"` // no run has come to it yet
}

// AskKind says what a step asks for: what plan.AskKind says, or blocked.
type AskKind string

// AskBlocked asks what is to be done about what stands in a step's way.
const AskBlocked AskKind = "blocked"

// Values lists the kinds.
func (AskKind) Values() []string { return append(plan.AskKind("").Values(), string(AskBlocked)) }

// Draft is a plan that nobody has agreed to yet.
type Draft struct {
	Plan      Plan      `json:"plan"`
	Request   string    `json:"request,omitempty"` // "" for one that nobody has submitted
	By        string    `json:"by"`
	At        time.Time `json:"at"`
	Expires   time.Time `json:"expires,omitzero"`
	Decidable bool      `json:"decidable"`          // it waits for a decision, and not for the agent
	Changes   bool      `json:"changes,omitempty"`  // it changes the approved plan
	Outdated  string    `json:"outdated,omitempty"` // why it cannot be approved any more, as it stands
	Archives  string    `json:"archives,omitempty"` // the objective of the active plan that approving it archives
	Adopted   string    `json:"adopted,omitempty"`  // from whose list it was made
	Returned  *Decision `json:"returned,omitempty"` // how its former form was returned
	Warnings  []string  `json:"warnings,omitempty"` // of the quality gates, about the whole
	Edited    *Said     `json:"edited,omitempty"`   // what people changed of it since it was submitted
}

// Decision is how a request, or planning mode, ended.
type Decision struct {
	Outcome plan.Outcome `json:"outcome"`
	Text    string       `json:"text"` // the decision in a sentence, with its comment
	By      string       `json:"by"`
	Way     plan.Way     `json:"way,omitempty"`
	Comment string       `json:"comment,omitempty"`
	Change  bool         `json:"change,omitempty"` // it was about a change to the approved plan
	At      time.Time    `json:"at"`
}

// Difference is what differs from a former plan.
type Difference struct {
	From  Compared      `json:"from"`
	Plan  []FieldChange `json:"plan"`
	Steps []StepChange  `json:"steps"`
}

// Compared names a plan that another is compared with.
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
	ID     plan.StepID   `json:"id"`           // of a removed one, its former
	Was    plan.StepID   `json:"was,omitzero"` // its former id, where it has another
	Title  string        `json:"title"`
	Change verbs.Changed `json:"change"`
	Fields []FieldChange `json:"fields,omitempty"`
}

// Question is something an agent asked a person.
type Question struct {
	ID     string    `json:"id"`
	Text   string    `json:"text"`
	By     string    `json:"by"`
	At     time.Time `json:"at"`
	Open   bool      `json:"open,omitempty"`
	Past   bool      `json:"past,omitempty"` // asked for a plan that is gone
	Answer *Said     `json:"answer,omitempty"`
}

// Comment is what a person said to whoever works on the plan, as it stands in the plan that is shown: the draft that
// waits, else the current one.
type Comment struct {
	ID string `json:"id,omitempty"` // "" for one of an old log, of which nothing more can be said
	Said
	Step     int            `json:"step,omitempty"`  // its number now; 0: none, or the comment is on the whole
	Title    string         `json:"title,omitempty"` // of the step, as it was
	Question bool           `json:"question,omitempty"`
	Reply    *Said          `json:"reply,omitempty"`
	Met      verbs.Standing `json:"met"`
}

// Said is who said what, and when.
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
	ID      string    `json:"id"`
	State   RunState  `json:"state"`
	Reason  plan.Over `json:"reason,omitempty"` // why it is paused or over
	Note    string    `json:"note,omitempty"`
	By      string    `json:"by,omitempty"`
	Since   time.Time `json:"since,omitzero"`
	Ended   time.Time `json:"ended,omitzero"`
	Steps   []RunStep `json:"steps"`
	CanHere bool      `json:"can_here,omitempty"` // it can be started from here
}

// RunState says how a run stands.
type RunState string

// How a run stands.
const (
	RunGoesOn RunState = "running"
	RunPaused RunState = "paused"
	RunBroken RunState = "interrupted" // all engines left without a word
	RunOver   RunState = "over"
	RunNotYet RunState = "none" // planloop can carry the plan out
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
	Tail    string `json:"tail,omitempty"` // the end of what it has printed
}

// PastPlan is the head of a former plan.
type PastPlan struct {
	ID         string    `json:"id"`
	Objective  string    `json:"objective"`
	Version    int       `json:"version"`
	Steps      int       `json:"steps"`
	Done       int       `json:"done"`
	Became     string    `json:"became"` // what it came to, and what took its place, in words
	CreatedAt  time.Time `json:"created_at"`
	ArchivedAt time.Time `json:"archived_at"`
}

// Former is a former plan as it last stood.
type Former struct {
	PastPlan
	Plan     Plan      `json:"plan"`
	Comments []Comment `json:"comments"` // on it, as it stood
}
