//lint:file-ignore SA1019 sampling is deprecated and never required; hosts of the handshake revisions still offer it

package mcpserver

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/llm"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

const (
	hostModelName = "the host's model" // until it has told its name
	samplingBound = 2 * time.Minute    // for one answer
	sampledTokens = 8_000              // asked for at most
	sampledBytes  = 128 << 10          // taken at most
)

// asksModel reports whether a tool may ask a model.
func asksModel(row verbs.Row) bool {
	return row.Name == "planloop_start" || row.Name == "planloop_suggest"
}

// offersSampling reports whether the client declared that it lets servers use its
// model. One that has not may never answer.
func offersSampling(ctx context.Context) bool {
	if info := server.RequestProtocolInfoFromContext(ctx); info != nil && info.Modern {
		return info.ClientCapabilities != nil && info.ClientCapabilities.Sampling != nil
	}
	session := server.ClientSessionFromContext(ctx)
	known, ok := session.(server.SessionWithClientInfo)
	_, can := session.(server.SessionWithSampling)
	return ok && can && known.GetClientCapabilities().Sampling != nil
}

// hostModel returns the model of a client of the handshake revisions, which answers
// while the call waits; nil where there is none.
func (s *Server) hostModel(ctx context.Context, row verbs.Row) verbs.Model {
	if !asksModel(row) || server.IsModernRequest(ctx) || !offersSampling(ctx) {
		return nil
	}
	bound := s.opts.SamplingTimeout
	if bound == 0 {
		bound = samplingBound
	}
	return &hostModel{server: s.MCP, bound: bound}
}

// hostModel asks the host's model by a request of our own.
type hostModel struct {
	server *server.MCPServer
	bound  time.Duration
	told   atomic.Pointer[string]
}

// Name is what the host calls its model.
func (m *hostModel) Name() string {
	if name := m.told.Load(); name != nil {
		return *name
	}
	return hostModelName
}

// Ask returns the one JSON object of the model's answer.
func (m *hostModel) Ask(ctx context.Context, prompt string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, m.bound)
	defer cancel()
	result, err := m.server.RequestSampling(ctx, mcp.CreateMessageRequest{
		Request:             mcp.Request{Method: string(mcp.MethodSamplingCreateMessage)},
		CreateMessageParams: samplingParams(prompt),
	})
	switch {
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return nil, fmt.Errorf("%s has not answered in %v", hostModelName, m.bound)
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%s did not answer: %s", hostModelName, readable(err.Error(), 200))
	}
	name := modelName(result.Model)
	m.told.Store(&name)
	text, err := sampledText(result)
	if err != nil {
		return nil, err
	}
	return objectOf(text)
}

func samplingParams(prompt string) mcp.CreateMessageParams {
	return mcp.CreateMessageParams{MaxTokens: sampledTokens, Messages: []mcp.SamplingMessage{
		{Role: mcp.RoleUser, Content: mcp.NewTextContent(prompt)},
	}}
}

// sampledText returns what the model said, in one block or several.
func sampledText(result *mcp.CreateMessageResult) (string, error) {
	content, err := mcp.ParseSamplingContent(result.Content)
	if err != nil {
		return "", fmt.Errorf("%s answered with something that is no message", hostModelName)
	}
	blocks, _ := content.([]mcp.Content)
	if block, one := content.(mcp.Content); one {
		blocks = []mcp.Content{block}
	}
	var b strings.Builder
	for _, block := range blocks {
		if text, ok := block.(mcp.TextContent); ok {
			b.WriteString(text.Text)
		}
	}
	if b.Len() > sampledBytes {
		return "", fmt.Errorf("%s answered with more than %d KiB", hostModelName, sampledBytes>>10)
	}
	return b.String(), nil
}

// objectOf returns the JSON object of an answer, or says that it holds none.
func objectOf(text string) ([]byte, error) {
	object, err := llm.ExtractJSON(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", hostModelName, err)
	}
	return object, nil
}

// modelName returns a client's name for its model, fit to be kept.
func modelName(name string) string {
	if name = readable(name, 80); name == "" {
		return hostModelName
	}
	return name
}

// readable returns a stranger's text as one plain line.
func readable(text string, length int) string {
	clean, err := plan.Text{Max: plan.MaxLongText}.Clean(strings.Join(strings.Fields(plan.Shorten(text, length)), " "))
	if err != nil {
		return ""
	}
	return clean
}
