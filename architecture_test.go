// Package planloop_test holds the rules of the house that no compiler knows:
// who may import whom, what files are called, and that nothing is mutable and
// shared.
package planloop_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"
)

const module = "github.com/planloop/planloop"

// layer says what the packages of a folder, and of the folders below it, may
// import of this module: a folder, or folder/... for what stands below it too.
// Within its own folder a package may import any other.
type layer struct {
	folder  string
	imports []string
	outside []string // what it may import of others, besides the standard library; nil for anything
}

// base are the packages below the leaves that anybody above plan and the log may
// import: each is the one home of a rule that several need.
func base() []string {
	return []string{"plan", "internal/safetext", "internal/tree", "internal/atomicfile", "internal/private", "internal/outbound",
		"internal/tail", "internal/spelling", "internal/process", "internal/tokens", "internal/broadcast", "internal/history",
		"internal/lineage", "internal/yamltext", "internal/condition", "internal/runnable", "internal/worktree", "internal/quietgit",
		"internal/loopback", "internal/shellquote", "internal/testenv"}
}

// layers are the arrows of ARCHITECTURE.md. The first that matches counts; a
// package that none matches has no place yet.
func layers() []layer {
	onBase := func(more ...string) []string { return append(base(), more...) }
	return []layer{
		{folder: "plan", outside: []string{"golang.org/x/text/unicode/norm"}},
		{folder: "gates", imports: base()},
		{folder: "prompts", imports: base()},
		{folder: "resources", imports: base()},
		{folder: "mcpserver", imports: onBase("prompts", "resources", "internal/verbs", "internal/toolbox", "internal/seal",
			"internal/store", "internal/workspace", "internal/review", "internal/page")}, // how its messages travel is the transport's
		{folder: "cmd", imports: []string{"internal/cli"}},
		{folder: "internal/cli", imports: []string{"..."}},
		{folder: "internal/store", imports: []string{"plan", "internal/atomicfile", "internal/private", "internal/broadcast"}},
		{folder: "internal/session", imports: []string{"plan", "internal/store", "internal/broadcast"}},
		{folder: "internal/verbs", imports: onBase("gates", "prompts", "resources", "internal/session",
			"internal/strict", "internal/workspace")},
		{folder: "internal/toolbox", imports: onBase("internal/shell", "internal/workspace",
			"internal/strict")}, // what it takes is judged as it is decoded
		{folder: "internal/engine", imports: onBase("internal/session", "internal/toolbox", "internal/condition", "internal/agents")},
		{folder: "internal/downstream", imports: onBase("internal/toolbox")},
		{folder: "internal/hook", imports: onBase("internal/toolbox", "internal/exchange")}, // which reads plans in Markdown
		{folder: "internal/hosts", imports: onBase("internal/hook")},
		{folder: "internal/review", imports: onBase("internal/verbs", "internal/strict")},
		{folder: "internal/web", imports: onBase("internal/verbs", "internal/review", "internal/page", "internal/strict")},
		{folder: "internal/exchange", imports: onBase("resources")},
		{folder: "internal/template", imports: onBase("internal/exchange", "internal/strict", "resources")},
		{folder: "internal/terminal", imports: onBase("resources", "internal/verbs")},
		{folder: "packaging", imports: []string{"internal/build", "internal/hook", "internal/hosts"}},
		{folder: "internal/e2e", imports: []string{"..."}},
		{folder: "internal/stdio", imports: onBase("internal/transport")},
		{folder: "internal/httpserve", imports: onBase("internal/transport")},
		{folder: "internal/workspace", imports: onBase("gates", "prompts")}, // whose words the configuration takes
		{folder: "internal", imports: base()},
	}
}

// TestArrowsPointDown fails when a package imports what its layer may not.
func TestArrowsPointDown(t *testing.T) {
	packages := imports(sources(t))
	if len(packages["plan"]) == 0 {
		t.Fatal("package plan was not found: the test reads nothing")
	}
	for _, broken := range broken(packages) {
		t.Error(broken)
	}
}

