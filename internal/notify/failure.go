package notify

import (
	"context"
	"errors"
	"log/slog"
	"time"
)

// failure is a delivery that failed. Its text is made of words of this package
// alone: errors of the standard library quote addresses.
type failure struct {
	problem string
	tries   int
	quiet   bool          // of no concern to anybody who did not ask
	again   bool          // another try may fare better
	after   time.Duration // how long the endpoint asks to wait, 0 when it does not say
}

// Error says what happened.
func (f *failure) Error() string { return f.problem }

// report tells the log how a delivery ended.
func (l *lane) report(ctx context.Context, e envelope, began time.Time, err error) {
	attrs := []slog.Attr{slog.String("to", l.target.name()), slog.String("event", string(e.Event)), slog.String("id", e.id)}
	level, message := slog.LevelDebug, "a notice was delivered"
	if err != nil {
		level, message = slog.LevelWarn, "a notice was not delivered"
		attrs = append(attrs, slog.String("problem", err.Error()))
	}
	var f *failure
	if errors.As(err, &f) {
		attrs = append(attrs, slog.Int("tries", f.tries))
		if f.quiet {
			level = slog.LevelDebug
		}
	}
	l.logger.LogAttrs(ctx, level, message, append(attrs, slog.Duration("took", time.Since(began)))...)
}
