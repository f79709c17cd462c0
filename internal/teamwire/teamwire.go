// Package teamwire holds the types of the team server's HTTP API, which the server and the joined
// laptops share. It must know neither of them.
//
// Paths begin with /v1. Bodies are JSON, bounded, and refused if they hold an unknown field. Every
// request but those for health carries "Authorization: Bearer TOKEN".
package teamwire

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// Format is the newest format of records and requests that this build knows. A server with a newer
// one answers with CodeUpdate.
const Format = 1

// FormatHeader is the request header with the caller's Format. A request without one has format 1.
const FormatHeader = "Planloop-Format"

// Bounds of the API.
const (
	MaxRecords = 1 << 20          // bytes of the records in an answer, and in a chunk that is shared
	MaxBody    = 4 << 20          // bytes of a request, such as a value
	MaxKey     = 80               // bytes of an idempotency key
	MaxWait    = time.Minute      // of a request for records
	Heartbeat  = 15 * time.Second // between comments in the event stream
	SeenEvery  = 20 * time.Second // between a laptop's signs of life
	GoneAfter  = 60 * time.Second // without a sign of life
)

// Role is the role of a token.
type Role string

// The roles. No token decides about a plan, whatever its role.
const (
	RoleAgent  Role = "agent"
	RoleCI     Role = "ci"
	RoleMember Role = "member"
	RoleAdmin  Role = "admin"
)

// Values lists the roles.
func (Role) Values() []string { return []string{"agent", "ci", "member", "admin"} }

// Me is the answer to GET /v1/me: the holder of the token.
type Me struct {
	Team    string    `json:"team"`
	Member  string    `json:"member"`
	Machine string    `json:"machine"`
	Role    Role      `json:"role"`
	Format  int       `json:"format"` // the team's
	Expires time.Time `json:"expires,omitzero"`
	Page    string    `json:"page,omitempty"`    // address of the page where people decide
	Offline string    `json:"offline,omitempty"` // what hooks do without an answer: "closed", or "" for as before
}

// Track is a track of a workspace, as in GET /v1/w/{ws}/tracks.
type Track struct {
	Track  string     `json:"track"`
	Head   store.Head `json:"head"`
	IsOpen bool       `json:"open"`
}

// Member is a member of the team, as in GET /v1/members.
type Member struct {
	Name   string    `json:"name"`
	Role   Role      `json:"role"`
	SeenAt time.Time `json:"seen_at,omitzero"` // the last use of one of its tokens
}

// Records is the answer to GET /v1/w/{ws}/t/{track}/records?chain=&after=&wait=. With wait, such as
// 25s, the server answers after that time or as soon as there are records. A chain other than the
// track's is answered with CodeChain, so that the caller reads from the beginning.
type Records struct {
	Head    store.Head `json:"head"`
	Records []string   `json:"records"` // lines of JSON as in the log, oldest first
	More    bool       `json:"more,omitzero"`
}

// DoRequest is the body of POST /v1/w/{ws}/t/{track}/do.
type DoRequest struct {
	Key    string         `json:"key"`             // idempotency key: a repeated one is answered as the first time
	Chain  string         `json:"chain,omitempty"` // of the caller's copy; "" if it is empty
	After  plan.Revision  `json:"after"`           // the answer has the records after this one
	Agent  string         `json:"agent,omitempty"` // label of the agent; "" for the member
	Kind   string         `json:"kind,omitempty"`  // of actor, as the laptop sees it; a note, without rights
	Scope  *plan.Attempt  `json:"scope,omitempty"` // the only attempt that the agent may work on, if an engine started it for one
	Basis  *plan.Basis    `json:"basis,omitempty"` // what the caller's checks rely on; nil: nothing
	Action jsontext.Value `json:"action"`          // see store.EncodeAction
	Facts  jsontext.Value `json:"facts,omitempty"` // see store.EncodeFacts
}

// DoReply is the answer to a DoRequest.
type DoReply struct {
	Head    store.Head    `json:"head"`
	Seq     plan.Revision `json:"seq"` // of the action's own record; 0: nothing changed
	Records []string      `json:"records"`
	More    bool          `json:"more,omitzero"` // there are records after these; read them
}

// HeadEvent is the data of an event "head", the only kind, in GET /v1/w/{ws}/events. The stream begins with one for each track.
type HeadEvent struct {
	Track string     `json:"track"`
	Head  store.Head `json:"head"`
}

// Seen is the body of POST /v1/w/{ws}/seen: the last signs of life of a laptop's agents, by label.
type Seen struct {
	Agents map[string]time.Time `json:"agents,omitempty"`
	Gone   []string             `json:"gone,omitempty"` // their connections have ended
}

