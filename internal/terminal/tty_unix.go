//go:build unix

package terminal

import (
	"io"
	"os"
	"os/signal"
	"syscall"
)

// OpenTTY opens the controlling terminal of the process, whatever its standard streams are.
func OpenTTY() (io.ReadWriteCloser, error) { return os.OpenFile("/dev/tty", os.O_RDWR, 0) }

// StayInBackground makes reads from the terminal fail while the process is in the background, instead of stopping the
// process.
func StayInBackground() { signal.Ignore(syscall.SIGTTIN) }

// resizes sends a signal when the terminal is resized, until stop is called.
func resizes() (resized <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	return signals, func() { signal.Stop(signals) }
}
