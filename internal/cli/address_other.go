//go:build !windows

package cli

import (
	"errors"
	"syscall"
)

// noSuchAddress reports whether err says that this machine lacks the address to listen at.
func noSuchAddress(err error) bool {
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)
}
