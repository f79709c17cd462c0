//go:build unix

package hosts

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByOthers tells whose file it is where it is not the user's own. Whoever may do
// anything leaves a file to its owner.
func ownedByOthers(info fs.FileInfo) (owner int, others bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), int(stat.Uid) != os.Geteuid() && os.Geteuid() != 0
}

// names is how many names a file has.
func names(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(stat.Nlink)
}
