//go:build unix

package sqlite

import (
	"errors"
	"syscall"
)

// ignoreUnsupported drops the error of a file system that syncs no folders.
func ignoreUnsupported(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.ENOTSUP) {
		return nil
	}
	return err
}
