package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/tools/go/packages"
)

// TestOtherSystems: every package and its tests compile for the other supported systems. The bodies of the dependencies' functions are not
// checked, so this takes seconds instead of the minutes of a build.
func TestOtherSystems(t *testing.T) {
	if testing.Short() {
		t.Skip("it checks all packages, and what they import, three times")
	}
	here, err := filepath.Abs("..")
	if err != nil {
		t.Fatal(err)
	}
	for _, system := range []string{"linux/arm64", "darwin/arm64", "windows/amd64"} {
		for _, module := range []string{here, filepath.Join(here, "bench")} {
			t.Run(system+" "+filepath.Base(module), func(t *testing.T) {
				goos, goarch, _ := strings.Cut(system, "/")
				loaded, err := packages.Load(&packages.Config{
					Mode: packages.NeedName | packages.NeedFiles | packages.NeedImports | packages.NeedDeps | packages.NeedTypes |
						packages.NeedSyntax | packages.NeedTypesInfo | packages.NeedTypesSizes,
					Dir: module, Tests: true, Env: append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0"),
					ParseFile: func(set *token.FileSet, path string, text []byte) (*ast.File, error) {
						file, err := parser.ParseFile(set, path, text, parser.SkipObjectResolution)
						if err == nil && !strings.HasPrefix(path, here+string(filepath.Separator)) {
							for _, decl := range file.Decls {
								if f, ok := decl.(*ast.FuncDecl); ok {
									f.Body = nil
								}
							}
						}
						return file, err
					},
				}, "./...")
				if err != nil || len(loaded) < 3 {
					t.Fatalf("%d packages, %v", len(loaded), err)
				}
				for _, pkg := range loaded {
					if strings.HasSuffix(pkg.ID, ".test") {
						continue // a generated main function
					}
					for _, wrong := range pkg.Errors {
						t.Error(wrong)
					}
				}
			})
		}
	}
}
