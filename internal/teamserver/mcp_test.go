package teamserver_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"strings"
	"testing"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

const mcpPath = "/w/blue/shop/t/main/mcp"

// withToken sends a token with each request.
type withToken string

func (token withToken) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(token))
	return http.DefaultTransport.RoundTrip(r)
}

func (c *client) mcp(t *testing.T, path string) (*sdk.ClientSession, error) {
	t.Helper()
	// A host with a person that accepts every question: no answer may decide.
	opts := &sdk.ClientOptions{ElicitationHandler: func(context.Context, *sdk.ElicitRequest) (*sdk.ElicitResult, error) {
		return &sdk.ElicitResult{Action: "accept", Content: map[string]any{"decision": "approve"}}, nil
	}}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "Claude Code", Version: "1"}, opts).Connect(t.Context(),
		&sdk.StreamableClientTransport{Endpoint: c.address + path, HTTPClient: &http.Client{Transport: withToken(c.token)}}, nil)
	if err == nil {
		t.Cleanup(func() { _ = session.Close() })
	}
	return session, err
}

func call(t *testing.T, s *sdk.ClientSession, tool string, arguments map[string]any) (text string, isRefused bool) {
	t.Helper()
	result, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	check(t, err)
	for _, content := range result.Content {
		if part, ok := content.(*sdk.TextContent); ok {
			text += part.Text
		}
	}
	return text, result.IsError
}

// TestAgentsWithoutALaptop fails if an agent with a token cannot work over MCP, has another name than its member's, or can decide.
func TestAgentsWithoutALaptop(t *testing.T) {
	for role, name := range map[teamwire.Role]string{teamwire.RoleAgent: "bob/claude-code", teamwire.RoleMember: "bob/claude-code",
		teamwire.RoleCI: "bob/ci"} {
		w := newWorld(t)
		w.as("ann", teamwire.RoleMember).do(setUp("Ship the shop"))
		agent, err := w.as("bob", role).mcp(t, mcpPath)
		check(t, err)
		text, isRefused := call(t, agent, "planloop_status", nil)
		if isRefused || !strings.Contains(text, "Ship the shop") {
			t.Errorf("%s: the status is %s", role, text)
		}
		if role == teamwire.RoleCI {
			continue
		}
		if text, isRefused = call(t, agent, "planning_enter_plan_mode", map[string]any{"reason": "it is large"}); isRefused {
			t.Errorf("%s: planning mode: %s", role, text)
		}
		shown := w.member("ann").view("shop/main").Agents
		if len(shown) != 1 || shown[0].Agent != name || shown[0].State != verbs.NotEnforced {
			t.Errorf("%s: the page shows the agents %+v", role, shown)
		}
		if text, isRefused = call(t, agent, "planning_submit_plan", map[string]any{"summary": "Paint the shop.", "steps": []map[string]any{
			{"title": "Paint it", "type": "feature", "risk": "low", "context_hints": []string{"the shop"},
				"relevant_file_paths": []string{"paint.go"}}}}); isRefused {
			t.Errorf("%s: submit: %s", role, text)
		}
		list, state := w.as("ann", teamwire.RoleMember).track()
		for _, record := range list {
			if by := record.Actor; record.Seq > 1 && (by.Name != name || by.Kind != plan.Agent) {
				t.Errorf("%s: recorded as %+v", role, by)
			}
		}
		if state.PhaseNow() != plan.PhaseSubmitted {
			t.Errorf("%s: the phase is %s", role, state.PhaseNow())
		}
	}
}

// TestMCPIsForTokensOfTheTeam fails if MCP answers without a token, to another team's, to one that was revoked, or at an unknown track, or
// reads a body without end.
func TestMCPIsForTokensOfTheTeam(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	ann.do(setUp("Ship the shop"))
	other := w.newTeam("other")
	foreign := &client{t: t, address: w.http.URL, token: w.token(other, "ann", teamwire.RoleMember)}
	for name, one := range map[string]*client{"no token": {t: t, address: w.http.URL}, "foreign": foreign} {
		if _, err := one.mcp(t, mcpPath); err == nil {
			t.Errorf("%s: connected", name)
		}
	}
	for _, path := range []string{"/w/blue/shop/t/none/mcp", "/w/other/shop/t/main/mcp", "/w/blue/none/t/main/mcp"} {
		if _, err := ann.mcp(t, path); err == nil {
			t.Errorf("%s: connected", path)
		}
	}
	for body, want := range map[string]int{
		`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":"` + strings.Repeat("x", 5<<20) + `"}}`: http.StatusRequestEntityTooLarge,
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, w.http.URL+mcpPath, strings.NewReader(body))
		check(t, err)
		request.Header.Set("Content-Type", "application/json")
		request.Header.Set("Accept", "application/json, text/event-stream")
		response, err := (&http.Client{Transport: withToken(ann.token)}).Do(request)
		check(t, err)
		text, _ := io.ReadAll(response.Body)
		response.Body.Close()
		if response.StatusCode != want {
			t.Errorf("%d: %s", response.StatusCode, bytes.TrimSpace(text))
		}
	}
	for _, path := range []string{"/.well-known/oauth-protected-resource", "/.well-known/oauth-protected-resource" + mcpPath,
		"/.well-known/oauth-authorization-server"} {
		response, err := http.Get(w.http.URL + path)
		check(t, err)
		response.Body.Close()
		if response.StatusCode < 400 {
			t.Errorf("%s: %d", path, response.StatusCode)
		}
	}
}
