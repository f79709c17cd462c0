package e2e_test

import (
	"encoding/json"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestAppDecidesNothingOverHTTP: an agent's shell can reach the server too, and claim to show apps.
func TestAppDecidesNothingOverHTTP(t *testing.T) {
	t.Parallel()
	can := &mcp.ClientCapabilities{}
	can.AddExtension("io.modelcontextprotocol/ui", map[string]any{"mimeTypes": []string{"text/html;profile=mcp-app"}})
	for _, version := range []string{handshake, stateless} {
		p := newPlace(t)
		p.withModule()
		c := connect(t, p.transport("http"), version, &mcp.ClientOptions{Capabilities: can})
		result, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "planning_submit_plan",
			Arguments: submission("Add the Redis client")})
		if err != nil || result.IsError {
			t.Fatal(err, result)
		}
		var app struct {
			Nonce string
			View  struct {
				Can   struct{ Decide bool }
				Draft *struct {
					Request string
					Plan    struct{ Digest string }
				}
			}
		}
		data, _ := json.Marshal(result.Meta["planloop/review"])
		if err := json.Unmarshal(data, &app); err != nil || app.View.Draft == nil || app.Nonce != "" || app.View.Can.Decide {
			t.Fatalf("%s: %v, %s", version, err, data)
		}
		if _, err := c.tool("review_act", map[string]any{"nonce": app.Nonce, "act": "approve", "input": map[string]any{
			"request": app.View.Draft.Request, "digest": app.View.Draft.Plan.Digest}}); err == nil {
			t.Errorf("%s: review_act is answered", version)
		}
	}
}
