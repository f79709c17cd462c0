package stdio

import (
	"encoding/json"
	"errors"
	"unicode/utf8"

	"github.com/mark3labs/mcp-go/mcp"
)

type kind int

const (
	request kind = iota
	notification
	response
)

// message is a frame that is a JSON-RPC message. It is decoded by the same rules
// as the library's own (encoding/json), so that both always see the same one.
type message struct {
	kind   kind
	raw    json.RawMessage
	id     json.RawMessage // as sent, to be echoed exactly
	key    string          // the id, comparable; empty when there is none
	method string
	params json.RawMessage
	result json.RawMessage
	fault  json.RawMessage
}

// parse decodes a frame, or says in an answer why it is not a message.
func parse(raw []byte) (message, *mcp.JSONRPCError) {
	if !utf8.Valid(raw) {
		return message{}, refusal(nil, mcp.PARSE_ERROR, "parse error: the message is not valid UTF-8")
	}
	if raw[0] == '[' && json.Valid(raw) {
		return message{}, refusal(nil, mcp.INVALID_REQUEST, "batches are not supported: send each message on a line of its own")
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
			return message{}, refusal(nil, mcp.PARSE_ERROR, "parse error: the message is not valid JSON: send one JSON object a line")
		}
		return message{}, refusal(nil, mcp.INVALID_REQUEST, "invalid request: a message is an object whose jsonrpc and method are strings")
	}
	m := message{raw: raw, id: e.ID, key: idKey(e.ID), params: e.Params, result: e.Result, fault: present(e.Error)}
	if m.key == "" {
		m.id = nil
	}
	answers := present(e.Result) != nil || m.fault != nil
	switch {
	case e.JSONRPC != mcp.JSONRPC_VERSION:
		return m, refusal(m.id, mcp.INVALID_REQUEST, `invalid request: jsonrpc must be "2.0"`)
	case e.Method != nil && answers:
		return m, refusal(m.id, mcp.INVALID_REQUEST, "invalid request: a message has either a method or a result or an error")
	case e.Method == nil && e.Result == nil && m.fault == nil:
		return m, refusal(m.id, mcp.INVALID_REQUEST, "invalid request: the method is missing")
	case e.Method == nil:
		m.kind = response
		return m, nil
	case e.ID == nil:
		m.kind = notification
	case m.key == "":
		return m, refusal(nil, mcp.INVALID_REQUEST, "invalid request: the id must be a string or a number")
	}
	m.method = *e.Method
	return m, nil
}

// modern reports whether the request declares the stateless protocol.
func (m message) modern() bool {
	var params struct {
		Meta *mcp.Meta `json:"_meta"`
	}
	if json.Unmarshal(m.params, &params) != nil {
		return false
	}
	return mcp.IsModernProtocol(params.Meta.ProtocolVersion())
}

// idKey makes an id comparable: the string "1" and the number 1 differ, two
// spellings of one string do not. Anything else is no id.
func idKey(id json.RawMessage) string {
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

func present(v json.RawMessage) json.RawMessage {
	if string(v) == "null" {
		return nil
	}
	return v
}

func refusal(id json.RawMessage, code int, text string) *mcp.JSONRPCError {
	e := &mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, Error: mcp.NewJSONRPCErrorDetails(code, text, nil)}
	if id != nil {
		e.ID = mcp.NewRequestId(id)
	}
	return e
}
