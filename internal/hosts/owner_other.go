//go:build !unix

package hosts

import "io/fs"

// ownedByOthers knows nothing of owners here: the system refuses what may not be written.
func ownedByOthers(fs.FileInfo) (owner int, others bool) { return 0, false }

// names is how many names a file has, as far as is known.
func names(fs.FileInfo) uint64 { return 1 }