func TestArrowsThatMustBreak(t *testing.T) {
	for _, arrow := range [][2]string{
		{"plan", module + "/internal/store"}, {"plan", "github.com/google/go-cmp/cmp"}, {"plan", "golang.org/x/text/cases"},
		{"prompts", module + "/internal/verbs"}, {"resources", module + "/prompts"}, {"gates", module + "/internal/session"},
		{"internal/store", module + "/internal/strict"}, {"internal/store/sqlite", module + "/internal/session"},
		{"internal/session", module + "/internal/store/sqlite"}, {"internal/session", module + "/internal/verbs"},
		{"internal/verbs", module + "/internal/store"}, {"internal/verbs", module + "/internal/stdio"}, {"internal/verbs", module +
			"/mcpserver"},
		{"internal/stdio", module + "/internal/httpserve"}, {"internal/stdio", module + "/internal/stdiox"}, {"internal/strict", module +
			"/prompts"},
		{"mcpserver", module + "/gates"}, {"mcpserver", module + "/internal/stdio"}, {"mcpserver", module + "/internal/terminal"},
		{"mcpserver", module + "/internal/cli"}, {"cmd/planloop", module + "/mcpserver"}, {"web", "fmt"}, {".", "fmt"}, {"plans", "fmt"},
	} {
		if got := broken(map[string][]string{arrow[0]: {arrow[1]}}); len(got) != 1 {
			t.Errorf("%s may import %s", arrow[0], arrow[1])
		}
	}
	for _, arrow := range [][2]string{
		{"plan", "strings"}, {"plan", "golang.org/x/text/unicode/norm"}, {"prompts", module + "/plan"}, {"internal/store/sqlite",
			module + "/internal/store"},
		{"internal/session", module + "/internal/store"}, {"internal/verbs", module + "/internal/strict"}, {"internal/stdio",
			"github.com/mark3labs/mcp-go/mcp"},
		{"internal/page/dist", module + "/internal/page"}, {"internal/page", module + "/internal/page/dist"},
		{"mcpserver", module + "/internal/seal"}, {"cmd/planloop", module + "/internal/cli"}, {"internal/cli", module + "/mcpserver"},
	} {
		if got := broken(map[string][]string{arrow[0]: {arrow[1]}}); len(got) != 0 {
			t.Error(got)
		}
	}
}

// TestFilesAreNamedForWhatTheyHold fails on names that hold anything.
func TestFilesAreNamedForWhatTheyHold(t *testing.T) {
	for path, file := range allSources(t) {
		stem := strings.TrimSuffix(strings.TrimSuffix(filepath.Base(path), ".go"), "_test")
		for _, name := range append(strings.Split(stem, "_"), strings.TrimSuffix(file.Name.Name, "_test")) {
			if slices.Contains([]string{"util", "utils", "helper", "helpers", "common", "misc", "manager"}, name) {
				t.Errorf("%s, package %s: %q says nothing about what it holds", path, file.Name.Name, name)
			}
		}
	}
}

// Bounds of what a reader has to take in at once.
const (
	mostFiles   = 60  // in a package, without tests
	mostLines   = 80  // in a function
	mostColumns = 140 // in a line, a tab counted as four
)

// TestNothingIsTooLargeToRead fails on packages of many files, long functions and
// wide lines. What a generator wrote is left alone.
func TestNothingIsTooLargeToRead(t *testing.T) {
	fset := token.NewFileSet()
	files := map[string]int{}
	for path := range allSources(t) {
		file, err := parser.ParseFile(fset, path, nil, parser.ParseComments)
		if err != nil || ast.IsGenerated(file) {
			continue
		}
		test := strings.HasSuffix(path, "_test.go")
		if !test {
			files[filepath.Dir(path)]++
		}
		for _, decl := range file.Decls {
			long := fset.Position(decl.End()).Line - fset.Position(decl.Pos()).Line + 1
			if f, ok := decl.(*ast.FuncDecl); ok && !test && long > mostLines {
				t.Errorf("%s: the function %s has %d lines, more than %d", path, f.Name.Name, long, mostLines)
			}
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			if n := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t"); n > mostColumns {
				t.Errorf("%s:%d has %d columns, more than %d", path, i+1, n, mostColumns)
			}
		}
	}
	for folder, n := range files {
		if n > mostFiles {
			t.Errorf("%s has %d files, more than %d: join what is one concept", folder, n, mostFiles)
		}
	}
}

