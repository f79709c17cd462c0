package notify

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"syscall"
	"time"
)

// webhook is an endpoint that is told.
type webhook struct {
	place   Secret
	shown   string
	headers http.Header
	events  []Event
	encode  func(envelope) ([]byte, error)
	http    *http.Client
	timeout time.Duration // of one try
	logger  *slog.Logger
}

func newWebhook(w Webhook, getenv func(string) string, client *http.Client, timeout time.Duration, logger *slog.Logger) (*webhook, *ConfigError) {
	place, problem := w.place(getenv)
	if problem != nil {
		return nil, problem
	}
	u, problem := parsePlace(string(place))
	if problem != nil && w.URLEnv != "" {
		return nil, &ConfigError{"url_env", "names a variable whose value " + problem.Problem, problem.Want}
	}
	if problem != nil {
		return nil, problem.under("url")
	}
	headers, problem := w.headers(getenv)
	if problem != nil {
		return nil, problem
	}
	encode := jsonBody
	if w.Format == Discord || w.Format == "" && ofDiscord(u) {
		encode = discordBody
	}
	return &webhook{place, shown(u), headers, slices.Clone(w.Events), encode, client, timeout, logger}, nil
}

func (w *webhook) name() string { return w.shown }

func (w *webhook) wants(e Event) bool { return len(w.events) == 0 || slices.Contains(w.events, e) }

// try sends a body once. The answer's body is not read.
func (w *webhook) try(ctx context.Context, body []byte) *failure {
	ctx, cancel := context.WithTimeout(ctx, w.timeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, string(w.place), bytes.NewReader(body))
	if err != nil {
		return &failure{problem: "the address cannot be used"}
	}
	for name, values := range w.headers {
		request.Header[name] = values
	}
	request.Header.Set("Content-Type", "application/json")
	if request.Header.Get("User-Agent") == "" {
		request.Header.Set("User-Agent", "planloop")
	}
	response, err := w.http.Do(request)
	if err != nil {
		return w.unreached(ctx, err)
	}
	_ = response.Body.Close() // nothing of it is wanted
	return judged(response, time.Now())
}

// judged says what an answer means; nil is success.
func judged(response *http.Response, now time.Time) *failure {
	status := response.StatusCode
	if status >= 200 && status <= 299 {
		return nil
	}
	f := &failure{problem: fmt.Sprintf("it answered %d%s", status, advice(status))}
	if status == http.StatusTooManyRequests || status == http.StatusRequestTimeout || status >= 500 {
		f.again, f.after = true, retryAfter(response.Header, now)
	}
	return f
}

// advice says what to look at where a status says who is to blame.
func advice(status int) string {
	switch {
	case status == http.StatusUnauthorized, status == http.StatusForbidden:
		return "; check headers_env, and the address"
	case status == http.StatusNotFound, status == http.StatusGone:
		return "; check the address: the webhook may have been deleted"
	case status == http.StatusBadRequest:
		return "; check format"
	case status >= 300 && status <= 399:
		return "; write the final address"
	}
	return ""
}

// unreached says why there is no answer, in words of its own.
func (w *webhook) unreached(ctx context.Context, err error) *failure {
	var elsewhere *redirected
	var certificate *tls.CertificateVerificationError
	var name *net.DNSError
	switch {
	case errors.Is(context.Cause(ctx), errClosed):
		return &failure{problem: "it was cut off, since planloop is ending"}
	case errors.As(err, &elsewhere):
		return &failure{problem: "it redirects to another place, which is not followed; write the final address if that is to be trusted"}
	case errors.As(err, &certificate):
		return &failure{problem: "its certificate is not trusted"}
	case ctx.Err() != nil, timedOut(err):
		return &failure{problem: "it gave no answer within " + w.timeout.String(), again: true}
	case errors.As(err, &name):
		return &failure{problem: "the name server does not know the host, or does not answer", again: true}
	case errors.Is(err, syscall.ECONNREFUSED):
		return &failure{problem: "it refused the connection", again: true}
	}
	return &failure{problem: "the connection failed", again: true}
}

func timedOut(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}
