package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// SearchPath is where Look finds programs: places that an administrator writes to, and no
// project.
const SearchPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin:/opt/homebrew/bin"

// Look finds a program on the fixed path, whatever the own PATH says. On Windows there is
// no fixed one.
func Look(name string) (string, error) {
	if runtime.GOOS == "windows" {
		return exec.LookPath(name)
	}
	for _, folder := range filepath.SplitList(SearchPath) {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: %w", name, exec.ErrNotFound)
}
