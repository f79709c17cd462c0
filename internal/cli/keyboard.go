package cli

import (
	"errors"
	"io"
	"os"
	"time"
)

// keyboard reads typed lines in a goroutine that ends with rest or with the terminal.
type keyboard struct {
	tty   io.ReadWriter
	lines chan string // closed when the terminal is gone
	ended chan struct{}
}

// mostTyped is how many unread lines are kept, longestTyped the limit of a line in bytes.
const (
	mostTyped    = 8
	longestTyped = 64 << 10
)

func newKeyboard(tty io.ReadWriter) *keyboard {
	k := &keyboard{tty: tty, lines: make(chan string, mostTyped)}
	k.listen()
	return k
}

func (k *keyboard) listen() {
	k.ended = make(chan struct{})
	go func() {
		defer close(k.ended)
		typed := make([]byte, longestTyped)
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

// rest leaves the terminal to another program until listen. It returns false if that is not possible.
func (k *keyboard) rest() bool {
	limited, ok := k.tty.(interface{ SetReadDeadline(time.Time) error })
	if !ok || limited.SetReadDeadline(time.Now()) != nil {
		return false
	}
	<-k.ended
	return limited.SetReadDeadline(time.Time{}) == nil
}

// forget drops lines typed before the question.
func (k *keyboard) forget() {
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
