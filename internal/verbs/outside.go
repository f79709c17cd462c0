package verbs

import (
	"context"
	"io/fs"

	"github.com/planloop/planloop/plan"
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
	// Survey looks for work that the code itself asks for. done, which may be nil,
	// is told how many files were read.
	Survey(ctx context.Context, done func(files int)) (Survey, error)
}

// Survey is what a look at the tree found.
type Survey struct {
	Finds []Find // the most important first
	Files int
	Cut   string // what was left out, and why; "" when nothing
}

// Find is one piece of work that the code asks for.
type Find struct {
	Kind  string // mark, untested or dead_link
	Where string // path:line
	Task  plan.Spec
	Why   string
}

// Model is a language model that planloop may ask.
type Model interface {
	Name() string
	// Ask returns the one JSON object of the answer to a prompt; it is bounded in
	// time and size.
	Ask(ctx context.Context, prompt string) ([]byte, error)
}
