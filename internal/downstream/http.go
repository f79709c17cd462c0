package downstream

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/http/httptrace"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mark3labs/mcp-go/mcp"

	"github.com/planloop/planloop/internal/outbound"
)

const (
	sessionHeader = "Mcp-Session-Id"
	farewell      = 2 * time.Second  // that the end of a session may take to tell
	posting       = 10 * time.Second // that a message without an answer may take to send
	mostResumed   = 100              // times that an answer is waited for anew
	longestPause  = 10 * time.Second // before that
	shortestPause = 10 * time.Millisecond
)

// web is a server that is spoken to over streamable HTTP.
type web struct {
	conn   *conn
	stream *outbound.Stream
	header http.Header
	life   context.Context
	end    context.CancelFunc
	open   sync.WaitGroup // requests

	mu      sync.Mutex
	closed  bool
	session string
}

// enter counts a request, unless there are to be no more.
func (w *web) enter() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.closed {
		w.open.Add(1)
	}
	return !w.closed
}

// reach prepares the way to a server. Nothing is contacted.
func reach(stream *outbound.Stream, t *target, c *conn) {
	w := &web{conn: c, stream: stream, header: t.header}
	w.life, w.end = context.WithCancel(context.Background())
	c.wire = w
	c.noise = func([]byte) {}
}

// headers are those of a request in the revision that is spoken.
func (w *web) headers(one *call) http.Header {
	header := w.header.Clone()
	header.Set("Content-Type", "application/json")
	header.Set("Accept", "application/json, text/event-stream")
	w.mu.Lock()
	session := w.session
	w.mu.Unlock()
	if session != "" {
		header.Set(sessionHeader, session)
	}
	version := w.conn.speaks()
	if one != nil {
		version = one.version
	}
	if version != "" {
		header.Set(mcp.HeaderProtocolVersion, version)
	}
	if one == nil || !mcp.IsModernProtocol(version) {
		return header
	}
	for name, value := range mcp.StandardHeaders(version, mcp.MCPMethod(one.method), one.params) {
		header.Set(name, value)
	}
	if one.schema != nil {
		for name, value := range mcp.GenerateParamHeaders(&mcp.Tool{RawInputSchema: one.schema}, one.params) {
			header.Set(name, value)
		}
	}
	return header
}

// send posts a request and reads what comes for it.
func (w *web) send(one *call) {
	if !w.enter() {
		return
	}
	defer w.open.Done()
	if !one.take() {
		return
	}
	ctx, cancel := context.WithCancel(one.ctx)
	defer cancel()
	defer context.AfterFunc(w.life, cancel)()
	var reached atomic.Bool
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { reached.Store(true) }})
	response, err := w.stream.Send(traced, http.MethodPost, w.message(w.headers(one), one.frame))
	if err != nil {
		w.fault(one, err, reached.Load())
		return
	}
	defer response.Body.Close()
	if response.StatusCode < 200 || response.StatusCode > 299 {
		w.refused(one, response)
		return
	}
	if one.method == "initialize" {
		w.remember(response.Header.Get(sessionHeader))
	}
	last, err := w.read(response, one)
	for resumed := 0; err == nil && last.id != "" && resumed < mostResumed && ctx.Err() == nil; resumed++ { // it closes streams that wait
		select {
		case <-time.After(min(max(last.pause, shortestPause), longestPause)):
		case <-ctx.Done():
			return
		}
		last, err = w.resume(ctx, one, last)
	}
	if err == nil {
		err = errors.New("ended its answer before it was complete")
	}
	if ctx.Err() == nil {
		w.fault(one, err, true)
	}
}

func (w *web) message(header http.Header, frame []byte) outbound.Message {
	return outbound.Message{Header: header, Body: frame, Secrets: w.conn.secrets}
}

// remember notes a session, and returns the former.
func (w *web) remember(session string) (former string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	former, w.session = w.session, session
	return former
}

// fault ends a call whose answer did not come. A server that could not be reached is given
// up: who wants it again greets it again.
func (w *web) fault(one *call, err error, sent bool) {
	failed := w.conn.fail("%v", err)
	var about *outbound.Error
	if errors.As(err, &about) {
		failed = w.conn.fail("at %s", about.Error())
		failed.Answered = about.Reason == outbound.Redirected
	}
	failed.Sent = sent
	one.end(answer{err: failed})
	if !failed.Sent && one.ctx.Err() == nil {
		w.conn.end(failed)
	}
}

// refused ends a call that was answered with an error of HTTP.
func (w *web) refused(one *call, response *http.Response) {
	body := outbound.Complaint(response)
	if m, err := decode(body); err == nil && m.JSONRPC == "2.0" && m.Error != nil {
		one.end(w.conn.judged(m))
		return
	}
	about := w.stream.Refused(response, body, w.conn.secrets)
	failed := w.conn.fail("at %s", about.Error())
	failed.Sent, failed.Answered, failed.Code = true, true, about.Status
	switch about.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		failed.Problem += "; its token belongs into headers in the configuration"
	case http.StatusNotFound:
		if w.remember("") != "" { // which is over, and the call was not heard
			failed.Sent, failed.Answered = false, false
			w.conn.end(failed)
		}
	}
	one.end(answer{err: failed})
}

