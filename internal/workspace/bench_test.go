package workspace_test

import (
	"testing"

	"github.com/planloop/planloop/internal/workspace"
)

// Every command and hook pays for these before it does anything.
func BenchmarkLoadWithoutFiles(b *testing.B) {
	top := b.TempDir()
	s := workspace.Sources{Getenv: getenv(nil, "XDG_CONFIG_HOME", top), Home: top, Workspace: workspace.Workspace{Path: top}}
	for b.Loop() {
		if _, _, err := workspace.Load(s); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkFind(b *testing.B) {
	top := b.TempDir()
	in := workspace.Lookup{Flag: top, Getenv: getenv(nil, "XDG_STATE_HOME", top), Home: top}
	for b.Loop() {
		if _, err := workspace.Find(in); err != nil {
			b.Fatal(err)
		}
	}
}
