package cli

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isMissingAddress reports whether err says that this machine lacks the address to listen at. On Windows the system never returns
// syscall.EADDRNOTAVAIL and syscall.EAFNOSUPPORT: Go invented these values.
func isMissingAddress(err error) bool {
	return errors.Is(err, windows.WSAEADDRNOTAVAIL) || errors.Is(err, windows.WSAEAFNOSUPPORT)
}
