//go:build unix

package tree_test

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/tree"
)

// TestSpecialFilesAreNotOpened would block otherwise: the pipe has no writer.
func TestSpecialFilesAreNotOpened(t *testing.T) {
	opened, root := workspace(t, files{"a.go": ""})
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
	testenv.Check(t, os.Symlink("pipe.go", filepath.Join(root, "link.md")))
	got, _ := below(t, opened, ".", tree.Options{})
	same(t, "walked", got, []string{".gitignore", "README.md", "a.go", "link.md", "pipe.go", "s.go"})
	for _, name := range []string{"pipe.go", "s.go", "link.md"} {
		if _, ok := opened.ReadText(name, 10); ok {
			t.Errorf("%s was read", name)
		}
		if _, err := opened.Read(name, 10, nil); err == nil {
			t.Errorf("%s was read", name)
		}
		if _, err := opened.FS().Open(name); err == nil || !strings.Contains(err.Error(), "not a regular file") {
			t.Errorf("%s was opened: %v", name, err)
		}
	}
}

func TestUnreadableIsCounted(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root reads everything")
	}
	opened, root := workspace(t, files{"ok": "", "d/no": ""})
	full := filepath.Join(root, "d")
	testenv.Check(t, os.Chmod(full, 0))
	t.Cleanup(func() { _ = os.Chmod(full, 0o755) })
	got, w := below(t, opened, ".", tree.Options{})
	if same(t, "walked", got, []string{"d/", "ok"}); w.Unreadable != 1 {
		t.Errorf("%d were unreadable", w.Unreadable)
	}
}
