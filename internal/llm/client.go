//lint:file-ignore SA1019 max_tokens is the name that most endpoints know; renamedLimit has the newer one

// Package llm asks one question of one model: any endpoint that speaks OpenAI's
// chat completions. The user configures it, in a file of their own, and names the
// environment variable that holds the key; the key is read when it is sent and
// kept nowhere.
//
// What a model answered is text from outside, to be judged like any other input.
// What the endpoint may do to a call is the concern of outbound.
//
// The package must not know what is asked or why: no plan, no prompt, no verdict,
// no file of the configuration.
package llm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	openai "github.com/sashabaranov/go-openai"

	"github.com/planloop/planloop/internal/outbound"
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
	endpoint    *outbound.Client
	logger      *slog.Logger
}

// New returns a client for the configured model; nothing is contacted. Nil
// getenv is os.Getenv. The error wraps ErrNotConfigured when config is the zero
// value or the key is missing, outbound.ErrConfig when config cannot be used.
//
// A key is required at the default host, and where api_key_env was written;
// another endpoint is asked without one, as those on the user's own machine are.
func New(config Config, getenv func(string) string, opts Options) (*Client, error) {
	if config == (Config{}) {
		return nil, &Error{Kind: ErrNotConfigured, Problem: "the configuration has no section model",
			Want: "write one into your own configuration file, with at least the name of a model"}
	}
	endpoint, err := config.endpoint()
	if err != nil {
		return nil, err
	}
	if getenv == nil {
		getenv = os.Getenv
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	c := &Client{
		config:      config.withDefaults(),
		host:        strings.ToLower(endpoint.Host),
		keyRequired: config.APIKeyEnv != "" || strings.EqualFold(endpoint.Hostname(), defaultHost),
		getenv:      getenv,
		logger:      opts.Logger,
	}
	c.endpoint = outbound.New(endpoint, outbound.Limits{
		Timeout: c.config.Timeout, Total: 2 * c.config.Timeout, Tries: *c.config.Retries + 1,
		FirstWait: 500 * time.Millisecond, LongestAsked: 30 * time.Second, MaxAnswer: MaxAnswer,
	}, opts.HTTPClient, opts.Logger)
	if _, err := c.apiKey(); err != nil {
		return nil, err
	}
	return c, nil
}

// apiKey returns the key, "" when none is sent. It is read anew for every call,
// so that nothing keeps it and a changed one counts.
func (c *Client) apiKey() (string, error) {
	name := c.config.APIKeyEnv
	if name == NoKey || !c.keyRequired {
		return "", nil // the key of one service is not another's to see
	}
	key := strings.TrimSpace(c.getenv(name))
	if key == "" {
		return "", &Error{Kind: ErrNotConfigured, Problem: "the environment variable " + name + " holds no key for " + c.host,
			Want: "set it, or name another with api_key_env under model"}
	}
	if strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return "", &Error{Kind: ErrNotConfigured, Want: "set it to the key alone",
			Problem: "the environment variable " + name + " holds a space or a character that cannot be in a key"}
	}
	return key, nil
}

// Request is one question.
type Request struct {
	System    string // what the model is told about its part; may be empty
	Prompt    string // required
	MaxTokens int    // of the answer, within the configured limit; 0: that limit
	JSON      bool   // ask for one JSON object; ExtractJSON reads it
}

// Complete returns the model's answer to one question: text that is valid UTF-8,
// not blank, at most MaxAnswer bytes, in which what does not show or deceives is
// replaced by U+FFFD.
//
// It tries again after a refused or broken connection, 429 and 5xx, waits as long
// as the endpoint asks within bounds, and ends within twice the configured
// timeout. Errors are an *Error; they wrap the cause of ctx when ctx was cancelled.
func (c *Client) Complete(ctx context.Context, r Request) (string, error) {
	if strings.TrimSpace(r.Prompt) == "" {
		return "", &Error{Kind: ErrInvalid, Problem: "the question is blank", Want: "give it some text"}
	}
	key, err := c.apiKey()
	if err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(ctx, 2*c.config.Timeout)
	defer cancel()
	request := c.request(r)
	for { // each round leaves out something more, so it ends
		answer, err := c.ask(ctx, key, request)
		simpler, ok := simplified(request, err)
		if !ok {
			return answer, err
		}
		c.logger.DebugContext(ctx, "the model endpoint does not support what was asked for; asking without", "endpoint", c.host)
		request = simpler
	}
}

func (c *Client) ask(ctx context.Context, key string, request openai.ChatCompletionRequest) (string, error) {
	if err := openai.NewReasoningValidator().Validate(request); err != nil { // its texts are fixed
		return "", &Error{Kind: ErrInvalid, Problem: c.host + " was not asked because " + err.Error(),
			Want: "check model, temperature and max_tokens under model"}
	}
	body, err := json.Marshal(request)
	if err != nil {
		return "", &Error{Kind: ErrInvalid, Problem: "the question cannot be encoded", Want: "rephrase the request"}
	}
	message := outbound.Message{Header: http.Header{"Accept": {"application/json"}}, Body: body}
	if key != "" {
		message.Header.Set("Authorization", "Bearer "+key)
		message.Secrets = []string{key}
	}
	raw, err := c.endpoint.Post(ctx, message)
	if err != nil {
		return "", c.failed(err, key)
	}
	return c.answer(raw, key)
}

