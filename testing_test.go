package planloop_test

import (
	"go/ast"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestTestsHaveTheirOwnEnvironment fails if a package starts programs or reads the environment, and its tests do not remove the caller's
// settings first.
func TestTestsHaveTheirOwnEnvironment(t *testing.T) {
	files := allSources(t)
	affected, tested, fixed := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for path, file := range files {
		folder := filepath.ToSlash(filepath.Dir(path))
		tested[folder] = tested[folder] || strings.HasSuffix(path, "_test.go")
		for _, spec := range file.Imports {
			affected[folder] = affected[folder] || spec.Path.Value == `"os/exec"` || spec.Path.Value == `"github.com/adrg/xdg"`
		}
		ast.Inspect(file, func(node ast.Node) bool {
			affected[folder] = affected[folder] || isSelector(node, "os", "Getenv", "LookupEnv", "Environ", "UserConfigDir", "UserHomeDir")
			fixed[folder] = fixed[folder] || isSelector(node, "testenv", "Fixed")
			return true
		})
	}
	if len(affected) == 0 {
		t.Fatal("no package reads the environment: the test reads nothing")
	}
	for folder := range affected {
		if affected[folder] && tested[folder] && !fixed[folder] {
			t.Errorf("the tests of %s depend on the caller's environment; run them from TestMain as testenv.Fixed{Tests: m}", folder)
		}
	}
}

// isSelector reports whether a node is one of the names of a package.
func isSelector(node ast.Node, of string, names ...string) bool {
	selector, ok := node.(*ast.SelectorExpr)
	if !ok {
		return false
	}
	from, ok := selector.X.(*ast.Ident)
	return ok && from.Name == of && slices.Contains(names, selector.Sel.Name)
}
