package sqlite

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// checkFileSystem refuses network file systems: the write-ahead log needs memory shared by all
// processes, and reliable locks.
func checkFileSystem(dir string) error {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return explain(dir, err)
	}
	name := map[int64]string{
		unix.NFS_SUPER_MAGIC: "NFS", unix.AFS_SUPER_MAGIC: "AFS", unix.AFS_FS_MAGIC: "AFS", unix.CEPH_SUPER_MAGIC: "Ceph",
		unix.SMB_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB", unix.V9FS_MAGIC: "9P",
	}[int64(stat.Type)&0xffffffff]
	if name == "" {
		return nil
	}
	return fmt.Errorf("%s is on a network file system (%s), where a log can be damaged: choose a folder on a local disk", dir, name)
}
