package sqlite

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// checkFileSystem refuses network file systems: the write-ahead log needs
// memory that all processes share, and locks that hold.
func checkFileSystem(dir string) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return explain(dir, err)
	}
	name := networkName(int64(stat.Type))
	if name == "" {
		return nil
	}
	return fmt.Errorf("%s is on a network file system (%s), where a log can be damaged: choose a folder on a local disk", dir, name)
}

func networkName(magic int64) string {
	switch magic & 0xffffffff {
	case unix.NFS_SUPER_MAGIC:
		return "NFS"
	case unix.SMB_SUPER_MAGIC, unix.CIFS_SUPER_MAGIC, unix.SMB2_SUPER_MAGIC:
		return "SMB"
	case unix.AFS_SUPER_MAGIC, unix.AFS_FS_MAGIC:
		return "AFS"
	case unix.CEPH_SUPER_MAGIC:
		return "Ceph"
	case unix.V9FS_MAGIC:
		return "9P"
	}
	return ""
}
