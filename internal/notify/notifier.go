// Package notify tells a person, away from the agent, that something waits for
// them: by a webhook, in a shape of our own or in Discord's, and by a notice on
// the desktop. The user configures it, in a file of their own.
//
// To tell is a courtesy and never a condition: Notify returns at once, whatever
// an endpoint does. Each target has a short queue and a goroutine of its own,
// which the Notifier owns and Close ends, so that one that hangs holds up no
// other. A delivery is tried again within bounds and then given up, with a line
// in the log that names scheme and host and nothing more: the address of a
// webhook is often a secret itself.
//
// What is told is text that a model wrote. It is cut to what the other side
// takes, and escaped so that it pings nobody, forges no markup, and becomes
// neither an option nor a script of a programme.
//
// The JSON body is shown in docs/configuration.md. An answer from 200 to 299 is
// success; its body is not read.
//
// The package must not know what a plan is, who may approve it, or when something
// waits: its caller says so. Nothing that comes back from an endpoint decides
// anything.
package notify

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
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
// getenv is os.Getenv. The error is an *outbound.ConfigError.
func New(config Config, getenv func(string) string, opts Options) (*Notifier, error) {
	if err := config.Validate(); err != nil {
		return nil, err
	}
	if getenv == nil {
		getenv = os.Getenv
	}
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	targets, err := config.targets(getenv, opts)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancelCause(context.Background())
	n := &Notifier{stop: stop}
	for _, t := range targets {
		l := &lane{target: t, logger: opts.Logger, waiting: make(chan envelope, queued), ended: make(chan struct{})}
		n.lanes = append(n.lanes, l)
		go l.run(ctx)
	}
	return n, nil
}

func (c Config) targets(getenv func(string) string, opts Options) ([]target, error) {
	var targets []target
	for i, w := range c.Webhooks {
		t, problem := newWebhook(w, getenv, cmp.Or(c.Timeout, DefaultTimeout), opts)
		if problem != nil {
			return nil, ofWebhook(i, problem)
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
	notice.Steps, notice.Questions = slices.Clone(notice.Steps), slices.Clone(notice.Questions)
	if notice.Time.IsZero() {
		notice.Time = time.Now()
	}
	e := envelope{notice, rand.Text()}
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
	left := int64(0)
	for _, l := range n.lanes {
		left += l.left.Load()
	}
	if left > 0 {
		return fmt.Errorf("%d %w before planloop had to end; check the targets under notify, or remove one that does not answer",
			left, ErrUndelivered)
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

// queued is how many notices wait for one target at most.
const queued = 32

// target is a place that is told. deliver returns within bounds of its own, and
// soon after ctx is done.
type target interface {
	name() string // for the log
	wants(Event) bool
	deliver(ctx context.Context, e envelope) error
}

// lane is what waits for one target, and the goroutine that delivers it.
type lane struct {
	target  target
	logger  *slog.Logger
	waiting chan envelope
	left    atomic.Int64 // that wait or are being delivered
	dropped atomic.Int64 // since the goroutine last looked
	ended   chan struct{}

	mu     sync.Mutex // of push and close
	closed bool
}

// push queues an envelope, in place of the oldest when the queue is full. It
// waits for nothing, and leaves it to the goroutine to tell the log.
func (l *lane) push(e envelope) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return
	}
	if len(l.waiting) == queued {
		select {
		case <-l.waiting:
			l.left.Add(-1)
			l.dropped.Add(1)
		default: // the goroutine was faster
		}
	}
	l.left.Add(1)
	l.waiting <- e // there is room: nobody else sends
}

// run delivers what waits. It ends when the lane was closed and nothing waits, or when
// a delivery fails after ctx is done.
func (l *lane) run(ctx context.Context) {
	defer close(l.ended)
	for e := range l.waiting {
		if dropped := l.dropped.Swap(0); dropped > 0 {
			l.logger.WarnContext(ctx, "notices were dropped, the oldest first: too many waited", "to", l.target.name(), "dropped", dropped)
		}
		began := time.Now()
		err := l.target.deliver(ctx, e)
		l.report(ctx, e, began, err)
		if err != nil && ctx.Err() != nil { // what was taken, and what waits, counts as undelivered
			return
		}
		l.left.Add(-1)
	}
}

// close lets the goroutine end when it has delivered what waits.
func (l *lane) close() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.closed = true
		close(l.waiting)
	}
}

// failure is a delivery that failed. Its text is made of our own words alone: the
// standard library's quote addresses.
type failure struct {
	problem string
	tries   int
	quiet   bool // of no concern to anybody who did not ask
}

// Error says what happened.
func (f *failure) Error() string { return f.problem }

// report tells the log how a delivery ended.
func (l *lane) report(ctx context.Context, e envelope, began time.Time, err error) {
	attrs := []any{"to", l.target.name(), "event", e.Event, "id", e.id}
	level, message := slog.LevelDebug, "a notice was delivered"
	if err != nil {
		level, message = slog.LevelWarn, "a notice was not delivered"
		attrs = append(attrs, "problem", err.Error())
	}
	var f *failure
	if errors.As(err, &f) {
		attrs = append(attrs, "tries", f.tries)
		if f.quiet {
			level = slog.LevelDebug
		}
	}
	l.logger.Log(ctx, level, message, append(attrs, "took", time.Since(began))...)
}
