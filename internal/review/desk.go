package review

import (
	"context"
	"time"

	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// Place is a workspace as people tell it from others.
type Place struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Path  string `json:"path,omitempty"`
	Doubt string `json:"doubt,omitempty"` // what speaks against its being the right one; "" when nothing
}

// Sheet is a workspace that is open to be looked at. Whoever made it keeps it open.
type Sheet struct {
	Place
	Service *verbs.Service
	Refused func() string                              // why nobody may decide there now, "" when whom the face lets may; may be nil
	Tail    func(step plan.StepID) (string, error)     // the end of what a step has printed; nil: nothing is kept
	Start   func(ctx context.Context, of string) error // begins a run of that plan here, or goes on with it; nil: it cannot be run
	Fresh   func(ctx context.Context, p *plan.Plan)    // has other servers say anew what the tools are that p names; may be nil
}

// Change tells that a workspace has a new revision.
type Change struct {
	Workspace string        `json:"workspace"`
	Revision  plan.Revision `json:"revision"`
}

// Desk is all the workspaces of a user.
type Desk interface {
	// Places lists the workspaces that have a state, the one it was started in first.
	Places(ctx context.Context) ([]Place, error)
	// Open returns a workspace, which is kept open and shared. The error for an unknown id is a *plan.ValidationError.
	Open(ctx context.Context, id string) (*Sheet, error)
	// InInbox is a place as an inbox lists it, with what waits there: see InInbox. It costs little where nothing has
	// changed since it was last asked for.
	InInbox(ctx context.Context, place Place) (InboxPlace, []Waiting, error)
	// Watch tells of every change in any of them, and of a new one; several in quick succession come as one. The
	// channel is closed when ctx ends.
	Watch(ctx context.Context) <-chan Change
}

// Can says what whoever looks may do. The face fills it in.
type Can struct {
	Decide bool   `json:"decide"`
	Why    string `json:"why,omitempty"`  // not
	Code   bool   `json:"code,omitempty"` // everything needs the code of the terminal first
}

// Caller is who acts through a face, and what that face lets them do.
type Caller struct {
	verbs.Caller
	Can Can
}

// MayNotError refuses an act to a caller that is not let.
type MayNotError struct {
	*plan.ValidationError
	Code bool // the code of the terminal is what lacks
}

// Unwrap returns the refusal alone.
func (e *MayNotError) Unwrap() error { return e.ValidationError }

// Inbox is what waits for a person in all workspaces.
type Inbox struct {
	Workspaces []InboxPlace `json:"workspaces"`
	Waiting    []Waiting    `json:"waiting"` // newest first
}

// InboxPlace is a workspace in a list of them.
type InboxPlace struct {
	Place
	Waiting   int        `json:"waiting"` // how much waits there
	Phase     plan.Phase `json:"phase"`
	Headline  string     `json:"headline"`
	UpdatedAt time.Time  `json:"updated_at,omitzero"`
}
