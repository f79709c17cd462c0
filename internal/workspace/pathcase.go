package workspace

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"
)

// diskSpelling returns path as the file system spells it. The usual file system of macOS also opens /Users/ann/Code as
// /users/ann/code, and so do Windows drives in WSL, and both must be one workspace. On Windows, resolving symlinks
// already yields this spelling; elsewhere names differ if their bytes do.
func diskSpelling(path string) string {
	if runtime.GOOS == "windows" || runtime.GOOS != "darwin" && !ignoresCase(path) {
		return path
	}
	return spellPath(path, listNames)
}

// ignoresCase reports whether the disk ignores the case of the last name in a path that has letters.
func ignoresCase(path string) bool {
	for at := path; filepath.Dir(at) != at; at = filepath.Dir(at) {
		name := filepath.Base(at)
		other := strings.Map(swapCase, name)
		if other == name {
			continue
		}
		one, err := os.Stat(at)
		if err != nil {
			return false
		}
		same, err := os.Stat(filepath.Join(filepath.Dir(at), other))
		return err == nil && os.SameFile(one, same)
	}
	return false
}

func swapCase(r rune) rune {
	if unicode.IsUpper(r) {
		return unicode.ToLower(r)
	}
	return unicode.ToUpper(r)
}

// spellPath replaces each element of path by the only entry of its folder that equals it except for case and Unicode
// form. Elements of unlistable folders are kept.
func spellPath(path string, list func(dir string) []string) string {
	parent := filepath.Dir(path)
	if parent == path {
		return path
	}
	parent = spellPath(parent, list)
	return filepath.Join(parent, matchName(filepath.Base(path), list(parent)))
}

func matchName(name string, among []string) string {
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

func listNames(dir string) []string {
	folder, err := os.Open(dir)
	if err != nil {
		return nil
	}
	defer folder.Close()
	all, _ := folder.Readdirnames(-1)
	return all
}
