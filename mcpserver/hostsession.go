package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/toolbox"
)

// Call is a client's call of a tool as a hook of the host may report it.
type Call struct {
	Tool      string // under its server's name for it
	Use       string // the host's id of the call; "" if it gives none
	Arguments string // Fingerprint
	Session   string // that the call names; "" if it names none
	Actor     string // that calls
}

// sessionInContext is the context key of the session that calls.
type sessionInContext struct{}

// SessionOf returns the session that calls a tool or reads a resource: the host's, else the actor's name; "" if the connection serves
// several and the request does not say which. isCall is false outside these.
func SessionOf(ctx context.Context) (session string, isCall bool) {
	session, isCall = ctx.Value(sessionInContext{}).(string)
	return session, isCall
}

// withSession finds out which session makes a call: the one that the call names, the one that the host's hook has reported for it, or the
// only one of its connection.
func (s *Server) withSession(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		actor, connection := s.actor(ctx)
		session, use := namedSession(request.Params.Meta)
		// A call that brings answers continues an earlier one, and no hook reports the calls of an app.
		if !isAppTool(request.Params.Name) && !isResumed(request) {
			call := Call{Tool: request.Params.Name, Use: use, Arguments: Fingerprint(request.Params.RawArguments), Session: session,
				Actor: actor.Name}
			if tool, others := request.Params.Arguments.(toolbox.RemoteTool); others {
				call.Tool = tool.Name
			}
			session = s.opts.Reported(ctx, s.roots, call)
		}
		session = s.connections.session(connection, actor.Name, session)
		return next(context.WithValue(ctx, sessionInContext{}, session), request)
	}
}

const maxSession = 200 // bytes of a session's name

// namedSession returns the session in a call's metadata, and the host's id of the call. Codex names the session in an object, other hosts
// in a text.
func namedSession(meta *mcp.Meta) (session, use string) {
	if meta == nil {
		return "", ""
	}
	switch turn := meta.AdditionalFields["x-codex-turn-metadata"].(type) {
	case map[string]any:
		session, _ = turn["session_id"].(string)
	case string:
		var named struct {
			Session string `json:"session_id"`
		}
		_ = json.Unmarshal([]byte(turn), &named) // else it names none
		session = named.Session
	}
	for _, key := range []string{"ai.opencode/sessionID", "vscode.conversationId", "openai/session", "antigravity.google/conversation_id"} {
		text, _ := meta.AdditionalFields[key].(string)
		session = cmp.Or(session, text)
	}
	if len(session) > maxSession {
		session = ""
	}
	use, _ = meta.AdditionalFields["claudecode/toolUseId"].(string)
	return session, use
}
