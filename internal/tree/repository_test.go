package tree_test

import (
	"testing"

	"github.com/planloop/planloop/internal/tree"
)

func TestInRepository(t *testing.T) {
	for path, want := range map[string]bool{
		".git": true, ".git/config": true, "a/.GIT/hooks/x.md": true, "a/.git./x": true, ".git ./x": true, "git~1/config": true, "GIT~1": true,
		".git:stream/x": true, ".g\u200dit/x": true, "a/../.git": true,
		"": false, ".": false, ".gitignore": false, ".github/x.md": false, "a.git/x": false, "git/x": false, "git~2": false, "a/../b": false,
	} {
		if got := tree.InRepository(path); got != want {
			t.Errorf("%q: %v", path, got)
		}
	}
}