// ShareRequest is the body of POST /v1/w/{ws}/t/{track}/share: a part of a local history. The track
// must not exist yet, or the same member must have begun to share it. With Last the server records
// that the history is complete; until then the track accepts nothing else.
type ShareRequest struct {
	After   plan.Revision `json:"after"` // 0 for the first part, else the last record that was sent
	Records []string      `json:"records"`
	Last    bool          `json:"last,omitzero"`
}

// ShareReply is the answer to a ShareRequest.
type ShareReply struct {
	Head store.Head `json:"head"` // its Chain names the track's log from now on
}

// Code classifies an error.
type Code string

// The codes, with their HTTP status.
const (
	CodeInvalid   Code = "invalid"   // 400: the request cannot be read
	CodeToken     Code = "token"     // 401: no token, or unknown, expired or revoked
	CodeForbidden Code = "forbidden" // 403: the token's role does not allow it
	CodeNotFound  Code = "not_found" // 404: no such workspace, track or value in this team
	CodeChanged   Code = "changed"   // 409: what the action relied on has changed; prepare again
	CodeChain     Code = "chain"     // 409: the track has another chain; read from the beginning
	CodeExists    Code = "exists"    // 409: the track exists already
	CodeTooLarge  Code = "too_large" // 413
	CodeRefused   Code = "refused"   // 422: a refusal by the plan's rules, in Refusal
	CodeUpdate    Code = "update"    // 426: the caller's format is too old
	CodeTooMany   Code = "too_many"  // 429: see Retry-After
	CodeUnready   Code = "unready"   // 503: the server cannot answer; a change may have been recorded, so repeat it with its key
)

// Status returns the HTTP status of a code.
func (c Code) Status() int {
	return cmp.Or(map[Code]int{CodeInvalid: 400, CodeToken: 401, CodeForbidden: 403, CodeNotFound: 404, CodeChanged: 409, CodeChain: 409,
		CodeExists: 409, CodeTooLarge: 413, CodeRefused: 422, CodeUpdate: 426, CodeTooMany: 429}[c], 503)
}

// Error is the body of every answer that is not a success.
type Error struct {
	Code    Code                  `json:"error"`
	Problem string                `json:"problem"`
	Fix     string                `json:"fix,omitempty"`
	Refusal *plan.ValidationError `json:"refusal,omitempty"` // of CodeRefused
}

// Error returns the problem and what to do.
func (e *Error) Error() string {
	if e.Fix == "" {
		return e.Problem
	}
	return e.Problem + "; " + e.Fix
}

// ForCaller returns the error in words for a model.
func (e *Error) ForCaller() string {
	return "This is a team's plan, and its server refuses the call; nothing was changed. Tell the user: " + e.Error() + "."
}

// namePattern is the form of a team's, workspace's and member's name.
var namePattern = regexp.MustCompile(`^[a-z0-9](?:[a-z0-9._-]{0,38}[a-z0-9])?$`)

// CheckName refuses a name of a team, workspace or member that has another form than
// 1 to 40 lower-case letters, digits, dots, hyphens and underscores. what names it in the error.
func CheckName(what, name string) error {
	if !namePattern.MatchString(name) || strings.Contains(name, "..") {
		return fmt.Errorf("%s is not a valid name of a %s; use up to 40 lower-case letters, digits, dots, hyphens and underscores",
			plan.Quote(name), what)
	}
	return nil
}

// trackPattern is the form of a track's name, which is also the name of a folder on each laptop.
var trackPattern = regexp.MustCompile(`^[a-z0-9]+(?:-[a-z0-9]+)*$`)

// CheckTrack refuses a name that no track can have.
func CheckTrack(name string) error {
	if len(name) > 40 || !trackPattern.MatchString(name) {
		return fmt.Errorf("%s is not a track's name; use up to 40 lower-case letters, digits and single dashes", plan.Quote(name))
	}
	return nil
}

// Label returns an agent's name as a team sees it, after its member's: NAME, or NAME#MARK for one connection, 39 bytes at most.
func Label(name string) string {
	name, mark, _ := strings.Cut(strings.ToLower(name), "#")
	keep := func(text string, most int) string {
		parts := strings.FieldsFunc(text, func(r rune) bool { return (r < 'a' || r > 'z') && (r < '0' || r > '9') })
		text = strings.Join(parts, "-")
		return strings.TrimRight(text[:min(len(text), most)], "-")
	}
	if mark = keep(mark, 12); mark == "" {
		return cmp.Or(keep(name, 39), "agent")
	}
	return cmp.Or(keep(name, 26), "agent") + "#" + mark
}
