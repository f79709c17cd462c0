package mcpserver_test

import (
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// TestAConnectionIsOneActor sends the client's name in one stateless request and omits it in the next: the actor
// that started a step can finish it.
func TestAConnectionIsOneActor(t *testing.T) {
	w := newWorld(t)
	c := w.wire(t)
	nameless := strings.Replace(meta, `"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"},`, "", 1)
	c.send(`{"jsonrpc":"2.0","id":"plan","method":"tools/call","params":{%s,"name":"planning_setup_plan",`+
		`"arguments":{"objective":"One actor","initial_steps":[{"title":"One"}]}}}`, meta)
	c.send(`{"jsonrpc":"2.0","id":"mark","method":"tools/call","params":{%s,"name":"planning_mark_step",`+
		`"arguments":{"step_id":"S001","status":"in_progress"}}}`, nameless)
	c.until(`"id":"mark"`)
	state, err := w.service.State(t.Context())
	testenv.Check(t, err)
	step, _ := state.Plan.Steps.Get(1)
	if state.Plan.CreatedBy != "raw" || step.ClaimedBy != "raw" {
		t.Errorf("set up by %q, claimed by %q; want raw for both", state.Plan.CreatedBy, step.ClaimedBy)
	}
}
