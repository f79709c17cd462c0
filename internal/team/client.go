package team

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// maxAnswer bounds an answer: records with their JSON escapes, and the rest.
const maxAnswer = 8 << 20

// Client calls a team's server. It is safe for concurrent use.
type Client struct {
	http  *outbound.Client
	token string
}

// NewClient returns a client of a membership's server. It contacts nothing.
func NewClient(m Membership, logger *slog.Logger) (*Client, error) {
	address, err := ParseAddress(m.Address)
	if err != nil {
		return nil, err
	}
	token := string(m.Token)
	if token == "" || !outbound.IsHeaderValue(token) {
		return nil, plan.Refuse(plan.InvalidInput, "", "the token is not one line of visible characters", "copy it again")
	}
	return &Client{http: outbound.NewStream(address, nil, logger), token: token}, nil
}

// Close closes idle connections.
func (c *Client) Close() { c.http.Close() }

// NoAnswer means that the server gave no answer.
type NoAnswer struct {
	cause     error
	mayChange bool // the request was a change, and may have reached the server
}

// Error returns the cause.
func (e *NoAnswer) Error() string { return "the team's server does not answer: " + e.cause.Error() }

// Unwrap returns the cause.
func (e *NoAnswer) Unwrap() error { return e.cause }

// Me returns the holder of the token.
func (c *Client) Me(ctx context.Context) (me teamwire.Me, err error) {
	return me, c.call(ctx, http.MethodGet, "/v1/me", nil, &me)
}

// Tracks lists the tracks of a workspace.
func (c *Client) Tracks(ctx context.Context, workspace string) (all []teamwire.Track, err error) {
	return all, c.call(ctx, http.MethodGet, teamwire.WorkspacePath(workspace, "tracks"), nil, &all)
}

// Members lists the members of the team.
func (c *Client) Members(ctx context.Context) (all []teamwire.Member, err error) {
	return all, c.call(ctx, http.MethodGet, "/v1/members", nil, &all)
}

// Seen reports the last signs of life of this machine's agents.
func (c *Client) Seen(ctx context.Context, workspace string, seen teamwire.Seen) error {
	return c.call(ctx, http.MethodPost, teamwire.WorkspacePath(workspace, "seen"), seen, nil)
}

// Share sends a part of a local history.
func (c *Client) Share(ctx context.Context, p Place, part teamwire.ShareRequest) (reply teamwire.ShareReply, err error) {
	return reply, c.call(ctx, http.MethodPost, teamwire.TrackPath(p.Workspace, p.Track, "share"), part, &reply)
}

// call makes a call with a body of JSON, nil for none, and decodes the answer.
func (c *Client) call(ctx context.Context, method, path string, in, out any) error {
	var body []byte
	header := http.Header{"Accept": {"application/json"}}
	if in != nil {
		var err error
		if body, err = json.Marshal(in); err != nil {
			return err
		}
		header.Set("Content-Type", "application/json")
	}
	answer, err := c.read(ctx, method, path, header, body)
	if err != nil || out == nil {
		return err
	}
	if err := json.Unmarshal(answer, out); err != nil {
		return &NoAnswer{cause: errors.New("the answer of " + c.http.Origin() + " cannot be read; update planloop"),
			mayChange: method != http.MethodGet}
	}
	return nil
}

// read makes a call and returns the bounded answer.
func (c *Client) read(ctx context.Context, method, path string, header http.Header, body []byte) ([]byte, error) {
	response, err := c.send(ctx, method, path, header, body)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(io.LimitReader(response.Body, maxAnswer+1))
	if err == nil && len(answer) > maxAnswer {
		err = errors.New("the answer is too long")
	}
	if err != nil {
		return nil, &NoAnswer{c.http.BrokenError(ctx, response, err, []string{c.token}), method != http.MethodGet}
	}
	return answer, nil
}

// send makes a call and returns a successful answer as soon as it begins.
func (c *Client) send(ctx context.Context, method, path string, header http.Header, body []byte) (*http.Response, error) {
	if c == nil {
		return nil, plan.Refuse(plan.Conflict, "", "this machine has left the team", "join it again: planloop team join URL")
	}
	header.Set("Authorization", "Bearer "+c.token)
	header.Set(teamwire.FormatHeader, strconv.Itoa(teamwire.Format))
	to, err := c.http.At(path)
	if err != nil {
		return nil, err
	}
	secrets := []string{c.token}
	response, failure := to.Send(ctx, method, outbound.Message{Header: header, Body: body, Secrets: secrets})
	if failure != nil {
		return nil, &NoAnswer{failure, method != http.MethodGet}
	}
	if response.StatusCode < 300 {
		return response, nil
	}
	defer response.Body.Close()
	complaint := outbound.Complaint(response)
	var wrong teamwire.Error
	if json.Unmarshal(complaint, &wrong) != nil || wrong.Code.Status() != response.StatusCode {
		return nil, &NoAnswer{c.http.StatusError(response, complaint, secrets), method != http.MethodGet && response.StatusCode >= 500}
	}
	return nil, c.explain(wrong)
}

// explain returns the error for a server's complaint. Its texts are untrusted.
func (c *Client) explain(wrong teamwire.Error) error {
	clean := func(text string) string { return outbound.Redact(safetext.Line(plan.Shorten(text, 500)), c.token) }
	problem, fix := clean(wrong.Problem), clean(wrong.Fix)
	switch wrong.Code {
	case teamwire.CodeChanged:
		return session.ErrChanged
	case teamwire.CodeRefused:
		if wrong.Refusal != nil {
			return wrong.Refusal.Err()
		}
	case teamwire.CodeToken:
		fix = "ask the team's admin for a token, and run: planloop team join " + c.http.Origin()
	case teamwire.CodeUpdate, teamwire.CodeUnready, teamwire.CodeTooMany:
		return &NoAnswer{cause: &teamwire.Error{Code: wrong.Code, Problem: problem, Fix: fix}}
	}
	return &teamwire.Error{Code: wrong.Code, Problem: problem, Fix: fix}
}

// isCode reports whether err is the server's complaint with this code.
func isCode(err error, code teamwire.Code) bool {
	wrong, ok := errors.AsType[*teamwire.Error](err)
	return ok && wrong.Code == code
}
