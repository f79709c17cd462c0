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

// Rules is the canonical rule book and the file on disk that should hold it. The
// zero value is one that is in sync.
type Rules struct {
	File    string // below the workspace, with slashes
	State   string // what is wrong, such as missing or outdated; "" when it is in sync
	Exists  bool   // the file is there, whatever it holds
	Content string // the whole file as it should be; "" when it cannot be said
	Problem string // why it cannot be brought up to date, and what to do; "" when it can
}

// RuleBook looks at the rule book on disk.
type RuleBook interface {
	Inspect() Rules
	// Changed tells when the file may have changed; it may return nil.
	Changed(ctx context.Context) <-chan struct{}
}

// Tree is what is seen of the workspace's files.
type Tree interface {
	// Files is rooted in the workspace; nothing outside is reached through it.
	Files() (fs.FS, error)
	// Summary is the tree in a few lines for a model.
	Summary(ctx context.Context) (string, error)
	// Document is a text file of the workspace, cut to max bytes; false when it is none.
	Document(path string, max int) (string, bool)
	// Survey finds the marks in comments, the most urgent first. cut says what was not read, and why; it is "" if
	// everything was. done, which may be nil, gets the number of files that were read.
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
	// Ask returns the JSON object in the answer to a prompt, or the whole answer if it holds none. It is bounded in
	// time and size.
	Ask(ctx context.Context, prompt string) ([]byte, error)
}

// Engine carries out the steps of the current plan that planloop runs itself.
type Engine interface {
	// Run takes part in the run until there is nothing more for it to do there, and says why.
	// When ctx ends, what it runs is ended too, and kept as interrupted.
	Run(ctx context.Context, o EngineOptions) (plan.Over, error)
}

// EngineOptions say how an engine takes part in a run.
type EngineOptions struct {
	Parallel int                         // steps at a time; 0: as configured
	Wait     bool                        // for people and agents, rather than leave
	Drain    <-chan struct{}             // closed: nothing new is started, and what runs ends; may be nil
	Begin    func(context.Context) error // has the run begin, or go on, once the engine is known to take part; of Run: told then
	Listener RunListener                 // may be nil

	Agents bool          // agents are started for the steps that no tool carries out, as configured
	Starts int           // of them, at most; 0: any number
	For    time.Duration // after which nothing more is started; 0: for ever
}

// RunListener hears how a run goes, from one goroutine, which waits for it.
type RunListener interface {
	// Recorded tells of a change, by whichever process, and of the state after it or a later one.
	Recorded(state plan.State, record plan.Record)
	// Progress tells how far a step of this engine has come.
	Progress(step plan.StepID, percent int, what string)
}

// Notice tells a person that something waits, or was begun.
type Notice struct {
	Event  string // plan_waits, question_waits, reply_came, mode_entered or mode_expired
	PlanID string
	Title  string
	Text   string
	Steps  []NoticeStep

	Questions []string // that the plan leaves open
}

// NoticeStep is a step as a notice shows it.
type NoticeStep struct {
	ID, Title string
	Risk      plan.Risk
}

func (s *Service) notify(n Notice) {
	if s.opts.Notify != nil {
		s.opts.Notify(n)
	}
}

// notifyExpiry tells that planning mode was found to be over, when that was recorded.
func (s *Service) notifyExpiry(outcome session.Outcome) {
	for _, e := range outcome.Events {
		if expired, ok := e.(plan.ModeExpired); ok {
			s.notify(Notice{Event: "mode_expired", Title: "Planning mode has expired",
				Text: string(expired.Phase) + " for " + expired.Limit})
		}
	}
}

// AgentsMD returns the canonical rule book, which names the file it stands in.
func (s *Service) AgentsMD() string {
	return resources.AgentsMD(s.RulesOnDisk().File)
}

// RulesOnDisk looks at the rule book on disk, as it is now; the zero value where none
// is kept.
func (s *Service) RulesOnDisk() Rules {
	if s.opts.RuleBook == nil {
		return Rules{}
	}
	return s.opts.RuleBook.Inspect()
}

// RulesChanged tells when the rule book on disk may have changed, until the context
// ends. It is nil, and never tells anything, where none is kept or watched.
func (s *Service) RulesChanged(ctx context.Context) <-chan struct{} {
	if s.opts.RuleBook == nil {
		return nil
	}
	return s.opts.RuleBook.Changed(ctx)
}
