//lint:file-ignore SA1019 sampling is deprecated and never required; hosts of the handshake revisions still offer it

package mcpserver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/mark3labs/mcp-go/server"

	"github.com/planloop/planloop/internal/llm"
	"github.com/planloop/planloop/internal/seal"
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
	return declared[server.SessionWithSampling](ctx).Sampling != nil
}

// hostModel returns the model of a client of the handshake revisions, which answers
// while the call waits; nil where there is none.
func (s *Server) hostModel(ctx context.Context, row verbs.Row) verbs.Model {
	if !asksModel(row) || server.IsModernRequest(ctx) || !offersSampling(ctx) {
		return nil
	}
	return &hostModel{server: s.MCP, bound: cmp.Or(s.opts.SamplingTimeout, samplingBound)}
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
		return "", fmt.Errorf("%s answered with something that is not a message", hostModelName)
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
func modelName(name string) string { return cmp.Or(readable(name, 80), hostModelName) }

// readable returns a stranger's text as one plain line.
func readable(text string, length int) string {
	clean, err := plan.Text{Max: plan.MaxLongText}.Clean(strings.Join(strings.Fields(plan.Shorten(text, length)), " "))
	if err != nil {
		return ""
	}
	return clean
}

// In the stateless revision a server cannot ask while a call waits: it ends the call
// with what it wants to know, and the client calls again with the answer. So a verb
// that asks a model several times is called anew for each answer. What was answered
// before travels in the request's state; the verb, which changes nothing before its
// last answer, asks the same questions again and is given the same answers.

const (
	sampleKey  = "model"          // of the one question in a request for input
	maxSampled = 9                // answers in one call
	maxRounds  = maxSampled * 2   // calls, should files that prompts tell of change meanwhile
	roundLasts = 10 * time.Minute // until the answer to one question is too late
	maxRound   = 2 << 20          // bytes of the state
)

// round is the state of a call that waits for an answer.
type round struct {
	Tool      string     `json:"tool"`
	Arguments string     `json:"arguments"` // their fingerprint
	Actor     string     `json:"actor"`
	Expires   time.Time  `json:"expires"`
	Count     int        `json:"count"`
	Answers   []answered `json:"answers"`
	Question  string     `json:"question"` // fingerprint of the prompt that waits for an answer
}

// answered is an answer to a question, which is known by its fingerprint.
type answered struct {
	Question string `json:"question"`
	Text     string `json:"text"`
	Model    string `json:"model,omitempty"`
}

// inRounds carries out a call of a client whose model may be asked.
func (s *Server) inRounds(ctx context.Context, row verbs.Row, request mcp.CallToolRequest, service *verbs.Service,
	caller verbs.Caller) *mcp.CallToolResult {
	now := round{Tool: row.Name, Arguments: seal.Fingerprint(request.Params.RawArguments), Actor: caller.Actor.Name}
	if request.Params.RequestState != "" {
		former, err := s.opened(request.Params.RequestState, now, time.Now())
		if err == nil {
			err = former.take(server.SamplingResponse(request.Params.InputResponses, sampleKey))
		}
		if err != nil {
			return mcp.NewToolResultError("Nothing was changed: " + err.Error() + ". Call " + row.Name + " again without it.")
		}
		now = former
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	model := &recalling{answers: now.Answers, cancel: cancel}
	caller.Model = model
	reply, err := row.Call(ctx, service, caller, request.Params.RawArguments)
	if model.question != "" {
		return s.ask(row, now, model)
	}
	return s.result(ctx, row, service, caller, reply, err)
}

// ask ends the call with the next question.
func (s *Server) ask(row verbs.Row, now round, model *recalling) *mcp.CallToolResult {
	now.Answers, now.Count = now.Answers[:model.next], now.Count+1
	if len(now.Answers) >= maxSampled || now.Count > maxRounds {
		return mcp.NewToolResultError("Nothing was changed: " + hostModelName + " was asked too often. Do it yourself, or try again later.")
	}
	now.Question, now.Expires = seal.Fingerprint([]byte(model.question)), time.Now().Add(roundLasts)
	state, err := s.rounds.SealAs(roundPurpose, now)
	if err != nil {
		return mcp.NewToolResultError(s.fault(row.Name, err))
	}
	return server.NewInputRequestBuilder(state).Sample(sampleKey, samplingParams(model.question)).ToolResult()
}

// take adds the answer that the client brings.
func (r *round) take(result *mcp.CreateMessageResult) error {
	if result == nil {
		return errors.New("the call came back without the model's answer")
	}
	text, err := sampledText(result)
	if err != nil {
		return err
	}
	r.Answers = append(r.Answers, answered{Question: r.Question, Text: text, Model: modelName(result.Model)})
	return nil
}

// recalling is a model that gives the answers it got in former rounds, and stops the
// call at the first question that has none.
type recalling struct {
	answers  []answered
	next     int
	question string // what is to be asked
	cancel   context.CancelFunc
}

// Name is what the host calls its model.
func (m *recalling) Name() string {
	if m.next == 0 {
		return hostModelName
	}
	return m.answers[m.next-1].Model
}

// Ask returns the JSON object of the answer to a prompt. An answer to another prompt
// does not count, nor do those after it.
func (m *recalling) Ask(ctx context.Context, prompt string) ([]byte, error) {
	if m.question != "" {
		return nil, context.Canceled
	}
	if m.next < len(m.answers) && m.answers[m.next].Question == seal.Fingerprint([]byte(prompt)) {
		m.next++
		return objectOf(m.answers[m.next-1].Text)
	}
	m.question = prompt
	m.cancel()
	return nil, context.Canceled
}

// roundPurpose is what the state of a call is sealed for.
const roundPurpose = "round"

var errRound = errors.New("the request's state is not one that planloop gave out for this call, or has expired")

// opened returns a state that was sealed here, lately, for this call.
func (s *Server) opened(token string, call round, now time.Time) (round, error) {
	var r round
	if err := s.rounds.UnsealAs(roundPurpose, token, maxRound, &r); err != nil {
		return round{}, errRound
	}
	if r.Tool != call.Tool || r.Arguments != call.Arguments || r.Actor != call.Actor || !now.Before(r.Expires) {
		return round{}, errRound
	}
	return r, nil
}
