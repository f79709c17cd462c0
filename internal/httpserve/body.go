package httpserve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"time"

	"github.com/mark3labs/mcp-go/mcp"
)

// readMessage reads the one message of a POST, or answers why it cannot.
func (s *Server) readMessage(w http.ResponseWriter, r *http.Request) (message, bool) {
	// A page may send text and forms anywhere without asking first; JSON it
	// may not. So anything else could come from a page that was never allowed.
	if !isJSON(r) {
		refuse(w, http.StatusUnsupportedMediaType, "the body must be JSON: send Content-Type: application/json, without Content-Encoding")
		return message{}, false
	}
	body, err := s.readBody(w, r)
	if err != nil {
		s.refuseBody(w, err)
		return message{}, false
	}
	msg, err := parseMessage(body)
	if err != nil {
		writeError(w, http.StatusBadRequest, nil, errorCode(err), err.Error())
		return message{}, false
	}
	return msg, true
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
