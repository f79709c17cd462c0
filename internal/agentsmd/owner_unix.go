//go:build unix

package agentsmd

import (
	"io/fs"
	"os"
	"syscall"
)

// keepOwner gives a file the owner and group of another. Only a privileged user
// may, and only that one would otherwise take the file away from its owner.
func keepOwner(f *os.File, like fs.FileInfo) {
	if stat, ok := like.Sys().(*syscall.Stat_t); ok {
		_ = f.Chown(int(stat.Uid), int(stat.Gid))
	}
}
