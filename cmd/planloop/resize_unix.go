//go:build unix

package main

import (
	"os"
	"os/signal"
	"syscall"
)

// resizes tells when the terminal gets another size, until stop.
func resizes() (resized <-chan os.Signal, stop func()) {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGWINCH)
	return signals, func() { signal.Stop(signals) }
}
