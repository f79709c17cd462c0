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
		return lookOnWindows(name, filepath.SplitList(os.Getenv("PATH")))
	}
	for _, folder := range filepath.SplitList(SearchPath) {
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return path, nil
		}
	}
	return "", notFound(name)
}

// lookOnWindows finds a program in some folders. The current one, where Windows looks first, is a repository's as
// often as not: it counts as little as any that is not named whole, and no batch file is a program. bash is git's:
// the one of the system is WSL's, which is told neither our environment nor our git.
func lookOnWindows(name string, folders []string) (string, error) {
	file := name + ".exe"
	if name == "bash" {
		file = "git.exe"
	}
	for _, folder := range folders {
		program := filepath.Join(folder, file)
		if !filepath.IsAbs(folder) || !isFile(program) {
			continue
		}
		if name != "bash" {
			return program, nil
		}
		if bash := bashBeside(folder); bash != "" {
			return bash, nil
		}
	}
	return "", notFound(name)
}

// bashBeside is the bash that came with the git of a folder, "" for none: that folder is cmd or bin below git's own,
// or the bin of what git's own shell puts first, such as mingw64.
func bashBeside(folder string) string {
	up := filepath.Dir(folder)
	for _, top := range []string{up, filepath.Dir(up)} {
		for _, below := range []string{"bin", filepath.Join("usr", "bin")} {
			if bash := filepath.Join(top, below, "bash.exe"); isFile(bash) {
				return bash
			}
		}
	}
	return ""
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

func notFound(name string) error { return fmt.Errorf("%s: %w", name, exec.ErrNotFound) }
