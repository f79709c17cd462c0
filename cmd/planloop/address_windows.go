package main

import (
	"errors"

	"golang.org/x/sys/windows"
)

// noSuchAddress reports whether this machine lacks the address that was to be listened at. On Windows the errors that package syscall
// calls EADDRNOTAVAIL and EAFNOSUPPORT are inventions of Go, which the system never answers.
func noSuchAddress(err error) bool {
	return errors.Is(err, windows.WSAEADDRNOTAVAIL) || errors.Is(err, windows.WSAEAFNOSUPPORT)
}
