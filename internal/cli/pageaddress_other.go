//go:build !windows

package cli

import (
	"errors"
	"syscall"
)

// isMissingAddress reports whether err says that this machine lacks the address to listen at.
func isMissingAddress(err error) bool {
	return errors.Is(err, syscall.EADDRNOTAVAIL) || errors.Is(err, syscall.EAFNOSUPPORT)
}
