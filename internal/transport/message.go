// Package transport serves an mcp-go server to MCP clients: over a pair of byte streams (stdio*.go), and over HTTP (http*.go).
// Both read a message only if every JSON reader reads it alike, keep the open calls, and hold a session's data about its client.
//
// The package knows the protocol and nothing of tools, prompts, plans or workspaces: those come with the server it is given.
package transport

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
)

// MaxMessage is the default limit of a message, in bytes.
const MaxMessage = 4 << 20

const (
	maxPlain = 64 << 10  // bytes of a message without arguments and answer
	maxToken = 512       // bytes of an id or a progress token, which are kept and sent back
	maxExact = 1<<53 - 1 // the greatest integer that every JSON reader represents exactly
)

// Kind is the kind of a message.
type Kind int

// The kinds of messages.
const (
	Request Kind = iota
	Notification
	Response
)

// Message is a JSON-RPC message. It has only one reading (see checkSyntax), so the library sees the same one.
type Message struct {
	Kind   Kind
	Raw    json.RawMessage
	ID     json.RawMessage // as sent, to be echoed exactly; nil if missing
	Key    string          // the id, comparable (see Key); "" if missing
	Method string
	Params json.RawMessage
	Result json.RawMessage
	Fault  json.RawMessage // the error of a response; nil if missing

	meta *mcp.Meta
}

// Parse reads a message, or returns an answer with the reason it is invalid.
func Parse(raw []byte) (Message, *mcp.JSONRPCError) {
	f, wrong := checkSyntax(raw)
	if wrong != nil {
		return Message{}, Refusal(requestID(raw), wrong.Code, wrong.Message)
	}
	var e struct {
		JSONRPC string          `json:"jsonrpc"`
		ID      json.RawMessage `json:"id"`
		Method  *string         `json:"method"`
		Params  json.RawMessage `json:"params"`
		Result  json.RawMessage `json:"result"`
		Error   json.RawMessage `json:"error"`
	}
	if json.Unmarshal(raw, &e) != nil {
		return Message{}, Refusal(requestID(raw), mcp.INVALID_REQUEST,
			"invalid request: a message is an object with jsonrpc and method as strings")
	}
	m := Message{Raw: raw, ID: e.ID, Key: Key(e.ID), Params: e.Params, Result: e.Result, Fault: nonNull(e.Error)}
	if m.Key == "" {
		m.ID = nil
	}
	answers := nonNull(e.Result) != nil || m.Fault != nil
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
		return m, Refusal(nil, mcp.INVALID_REQUEST,
			fmt.Sprintf("invalid request: the id must be a string of at most %d bytes or an integer", maxToken))
	}
	m.Method = *e.Method
	if wrong := m.checkParams(f); wrong != nil {
		return m, Refusal(m.ID, wrong.Code, wrong.Message)
	}
	return m, nil
}

// The id of the request that a faulty text was meant to be, nil if it has none. The text is read leniently, but
// responses are ignored, because they are never answered.
func requestID(raw []byte) json.RawMessage {
	var e struct {
		ID     json.RawMessage `json:"id"`
		Method json.RawMessage `json:"method"`
	}
	if json.Unmarshal(raw, &e) != nil || e.Method == nil || !jsontext.Value(e.ID).IsValid() || Key(e.ID) == "" {
		return nil
	}
	return e.ID
}

// checkParams refuses parameters that the library would misread, or keep without a bound.
func (m *Message) checkParams(f syntax) *mcp.JSONRPCErrorDetails {
	var params struct {
		Meta   *mcp.Meta `json:"_meta"`
		Cursor any       `json:"cursor"`
	}
	if json.Unmarshal(m.Params, &params) == nil {
		m.meta = params.Meta
	}
	method := mcp.MCPMethod(m.Method)
	switch {
	case method != mcp.MethodToolsCall && f.ambiguity != "":
		return fault(mcp.INVALID_REQUEST, f.ambiguity)
	case method != mcp.MethodToolsCall && method != mcp.MethodPromptsGet && len(m.Raw) > maxPlain:
		return fault(mcp.INVALID_REQUEST, fmt.Sprintf("the message is longer than the %d bytes that this method may have", maxPlain))
	}
	if cursor, ok := params.Cursor.(string); ok { // base64 has several ways to write the same bytes
		if text, err := base64.StdEncoding.DecodeString(cursor); err == nil && base64.StdEncoding.EncodeToString(text) != cursor {
			return fault(mcp.INVALID_PARAMS, "this server did not issue the cursor")
		}
	}
	if m.meta != nil && !isToken(m.meta.ProgressToken) {
		return fault(mcp.INVALID_PARAMS, fmt.Sprintf("the progressToken must be a string of at most %d bytes or an integer", maxToken))
	}
	return nil
}

func isToken(token any) bool {
	switch t := token.(type) {
	case nil:
		return true
	case string:
		return len(t) <= maxToken
	case float64:
		return t == math.Trunc(t) && math.Abs(t) <= maxExact
	}
	return false
}

// ProtocolVersion returns the revision that the message itself declares, read the way the library does, or "".
func (m Message) ProtocolVersion() string { return m.meta.ProtocolVersion() }

// isModern reports whether the message itself declares the stateless protocol.
func (m Message) isModern() bool { return mcp.IsModernProtocol(m.ProtocolVersion()) }

// Cancels returns the key of the request that a cancellation names, or "".
func (m Message) Cancels() string {
	var params struct {
		RequestID json.RawMessage `json:"requestId"`
	}
	if json.Unmarshal(m.Params, &params) != nil {
		return ""
	}
	return Key(params.RequestID)
}

// Key makes an id comparable: the string "1" and the number 1 differ, two spellings of one string do not. Invalid ids
// have the key "": other types, ids that are too long, and numbers that readers represent differently.
func Key(id json.RawMessage) string {
	if len(id) == 0 || len(id) > maxToken {
		return ""
	}
	if id[0] == '"' {
		var s string
		if json.Unmarshal(id, &s) != nil {
			return ""
		}
		return "s" + s
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	if err != nil || n > maxExact || n < -maxExact || strconv.FormatInt(n, 10) != string(id) {
		return ""
	}
	return "n" + string(id)
}

func nonNull(v json.RawMessage) json.RawMessage {
	if string(v) == "null" {
		return nil
	}
	return v
}

// Refusal returns the error that answers a message; a nil id means that it is unknown.
func Refusal(id json.RawMessage, code int, text string) *mcp.JSONRPCError {
	e := &mcp.JSONRPCError{JSONRPC: mcp.JSONRPC_VERSION, Error: mcp.NewJSONRPCErrorDetails(code, text, nil)}
	if id != nil {
		e.ID = mcp.NewRequestId(id)
	}
	return e
}
