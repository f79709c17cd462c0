//go:build !windows

package main

import (
	"errors"
	"syscall"
)

// noSuchAddress reports whether this machine lacks the address that was to be listened at.
func noSuchAddress(err error) bool {
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)
}
