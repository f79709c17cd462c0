package mcpserver

import (
	"context"
	"sync"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// progressInterval is the least time between two progress notifications, and answerDelay the least time between the last
// one and the answer. A notification in the same write as the answer is lost: the library drops it, or the client
// no longer listens.
const (
	progressInterval = 200 * time.Millisecond
	answerDelay      = 50 * time.Millisecond
)

// progress notifies the client how far a long call has come, if it asked. Nothing may depend on a
// notification: it can still be lost.
type progress struct {
	token any
	send  func(params map[string]any)
	mu    sync.Mutex // guards last
	last  time.Time
}

func (s *Server) progress(ctx context.Context, request mcp.CallToolRequest) *progress {
	p := &progress{send: func(params map[string]any) {
		if err := server.ServerFromContext(ctx).SendNotificationToClient(ctx, "notifications/progress", params); err != nil {
			s.opts.Logger.Debug("progress not sent", "error", err)
		}
	}}
	if request.Params.Meta != nil {
		p.token = request.Params.Meta.ProgressToken
	}
	return p
}

func (p *progress) report(done, all int, what string) { p.tellAs(float64(done), float64(all), what) }

func (p *progress) tellAs(done, all float64, what string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.token == nil || time.Since(p.last) < progressInterval {
		return
	}
	p.last = time.Now()
	params := map[string]any{"progressToken": p.token, "progress": done, "message": what}
	if all > 0 {
		params["total"] = all
	}
	p.send(params)
}

// settle keeps the answer at least ahead after the last notification.
func (p *progress) settle(ctx context.Context) {
	p.mu.Lock()
	left := answerDelay - time.Since(p.last)
	p.mu.Unlock()
	if left > 0 {
		select {
		case <-time.After(left):
		case <-ctx.Done():
		}
	}
}
