package notify

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/planloop/planloop/internal/outbound"
)

// parseWebhook returns the address in the configuration.
func parseWebhook(text outbound.Secret) (*url.URL, *outbound.ConfigError) {
	address, problem := outbound.Rules{
		Example:     "webhook: https://example.com/hook",
		Credentials: "take them out; a webhook's secret is part of its path or query",
		Unencrypted: "write https://; http:// is for 127.0.0.1, [::1] and localhost",
	}.Parse(string(text))
	if problem != nil {
		return nil, invalid("webhook", problem.Problem, problem.Want)
	}
	return address, nil
}

// webhook is an endpoint that gets notices by POST.
type webhook struct {
	client *outbound.Client
	secret string // path and query of the address
}

func newWebhook(address *url.URL, opts Options) webhook {
	limits := outbound.Limits{Timeout: 10 * time.Second, Total: 30 * time.Second, Tries: 3, FirstWait: time.Second,
		LongestAsked: 15 * time.Second}
	return webhook{outbound.New(address, limits, opts.HTTPClient, opts.Logger), address.RequestURI()}
}

// deliver reports a failure in outbound's words, because the endpoint's might repeat the address.
func (w webhook) deliver(ctx context.Context, body []byte) error {
	err := w.client.Post(ctx, outbound.Message{Body: body, Secrets: []string{w.secret}})
	var failed *outbound.Error
	switch {
	case errors.Is(err, errClosed):
		return errClosed
	case errors.As(err, &failed):
		return fmt.Errorf("it %s, on attempt %d; check notify.webhook", failed.Problem, failed.Tries)
	}
	return err
}
