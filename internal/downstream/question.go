package downstream

import (
	"context"
	"encoding/json"
	"time"

	strictjson "github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

const (
	longestQuestion = 30 * time.Minute // a person is waited for
	mostOfQuestion  = 2_000            // characters of a message
	mostOfForm      = 64 << 10         // bytes of a schema
)

// asked answers what the server asks of its client. It never holds up what else comes.
func (c *conn) asked(m message, of *call) {
	c.unasked(len(m.Params))
	select {
	case c.asking <- struct{}{}:
	default:
		return // it asks too much at once, and gets no answer
	}
	go func() {
		defer func() { <-c.asking }()
		reply := message{ID: m.ID}
		switch m.Method {
		case "ping":
			reply.Result = json.RawMessage("{}")
		case "elicitation/create":
			reply.Result, reply.Error = c.question(m.Params, of)
		default:
			reply.Error = &fault{Code: methodNotFound, Message: "planloop does not offer " + c.excerpt(m.Method)}
		}
		c.wire.post(encode(reply))
	}()
}

// question puts a question of the server before a person, if it is known who has asked for
// what it is about: the call that it came with, or the only one there is.
func (c *conn) question(params json.RawMessage, of *call) (json.RawMessage, *fault) {
	if of == nil {
		of = c.only()
	}
	if of == nil {
		return encodedAnswer("cancel", nil), nil
	}
	var asks struct {
		Mode    string          `json:"mode"`
		Message string          `json:"message"`
		Schema  json.RawMessage `json:"requestedSchema"`
	}
	if err := strictjson.Unmarshal(params, &asks); err != nil || asks.Mode != "" && asks.Mode != "form" || len(asks.Schema) > mostOfForm {
		return nil, &fault{Code: invalidParams, Message: "planloop shows forms of up to 64 KiB, and nothing else"}
	}
	if of.handlers.Elicit == nil {
		return encodedAnswer("decline", nil), nil
	}
	schema, err := shownSchema(asks.Schema)
	if err != nil {
		return nil, &fault{Code: invalidParams, Message: err.Error()}
	}
	of.asking.Add(1)
	begun := time.Now()
	defer func() {
		of.waited.Add(int64(time.Since(begun)))
		of.alive()
		of.asking.Add(-1)
	}()
	ctx, cancel := context.WithTimeout(of.ctx, longestQuestion)
	defer cancel()
	action, content, err := of.handlers.Elicit(ctx, c.server, safetext.Replace(plan.Shorten(asks.Message, mostOfQuestion)), schema)
	switch {
	case err != nil, action != "accept" && action != "decline":
		return encodedAnswer("cancel", nil), nil
	case action == "decline":
		content = nil
	}
	return encodedAnswer(action, content), nil
}

func encodedAnswer(action string, content json.RawMessage) json.RawMessage {
	text, err := strictjson.Marshal(struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content,omitzero"`
	}{action, content})
	if err != nil {
		return json.RawMessage(`{"action":"cancel"}`)
	}
	return text
}

// only returns the call of a tool that is waiting, if there is no other.
func (c *conn) only() (found *call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, one := range c.calls {
		if one.method != "tools/call" {
			continue
		}
		if found != nil {
			return nil
		}
		found = one
	}
	return found
}
