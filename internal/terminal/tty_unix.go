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

// StayInBackground has reading from the terminal fail in a process that its shell has put into the background, rather
// than stop the process.
func StayInBackground() { signal.Ignore(syscall.SIGTTIN) }

// resizes tells when the terminal gets another size, until stop.
func resizes() (resized <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	return signals, func() { signal.Stop(signals) }
}
