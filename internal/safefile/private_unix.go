//go:build unix

package safefile

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// NoFollow makes open refuse a link, and not wait for the other end of a pipe.
const NoFollow = syscall.O_NOFOLLOW | syscall.O_NONBLOCK

// checkOwner refuses a path with another owner, except root if system is true, or one that others can write to.
func checkOwner(path string, info fs.FileInfo, system bool) error {
	if perm := info.Mode().Perm(); perm&0o022 != 0 {
		return fmt.Errorf("%s can be written by others (mode %04o): run chmod go-w on it, and check that its content is yours", path, perm)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if ok && int(stat.Uid) != os.Geteuid() && !(system && stat.Uid == 0) {
		return fmt.Errorf("%s belongs to user %d, not to you (%d): move it away, %s", path, stat.Uid, os.Geteuid(), elsewhere)
	}
	return nil
}

// UserOnly reports whether a mode gives access only to the owner.
func UserOnly(perm fs.FileMode) bool { return perm&0o077 == 0 }
