//go:build unix

package sqlite

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

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
