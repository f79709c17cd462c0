package mcpserver_test

import (
	"context"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store/memory"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// TestToolsetsThatAreNotChosen neither lists nor runs the tools of a suite that
// was left out (WINK: the suite is optional).
func TestToolsetsThatAreNotChosen(t *testing.T) {
	for name, c := range map[string]struct {
		toolsets []string
		want     int
	}{"all": {nil, 6}, "planning": {[]string{verbs.Planning}, 6}, "others": {[]string{"loop"}, 0}, "none": {[]string{}, 0}} {
		t.Run(name, func(t *testing.T) {
			s := session.New(memory.New(), session.Options{})
			service := verbs.New(s, verbs.Options{})
			server, err := mcpserver.New(mcpserver.Options{Toolsets: c.toolsets,
				Service: func(context.Context, func(context.Context) []string) (*verbs.Service, error) { return service, nil },
				Actor:   func(client, _ string) plan.Actor { return plan.Actor{Kind: plan.Agent, Name: client} },
			})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(server.Close)
			client := world{server, service}.connect(t, handshake, nil)
			list, err := client.ListTools(t.Context(), nil)
			if err != nil {
				t.Fatal(err)
			}
			_, err = client.CallTool(t.Context(), &mcp.CallToolParams{Name: "planning_setup_plan", Arguments: map[string]any{"objective": "o"}})
			if len(list.Tools) != c.want || (err == nil) != (c.want > 0) {
				t.Errorf("%d tools, want %d; a call is answered with %v", len(list.Tools), c.want, err)
			}
		})
	}
}