// TestVerbsNameNoCommands fails on texts of verbs that a terminal alone understands:
// how a call is made is for the faces to say.
func TestVerbsNameNoCommands(t *testing.T) {
	command := regexp.MustCompile(`\bplanloop [a-z]`)
	for path, file := range sources(t) {
		if !strings.HasPrefix(filepath.ToSlash(path), "internal/verbs/") {
			continue
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if text, ok := node.(*ast.BasicLit); ok && text.Kind == token.STRING && command.MatchString(text.Value) {
				t.Errorf("%s writes a command line: %s", path, text.Value)
			}
			return true
		})
	}
}

// TestNothingIsMutableAndShared fails on func init and on variables of a
// package, but for those that nobody changes after they are made.
func TestNothingIsMutableAndShared(t *testing.T) {
	for path, file := range sources(t) {
		for _, decl := range file.Decls {
			switch decl := decl.(type) {
			case *ast.FuncDecl:
				if decl.Recv == nil && decl.Name.Name == "init" {
					t.Errorf("%s has a func init; do it where it is asked for", path)
				}
			case *ast.GenDecl:
				for _, name := range mutable(decl) {
					t.Errorf("%s: the variable %s is shared by all; make it a constant, a function or a field", path, name)
				}
			}
		}
	}
}

func TestVariablesThatMustBeRefused(t *testing.T) {
	for source, want := range map[string][]string{
		"var words = []string{}":                                  {"words"},
		"var a, b int":                                            {"a", "b"},
		"var cache = map[string]int{}":                            {"cache"},
		"var mu sync.Mutex":                                       {"mu"},
		"var hook = func() {}":                                    {"hook"},
		"var errs = []error{errors.New(\"x\")}":                   {"errs"},
		"var e, f = errors.New(\"x\"), 1":                         {"e", "f"},
		"var files embed.FS":                                      {"files"},
		"var errGone = errors.New(\"gone\")":                      nil,
		"var errGone = fmt.Errorf(\"%w\", errX)":                  nil,
		"var form = regexp.MustCompile(`x`)":                      nil,
		"var page = sync.OnceValue(func() int { return 1 })":      nil,
		"var _ error = (*T)(nil)":                                 nil,
		"//go:embed x\nvar files embed.FS":                        nil,
		"var (\n//go:embed x\nfiles embed.FS\nn int\n)":           {"n"},
		"// set by -ldflags \"-X main.v=1\"\nvar v string":        nil,
		"// Of -ldflags \"-X main.v=1\"\nvar (\nv string\nw int)": {"v", "w"},
	} {
		file, err := parser.ParseFile(token.NewFileSet(), "x.go", "package x\n"+source, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		if got := mutable(file.Decls[0].(*ast.GenDecl)); !slices.Equal(got, want) {
			t.Errorf("%s: refused are %v, want %v", source, got, want)
		}
	}
}

// mutable returns the names of the variables of a declaration, but for
// assertions (var _), embedded files, what the linker sets, and values made once by a call that
// yields something nobody changes: an error, a pattern, a lazy constant.
func mutable(decl *ast.GenDecl) []string {
	if decl.Tok != token.VAR {
		return nil
	}
	var names []string
	for _, spec := range decl.Specs {
		spec := spec.(*ast.ValueSpec)
		if linked(decl) || embedded(decl.Doc) || embedded(spec.Doc) || len(spec.Values) > 0 && !slices.ContainsFunc(spec.Values, changes) {
			continue
		}
		for _, name := range spec.Names {
			if name.Name != "_" {
				names = append(names, name.Name)
			}
		}
	}
	return names
}

func changes(value ast.Expr) bool {
	call, ok := value.(*ast.CallExpr)
	if !ok {
		return true
	}
	if own, ok := call.Fun.(*ast.Ident); ok {
		return own.Name != "pattern" // a regular expression that is compiled when it is used
	}
	f, ok := call.Fun.(*ast.SelectorExpr)
	if !ok {
		return true
	}
	of, ok := f.X.(*ast.Ident)
	return !ok || !slices.Contains([]string{"errors.New", "fmt.Errorf", "regexp.MustCompile", "sync.OnceValue", "sync.OnceValues"},
		of.Name+"."+f.Sel.Name)
}

// linked reports whether the linker gives the one variable of a declaration its value.
func linked(decl *ast.GenDecl) bool {
	return len(decl.Specs) == 1 && decl.Doc != nil && strings.Contains(decl.Doc.Text(), "-ldflags \"-X ")
}

func embedded(doc *ast.CommentGroup) bool {
	return doc != nil && slices.ContainsFunc(doc.List, func(c *ast.Comment) bool { return strings.HasPrefix(c.Text, "//go:embed ") })
}

// broken lists the arrows that no layer allows.
func broken(packages map[string][]string) []string {
	var list []string
	for _, folder := range slices.Sorted(maps.Keys(packages)) {
		i := slices.IndexFunc(layers(), func(l layer) bool { return under(folder, l.folder) })
		if i < 0 {
			list = append(list, "package "+folder+" has no place in the house: give it a layer here and in ARCHITECTURE.md")
			continue
		}
		for _, path := range packages[folder] {
			if !layers()[i].allows(folder, path) {
				list = append(list, folder+" must not import "+path)
			}
		}
	}
	return list
}

func (l layer) allows(folder, path string) bool {
	ours, ok := strings.CutPrefix(path, module+"/")
	if !ok {
		return standard(path) || l.outside == nil || slices.Contains(l.outside, path)
	}
	return under(ours, l.own(folder)) || slices.ContainsFunc(l.imports, func(allowed string) bool {
		parent, all := strings.CutSuffix(allowed, "...")
		return ours == allowed || all && strings.HasPrefix(ours, parent)
	})
}

// own is the folder in which the packages of a layer may import each other. The
// leaves under internal do not know their neighbours.
func (l layer) own(folder string) string {
	if l.folder != "internal" {
		return l.folder
	}
	leaf, _, _ := strings.Cut(strings.TrimPrefix(folder, "internal/"), "/")
	return "internal/" + leaf
}

func under(folder, parent string) bool {
	return folder == parent || strings.HasPrefix(folder, parent+"/")
}

// standard reports whether path is of the standard library: its first element
// is no host.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && path != module
}

// imports returns what the packages import, by folder.
func imports(files map[string]*ast.File) map[string][]string {
	packages := map[string][]string{}
	for path, file := range files {
		folder := filepath.ToSlash(filepath.Dir(path))
		paths := packages[folder]
		for _, spec := range file.Imports {
			if path, err := strconv.Unquote(spec.Path.Value); err == nil && !slices.Contains(paths, path) {
				paths = append(paths, path)
			}
		}
		packages[folder] = paths
	}
	return packages
}

// sources returns the parsed files of the program, whatever system they are
// built for; allSources those of its tests as well.
func sources(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := allSources(t)
	maps.DeleteFunc(files, func(path string, _ *ast.File) bool { return strings.HasSuffix(path, "_test.go") })
	return files
}

func allSources(t *testing.T) map[string]*ast.File {
	t.Helper()
	files := map[string]*ast.File{}
	err := filepath.WalkDir(".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || strings.HasPrefix(entry.Name(), "_") ||
			entry.Name() == "testdata" || entry.Name() == "vendor" || entry.Name() == "node_modules" || path == "bench"):
			return fs.SkipDir
		case entry.IsDir() || filepath.Ext(path) != ".go":
			return nil
		}
		files[path], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments|parser.SkipObjectResolution)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
