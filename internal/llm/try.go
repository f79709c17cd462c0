package llm

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	openai "github.com/sashabaranov/go-openai"
)

// try asks once.
func (c *Client) try(ctx context.Context, key string, request openai.ChatCompletionRequest) (string, *Error) {
	x := &exchange{client: c, key: key, allowed: c.config.Timeout}
	if deadline, ok := ctx.Deadline(); ok {
		x.allowed = min(x.allowed, time.Until(deadline))
	}
	x.ctx, x.cancel = context.WithTimeout(ctx, x.allowed)
	defer x.cancel()

	library := openai.DefaultConfig(key)
	library.BaseURL = c.config.BaseURL
	library.HTTPClient = x
	began := time.Now()
	response, err := openai.NewClientWithConfig(library).CreateChatCompletion(x.ctx, request)
	answer, failure := x.outcome(response, err)
	c.logger.DebugContext(ctx, "asked the model", "endpoint", c.host, "model", c.config.Model,
		"status", x.status, "answered", failure == nil, "took", time.Since(began))
	return answer, failure
}

// exchange is one request and its answer. It stands between the library and the
// network: the library never sees an answer that is not a bounded, successful one,
// since it would read any length and put whole bodies into its errors.
type exchange struct {
	client  *Client
	key     string
	ctx     context.Context // of this exchange alone
	cancel  context.CancelFunc
	allowed time.Duration // until the deadline of ctx
	sent    bool
	status  int
}

// outcome turns what the library returned into an answer or an *Error.
func (x *exchange) outcome(response openai.ChatCompletionResponse, err error) (string, *Error) {
	var failure *Error
	switch {
	case err == nil:
		return x.answer(response)
	case errors.As(err, &failure):
		return "", failure
	case !x.sent:
		// The library's own checks; their texts are fixed.
		return "", x.failure(ErrInvalid, "was not asked, since "+err.Error(), "check model, temperature and max_tokens under model")
	}
	return "", x.failure(ErrMalformed, "answered with JSON that is not a chat completion", wantCompatible)
}

// Do sends the library's request. All its errors are an *Error.
func (x *exchange) Do(request *http.Request) (*http.Response, error) {
	x.sent = true
	response, err := x.client.http.Do(request)
	if err != nil {
		return nil, x.unreached(err)
	}
	defer response.Body.Close()
	x.status = response.StatusCode
	if response.StatusCode < 200 || response.StatusCode > 299 {
		return nil, x.unsuccessful(response)
	}
	body, err := bounded(response.Body, MaxAnswer)
	if err != nil {
		return nil, x.unreached(err)
	}
	choices, failure := x.choices(body)
	if failure != nil {
		return nil, failure
	}
	response.Body = io.NopCloser(bytes.NewReader(choices))
	return response, nil
}

// errTooLong says that a body has more than is read.
var errTooLong = errors.New("too long")

func bounded(body io.Reader, limit int64) ([]byte, error) {
	content, err := io.ReadAll(io.LimitReader(body, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, errTooLong
	}
	return content, nil
}

// unreached judges an answer that did not come, or not whole.
func (x *exchange) unreached(err error) *Error {
	var elsewhere *redirected
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	switch {
	case errors.Is(err, errTooLong):
		return x.tooLong("answered with more than 512 KiB")
	case x.ctx.Err() != nil:
		return x.late()
	case errors.As(err, &elsewhere):
		f := x.failure(ErrRejected, "redirects to another place, where the key is not sent", "write the final address as base_url, if it is to be trusted")
		f.Says = x.excerpt(elsewhere.to)
		return f
	case errors.As(err, &certificate):
		return x.failure(ErrUnavailable, "has a certificate that is not trusted: "+x.excerpt(certificate.Err.Error()), "check base_url")
	case errors.As(err, &name) && name.IsNotFound:
		return x.failure(ErrUnavailable, "is not known to the name server", "check base_url and the network")
	}
	f := x.failure(ErrUnavailable, "was not reached: "+x.excerpt(cause(err)), "check that it runs, and base_url under model")
	f.transient = true
	return f
}

// late judges an exchange whose time is over, or whose caller gave up.
func (x *exchange) late() *Error {
	f := x.failure(ErrTimeout, "gave no whole answer within "+x.allowed.Round(time.Millisecond).String(), "ask for less, or raise timeout under model")
	f.cause = x.ctx.Err()
	return f
}

func (x *exchange) tooLong(problem string) *Error {
	return x.failure(ErrTooLong, problem, "ask for less")
}

func (x *exchange) failure(kind error, problem, want string) *Error {
	return &Error{Kind: kind, Endpoint: x.client.host, Status: x.status, Problem: problem, Want: want}
}

// cause returns what went wrong without the address, which url.Error repeats.
func cause(err error) string {
	var wrapped *url.Error
	if errors.As(err, &wrapped) {
		err = wrapped.Err
	}
	return err.Error()
}