// mark is how far a stream of events was read.
type mark struct {
	id    string
	pause time.Duration // before it is asked for more
}

// read reads the answer to a call, or the stream of events in which it comes. Nil without a
// mark is the end of the call.
func (w *web) read(response *http.Response, one *call) (last mark, err error) {
	kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
	switch kind {
	case "text/event-stream":
		return w.events(response, one, mark{pause: time.Second})
	case "application/json":
		body, err := io.ReadAll(io.LimitReader(response.Body, maxFrame+1))
		switch {
		case err != nil:
			return last, w.stream.Broken(one.ctx, response, err, w.conn.secrets)
		case len(body) > maxFrame:
			w.conn.tooLong(nil, nil, one)
		default:
			w.conn.receive(body, one)
		}
		return last, nil
	}
	return last, fmt.Errorf(`answered "%s", and not with JSON or events`, w.conn.excerpt(kind))
}

// events reads events until the stream ends. Of no call: they are nobody's answer.
func (w *web) events(response *http.Response, one *call, last mark) (mark, error) {
	in := bufio.NewReaderSize(response.Body, 64<<10)
	var data []byte
	has, long := false, false
	for {
		line, whole, err := bounded(in, maxFrame)
		if err != nil {
			return last, nil // it may be asked for more
		}
		field, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(field) {
		case "data":
			if long = long || !whole || len(data)+len(value) > maxFrame; !long {
				if has {
					data = append(data, '\n')
				}
				data, has = append(data, value...), true
			}
		case "id":
			if len(value) <= 1_000 && outbound.Visible(string(value)) {
				last.id = string(value)
			}
		case "retry":
			if ms, err := strconv.Atoi(string(value)); err == nil {
				last.pause = time.Duration(min(max(ms, 0), 60_000)) * time.Millisecond
			}
		case "":
			if len(line) > 0 {
				continue // a comment
			}
			switch {
			case long && one != nil:
				w.conn.tooLong(nil, nil, one)
			case has && len(bytes.TrimSpace(data)) > 0:
				w.conn.receive(data, one)
			}
			data, has, long = nil, false, false
		}
		if !w.conn.lives() {
			return mark{}, nil
		}
	}
}

// bounded reads a line without its end, as much of it as is allowed.
func bounded(in *bufio.Reader, most int) (line []byte, whole bool, err error) {
	whole = true
	for {
		part, err := in.ReadSlice('\n')
		if len(line)+len(part) > most+16 {
			whole = false
		} else {
			line = append(line, part...)
		}
		switch {
		case err == nil:
			return bytes.TrimRight(line, "\r\n"), whole, nil
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, whole, err
		}
	}
}

// resume asks for what follows in a stream that ended.
func (w *web) resume(ctx context.Context, one *call, last mark) (mark, error) {
	header := w.headers(one)
	header.Del("Content-Type")
	header.Set("Accept", "text/event-stream")
	header.Set("Last-Event-ID", last.id)
	response, err := w.stream.Send(ctx, http.MethodGet, w.message(header, nil))
	if err != nil {
		return last, err
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return last, w.stream.Refused(response, outbound.Complaint(response), w.conn.secrets)
	}
	return w.events(response, one, last)
}

func (w *web) post(frame []byte) {
	ctx, cancel := context.WithTimeout(w.life, posting)
	defer cancel()
	response, err := w.stream.Send(ctx, http.MethodPost, w.message(w.headers(nil), frame))
	if err == nil {
		_ = outbound.Complaint(response)
		_ = response.Body.Close()
	}
}

// listen hears what the server says without being asked, in an era in which that has a
// stream of its own, until the connection is over.
func (w *web) listen() {
	for pause := time.Second; ; pause = min(2*pause, time.Minute) {
		header := w.headers(nil)
		header.Del("Content-Type")
		header.Set("Accept", "text/event-stream")
		response, err := w.stream.Send(w.life, http.MethodGet, w.message(header, nil))
		if err == nil {
			kind, _, _ := mime.ParseMediaType(response.Header.Get("Content-Type"))
			if response.StatusCode != http.StatusOK || kind != "text/event-stream" {
				_ = response.Body.Close()
				return // it has nothing to say
			}
			_, _ = w.events(response, nil, mark{})
			_ = response.Body.Close()
		}
		select {
		case <-time.After(pause):
			w.conn.changed() // it may have, meanwhile
		case <-w.life.Done():
			return
		}
	}
}

// close ends all requests, and the session.
func (w *web) close() {
	w.end()
	w.mu.Lock()
	session := w.session
	w.closed = true
	w.mu.Unlock()
	w.open.Wait()
	if session != "" {
		ctx, cancel := context.WithTimeout(context.Background(), farewell)
		defer cancel()
		if response, err := w.stream.Send(ctx, http.MethodDelete, w.message(w.headers(nil), nil)); err == nil {
			_ = response.Body.Close()
		}
	}
	w.stream.Close()
}
