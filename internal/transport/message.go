// Package transport is what the two transports of MCP share: the reading of a
// JSON-RPC message and its limit, the refusal of one, and what a session knows of
// its client. It knows neither streams of bytes nor HTTP.
package transport

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

// MaxMessage is the longest message that is accepted, in bytes, where nobody says
// otherwise.
const MaxMessage = 4 << 20

// Kind is what a message is.
type Kind int

// The kinds of messages.
const (
	Request Kind = iota
	Notification
	Response
)

// Message is a JSON-RPC message. It is decoded by the same rules as the library's
// own (encoding/json), so that both always see the same one.
type Message struct {
	Kind   Kind
	Raw    json.RawMessage
	ID     json.RawMessage // as sent, to be echoed exactly; nil when there is none
	Key    string          // the id, comparable (see Key); "" when there is none
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Fault  json.RawMessage // the error of a response, nil when there is none
}

// Parse reads a message, or says in an answer why it is none.
func Parse(raw []byte) (Message, *mcp.JSONRPCError) {
	if !utf8.Valid(raw) {
		return Message{}, Refusal(nil, mcp.PARSE_ERROR, "parse error: the message is not valid UTF-8")
	}
	if len(raw) > 0 && raw[0] == '[' && json.Valid(raw) {
		return Message{}, Refusal(nil, mcp.INVALID_REQUEST, "batches are not supported: send each message by itself")
	}
	var e struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(raw, &e); err != nil {
		if syntax := (*json.SyntaxError)(nil); errors.As(err, &syntax) {
			return Message{}, Refusal(nil, mcp.PARSE_ERROR, "parse error: the message is not valid JSON: send one JSON object")
		}
		return Message{}, Refusal(nil, mcp.INVALID_REQUEST, "invalid request: a message is an object whose jsonrpc and method are strings")
	}
	m := Message{Raw: raw, ID: e.ID, Key: Key(e.ID), Params: e.Params, Result: e.Result, Fault: Given(e.Error)}
	if m.Key == "" {
		m.ID = nil
	}
	answers := Given(e.Result) != nil || m.Fault != nil
	switch {
	case e.JSONRPC != mcp.JSONRPC_VERSION:
		return m, Refusal(m.ID, mcp.INVALID_REQUEST, `invalid request: jsonrpc must be "2.0"`)
	case e.Method != nil && answers:
		return m, Refusal(m.ID, mcp.INVALID_REQUEST, "invalid request: a message has either a method or a result or an error")
	case e.Method == nil && e.Result == nil && m.Fault == nil:
		return m, Refusal(m.ID, mcp.INVALID_REQUEST, "invalid request: the method is missing")
	case e.Method == nil:
		m.Kind = Response
		return m, nil
	case e.ID == nil:
		m.Kind = Notification
	case m.Key == "":
		return m, Refusal(nil, mcp.INVALID_REQUEST, "invalid request: the id must be a string or a number")
	}
	m.Method = *e.Method
	return m, nil
}

// ProtocolVersion is the revision that the message itself declares, read the way
// the library does; "" when it declares none.
func (m Message) ProtocolVersion() string {
	var params struct {
		Meta *mcp.Meta `json:"_meta"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return ""
	}
	return params.Meta.ProtocolVersion()
}

// Cancels is the key of the request that a cancellation names, "" when it names none.
func (m Message) Cancels() string {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return ""
	}
	return Key(params.RequestID)
}

// Key makes an id comparable: the string "1" and the number 1 differ, two
// spellings of one string do not. Anything else is no id, and has the key "".
func Key(id json.RawMessage) string {
	if len(id) == 0 {
		return ""
	}
	switch c := id[0]; {
	case c == '"':
		var s string
		if json.Unmarshal(id, &s) != nil {
			return ""
		}
		return "s" + s
	case c == '-' || '0' <= c && c <= '9':
		return "n" + string(id)
	default:
		return ""
	}
}

// Given returns a value, nil for a null.
func Given(v json.RawMessage) json.RawMessage {
	if string(v) == "null" {
		return nil
	}
	return v
}

// Refusal is the error that answers a message; an id of nil stands for one that
// is not known.
func Refusal(id json.RawMessage, code int, text string) *mcp.JSONRPCError {
	e := &mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, Error: mcp.NewJSONRPCErrorDetails(code, text, nil)}
	if id != nil {
		e.ID = mcp.NewRequestId(id)
	}
	return e
}
