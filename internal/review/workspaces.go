package review

import (
	"context"
	"time"

	"embed"
	"path"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// Place identifies a workspace for people.
type Place struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Path  string `json:"path,omitempty"`
	Doubt string `json:"doubt,omitempty"` // why it may be the wrong one; "" without doubt
}

// Workspace is an open workspace. Its creator keeps it open.
type Workspace struct {
	Place
	Service *verbs.Service
	Refused func() string                              // why decisions are refused there now; "" if the face's rights apply; may be nil
	Tail    func(step plan.StepID) (string, error)     // the end of a step's output; nil: no output is kept
	Start   func(ctx context.Context, of string) error // begins or resumes a run of that plan here; nil: it cannot run here
	Members plan.Members                               // of the team that it belongs to; nil: none, or unknown
	Person  string                                     // the member of the team that looks at it; "": not known
	Sign    string                                     // address where a person signs an approval with a passkey; "": none
	Unsent  string                                     // the folder of people's unsent texts; "": they are not stored
	Fresh   func(ctx context.Context, p *plan.Plan)    // reloads the definitions of p's tools from their servers; may be nil
}

// show makes all texts behind pointer safe to show, with agents' names as people see them; those in known are agents'.
func (workspace *Workspace) show(pointer any, known ...string) {
	names := workspace.Service.NamesForPeople(known...)
	safetext.MapTexts(pointer, func(text string) string { return safetext.Escape(names(text)) })
}

// Change is a new revision of a workspace.
type Change struct {
	Workspace string        `json:"workspace"`
	Revision  plan.Revision `json:"revision"`
}

// Workspaces gives access to all workspaces of a user.
type Workspaces interface {
	// Places lists the workspaces with a state, the one this process was started in first.
	Places(ctx context.Context) ([]Place, error)
	// Open returns a workspace, which stays open and is shared. An unknown id is a *plan.ValidationError.
	Open(ctx context.Context, id string) (*Workspace, error)
	// InInbox returns the entry of a place in an inbox, and its waiting items: see InInbox. It is cheap if nothing has
	// changed since the last call.
	InInbox(ctx context.Context, place Place) (InboxPlace, []Waiting, error)
	// Watch reports each change in any workspace, and new workspaces; it merges changes in quick succession. The
	// channel is closed when ctx ends.
	Watch(ctx context.Context) <-chan Change
}

// Can is the caller's permission. The face fills it in.
type Can struct {
	Decide bool   `json:"decide"`
	Why    string `json:"why,omitempty"`  // why not
	Code   bool   `json:"code,omitempty"` // all acts need the code from the terminal first
}

// Caller is an actor with the permission that its face gives.
type Caller struct {
	verbs.Caller
	Can Can
	Log string // of the view that the actor saw
}

// ForbiddenError refuses an act to a caller without permission.
type ForbiddenError struct {
	*plan.ValidationError
	Code bool // the code from the terminal is missing
}

// Unwrap returns the refusal.
func (e *ForbiddenError) Unwrap() error { return e.ValidationError }

// Inbox lists everything that waits for a person in all workspaces.
type Inbox struct {
	Workspaces []InboxPlace `json:"workspaces"`
	Waiting    []Waiting    `json:"waiting"` // newest first
}

// InboxPlace is a workspace in an inbox.
type InboxPlace struct {
	Place
	Waiting   int        `json:"waiting"` // number of waiting items
	Phase     plan.Phase `json:"phase"`
	Headline  string     `json:"headline"`
	UpdatedAt time.Time  `json:"updated_at,omitzero"`
}

//go:embed page/dist
var dist embed.FS

// PageFile returns a file of the page and its media type; the page itself is index.html. `npm run build` builds the files
// from page/src. They are committed, so that building planloop needs no Node.
func PageFile(name string) (content []byte, contentType string, ok bool) {
	contentType, ok = map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	}[path.Ext(name)]
	content, err := dist.ReadFile("page/dist/" + name)
	return content, contentType, ok && err == nil
}

// AppPage returns the page for hosts that show MCP Apps: one document that loads nothing.
func AppPage() string {
	content, _, _ := PageFile("app.html")
	return string(content)
}
