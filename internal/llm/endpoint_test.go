package llm_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planloop/planloop/internal/llm"
)

// planted is the key that must never be seen again.
const planted = "sk-proj-Zq8vT3nLw0xR5bYkHd2mUcJ7"

// request is what an endpoint was asked.
type request struct {
	path   string
	header http.Header
	body   map[string]any
}

// endpoint answers its requests by a script: the first by the first step, and
// so on; the last step answers all that follow.
type endpoint struct {
	script []http.HandlerFunc

	mu   sync.Mutex
	seen []request
}

func (e *endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	content, _ := io.ReadAll(r.Body)
	var body map[string]any
	_ = json.Unmarshal(content, &body)
	e.mu.Lock()
	step := e.script[min(len(e.seen), len(e.script)-1)]
	e.seen = append(e.seen, request{r.URL.Path, r.Header.Clone(), body})
	e.mu.Unlock()
	step(w, r)
}

func (e *endpoint) requests() []request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return append([]request(nil), e.seen...)
}

// pipes is a network without sockets, so that the clock of a synctest bubble
// stands for the real one.
type pipes map[string]chan net.Conn

func (p pipes) dial(ctx context.Context, _, address string) (net.Conn, error) {
	host, ok := p[address]
	if !ok {
		return nil, fmt.Errorf("dial %s: connection refused", address)
	}
	here, there := net.Pipe()
	select {
	case host <- there:
		return here, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// listener accepts what is dialled to one host.
type listener struct {
	conns  chan net.Conn
	closed chan struct{}
	once   sync.Once
}

func (l *listener) Accept() (net.Conn, error) {
	select {
	case conn := <-l.conns:
		return conn, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *listener) Close() error   { l.once.Do(func() { close(l.closed) }); return nil }
func (l *listener) Addr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 1} }

// world is one test's bubble: endpoints by address, a client, its log.
type world struct {
	t   *testing.T
	net pipes
	log bytes.Buffer
}

const (
	host = "127.0.0.1:11434"
	base = "http://" + host + "/v1"
)

// inBubble runs a test on the bubble's clock.
func inBubble(t *testing.T, test func(t *testing.T, w *world)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		test(t, &world{t: t, net: pipes{}})
	})
}

// serve puts an endpoint at an address.
func (w *world) serve(address string, script ...http.HandlerFunc) *endpoint {
	w.t.Helper()
	e := &endpoint{script: script}
	l := &listener{conns: make(chan net.Conn), closed: make(chan struct{})}
	w.net[address] = l.conns
	server := &http.Server{Handler: e, ErrorLog: slog.NewLogLogger(slog.DiscardHandler, 0)}
	ended := make(chan struct{})
	go func() { defer close(ended); _ = server.Serve(l) }()
	w.t.Cleanup(func() { _ = server.Close(); <-ended })
	return e
}

// client returns a client with the planted key and a log that takes everything.
func (w *world) client(change func(*llm.Config)) *llm.Client {
	w.t.Helper()
	config := llm.Config{BaseURL: base, APIKeyEnv: llm.DefaultAPIKeyEnv, Model: "m-1"}
	if change != nil {
		change(&config)
	}
	client, err := llm.New(config, environment(planted), llm.Options{
		HTTPClient: w.httpClient(),
		Logger:     slog.New(slog.NewJSONHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug - 4})),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return client
}

func (w *world) httpClient() *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: w.net.dial, DisableKeepAlives: true}}
}

func environment(key string) func(string) string {
	return func(name string) string {
		if name == llm.DefaultAPIKeyEnv {
			return key
		}
		return ""
	}
}

// says answers with the text of a completion.
func says(text string) http.HandlerFunc { return finishes(text, "stop") }

func finishes(text, reason string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{
			"id": "c", "object": "chat.completion",
			"choices": []any{map[string]any{"index": 0, "finish_reason": reason, "message": map[string]any{"role": "assistant", "content": text}}},
		})
	}
}

// answers sends a status and a body, and headers as pairs.
func answers(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// hangs answers nothing until the client has gone.
func hangs(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

// drips sends a byte a second until the client has gone, after a status.
func drips(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		tick := time.NewTicker(time.Second)
		defer tick.Stop()
		for {
			select {
			case <-tick.C:
				_, _ = io.WriteString(w, " ")
				_ = http.NewResponseController(w).Flush()
			case <-r.Context().Done():
				return
			}
		}
	}
}

// breaks ends the connection in the middle of the answer.
func breaks(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Length", "1000")
	_, _ = io.WriteString(w, `{"choices":[`)
	_ = http.NewResponseController(w).Flush()
	panic(http.ErrAbortHandler)
}

// echoes answers with all it was sent.
func echoes(status int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.WriteHeader(status)
		fmt.Fprintf(w, "you sent %s with the key %s", r.Header.Get("Authorization"), strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}
}
