//go:build !unix

package atomicfile

import (
	"io/fs"
	"os"
)

// keepOwner does nothing: what is created in a folder inherits from it.
func keepOwner(*os.File, fs.FileInfo) {}

// ignoreUnsupported drops the error of syncing a folder, which Windows refuses
// and does not need.
func ignoreUnsupported(error) error { return nil }
