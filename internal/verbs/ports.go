package verbs

import (
	"context"
	"encoding/json"
	"io/fs"
	"time"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// Rules is the canonical rule book and its file on disk. The zero value is in sync.
type Rules struct {
	File    string // relative to the workspace, with slashes
	State   string // the problem, such as missing or outdated; "" if in sync
	Exists  bool   // with any content
	Content string // the whole file as it should be; "" if unknown
	Problem string // why it cannot be updated, and the remedy; "" if it can
}

// RuleBook checks the rule book on disk.
type RuleBook interface {
	Inspect() Rules
	// Changed receives when the file may have changed, and is closed when ctx ends; it may return nil.
	Changed(ctx context.Context) <-chan struct{}
}

// Tree is the view of the workspace's files.
type Tree interface {
	// Files returns the workspace's files. It gives no access to files outside.
	Files() (fs.FS, error)
	// Summary describes the tree in a few lines for a model.
	Summary(ctx context.Context) (string, error)
	// Document returns a text file of the workspace, cut to max bytes; false if it is not a readable text file.
	Document(path string, max int) (string, bool)
	// Survey finds the marks in comments, most urgent first. cut says why a part was not read; it is "" if all was
	// read. done, which may be nil, gets the number of files read.
	Survey(ctx context.Context, done func(files int)) (found []Suggestion, cut string, err error)
}

// ToolInfo is a tool that a step of a plan can name.
type ToolInfo struct {
	Name, Description string
	Schema            json.RawMessage // of its arguments
}

// Model is a language model that planloop may ask.
type Model interface {
	Name() string
	// Ask returns the JSON object in the answer to a prompt, or the whole answer if it has none. Time and size are
	// limited.
	Ask(ctx context.Context, prompt string) ([]byte, error)
}

// Engine carries out the steps of the current plan that planloop runs itself.
type Engine interface {
	// Run takes part in the run until the engine has no more work, and returns the reason. When ctx ends, it also
	// ends its steps and records them as interrupted.
	Run(ctx context.Context, o EngineOptions) (plan.StopReason, error)
}

// EngineOptions configure how an engine takes part in a run.
type EngineOptions struct {
	Parallel int                         // steps at a time; 0: as configured
	Wait     bool                        // wait for people and agents instead of leaving
	Drain    <-chan struct{}             // when closed, start no more steps and let the others end; may be nil
	Begin    func(context.Context) error // begins or resumes the run once the engine has joined; Service.Run calls it after that
	Listener RunListener                 // may be nil
	OnWait   func(plan.State, plan.StopReason)
	Joins    bool // only join an open run, and never begin or resume one

	Agents bool          // start agents for the steps without a tool, as configured
	Starts int           // most agents to start; 0: unlimited
	For    time.Duration // time after which no more steps start; 0: unlimited

	Only []plan.StepID // the steps to carry out; nil: all
	From plan.StepID   // this step and all after it that have not ended; 0: none. Service.Run adds them to Only
}

// RunListener receives the events of a run, from one goroutine, which waits for each call.
type RunListener interface {
	// Recorded reports a change by any process, and the state after it or after a later one.
	Recorded(state plan.State, record plan.Record)
	// Progress reports the progress of one of this engine's steps.
	Progress(step plan.StepID, percent int, what string)
	// Waiting reports the reason of a wait, and its beginning.
	Waiting(what string, since time.Time)
}

// Notice informs a person of an event.
type Notice struct {
	Event  string // plan_waits, question_waits, step_failed, run_ended, reply_came, mode_entered or mode_expired
	PlanID string
	Title  string
	Text   string
	Steps  []NoticeStep

	Questions []string // open questions of the plan
}

// NoticeStep is a step in a notice.
type NoticeStep struct {
	ID, Title string
	Risk      plan.Risk
}

func (s *Service) notify(n Notice) {
	if s.opts.Notify != nil {
		n.Title, n.Text = s.ForPeople(n.Title), s.ForPeople(n.Text)
		s.opts.Notify(n)
	}
}

func (s *Service) notifyExpiry(outcome session.Outcome) {
	for _, e := range outcome.Events {
		if expired, ok := e.(plan.ModeExpired); ok {
			n := Notice{Event: "mode_expired", Title: "Planning mode has expired", Text: string(expired.Phase) + " for " + expired.Limit}
			if !expired.Phase.IsRestricted() {
				n.Title, n.Text = "A proposed change was dropped", expired.Why
			}
			s.notify(n)
		}
	}
}

// AgentsMD returns the canonical rule book, with the name of its file.
func (s *Service) AgentsMD() string {
	return resources.AgentsMD(s.RulesOnDisk().File)
}

// RulesOnDisk checks the rule book on disk now. It returns the zero value if planloop does not maintain one.
func (s *Service) RulesOnDisk() Rules {
	if s.opts.RuleBook == nil {
		return Rules{}
	}
	return s.opts.RuleBook.Inspect()
}

// RulesChanged receives when the rule book on disk may have changed, until ctx ends. It is nil if the rule book is
// not maintained or not watched.
func (s *Service) RulesChanged(ctx context.Context) <-chan struct{} {
	if s.opts.RuleBook == nil {
		return nil
	}
	return s.opts.RuleBook.Changed(ctx)
}
