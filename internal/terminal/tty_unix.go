//go:build unix

package terminal

import (
	"io"
	"os"
	"os/signal"
	"syscall"
)

// OpenTTY opens the terminal that the process belongs to, whatever its standard
// streams are.
func OpenTTY() (io.ReadWriteCloser, error) { return os.OpenFile("/dev/tty", os.O_RDWR, 0) }

// resizes tells when the terminal gets another size, until stop.
func resizes() (resized <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	return signals, func() { signal.Stop(signals) }
}
