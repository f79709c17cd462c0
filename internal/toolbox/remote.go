package toolbox

import (
	"context"
	"encoding/json"
	"strings"

	strictjson "github.com/go-json-experiment/json"
)

// RemoteTool is a tool of another MCP server, for steps of a plan and for clients over MCP. Its descriptions are untrusted text:
// their length and characters are safe to show, but they are not to be trusted further.
type RemoteTool struct {
	Tool               // its name is server__tool; its hints count as far as the server is trusted
	Server, Own string // the server's name in the configuration, and the tool's name there

	ReadOnlyPhase bool // the tool may be called in a read-only phase

	// Invoke makes a call for a client, with its unchanged arguments. The result and the error are safe to show. A refusal by
	// the server is a result with IsError.
	Invoke func(ctx context.Context, arguments json.RawMessage, client RemoteClient) (RemoteResult, error)
}

// RemoteClient lets another server reach the client during its call. Each function may be nil.
type RemoteClient struct {
	Progress func(done, total float64, message string)

	// Elicit shows the user a form: the server's message and a schema of the answer. The action is accept, decline or cancel.
	Elicit func(ctx context.Context, message string, schema json.RawMessage) (action string, content json.RawMessage, err error)
}

// RemoteResult is another server's answer.
type RemoteResult struct {
	Content    []json.RawMessage // as received: text, image, audio, resource, resource_link, or other types
	Structured json.RawMessage   // nil: none
	IsError    bool
}

// Text joins the parts of the result that are text.
func (r RemoteResult) Text() string {
	var texts []string
	for _, raw := range r.Content {
		var part struct {
			Type string `json:"type"`
			Text string `json:"text"`
		}
		if strictjson.Unmarshal(raw, &part) == nil && part.Type == "text" {
			texts = append(texts, part.Text)
		}
	}
	return strings.Join(texts, "\n")
}
