package downstream

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/planloop/planloop/internal/outbound"
)

const deleteTimeout = 2 * time.Second // for telling a server that its session ends

// httpTransport carries the SDK's requests to a server over streamable HTTP: only to the configured address, with the configured
// headers. It limits the answers.
type httpTransport struct {
	*conn
	stream   *outbound.Client
	header   http.Header
	listened atomic.Bool
}

// RoundTrip makes a request of the SDK's.
func (w *httpTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	m := outbound.Message{Header: w.header.Clone(), Secrets: w.secrets}
	maps.Copy(m.Header, r.Header)
	if r.Body != nil {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		m.Body = body
	}
	sent, _ := jsonrpc.DecodeMessage(m.Body)
	of, _ := r.Context().Value(callKey{}).(*call)
	if of != nil {
		w.expect(sent, of)
	}
	isListening := of == nil && r.Method == http.MethodGet
	if isListening && w.listened.Swap(true) {
		w.changed() // it may have changed while nothing listened
	}
	ctx, release := w.requestContext(r)
	if isListening || r.Header.Get("Mcp-Method") == "subscriptions/listen" { // the SDK waits for these before it continues
		defer time.AfterFunc(probeTimeout, release).Stop()
	}
	response, err := w.stream.Send(ctx, r.Method, m)
	if err != nil {
		release()
		if isListening { // a server need not support a listening stream
			return &http.Response{StatusCode: http.StatusMethodNotAllowed, Header: http.Header{}, Body: http.NoBody, Request: r}, nil
		}
		return nil, w.sendError(r, of, err)
	}
	response.Body = &releasing{response.Body, release}
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return w.statusError(r, response, of)
	}
	return w.limitResponse(r.Context(), response, sent, of)
}

// releasing is a body that ends the context of its request when it is closed.
type releasing struct {
	io.ReadCloser
	release context.CancelFunc
}

func (b *releasing) Close() error { defer b.release(); return b.ReadCloser.Close() }

// requestContext returns the context of a request, and its end. It ends with the connection too, and notes that a call was sent.
func (w *httpTransport) requestContext(r *http.Request) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(r.Context())
	if r.Method == http.MethodDelete { // it is sent when the connection is over
		time.AfterFunc(deleteTimeout, cancel)
	} else {
		stop := context.AfterFunc(w.life, cancel)
		context.AfterFunc(ctx, func() { stop() })
	}
	if one, ok := ctx.Value(callKey{}).(*call); ok {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { one.sent.Store(true) }})
	}
	return ctx, cancel
}

// sendError is the error of a request that got no answer. A server that was not reached at all has to be greeted again.
func (w *httpTransport) sendError(r *http.Request, of *call, err error) error {
	failed := w.fail("at %v", err)
	var about *outbound.Error
	failed.Answered = errors.As(err, &about) && about.Answered
	if of != nil && !of.sent.Load() && r.Context().Err() == nil {
		w.end(failed)
	}
	return failed
}

// statusError returns the SDK's view of an answer without success.
func (w *httpTransport) statusError(r *http.Request, response *http.Response, of *call) (*http.Response, error) {
	body := outbound.Complaint(response)
	_ = response.Body.Close()
	response.Body = io.NopCloser(bytes.NewReader(body))
	lost := response.StatusCode == http.StatusNotFound && r.Method == http.MethodPost && r.Header.Get("Mcp-Session-Id") != ""
	m, _ := jsonrpc.DecodeMessage(body)
	if answer, ok := m.(*jsonrpc.Response); ok && answer.Error != nil &&
		(!lost || errors.Is(answer.Error, &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound})) { // some servers send it as 404
		response.StatusCode = http.StatusBadRequest // the SDK does not read it with every status
		return response, nil
	}
	about := w.stream.StatusError(response, body, w.secrets)
	failed := w.fail("at %v", about)
	failed.Answered, failed.Code = true, about.Status
	switch {
	case r.Method != http.MethodPost:
		return response, nil
	case about.Status == http.StatusUnauthorized || about.Status == http.StatusForbidden:
		failed.Problem += "; set its token in headers in the configuration"
	case lost: // nothing was done
		if of != nil {
			of.sent.Store(false)
		}
		w.end(failed)
		response.Body = http.NoBody // the SDK must take it as a lost session
		return response, nil
	}
	return nil, failed
}

// limitResponse returns an answer with limits on its messages, and looks at them on their way.
func (w *httpTransport) limitResponse(ctx context.Context, response *http.Response, to jsonrpc.Message, of *call) (*http.Response, error) {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	request, ok := to.(*jsonrpc.Request)
	switch {
	case kind == "text/event-stream":
		all := io.MultiReader(response.Body, bytes.NewReader([]byte("\n\n"))) // the SDK takes an unfinished event, too
		response.Body = &events{Reader: all, Closer: response.Body, conn: w.conn, of: of}
		return response, nil
	case !ok || !request.IsCall(): // the SDK does not read the body
		return response, nil
	case kind != "application/json":
		_ = response.Body.Close()
		return nil, w.fail(`answered with "%s", not with JSON or events`, w.excerpt(kind))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxFrame+1))
	_ = response.Body.Close()
	if err != nil {
		return nil, w.fail("at %v", w.stream.BrokenError(ctx, response, err, w.secrets))
	}
	if len(body) > maxFrame {
		return nil, w.tooLong()
	}
	m, err := jsonrpc.DecodeMessage(body)
	if err != nil {
		return nil, w.notJSON()
	}
	w.inspect(m, len(body))
	response.Body = io.NopCloser(bytes.NewReader(body))
	return response, nil
}

// events is a stream of events on its way to the SDK.
type events struct {
	io.Reader
	io.Closer
	conn       *conn
	of         *call
	line, data []byte // so far
	failure    *Error
}

// Read looks at each event before the SDK does, and stops at a bad one, for which the SDK would end the connection.
func (e *events) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	for part := range bytes.Lines(p[:n]) {
		e.line = append(e.line, part...)
		if bytes.HasSuffix(part, []byte("\n")) {
			e.take(bytes.TrimRight(e.line, "\r\n"))
			e.line = e.line[:0]
		}
	}
	if len(e.line)+len(e.data) > maxFrame {
		e.failure = e.conn.tooLong()
	}
	switch {
	case e.failure == nil:
		return n, err
	case e.of != nil:
		e.of.end(e.failure)
	default:
		e.conn.end(e.failure)
	}
	return 0, e.failure
}

// take adds a line to the event; an empty line ends it.
func (e *events) take(line []byte) {
	if data, ok := bytes.CutPrefix(line, []byte("data:")); ok {
		e.data = append(append(e.data, data...), '\n')
	}
	if len(line) > 0 {
		return
	}
	if len(bytes.TrimSpace(e.data)) > 0 {
		m, err := jsonrpc.DecodeMessage(e.data)
		if err != nil {
			e.failure = e.conn.notJSON()
		} else {
			e.conn.inspect(m, len(e.data))
		}
	}
	e.data = nil
}
