//lint:file-ignore SA1019 roots are deprecated and never required; where a host tells nothing else they are all there is

package mcpserver

import (
	"context"
	"errors"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Roots asks the current client for its roots, as file URIs; empty if the client has none. An error means
// that the roots will come only with a tool call, and that nothing may be opened before.
type Roots func(ctx context.Context) ([]string, error)

// errRootsFirst ends a request that needs the workspace before a stateless client has sent its roots.
var errRootsFirst = errors.New("the client has not sent its roots yet")

// Limits on a client's roots.
const (
	maxRoots = 100
	maxRoot  = 4 << 10 // bytes per URI
)

const (
	rootsTimeout = 2 * time.Second // limits the wait for a client that declares roots and never answers
	maxRootsAsks = 3               // times to ask a stateless client; after that, continue without roots
	rootsKey     = "roots"         // key of the only question
)

// rootsKeyInContext is the context key of the roots that a stateless client sent with its call.
type rootsKeyInContext struct{}

// roots asks a client that declared roots: with a request in the handshake revisions, else with the answer to
// its call.
func (s *Server) roots(ctx context.Context) ([]string, error) {
	if capabilities[server.SessionWithRoots](ctx).Roots == nil {
		return nil, nil
	}
	if server.IsModernRequest(ctx) {
		result, ok := ctx.Value(rootsKeyInContext{}).(*mcp.ListRootsResult)
		if !ok && s.rootsAsked.Load() < maxRootsAsks {
			return nil, errRootsFirst
		}
		return rootURIs(result), nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsTimeout)
	defer cancel()
	result, err := s.MCP.RequestRoots(ctx, mcp.ListRootsRequest{})
	if err != nil {
		s.opts.Logger.Warn("the client did not list its roots", "error", err)
	}
	return rootURIs(result), nil
}

func rootURIs(result *mcp.ListRootsResult) (uris []string) {
	if result == nil {
		return nil
	}
	for _, root := range result.Roots[:min(len(result.Roots), maxRoots)] {
		if len(root.URI) <= maxRoot {
			uris = append(uris, root.URI)
		}
	}
	return uris
}

// withRoots opens the workspace before a tool is called. If that needs the client's roots, it answers with a
// request for them.
func (s *Server) withRoots(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if !server.IsModernRequest(ctx) {
			return next(ctx, request)
		}
		if _, answered := server.InputResponse(request.Params.InputResponses, rootsKey); answered {
			if result := server.RootsResponse(request.Params.InputResponses, rootsKey); result != nil {
				ctx = context.WithValue(ctx, rootsKeyInContext{}, result)
			}
			delete(request.Params.InputResponses, rootsKey)
		}
		if _, err := s.service(ctx); errors.Is(err, errRootsFirst) {
			s.rootsAsked.Add(1)
			return server.NewInputRequestBuilder("").Roots(rootsKey).ToolResult(), nil
		}
		return next(ctx, request)
	}
}
