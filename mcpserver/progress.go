package mcpserver

import (
	"context"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// between is the least time between two notifications of progress.
const between = 200 * time.Millisecond

// progress returns what tells the client how far a long call has come, nil when it
// did not ask. Nothing is told by it alone: a notification may be lost.
func (s *Server) progress(ctx context.Context, request mcp.CallToolRequest) func(done, all int, what string) {
	if request.Params.Meta == nil || request.Params.Meta.ProgressToken == nil {
		return nil
	}
	token, last := request.Params.Meta.ProgressToken, time.Time{}
	return func(done, all int, what string) {
		if now := time.Now(); now.Sub(last) >= between {
			last = now
			params := map[string]any{"progressToken": token, "progress": done, "message": what}
			if all > 0 {
				params["total"] = all
			}
			if err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", params); err != nil {
				s.opts.Logger.Debug("progress not told", "error", err)
			}
		}
	}
}
