//go:build unix

package main

import (
	"io"
	"os"
)

// openTerminal opens the terminal that the process belongs to, whatever its standard
// streams are.
func openTerminal() (io.ReadWriteCloser, error) { return os.OpenFile("/dev/tty", os.O_RDWR, 0) }
