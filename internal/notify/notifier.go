package notify

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"time"
)

// Bounds of Close.
const (
	// drainTime is how long Close lets deliveries go on.
	drainTime = 5 * time.Second
	// endTime is how long it then waits for those that were cut off to end.
	endTime = 2 * time.Second
)

// ErrUndelivered is wrapped by what Close returns when notices were left.
var ErrUndelivered = errors.New("notices were not delivered")

// Options are what a Notifier needs besides its configuration. The zero value is
// usable.
type Options struct {
	// Logger hears what was delivered (debug), what was not (warn) and what was
	// dropped (warn): never an address, a header, or text of a notice. Nil: discards.
	Logger *slog.Logger
	// HTTPClient is copied; its redirects, cookies and timeout are not used. Nil:
	// one of our own, which keeps no connection between notices.
	HTTPClient *http.Client
	// Run runs a desktop programme; nil runs it as a process.
	Run Run
}

// Notifier tells the configured targets. It may be used by several goroutines.
// Close it when it is not needed any more.
type Notifier struct {
	lanes []*lane
	stop  context.CancelCauseFunc
}

// New returns a Notifier for the configuration and starts a goroutine for each
// target; with none configured it starts nothing. Nothing is contacted. Nil
// getenv is os.Getenv. The error is a *ConfigError.
func New(config Config, getenv func(string) string, opts Options) (*Notifier, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if getenv == nil {
		getenv = os.Getenv
	}
	if opts.Logger == nil {
		opts.Logger = slog.New(slog.DiscardHandler)
	}
	targets, err := config.targets(getenv, opts)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(context.Background())
	n := &Notifier{stop: stop}
	for _, t := range targets {
		n.lanes = append(n.lanes, startLane(ctx, t, opts.Logger))
	}
	return n, nil
}

func (c Config) targets(getenv func(string) string, opts Options) ([]target, error) {
	var targets []target
	client := guarded(opts.HTTPClient)
	for i, w := range c.Webhooks {
		t, problem := newWebhook(w, getenv, client, c.timeout(), opts.Logger)
		if problem != nil {
			return nil, problem.at(i)
		}
		targets = append(targets, t)
	}
	if c.Desktop {
		targets = append(targets, newDesktop(runtime.GOOS, getenv, opts.Run))
	}
	return targets, nil
}

// Notify queues a notice for every target that wants its event, and returns at
// once. After Close it does nothing.
func (n *Notifier) Notify(notice Notice) {
	e := envelope{notice.owned(time.Now()), rand.Text()}
	for _, l := range n.lanes {
		if l.target.wants(notice.Event) {
			l.push(e)
		}
	}
}

// Close takes no more notices, delivers those that wait, and ends the
// goroutines. What is not delivered when ctx is done, or after five seconds, is
// cut off; the error then wraps ErrUndelivered. It may be called again.
func (n *Notifier) Close(ctx context.Context) error {
	for _, l := range n.lanes {
		l.close()
	}
	drain, cancel := context.WithTimeout(ctx, drainTime)
	defer cancel()
	n.wait(drain)
	n.stop(errClosed)
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endTime)
	defer cancel()
	n.wait(end)
	left := 0
	for _, l := range n.lanes {
		left += l.left()
	}
	if left > 0 {
		return fmt.Errorf("%d %w in the time there was at the end; look at the targets under notify, or remove one that does not answer", left, ErrUndelivered)
	}
	return nil
}

// errClosed is why deliveries are cut off.
var errClosed = errors.New("the notifier was closed")

// wait waits until all goroutines have ended, or ctx is done.
func (n *Notifier) wait(ctx context.Context) {
	for _, l := range n.lanes {
		select {
		case <-l.ended:
		case <-ctx.Done():
			return
		}
	}
}
