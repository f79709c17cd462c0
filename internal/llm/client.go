package llm

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// Options are what a Client needs besides its configuration. The zero value is
// usable.
type Options struct {
	// HTTPClient is copied; its redirects, cookies and timeout are not used. Nil: one of
	// our own, which keeps no connection between calls.
	HTTPClient *http.Client
	// Logger hears of tries and waits, never of text, headers or keys. Nil: discards.
	Logger *slog.Logger
}

// Client asks one configured model. It may be used by several goroutines, and
// needs no closing.
type Client struct {
	config      Config
	host        string
	keyRequired bool
	getenv      func(string) string
	http        *http.Client
	logger      *slog.Logger
}

// New returns a client for the configured model; nothing is contacted. Nil
// getenv is os.Getenv. The error wraps ErrNotConfigured when config is the zero
// value or the key is missing, ErrInvalid when config cannot be used.
//
// A key is required at the default host, and where api_key_env was written;
// another endpoint is asked without one, as those on the user's own machine are.
func New(config Config, getenv func(string) string, opts Options) (*Client, error) {
	if config == (Config{}) {
		return nil, &Error{Kind: ErrNotConfigured, Problem: "the configuration has no section model",
			Want: "write one into your own configuration file, with at least the name of a model"}
	}
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if getenv == nil {
		getenv = os.Getenv
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	full := config.withDefaults()
	endpoint, err := url.Parse(full.BaseURL)
	if err != nil {
		return nil, &ConfigError{"base_url", "is not a URL", wantURL}
	}
	c := &Client{
		config:      full,
		host:        strings.ToLower(endpoint.Host),
		keyRequired: config.APIKeyEnv != "" || strings.EqualFold(endpoint.Hostname(), defaultHost),
		getenv:      getenv,
		http:        guarded(opts.HTTPClient),
		logger:      opts.Logger,
	}
	if _, err := c.apiKey(); err != nil {
		return nil, err
	}
	return c, nil
}

// Model is the name of the model that is asked.
func (c *Client) Model() string { return c.config.Model }

// Endpoint is the host, with its port if one is given, that is asked.
func (c *Client) Endpoint() string { return c.host }

// guarded returns a client that follows no redirect to another place and keeps
// no cookies.
func guarded(given *http.Client) *http.Client {
	client := http.Client{Transport: transport()}
	if given != nil {
		client = *given
	}
	client.CheckRedirect = sameEndpoint
	client.Jar = nil
	client.Timeout = 0 // that of the configuration counts
	return &client
}

// maxHeader bounds the header of an answer.
const maxHeader = 64 << 10

// transport keeps no connection: calls are rare, and nothing should outlive them.
func transport() *http.Transport {
	dialer := net.Dialer{Timeout: 10 * time.Second}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dialer.DialContext,
		TLSHandshakeTimeout:    10 * time.Second,
		MaxResponseHeaderBytes: maxHeader,
		ForceAttemptHTTP2:      true,
		DisableKeepAlives:      true,
	}
}

// redirected says that an endpoint wanted its request sent elsewhere.
type redirected struct{ to string }

func (e *redirected) Error() string { return "redirected to " + e.to }

const maxRedirects = 3

// sameEndpoint lets a redirect pass that keeps scheme, host, port and method: the
// standard client would send the key on to another port, to a subdomain and over
// a connection that is not encrypted.
func sameEndpoint(next *http.Request, via []*http.Request) error {
	first := via[0]
	same := next.URL.Scheme == first.URL.Scheme && strings.EqualFold(next.URL.Host, first.URL.Host) && next.Method == first.Method
	if same && len(via) <= maxRedirects {
		return nil
	}
	return &redirected{to: next.URL.Scheme + "://" + next.URL.Host}
}

// Request is one question.
type Request struct {
	System    string // what the model is told about its part; may be empty
	Prompt    string // required
	MaxTokens int    // of the answer, within the configured limit; 0: that limit
	JSON      bool   // ask for one JSON object; ExtractJSON reads it
}

// Complete returns the model's answer to one question: text that is valid UTF-8,
// not blank, at most MaxAnswer bytes, in which control characters and overrides
// of writing direction are replaced by U+FFFD.
//
// It tries again after a refused or broken connection, 429 and 5xx, waits as long
// as the endpoint asks within bounds, and ends within twice the configured
// timeout. Errors are an *Error, or wrap the cause of ctx when ctx was cancelled.
func (c *Client) Complete(ctx context.Context, r Request) (string, error) {
	if strings.TrimSpace(r.Prompt) == "" {
		return "", &Error{Kind: ErrInvalid, Problem: "the question is blank", Want: "give it some text"}
	}
	key, err := c.apiKey()
	if err != nil {
		return "", err
	}
	if ctx.Err() != nil {
		return "", gaveUp(ctx)
	}
	bounded, cancel := context.WithTimeout(ctx, 2*c.config.Timeout)
	defer cancel()
	answer, err := c.adapted(bounded, key, c.request(r))
	if err != nil && errors.Is(ctx.Err(), context.Canceled) {
		return "", gaveUp(ctx)
	}
	return answer, err
}

// adapted asks, and asks again without what the endpoint says it does not
// support. Each round leaves out something more, so it ends.
func (c *Client) adapted(ctx context.Context, key string, request openai.ChatCompletionRequest) (string, error) {
	for {
		answer, err := c.retried(ctx, key, request)
		simpler, ok := simplified(request, err)
		if !ok {
			return answer, err
		}
		c.logger.DebugContext(ctx, "the model endpoint does not support what was asked for; asking without", "endpoint", c.host)
		request = simpler
	}
}
