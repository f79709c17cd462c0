package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// sessionInContext is the context key of the host's session that a call names.
type sessionInContext struct{}

// sessionOf returns the session of the host that the call names, "" if it names none.
func sessionOf(ctx context.Context) string {
	session, _ := ctx.Value(sessionInContext{}).(string)
	return session
}

// withSession keeps the session that the host names in a call.
func withSession(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if session := namedSession(request.Params.Meta); session != "" {
			ctx = context.WithValue(ctx, sessionInContext{}, session)
		}
		return next(ctx, request)
	}
}

const maxSession = 200 // bytes of a session's name

// namedSession returns the session in a call's metadata: of Codex in an object, of other hosts as a text.
func namedSession(meta *mcp.Meta) string {
	if meta == nil {
		return ""
	}
	found := ""
	switch turn := meta.AdditionalFields["x-codex-turn-metadata"].(type) {
	case map[string]any:
		found, _ = turn["session_id"].(string)
	case string:
		var named struct {
			Session string `json:"session_id"`
		}
		_ = json.Unmarshal([]byte(turn), &named) // else it names none
		found = named.Session
	}
	for _, key := range []string{"ai.opencode/sessionID", "vscode.conversationId", "openai/session", "antigravity.google/conversation_id"} {
		if text, ok := meta.AdditionalFields[key].(string); ok && found == "" {
			found = text
		}
	}
	if len(found) > maxSession {
		return ""
	}
	return found
}
