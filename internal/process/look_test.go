package process

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// TestLookOnWindows: programs that an administrator installed are found, in any layout of git; WSL's bash and files in
// the current folder are not.
func TestLookOnWindows(t *testing.T) {
	top := t.TempDir()
	for _, name := range []string{"system/bash.exe", "system/where.exe", "Git/cmd/git.exe", "Git/bin/bash.exe", "Git/mingw64/bin/git.exe",
		"Git/usr/bin/cat.exe", "msys/usr/bin/git.exe", "msys/usr/bin/bash.exe", "shims/git.exe", "repository/git.exe", "repository/cat.bat",
		"repository/bin/git.exe", "repository/bin/bash.exe", "scripts/cat.bat", "scripts/git.cmd", "folder/git.exe/x"} {
		path := filepath.Join(top, filepath.FromSlash(name))
		testenv.Check(t, os.MkdirAll(filepath.Dir(path), 0o700))
		testenv.Check(t, os.WriteFile(path, nil, 0o700))
	}
	t.Chdir(filepath.Join(top, "repository"))
	for name, test := range map[string]struct {
		program string
		path    []string // "." and "" and "bin" are relative to the current folder
		want    string
	}{
		"cmd":                   {"bash", []string{"system", "Git/cmd"}, "Git/bin/bash.exe"},
		"bin":                   {"bash", []string{"Git/bin", "Git/cmd"}, "Git/bin/bash.exe"},
		"in git's own shell":    {"bash", []string{"Git/mingw64/bin", "Git/usr/bin"}, "Git/bin/bash.exe"},
		"msys":                  {"bash", []string{"msys/usr/bin"}, "msys/usr/bin/bash.exe"},
		"a shim first":          {"bash", []string{"shims", "Git/cmd"}, "Git/bin/bash.exe"},
		"a shim alone":          {"bash", []string{"system", "shims"}, ""},
		"no git":                {"bash", []string{"system"}, ""},
		"git":                   {"git", []string{"system", "Git/cmd"}, "Git/cmd/git.exe"},
		"a folder":              {"git", []string{"folder", "Git/cmd"}, "Git/cmd/git.exe"},
		"current folder":        {"git", []string{"", "."}, ""},
		"before the right one":  {"git", []string{".", "bin", "Git/cmd"}, "Git/cmd/git.exe"},
		"its bash":              {"bash", []string{"bin", "Git/cmd"}, "Git/bin/bash.exe"},
		"batch files":           {"cat", []string{".", "scripts"}, ""},
		"batch files before it": {"cat", []string{".", "scripts", "Git/usr/bin"}, "Git/usr/bin/cat.exe"},
		"no path":               {"git", nil, ""},
	} {
		var folders []string
		for _, folder := range test.path {
			if folder != "" && folder != "." && folder != "bin" {
				folder = filepath.Join(top, filepath.FromSlash(folder))
			}
			folders = append(folders, folder)
		}
		want := test.want
		if want != "" {
			want = filepath.Join(top, filepath.FromSlash(want))
		}
		if found, err := lookOnWindows(test.program, folders); found != want || (err == nil) != (want != "") {
			t.Errorf("%s: %q, %v, want %q", name, found, err, want)
		}
	}
}
