//go:build unix

package scan_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/scan"
)

// TestSpecialFilesAreNotOpened would hang if they were: nobody writes the pipe.
func TestSpecialFilesAreNotOpened(t *testing.T) {
	tree, root := workspace(t, files{"a.go": "package a // TODO: x\n"})
	for _, name := range []string{"pipe.go", "README.md", ".gitignore"} {
		if err := syscall.Mkfifo(filepath.Join(root, name), 0o644); err != nil {
			t.Skip(err)
		}
	}
	listener, err := net.Listen("unix", filepath.Join(root, "s.go"))
	if err != nil {
		t.Skip(err)
	}
	defer listener.Close() //nolint:errcheck // nobody connected
	if err := os.Symlink("pipe.go", filepath.Join(root, "link.md")); err != nil {
		t.Fatal(err)
	}
	r := run(t, tree, scan.Options{})
	if len(r.Findings) != 1 || r.Skipped.Special != 4 || r.Skipped.Links != 1 {
		t.Errorf("findings are %q, skipped %+v", titles(r, scan.KindMark), r.Skipped)
	}
	for _, name := range []string{"pipe.go", "s.go", "link.md"} {
		if _, ok := tree.ReadText(name, 10); ok {
			t.Errorf("%s was read", name)
		}
		if _, err := tree.FS().Open(name); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s was opened: %v", name, err)
		}
	}
}

func TestOddNamesAreSkipped(t *testing.T) {
	tree, root := workspace(t, files{"ok.py": "# TODO: x\n"})
	for _, name := range []string{"bad\xff.py", "line\nbreak.py", "bi\u202edi.py", "back`quote.py", "esc\x1b.py", "dir\xff/a.py"} {
		write(t, root, files{name: "# TODO: " + "odd\n"})
	}
	r := run(t, tree, scan.Options{})
	if len(r.Findings) != 1 || r.Skipped.Odd != 6 {
		t.Errorf("findings are %q, skipped %+v", titles(r, scan.KindMark), r.Skipped)
	}
}

func TestUnreadableIsCounted(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	tree, root := workspace(t, files{"ok.py": "# TODO: x\n", "no.py": "# TODO: y\n", "d/no.py": "# TODO: z\n"})
	for _, name := range []string{"no.py", "d"} {
		full := filepath.Join(root, name)
		if err := os.Chmod(full, 0); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.Chmod(full, 0o755) })
	}
	if r := run(t, tree, scan.Options{}); len(r.Findings) != 1 || r.Skipped.Unreadable != 2 {
		t.Errorf("findings are %q, skipped %+v", titles(r, scan.KindMark), r.Skipped)
	}
}
