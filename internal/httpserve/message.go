package httpserve

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/transport"
)

// maxDepth bounds the nesting of a message. It leaves room above the depth that
// a tool accepts, so that the tool can say what is wrong.
const maxDepth = 128

// readMessage reads the one message of a POST, or answers why it cannot.
func (s *Server) readMessage(w http.ResponseWriter, r *http.Request) (transport.Message, bool) {
	// A page may send text and forms anywhere without asking first; JSON it
	// may not. So anything else could come from a page that was never allowed.
	if !isJSON(r) {
		refuse(w, http.StatusUnsupportedMediaType, "the body must be JSON: send Content-Type: application/json, without Content-Encoding")
		return transport.Message{}, false
	}
	body, err := s.readBody(w, r)
	if err != nil {
		s.refuseBody(w, err)
		return transport.Message{}, false
	}
	msg, refused := parse(body)
	if refused != nil {
		answerError(w, http.StatusBadRequest, refused)
		return transport.Message{}, false
	}
	return msg, true
}

// parse reads a message. Whatever two readers could understand differently is
// refused, so that what is judged here is what the library runs.
func parse(body []byte) (transport.Message, *mcp.JSONRPCError) {
	if refused := checkForm(body); refused != nil {
		return transport.Message{}, refused
	}
	msg, refused := transport.Parse(body)
	if refused == nil && msg.Kind == transport.Response && msg.Key == "" {
		refused = invalid("a response has the id of a request")
	}
	return msg, refused
}

func isJSON(r *http.Request) bool {
	types := r.Header.Values("Content-Type")
	if len(types) != 1 || r.Header.Get("Content-Encoding") != "" {
		return false
	}
	mediaType, _, err := mime.ParseMediaType(types[0])
	return err == nil && mediaType == "application/json"
}

// readBody bounds the body in size and in time. The time limit is for the
// body alone: the answer may be a long stream.
func (s *Server) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	control := http.NewResponseController(w)
	if control.SetReadDeadline(time.Now().Add(s.opts.BodyTimeout)) == nil {
		defer func() { _ = control.SetReadDeadline(time.Time{}) }()
	}
	return io.ReadAll(http.MaxBytesReader(w, r.Body, s.opts.MaxBody))
}

func (s *Server) refuseBody(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.As(err, &tooLarge):
		refuse(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("the body is larger than %d bytes; send less at a time", tooLarge.Limit))
	case errors.Is(err, os.ErrDeadlineExceeded):
		w.Header().Set("Connection", "close")
		refuse(w, http.StatusRequestTimeout, fmt.Sprintf("the body did not arrive within %s; send it at once", s.opts.BodyTimeout))
	default:
		w.Header().Set("Connection", "close")
		writeError(w, http.StatusBadRequest, nil, mcp.PARSE_ERROR, "the body could not be read to its end; send it again")
	}
}

// withBody gives the request the body that was read from it.
func withBody(r *http.Request, body []byte) *http.Request {
	again := r.WithContext(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	again.ContentLength = int64(len(body))
	return again
}

// envelopeKeys are the members a JSON-RPC message may have.
func envelopeKeys() []string {
	return []string{"jsonrpc", "id", "method", "params", "result", "error"}
}

// checkForm walks the body once: one object, valid UTF-8, no name twice in the
// message and its params, not too deep, and no envelope member in other than its own case.
// What stands deeper, such as a tool's arguments, is its reader's to judge: a
// model can correct what a tool refuses, but a client gives up over a bad body.
func checkForm(body []byte) *mcp.JSONRPCError {
	decoder := jsontext.NewDecoder(bytes.NewReader(body), jsontext.AllowDuplicateNames(true))
	if decoder.PeekKind() == '[' {
		return invalid("batches are not accepted; send one message per request")
	}
	if decoder.PeekKind() != '{' {
		return transport.Refusal(nil, mcp.PARSE_ERROR, "the body is not a JSON object")
	}
	names := map[string]bool{} // of the message and its params, as pointers
	for {
		token, err := decoder.ReadToken()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return transport.Refusal(nil, mcp.PARSE_ERROR,
				fmt.Sprintf("the body is not valid JSON in UTF-8, near byte %d", decoder.InputOffset()))
		}
		depth := decoder.StackDepth()
		if depth == 0 {
			if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
				return transport.Refusal(nil, mcp.PARSE_ERROR, "there is more after the first JSON value; send one message per request")
			}
			return nil
		}
		if depth > maxDepth {
			return invalid(fmt.Sprintf("the body is nested deeper than %d levels", maxDepth))
		}
		if depth > 2 || !isName(decoder, token) {
			continue
		}
		pointer := string(decoder.StackPointer())
		if names[pointer] {
			return invalid("the name " + strconv.Quote(token.String()) + " appears twice")
		}
		names[pointer] = true
		if depth == 1 && misspelt(token.String()) {
			return invalid("the members of a JSON-RPC message are written in lower case: " + strings.Join(envelopeKeys(), ", "))
		}
	}
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

func invalid(text string) *mcp.JSONRPCError { return transport.Refusal(nil, mcp.INVALID_REQUEST, text) }

// refuse answers a request that does not reach the protocol. The text says
// what was wrong and what is accepted, and never repeats what was sent.
func refuse(w http.ResponseWriter, status int, text string) {
	writeError(w, status, nil, mcp.INVALID_REQUEST, text)
}

// writeError answers with a JSON-RPC error, which MCP clients show in full. An
// id that is not known is null.
func writeError(w http.ResponseWriter, status int, id json.RawMessage, code int, text string) {
	answerError(w, status, transport.Refusal(id, code, text))
}

func answerError(w http.ResponseWriter, status int, e *mcp.JSONRPCError) {
	h := w.Header()
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	// A client that has gone needs no answer.
	_, _ = w.Write(encodeError(e))
}

func encodeError(e *mcp.JSONRPCError) []byte {
	encoded, _ := json.Marshal(e) // of strings, numbers and an id that was read: which it always can
	return encoded
}
