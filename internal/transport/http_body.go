package transport

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"github.com/mark3labs/mcp-go/mcp"
	"github.com/planloop/planloop/internal/origin"
)

// readMessage reads the single message of a POST, or answers with the reason it cannot.
func (s *HTTPServer) readMessage(w http.ResponseWriter, r *http.Request) (Message, bool) {
	body, err := origin.ReadJSON(w, r, s.opts.MaxBody, s.opts.BodyTimeout)
	if err != nil {
		s.refuseBody(w, err)
		return Message{}, false
	}
	msg, refused := Parse(body)
	if refused == nil && msg.Kind == Response && msg.Key == "" {
		refused = Refusal(nil, mcp.INVALID_REQUEST, "invalid request: a response has the id of a request")
	}
	if refused != nil {
		answerError(w, http.StatusBadRequest, refused)
		return Message{}, false
	}
	return msg, true
}

func (s *HTTPServer) refuseBody(w http.ResponseWriter, err error) {
	var tooLarge *http.MaxBytesError
	switch {
	case errors.Is(err, origin.ErrNotJSON):
		refuse(w, http.StatusUnsupportedMediaType,
			"the body must be JSON in UTF-8: send Content-Type: application/json, without Content-Encoding")
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

// withBody returns the request with the body that was read from it.
func withBody(r *http.Request, body []byte) *http.Request {
	again := r.WithContext(r.Context())
	again.Body = io.NopCloser(bytes.NewReader(body))
	again.ContentLength = int64(len(body))
	return again
}

// refuse answers a request that does not reach the protocol. The text names the fault and the accepted form, and never
// repeats the input.
func refuse(w http.ResponseWriter, status int, text string) {
	writeError(w, status, nil, mcp.INVALID_REQUEST, text)
}

// writeError answers with a JSON-RPC error, which MCP clients show in full. An unknown id is null.
func writeError(w http.ResponseWriter, status int, id json.RawMessage, code int, text string) {
	answerError(w, status, Refusal(id, code, text))
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
	encoded, _ := json.Marshal(e) // strings, numbers and an id that was read: cannot fail
	return Clean(encoded)
}
