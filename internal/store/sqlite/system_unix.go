//go:build unix

package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// tryLockFile locks the file unless another process has it locked.
func tryLockFile(f *os.File) (bool, error) {
	err := flock(f, unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return false, nil
	}
	return err == nil, err
}

func unlockFile(f *os.File) error { return flock(f, unix.LOCK_UN) }

func flock(f *os.File, how int) error {
	for {
		if err := unix.Flock(int(f.Fd()), how); !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// checkOwner refuses what belongs to somebody else or what others can write to.
func checkOwner(path string, info fs.FileInfo) error {
	if perm := info.Mode().Perm(); perm&0o022 != 0 {
		return fmt.Errorf("%s can be written by others (mode %04o): run chmod go-w on it, and check that nobody has changed it", path, perm)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(stat.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, not to you (%d): use a folder of your own", path, stat.Uid, os.Geteuid())
	}
	return nil
}

// isPrivate reports whether only the owner has access.
func isPrivate(perm fs.FileMode) bool { return perm&0o077 == 0 }

func isFull(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

func isReadOnly(err error) bool { return errors.Is(err, syscall.EROFS) }
