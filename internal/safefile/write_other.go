//go:build !unix

package safefile

import (
	"io/fs"
	"os"
)

// keepOwner does nothing: new files inherit from their folder.
func keepOwner(*os.File, fs.FileInfo) {}

// ignoreUnsupported drops errors of syncing a folder, which Windows refuses and does not need.
func ignoreUnsupported(error) error { return nil }
