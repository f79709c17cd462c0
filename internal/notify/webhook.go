package notify

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/planloop/planloop/internal/outbound"
)

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
