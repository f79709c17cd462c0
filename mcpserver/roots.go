package mcpserver

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// rootsBound ends the wait for a client that declares roots and never answers.
const rootsBound = 2 * time.Second

// roots asks the client for its roots, if it declared any. The stateless
// revision has no such request.
func (s *Server) roots(ctx context.Context) []string {
	session := server.ClientSessionFromContext(ctx)
	known, ok := session.(server.SessionWithClientInfo)
	if !ok || server.IsModernRequest(ctx) || known.GetClientCapabilities().Roots == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsBound)
	defer cancel()
	result, err := s.MCP.RequestRoots(ctx, mcp.ListRootsRequest{})
	if err != nil {
		s.opts.Logger.Warn("the client did not tell its roots", "error", err)
		return nil
	}
	var uris []string
	for _, root := range result.Roots {
		uris = append(uris, root.URI)
	}
	return uris
}
