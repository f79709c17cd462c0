//go:build unix

package toolbox_test

import (
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// Opening a pipe would wait for its other end for ever.
func TestPipesAndSocketsAreNotOpened(t *testing.T) {
	box := open(t, map[string]string{"d/f": "needle\n"}, toolbox.Options{})
	t.Chdir(box.Path()) // the name of a socket must be short
	for _, name := range []string{"pipe", ".gitignore", "d/.gitignore"} {
		testenv.Check(t, syscall.Mkfifo(name, 0o644))
	}
	listener, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	for path, problem := range map[string]string{"pipe": "named pipe", "socket": "socket"} {
		everyPath(t, box, path, func(tool string, err error) {
			if tool == "glob" {
				problem := "not a directory"
				refused(t, err, plan.InvalidInput, "/path", problem)
				return
			}
			refused(t, err, plan.InvalidInput, "/path", problem)
		})
	}
	found, err := box.Grep(t.Context(), toolbox.Grep{Pattern: "needle"})
	if err != nil || len(found.Matches) != 1 {
		t.Errorf("%+v, %v", found, err)
	}
	listed, err := box.View(t.Context(), toolbox.View{Path: "."})
	if err != nil || listed.Content != ".gitignore (a named pipe)\nd/\npipe (a named pipe)\nsocket (a socket)" {
		t.Errorf("%+v, %v", listed, err)
	}
}

func TestDevicesAreNotOpened(t *testing.T) {
	box, err := toolbox.Open("/dev", toolbox.Options{})
	if err != nil {
		t.Skip(err)
	}
	defer func() { _ = box.Close() }()
	_, err = box.View(t.Context(), toolbox.View{Path: "zero"})
	refused(t, err, plan.InvalidInput, "/path", "a device")
}

func TestNamesThatDeceive(t *testing.T) {
	box := open(t, map[string]string{"a\nb\x1b[2J\u202e": "needle\n", "caf\xe9": "needle\n"}, toolbox.Options{})
	const one, two = `a\x0ab\x1b[2J\u202e`, `caf\xe9`
	listed, err := box.View(t.Context(), toolbox.View{Path: "."})
	if err != nil || listed.Content != one+" (7 bytes)\n"+two+" (7 bytes)" {
		t.Errorf("%+v, %v", listed, err)
	}
	globbed, err := box.Glob(t.Context(), toolbox.Glob{Pattern: "*"})
	if err != nil || len(globbed.Paths) != 2 || globbed.Paths[0] != one || globbed.Paths[1] != two {
		t.Errorf("%q, %v", globbed.Paths, err)
	}
	found, err := box.Grep(t.Context(), toolbox.Grep{Pattern: "needle"})
	if err != nil || len(found.Matches) != 2 || found.Matches[0].Path != one {
		t.Errorf("%+v, %v", found, err)
	}
}

// New files have the modes that the user's umask leaves.
func TestModesOfWhatIsNew(t *testing.T) {
	defer syscall.Umask(syscall.Umask(0o027))
	box := open(t, nil, toolbox.Options{})
	testenv.Must(box.CreateFile(t.Context(), toolbox.CreateFile{Path: "d/f"}))(t)
	for name, want := range map[string]os.FileMode{"d": 0o750, "d/f": 0o640} {
		if info, err := os.Stat(filepath.Join(box.Path(), name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
}
