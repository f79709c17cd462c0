// Package notify reports events that wait for a person. It calls a program or a webhook that the user
// configured in a file of their own.
//
// Notify returns at once, whatever a target does. Each target has a short queue and a goroutine, which the
// Notifier owns and Close ends, so that a slow target delays no other. The log names the program, or scheme
// and host: a webhook's address is often a secret.
//
// A notice contains text that a model wrote. It is shortened, made printable, and never part of an argument:
// the program reads it from standard input.
//
// The package must not know plans, approvers, or when something waits. It does not read an endpoint's answer
// or a program's output.
package notify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/process"
)

const (
	queued    = 32              // notices that wait for one target
	drainTime = 5 * time.Second // for Close to finish deliveries
	endTime   = 2 * time.Second // for deliveries that Close cut off to end
)

// ErrUndelivered is wrapped by the error of Close if notices were left.
var ErrUndelivered = errors.New("notices were not delivered")

var errClosed = errors.New("planloop was shutting down") // the cause of a delivery that Close cut off

// Config is the section notify of the user's own configuration. Every configured target gets every notice.
type Config struct {
	Command []string        `yaml:"command"` // a program and its arguments; it reads the notice from standard input
	Webhook outbound.Secret `yaml:"webhook"` // the address that gets the notice by POST
}

// Validate returns the first unusable value as an *outbound.ConfigError. It looks for the program and
// contacts nothing.
func (c Config) Validate() error {
	if _, problem := c.check(); problem != nil {
		return problem
	}
	if len(c.Command) == 0 {
		return nil
	}
	if _, err := exec.LookPath(c.Command[0]); err != nil {
		return invalid("command", "starts a program that cannot be found", "install it, or give its absolute path")
	}
	return nil
}

// check returns the webhook's address, nil without one, or an error for the first invalid value.
func (c Config) check() (*url.URL, *outbound.ConfigError) {
	if problem, want := process.CheckCommand(c.Command); problem != "" && c.Command != nil {
		return nil, invalid("command", problem, want)
	}
	if c.Webhook == "" {
		return nil, nil
	}
	address, problem := outbound.Rules{
		Example:     "webhook: https://example.com/hook",
		Credentials: "take them out; a webhook's secret is part of its path or query",
		Unencrypted: "write https://; http:// is for 127.0.0.1, [::1] and localhost",
	}.Parse(string(c.Webhook))
	if problem != nil {
		return nil, invalid("webhook", problem.Problem, problem.Want)
	}
	return address, nil
}

func invalid(key, problem, want string) *outbound.ConfigError {
	return &outbound.ConfigError{Section: "notify", Key: key, Problem: problem, Want: want}
}

// Options configure a Notifier. The zero value is usable.
type Options struct {
	Logger     *slog.Logger      // gets outcomes, never an address or text of a notice; nil discards
	HTTPClient *http.Client      // used as by outbound.New
	Launcher   *process.Launcher // starts the program; nil: one without a keeper
}

// Notifier reports to the configured targets. It is safe for concurrent use and must be closed.
type Notifier struct {
	targets []*target
	stop    context.CancelCauseFunc
}

// New returns a Notifier and starts one goroutine for each target. It contacts nothing. The error
// is an *outbound.ConfigError.
func New(config Config, opts Options) (*Notifier, error) {
	address, problem := config.check()
	if problem != nil {
		return nil, problem
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	ctx, stop := context.WithCancelCause(context.Background())
	n := &Notifier{stop: stop}
	if len(config.Command) > 0 {
		command := command{config.Command, cmp.Or(opts.Launcher, &process.Launcher{})}
		n.add(ctx, filepath.Base(config.Command[0]), command.deliver, opts.Logger)
	}
	if address != nil {
		hook := newWebhook(address, opts)
		n.add(ctx, hook.client.Origin(), hook.deliver, opts.Logger)
	}
	return n, nil
}

func (n *Notifier) add(ctx context.Context, name string, deliver func(context.Context, []byte) error, logger *slog.Logger) {
	t := &target{deliver: deliver, logger: logger.With("to", name), waiting: make(chan []byte, queued), ended: make(chan struct{})}
	n.targets = append(n.targets, t)
	go t.run(ctx)
}

// Notify queues a notice for every target and returns at once. After Close it does nothing.
func (n *Notifier) Notify(notice Notice) {
	body, err := notice.Encode()
	for _, t := range n.targets {
		if err != nil {
			t.logger.Warn("a notice was not delivered", "problem", "it cannot be encoded")
			continue
		}
		t.push(body)
	}
}

// Close delivers the queued notices and ends the goroutines. Deliveries that are not finished when ctx ends
// or after five seconds are cut off; the error then wraps ErrUndelivered. It may be called again.
func (n *Notifier) Close(ctx context.Context) error {
	for _, t := range n.targets {
		t.close()
	}
	n.wait(ctx, drainTime)
	n.stop(errClosed)
	n.wait(context.WithoutCancel(ctx), endTime)
	left := int64(0)
	for _, t := range n.targets {
		left += t.left.Load()
	}
	if left > 0 {
		return fmt.Errorf("%d %w before planloop ended; check the section notify", left, ErrUndelivered)
	}
	return nil
}

// wait returns when all goroutines have ended, ctx ends, or longest has passed.
func (n *Notifier) wait(ctx context.Context, longest time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for _, t := range n.targets {
		select {
		case <-t.ended:
		case <-ctx.Done():
			return
		}
	}
}

type target struct {
	deliver func(ctx context.Context, body []byte) error
	logger  *slog.Logger
	waiting chan []byte
	left    atomic.Int64 // queued or being delivered
	ended   chan struct{}

	mu     sync.Mutex // guards push and close
	closed bool
}

// push queues a body; if the queue is full, the oldest is dropped.
func (t *target) push(body []byte) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	if len(t.waiting) == queued {
		select {
		case <-t.waiting:
			t.left.Add(-1)
			t.logger.Warn("the oldest notice was dropped because too many are waiting")
		default: // the goroutine has just taken one
		}
	}
	t.left.Add(1)
	t.waiting <- body // never blocks: only push sends, under the lock
}

// run delivers the queue until it is closed and empty, or a delivery fails after ctx is done.
func (t *target) run(ctx context.Context) {
	defer close(t.ended)
	for body := range t.waiting {
		err := t.deliver(ctx, body)
		if err != nil {
			t.logger.Warn("a notice was not delivered", "problem", err.Error())
		} else {
			t.logger.Debug("a notice was delivered")
		}
		if err != nil && ctx.Err() != nil {
			return // this notice and the queued ones count as undelivered
		}
		t.left.Add(-1)
	}
}

func (t *target) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.closed {
		t.closed = true
		close(t.waiting)
	}
}
