package mcpserver_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/mcpserver"
	"github.com/planloop/planloop/plan"
)

// TestWorkspaceThatCannotBeOpened reports causes that the user can remove, and hides internal ones.
func TestWorkspaceThatCannotBeOpened(t *testing.T) {
	for _, c := range []struct {
		err        error
		want, hide string
	}{
		{&workspace.ConfigError{Source: "workspace /no/such (from the host's root)", Problem: "does not exist", Want: "create it"},
			"/no/such", "fault"},
		{&workspace.ConfigError{Source: ".planloop.yaml", Line: 3, Problem: "is not a mapping"}, ".planloop.yaml:3", "fault"},
		{fmt.Errorf("do: %w", &teamwire.Error{Problem: "the token has expired", Fix: "get another"}), "expired; get", "doctor"},
		{errors.New("a secret"), "planloop doctor", "secret"},
	} {
		server, err := mcpserver.New(mcpserver.Options{
			Service: func(context.Context, mcpserver.Roots, string) (*verbs.Service, error) { return nil, c.err },
			Actor:   func(string, string) plan.Actor { return plan.Actor{} },
		})
		testenv.Check(t, err)
		t.Cleanup(server.Close)
		result := call(t, world{server: server}.connect(t, handshake, nil), "planning_read_plan", nil)
		if got := text(t, result); !result.IsError || !strings.Contains(got, c.want) || strings.Contains(got, c.hide) {
			t.Errorf("%v is told as: %s", c.err, got)
		}
	}
}
