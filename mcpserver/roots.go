//lint:file-ignore SA1019 roots are deprecated and never required; where a host tells nothing else they are all there is

package mcpserver

import (
	"context"
	"errors"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"
)

// Roots asks the client at hand for its roots, as file URIs; none, if it has none to tell. An
// error says that they can be told by a call alone, and that nothing is to be opened before.
type Roots func(ctx context.Context) ([]string, error)

// errRootsFirst ends what needs the workspace before a stateless client has told its roots.
var errRootsFirst = errors.New("the client has not told its roots yet")

// What of a client's roots is looked at.
const (
	maxRoots = 100
	maxRoot  = 4 << 10 // bytes of one
)

const (
	rootsBound = 2 * time.Second // ends the wait for a client that declares roots and never answers
	rootsAsks  = 3               // of a stateless client; one that never answers goes on without
	rootsKey   = "roots"         // of the one question
)

// toldRoots is the key of what a stateless client has told with its call.
type toldRoots struct{}

// roots asks a client that has declared roots: one of the handshake revisions by a request, the
// stateless one by the answer to its call.
func (s *Server) roots(ctx context.Context) ([]string, error) {
	if declared[server.SessionWithRoots](ctx).Roots == nil {
		return nil, nil
	}
	if server.IsModernRequest(ctx) {
		told, ok := ctx.Value(toldRoots{}).(*mcp.ListRootsResult)
		if !ok && s.rootsAsked.Load() < rootsAsks {
			return nil, errRootsFirst
		}
		return rootURIs(told), nil
	}
	ctx, cancel := context.WithTimeout(ctx, rootsBound)
	defer cancel()
	result, err := s.MCP.RequestRoots(ctx, mcp.ListRootsRequest{})
	if err != nil {
		s.opts.Logger.Warn("the client did not list its roots", "error", err)
	}
	return rootURIs(result), nil
}

func rootURIs(told *mcp.ListRootsResult) (uris []string) {
	if told == nil {
		return nil
	}
	for _, root := range told.Roots[:min(len(told.Roots), maxRoots)] {
		if len(root.URI) <= maxRoot {
			uris = append(uris, root.URI)
		}
	}
	return uris
}

// withRoots has the workspace opened before a tool is called, and answers with the question for
// the client's roots where that takes them.
func (s *Server) withRoots(next server.ToolHandlerFunc) server.ToolHandlerFunc {
	return func(ctx context.Context, request mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if !server.IsModernRequest(ctx) {
			return next(ctx, request)
		}
		if _, answered := server.InputResponse(request.Params.InputResponses, rootsKey); answered {
			if told := server.RootsResponse(request.Params.InputResponses, rootsKey); told != nil {
				ctx = context.WithValue(ctx, toldRoots{}, told)
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
