package llm_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/llm"
	"github.com/planloop/planloop/internal/outbound"
)

func TestNobodyListens(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		_, err := ask(t.Context(), w.client(nil))
		var failure *outbound.Error
		if !errors.Is(err, llm.ErrUnavailable) || !errors.As(err, &failure) || failure.Tries != 3 || !strings.Contains(err.Error(), "connection refused") {
			t.Error(err)
		}
	})
}

// TestUnknownHost: a name that nobody has is not asked for again.
func TestUnknownHost(t *testing.T) {
	unknown := func(context.Context, string, string) (net.Conn, error) {
		return nil, &net.OpError{Op: "dial", Err: &net.DNSError{Err: "no such host", Name: "model.invalid", IsNotFound: true}}
	}
	c, err := llm.New(llm.Config{BaseURL: "https://model.invalid/v1", Model: "m-1"}, environment(planted),
		llm.Options{HTTPClient: &http.Client{Transport: &http.Transport{DialContext: unknown}}})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ask(t.Context(), c)
	var failure *outbound.Error
	if !errors.As(err, &failure) || failure.Tries != 1 || !errors.Is(err, llm.ErrUnavailable) || !strings.Contains(err.Error(), "name server") {
		t.Error(err)
	}
}

// TestOverSockets asks over a real connection with a client of our own making.
func TestOverSockets(t *testing.T) {
	e := &endpoint{script: []http.HandlerFunc{answers(500, ``, "Retry-After-Ms", "1"), says("because")}}
	server := httptest.NewServer(e)
	t.Cleanup(server.Close)
	config := llm.Config{BaseURL: server.URL + "/v1", Model: "m-1"}
	c, err := llm.New(config, environment(planted), llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ask(t.Context(), c); got != "because" || err != nil {
		t.Error(got, err)
	}
	server.Close()
	config.Retries = new(int)
	if c, err = llm.New(config, environment(planted), llm.Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t.Context(), c); !errors.Is(err, llm.ErrUnavailable) {
		t.Error(err)
	}
}

// TestUntrustedCertificate: the key is not sent, and it is not tried again.
func TestUntrustedCertificate(t *testing.T) {
	e := &endpoint{script: []http.HandlerFunc{says("because")}}
	server := httptest.NewUnstartedServer(e)
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, 0)
	server.StartTLS()
	t.Cleanup(server.Close)
	c, err := llm.New(llm.Config{BaseURL: server.URL + "/v1", Model: "m-1"}, environment(planted), llm.Options{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = ask(t.Context(), c)
	var failure *outbound.Error
	if !errors.As(err, &failure) || failure.Tries != 1 || !strings.Contains(err.Error(), "certificate") || len(e.requests()) != 0 {
		t.Error(err)
	}
}
