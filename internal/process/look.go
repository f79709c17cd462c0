package process

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
)

// SearchPath is where Look finds programs: folders that only administrators write to.
const SearchPath = "/usr/local/bin:/usr/bin:/bin:/usr/local/sbin:/usr/sbin:/sbin:/usr/local/go/bin:/opt/homebrew/bin"

// Look finds a program on the fixed path, ignoring PATH. Windows has no fixed path.
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

// lookOnWindows finds a program in some folders. It ignores folders without an absolute path, above all the current
// one, where Windows looks first and which is often a repository; batch files are not programs. bash is git's own: the
// system's bash belongs to WSL, which gets neither our environment nor our git.
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

// bashBeside returns the bash installed with the git in a folder, or "". The folder is cmd or bin below
// git's own, or the bin that git's shell puts first, such as mingw64/bin.
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