// failed says what to do about a request that did not succeed.
func (c *Client) failed(err error, key string) error {
	failure := &Error{Kind: ErrUnavailable, Problem: err.Error(), cause: err}
	var e *outbound.Error
	if errors.As(err, &e) {
		failure.Want = c.advice(e, key != "")
	}
	return failure
}

func (c *Client) advice(e *outbound.Error, withKey bool) string {
	switch e.Reason {
	case outbound.TimedOut:
		return "ask for less, or raise timeout under model"
	case outbound.TooLong:
		return "ask for less"
	case outbound.Redirected:
		return "write the final address as base_url, if it is to be trusted"
	case outbound.Unreached, outbound.UnknownHost, outbound.Untrusted:
		return "check base_url under model, that the endpoint runs, and the network"
	case outbound.Cancelled:
		return "ask again"
	}
	denied := e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden
	switch {
	case denied && !withKey:
		return "it asks for a key: put one into an environment variable and name it with api_key_env under model"
	case e.Status == http.StatusUnauthorized:
		return "it refused the key: check that " + c.config.APIKeyEnv + " holds a whole, current key of this endpoint"
	case e.Status == http.StatusForbidden:
		return "check that the key in " + c.config.APIKeyEnv + " may use model " + c.config.Model + " there"
	case e.Status == http.StatusPaymentRequired:
		return "check the balance and limits of the account"
	case e.Status == http.StatusNotFound:
		return "check model " + c.config.Model + " and base_url, which usually ends in /v1"
	case e.Status == http.StatusRequestEntityTooLarge:
		return "ask about less: the question is too long"
	case e.Status == http.StatusTooManyRequests, e.Status >= http.StatusInternalServerError:
		return "try again later"
	}
	return "check the section model and what the endpoint supports"
}

// request puts a question into the endpoint's words.
func (c *Client) request(r Request) openai.ChatCompletionRequest {
	var messages []openai.ChatCompletionMessage
	if strings.TrimSpace(r.System) != "" {
		messages = append(messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleSystem, Content: r.System})
	}
	request := openai.ChatCompletionRequest{
		Model:     c.config.Model,
		Messages:  append(messages, openai.ChatCompletionMessage{Role: openai.ChatMessageRoleUser, Content: r.Prompt}),
		MaxTokens: c.config.MaxTokens,
	}
	if limit := request.MaxTokens; r.MaxTokens > 0 && (limit == 0 || r.MaxTokens < limit) {
		request.MaxTokens = r.MaxTokens
	}
	if t := c.config.Temperature; t != nil { // the library leaves out a zero, so the smallest number stands for it
		request.Temperature = max(float32(*t), math.SmallestNonzeroFloat32)
	}
	if r.JSON {
		request.ResponseFormat = &openai.ChatCompletionResponseFormat{Type: openai.ChatCompletionResponseFormatTypeJSONObject}
	}
	// The library knows which models take the limit under its newer name only.
	if err := openai.NewReasoningValidator().Validate(request); errors.Is(err, openai.ErrReasoningModelMaxTokensDeprecated) {
		return renamedLimit(request)
	}
	return request
}

func renamedLimit(request openai.ChatCompletionRequest) openai.ChatCompletionRequest {
	request.MaxCompletionTokens, request.MaxTokens = request.MaxTokens, 0
	return request
}

// simplified returns the request without what the endpoint said it does not
// support, and whether there is anything to leave out: JSON mode, which many do
// not have, and the older name of the limit, which some no longer have.
func simplified(request openai.ChatCompletionRequest, err error) (openai.ChatCompletionRequest, bool) {
	var refusal *outbound.Error
	if !errors.As(err, &refusal) || refusal.Status != http.StatusBadRequest && refusal.Status != http.StatusUnprocessableEntity {
		return request, false
	}
	says := strings.ToLower(refusal.Says)
	mentioned := func(word string) bool { return strings.Contains(says, word) }
	jsonMode := []string{"response_format", "response format", "json_object", "json_schema", "json mode"}
	switch {
	case request.ResponseFormat != nil && slices.ContainsFunc(jsonMode, mentioned):
		request.ResponseFormat = nil
		return request, true
	case request.MaxTokens > 0 && mentioned("max_completion_tokens"):
		return renamedLimit(request), true
	}
	return request, false
}

// The kinds of failure. Every error of this package wraps one of them, but for
// that of a configuration that cannot be used.
var (
	// ErrNotConfigured: there is no model to ask, or no key to ask it with.
	ErrNotConfigured = errors.New("no model is configured")
	// ErrInvalid: the request cannot be sent as it is.
	ErrInvalid = errors.New("the model cannot be asked this way")
	// ErrUnavailable: the endpoint gave no answer; an *outbound.Error beside it says how.
	ErrUnavailable = errors.New("the model is unavailable")
	// ErrMalformed: what came back is not the answer of a model, or not the JSON asked for.
	ErrMalformed = errors.New("the model's answer cannot be used")
)

// Error is a failed call. Its text holds no key, no header, and at most 200
// printable characters of what the endpoint said.
type Error struct {
	Kind    error  // one of the kinds above
	Problem string // what happened
	Want    string // what to do about it

	cause error // an *outbound.Error
}

// Error says what kind of failure it is, what happened, and what to do.
func (e *Error) Error() string { return e.Kind.Error() + ": " + e.Problem + "; " + e.Want }

// Unwrap returns the kind, and the failed request if that is what it is.
func (e *Error) Unwrap() []error {
	if e.cause == nil {
		return []error{e.Kind}
	}
	return []error{e.Kind, e.cause}
}
