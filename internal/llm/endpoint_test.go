package llm_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planloop/planloop/internal/llm"
	"github.com/planloop/planloop/internal/outbound/outboundtest"
)

// planted is the key that must never be seen again.
const planted = "sk-proj-Zq8vT3nLw0xR5bYkHd2mUcJ7"

// sent is the body of a request.
func sent(r outboundtest.Request) (body map[string]any) {
	_ = json.Unmarshal([]byte(r.Body), &body)
	return body
}

// world is one test's bubble: endpoints by address, a client, its log.
type world struct {
	t   *testing.T
	net outboundtest.Network
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
		test(t, &world{t: t, net: outboundtest.Network{}})
	})
}

// serve puts an endpoint at an address.
func (w *world) serve(address string, script ...http.HandlerFunc) *outboundtest.Endpoint {
	return w.net.Serve(w.t, address, script...)
}

// client returns a client with the planted key and a log that takes everything.
func (w *world) client(change func(*llm.Config)) *llm.Client {
	w.t.Helper()
	config := llm.Config{BaseURL: base, APIKeyEnv: llm.DefaultAPIKeyEnv, Model: "m-1"}
	if change != nil {
		change(&config)
	}
	client, err := llm.New(config, environment(planted), llm.Options{
		HTTPClient: w.net.Client(),
		Logger:     slog.New(slog.NewJSONHandler(&w.log, &slog.HandlerOptions{Level: slog.LevelDebug - 4})),
	})
	if err != nil {
		w.t.Fatal(err)
	}
	return client
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
			"choices": []any{map[string]any{"index": 0, "finish_reason": reason,
				"message": map[string]any{"role": "assistant", "content": text}}},
		})
	}
}

var answers, hangs = outboundtest.Answer, outboundtest.Hang

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
		fmt.Fprintf(w, "you sent %s with the key %s", r.Header.Get("Authorization"),
			strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer "))
	}
}
