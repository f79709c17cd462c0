//go:build !unix

package agentsmd

import (
	"io/fs"
	"os"
)

// keepOwner does nothing: what is created in a folder inherits from it.
func keepOwner(*os.File, fs.FileInfo) {}
