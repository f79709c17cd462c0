package team

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// Limits of waiting for the server.
const (
	callLimit = 5 * time.Second // of a call, for up to bodyRate bytes
	HookLimit = time.Second     // of a hook's call
	bodyRate  = 64 << 10        // least bytes per second of a longer request
	maxAnswer = 8 << 20         // bytes: records with their JSON escapes, and the rest
)

// Client calls a team's server. It is safe for concurrent use. The zero value is that of a former member.
type Client struct {
	http  *outbound.Client
	token string
	wait  time.Duration // that the server may wait for records
}

// NewClient returns a client of a membership's server. It contacts nothing.
func NewClient(m Membership, logger *slog.Logger) (*Client, error) {
	address, err := ParseAddress(m.Address)
	if err != nil {
		return nil, err
	}
	token := string(m.Token)
	if token == "" || !outbound.IsHeaderValue(token) {
		return nil, plan.Refuse(plan.InvalidInput, "", "the token is not one line of visible characters", "copy the whole token again")
	}
	return &Client{http: outbound.NewStream(address, nil, logger), token: token}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.Close() }

// Offline means that the server gave no answer.
type Offline struct {
	Since          time.Time // the last confirmation of the copy; zero: never, or the call was about no copy
	MayHaveChanged bool      // the answer to a change was lost
	cause          error
}

// Error says since when, and whether something was changed.
func (e *Offline) Error() string {
	text := "the team's server does not answer"
	if e.MayHaveChanged {
		text = "the answer to this change was lost, so it may have been made; once `planloop team status` reports a " +
			"connection, check with `planloop status` before you repeat it"
	} else if !e.Since.IsZero() {
		text = "offline since " + clock(e.Since) + "; nothing was changed"
	}
	return text + " (" + e.cause.Error() + ")"
}

// ForCaller returns the error in words for a model.
func (e *Offline) ForCaller() string {
	return "This is a team's plan: " + e.Error() + ". Tell the user, and try again later."
}

// Unwrap returns the reason.
func (e *Offline) Unwrap() error { return e.cause }

// Me returns the holder of the token.
func (c *Client) Me(ctx context.Context) (me teamwire.Me, err error) {
	return me, c.call(ctx, http.MethodGet, "/v1/me", nil, &me)
}

// Learn saves in a folder what the server says about a membership there, such as the team's rules, unless this machine has left or
// joined the team since the membership was read.
func (c *Client) Learn(ctx context.Context, folder string, known Membership) error {
	me, err := c.Me(ctx)
	m := known
	if err == nil && me.Team == known.Team {
		err = m.Update(me)
	}
	if err != nil || m == known {
		return err
	}
	if now, err := Load(folder, m.Team); err != nil || now != known {
		return nil // the newer membership counts
	}
	return m.Save(folder)
}

// Tracks lists the tracks of a workspace.
func (c *Client) Tracks(ctx context.Context, workspace string) (all []teamwire.Track, err error) {
	return all, c.call(ctx, http.MethodGet, Place{Workspace: workspace}.path("tracks"), nil, &all)
}

// Members lists the members of the team.
func (c *Client) Members(ctx context.Context) (all []teamwire.Member, err error) {
	return all, c.call(ctx, http.MethodGet, "/v1/members", nil, &all)
}

// call makes a call in a limited time. Its bodies are JSON, or bytes as they are: []byte in, *[]byte out.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	body, isRaw := in.([]byte)
	kind := "application/octet-stream"
	if in != nil && !isRaw {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
		kind = "application/json"
	}
	ctx, cancel := context.WithTimeout(ctx, callLimit+c.wait+time.Duration(len(body)/bodyRate)*time.Second)
	defer cancel()
	response, err := c.send(ctx, method, path, http.Header{"Content-Type": {kind}}, body)
	if err != nil {
		return err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer))
	if err != nil {
		err = c.http.BrokenError(ctx, response, err, []string{c.token})
	} else if raw, isRaw := out.(*[]byte); isRaw {
		*raw = answer
	} else if out != nil && json.Unmarshal(answer, out) != nil {
		err = errors.New("the answer of " + c.http.Origin() + " cannot be read; update planloop")
	}
	if err != nil {
		return &Offline{cause: err, MayHaveChanged: method == http.MethodPost}
	}
	return nil
}

// send makes a call and returns a successful answer as soon as it begins.
func (c *Client) send(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, error) {
	if c.http == nil {
		return nil, plan.Refuse(plan.Conflict, "", "this machine has left the team", "join it again: planloop team join URL")
	}
	header.Set("Authorization", "Bearer "+c.token)
	header.Set(teamwire.FormatHeader, strconv.Itoa(teamwire.Format))
	to, err := c.http.At(path)
	if err != nil {
		return nil, err
	}
	response, failure := to.Send(ctx, method, outbound.Message{Header: header, Body: body, Secrets: []string{c.token}})
	if failure != nil {
		c.Close() // other connections may have died, too, as when a laptop moves
		return nil, &Offline{cause: failure, MayHaveChanged: method == http.MethodPost}
	}
	if response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	err = c.explain(response)
	if offline, ok := errors.AsType[*Offline](err); ok { // a database that answers no more may have made the change
		offline.MayHaveChanged = method == http.MethodPost && response.StatusCode >= 500
	}
	return nil, err
}

// explain returns the error for a server's complaint. Its texts are untrusted.
func (c *Client) explain(response *http.Response) error {
	complaint := outbound.Complaint(response)
	var wrong teamwire.Error
	if json.Unmarshal(complaint, &wrong) != nil || wrong.Code.Status() != response.StatusCode {
		return &Offline{cause: c.http.StatusError(response, complaint, []string{c.token})}
	}
	clean := func(text string) string { return outbound.Redact(safetext.Line(plan.Shorten(text, 500)), c.token) }
	explained := &teamwire.Error{Code: wrong.Code, Problem: clean(wrong.Problem), Fix: clean(wrong.Fix)}
	switch wrong.Code {
	case teamwire.CodeRefused:
		if wrong.Refusal != nil {
			return wrong.Refusal
		}
	case teamwire.CodeToken:
		explained.Fix = "ask an admin of the team for a new token, then run: planloop team join " + c.http.Origin()
	case teamwire.CodeUpdate, teamwire.CodeUnready, teamwire.CodeTooMany:
		return &Offline{cause: explained}
	}
	return explained
}

// isCode reports whether err is the server's complaint with this code.
func isCode(err error, code teamwire.Code) bool {
	wrong, ok := errors.AsType[*teamwire.Error](err)
	return ok && wrong.Code == code
}
