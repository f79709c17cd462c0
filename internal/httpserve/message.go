package httpserve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"
)

// maxDepth bounds the nesting of a message. It leaves room above the depth that
// a tool accepts, so that the tool can say what is wrong.
const maxDepth = 128

// message is what the transport has to know of a JSON-RPC message. The rest
// of the body is the protocol's business.
type message struct {
	body        []byte
	id          json.RawMessage // empty when absent or null
	method      string
	isResponse  bool
	metaVersion string // the protocol version the body declares, if any
}

func (m message) isRequest() bool      { return m.method != "" && len(m.id) > 0 }
func (m message) isNotification() bool { return m.method != "" && len(m.id) == 0 }

// parseError is a refusal of a body, with the JSON-RPC code it is answered by.
type parseError struct {
	code int
	text string
}

func (e *parseError) Error() string { return e.text }

func errorCode(err error) int {
	var parse *parseError
	if errors.As(err, &parse) {
		return parse.code
	}
	return mcp.PARSE_ERROR
}

func invalid(text string) error { return &parseError{mcp.INVALID_REQUEST, text} }

// parseMessage reads the envelope. Whatever two readers could understand
// differently is refused, so that what is judged here is what the library
// runs.
func parseMessage(body []byte) (message, error) {
	if err := checkForm(body); err != nil {
		return message{}, err
	}
	var envelope struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Result json.RawMessage `json:"result"`
		Error  json.RawMessage `json:"error"`
	}
	if err := json.Unmarshal(body, &envelope); err != nil {
		return message{}, invalid("the body is no JSON-RPC message: method must be a string")
	}
	msg := message{body: body, id: envelope.ID, method: envelope.Method, metaVersion: declaredVersion(body)}
	if bytes.Equal(msg.id, []byte("null")) {
		msg.id = nil
	}
	if len(msg.id) > 0 && msg.id[0] != '"' && msg.id[0] != '-' && (msg.id[0] < '0' || msg.id[0] > '9') {
		return message{}, invalid("id must be a string or a number")
	}
	msg.isResponse = msg.method == "" && len(msg.id) > 0 && (envelope.Result != nil || envelope.Error != nil)
	if msg.method == "" && !msg.isResponse {
		return message{}, invalid("the body is neither a request nor a notification nor a response: give method, or id with result or error")
	}
	return msg, nil
}

// declaredVersion reads the protocol version out of the body the way the
// library does.
func declaredVersion(body []byte) string {
	var envelope struct {
		Params struct {
			Meta *mcp.Meta `json:"_meta"`
		} `json:"params"`
	}
	if json.Unmarshal(body, &envelope) != nil {
		return ""
	}
	return envelope.Params.Meta.ProtocolVersion()
}

// envelopeKeys are the members a JSON-RPC message may have.
func envelopeKeys() []string {
	return []string{"jsonrpc", "id", "method", "params", "result", "error"}
}

// checkForm walks the body once: one object, valid UTF-8, no name twice in the
// message and its params, not too deep, and no envelope member in other than its own case.
// What stands deeper, such as a tool's arguments, is its reader's to judge: a
// model can correct what a tool refuses, but a client gives up over a bad body.
func checkForm(body []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true))
	if decoder.PeekKind() == '[' {
		return invalid("batches are not accepted; send one message a request")
	}
	if kind := decoder.PeekKind(); kind != '{' {
		return &parseError{mcp.PARSE_ERROR, "the body is not a JSON object"}
	}
	names := map[string]bool{} // of the message and its params, as pointers
	for {
		token, err := decoder.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return &parseError{mcp.PARSE_ERROR, describe(err, decoder.InputOffset())}
		}
		depth := decoder.StackDepth()
		if depth == 0 {
			return checkEnd(decoder)
		}
		if depth > maxDepth {
			return invalid(fmt.Sprintf("the body is nested deeper than %d levels", maxDepth))
		}
		if depth > 2 || !isName(decoder, token) {
			continue
		}
		pointer := string(decoder.StackPointer())
		if names[pointer] {
			return invalid("the name " + strconv.Quote(token.String()) + " stands twice")
		}
		names[pointer] = true
		if depth == 1 && misspelt(token.String()) {
			return invalid("the members of a JSON-RPC message are written in lower case: " + strings.Join(envelopeKeys(), ", "))
		}
	}
}

func checkEnd(decoder *jsontext.Decoder) error {
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return &parseError{mcp.PARSE_ERROR, "there is more after the first JSON value; send one message a request"}
	}
	return nil
}

// isName tells whether the token just read was a member's name: names have the
// odd places of an object.
func isName(decoder *jsontext.Decoder, token jsontext.Token) bool {
	kind, length := decoder.StackIndex(decoder.StackDepth())
	return kind == '{' && token.Kind() == '"' && length%2 == 1
}

func misspelt(name string) bool {
	keys := envelopeKeys()
	return !slices.Contains(keys, name) && slices.ContainsFunc(keys, func(key string) bool {
		return strings.EqualFold(key, name)
	})
}

func describe(err error, offset int64) string {
	if errors.Is(err, jsontext.ErrDuplicateName) {
		return fmt.Sprintf("the body has a member twice in one object, near byte %d", offset)
	}
	return fmt.Sprintf("the body is not valid JSON in UTF-8, near byte %d", offset)
}
