package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"golang.org/x/text/unicode/norm"
)

// asSpelled returns path as the file system spells it. The usual file system of
// macOS opens /Users/ann/Code as /users/ann/code too, and both must be one
// workspace. Windows paths come out of symlink resolution spelled so; elsewhere
// names differ when their bytes differ.
func asSpelled(path string) string {
	if runtime.GOOS != "darwin" {
		return path
	}
	return spelledBy(path, names)
}

// spelledBy replaces each element of path by the one entry of its folder that
// equals it but for case and Unicode form. What cannot be listed stays.
func spelledBy(path string, list func(dir string) []string) string {
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	parent = spelledBy(parent, list)
	return filepath.Join(parent, entry(filepath.Base(path), list(parent)))
}

func entry(name string, among []string) string {
	var alike []string
	for _, other := range among {
		if other == name {
			return name
		}
		if strings.EqualFold(norm.NFC.String(other), norm.NFC.String(name)) {
			alike = append(alike, other)
		}
	}
	if len(alike) != 1 {
		return name
	}
	return alike[0]
}

func names(dir string) []string {
	folder, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer folder.Close()
	all, _ := folder.Readdirnames(-1)
	return all
}
