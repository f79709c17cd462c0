package workspace_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/workspace"
)

// refused loads and returns the refusal.
func refused(t *testing.T, s workspace.Sources) error {
	t.Helper()
	_, _, err := workspace.Load(s)
	var refusal *workspace.ConfigError
	if !errors.As(err, &refusal) {
		t.Fatalf("not refused: %v", err)
	}
	return err
}

func TestLinkedWorkspaceFile(t *testing.T) {
	outside := filepath.Join(t.TempDir(), "outside.yaml")
	write(t, outside, "parallel: 9")
	tests := []struct {
		name, target string
		taken        bool
	}{
		{"outside, absolute", outside, false},
		{"outside, relative", filepath.Join("..", "outside.yaml"), false},
		{"nowhere", "missing.yaml", false},
		{"itself", workspace.FileName, false},
		{"a folder", ".", false},
		{"inside", filepath.Join("sub", "own.yaml"), true},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := layers{}.sources(t)
			write(t, filepath.Join(s.Workspace.Path, "sub", "own.yaml"), "parallel: 9")
			write(t, filepath.Join(filepath.Dir(s.Workspace.Path), "outside.yaml"), "parallel: 9")
			if err := os.Symlink(test.target, filepath.Join(s.Workspace.Path, workspace.FileName)); err != nil {
				t.Fatal(err)
			}
			if !test.taken {
				refused(t, s)
				return
			}
			if c, _, err := workspace.Load(s); err != nil || c.Parallel != 9 {
				t.Errorf("%+v, %v", c, err)
			}
		})
	}
}

func TestFilesThatAreNone(t *testing.T) {
	s := layers{}.sources(t)
	own := filepath.Join(s.Workspace.Path, workspace.FileName)
	if err := os.MkdirAll(own, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := refused(t, s); !strings.Contains(err.Error(), "not a plain file") {
		t.Error(err)
	}
}

func TestUsersFile(t *testing.T) {
	s := layers{user: "approval: person"}.sources(t)
	path, err := workspace.ConfigFile(s.Getenv, s.Home)
	if err != nil {
		t.Fatal(err)
	}
	// Kept elsewhere and linked, as dotfile managers do.
	real := filepath.Join(t.TempDir(), "dotfile.yaml")
	if err := errors.Join(os.Rename(path, real), os.Symlink(real, path)); err != nil {
		t.Fatal(err)
	}
	if c, _, err := workspace.Load(s); err != nil || c.Approval != workspace.PersonApproval {
		t.Fatalf("%+v, %v", c, err)
	}
	if err := os.Chmod(real, 0o666); err != nil {
		t.Fatal(err)
	}
	if err := refused(t, s); !strings.Contains(err.Error(), "chmod") {
		t.Error(err)
	}
	// A policy that has gone missing is no policy that was never written.
	if err := os.Remove(real); err != nil {
		t.Fatal(err)
	}
	refused(t, s)
}

// Each is 64 KB that a parser can spend minutes or gigabytes on.
func TestBombs(t *testing.T) {
	const size = 64 << 10
	fill := func(text string) string { return strings.Repeat(text, size/len(text)) }
	billion := "a: &a [x,x,x,x,x,x,x,x,x]\n"
	for c := 'b'; c < 'j'; c++ {
		billion += string(c) + ": &" + string(c) + " [" + strings.TrimSuffix(strings.Repeat("*"+string(c-1)+",", 9), ",") + "]\n"
	}
	for name, text := range map[string]string{
		"laughs": billion, "brackets": fill("["), "braces": fill("{a: "), "colons": fill("a: "), "dashes": fill("- "),
		"questions": fill("? "), "anchors": fill("&a "), "merges": fill("<<: \n"), "keys": fill("a\n"), "documents": fill("---\n"),
		"list": "toolsets:\n" + strings.Repeat("- x\n", size/4-4), "flow colons": "{" + strings.Repeat("a: ", 1300), "flow of questions": "[" + strings.Repeat("? ", 3900),
		"words": "toolsets: [" + strings.Repeat("x,", size/2-8) + "]", "commas": fill(","), "bangs": fill("!"), "percents": fill("%\n"), "pipes": fill("|\n"),
	} {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			refused(t, layers{own: text}.sources(t))
			// A generous bound: the point is seconds, not minutes.
			if spent := time.Since(start); spent > 10*time.Second {
				t.Errorf("took %v", spent)
			}
		})
	}
}
