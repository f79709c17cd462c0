//go:build unix

package hosts

import (
	"io/fs"
	"os"
	"syscall"
)

// ownedByOthers returns the owner of a file, and whether that is another user: never for root, who leaves a file's owner unchanged.
func ownedByOthers(info fs.FileInfo) (owner int, others bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), int(stat.Uid) != os.Geteuid() && os.Geteuid() != 0
}

// linkCount returns the number of a file's names (hard links).
func linkCount(info fs.FileInfo) uint64 {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 1
	}
	return uint64(stat.Nlink)
}
