package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"
)

// keyboard reads typed lines in a goroutine that ends with rest or with the terminal.
type keyboard struct {
	tty   io.ReadWriter
	lines chan string // closed when the terminal is gone
	ended chan struct{}
}

// maxTypedLines is how many unread lines are kept, maxTypedLine the limit of a line in bytes.
const (
	maxTypedLines = 8
	maxTypedLine  = 64 << 10
)

func newKeyboard(tty io.ReadWriter) *keyboard {
	k := &keyboard{tty: tty, lines: make(chan string, maxTypedLines)}
	k.listen()
	return k
}

func (k *keyboard) listen() {
	k.ended = make(chan struct{})
	go func() {
		defer close(k.ended)
		typed := make([]byte, maxTypedLine)
		for {
			n, err := k.tty.Read(typed)
			if n > 0 {
				select {
				case k.lines <- string(typed[:n]):
				default:
				}
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				return
			}
			if err != nil {
				close(k.lines)
				return
			}
		}
	}()
}

// pause leaves the terminal to another program until listen. It returns false if that is not possible.
func (k *keyboard) pause() bool {
	limited, ok := k.tty.(interface{ SetReadDeadline(time.Time) error })
	if !ok || limited.SetReadDeadline(time.Now()) != nil {
		return false
	}
	<-k.ended
	return limited.SetReadDeadline(time.Time{}) == nil
}

// dropTyped drops lines typed before the question.
func (k *keyboard) dropTyped() {
	for {
		select {
		case _, ok := <-k.lines:
			if ok {
				continue
			}
		default:
		}
		return
	}
}

// untilHangup returns a context that also ends when the terminal hangs up.
func untilHangup(ctx context.Context) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(ctx, syscall.SIGHUP)
}
