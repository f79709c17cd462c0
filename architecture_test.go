// Package planloop_test checks the project's rules that the compiler does not
// know: imports, names, sizes, shared state, English, and that the documents
// match the program.
package planloop_test

import (
	"fmt"
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

// layer lists the packages of this module that the packages in and below a folder may
// import: a folder, or folder/... for all folders below as well. Packages may import
// any other in and below their layer's folder.
type layer struct {
	folder  string
	imports []string
	outside []string // other modules' packages that it may import; nil means any
}

// base lists the packages that all layers above plan and the log may import. Each
// is the only home of a rule that several packages need.
func base() []string {
	return []string{"plan", "internal/safetext", "internal/tree", "internal/safefile", "internal/outbound", "internal/process",
		"internal/tokens", "internal/broadcast", "internal/history", "internal/runnable", "internal/worktree", "internal/origin",
		"internal/testenv"}
}

// layers lists the arrows of ARCHITECTURE.md. The first match counts; a package
// without a match has no place yet.
func layers() []layer {
	onBase := func(more ...string) []string { return append(base(), more...) }
	return []layer{
		{folder: "plan", outside: []string{"golang.org/x/text/unicode/norm"}},
		{folder: "gates", imports: base()},
		{folder: "prompts", imports: base()},
		{folder: "resources", imports: base()},
		{folder: "mcpserver", imports: onBase("prompts", "resources", "internal/verbs", "internal/toolbox", "internal/store",
			"internal/workspace", "internal/review")}, // not the transports, which carry its messages
		{folder: "cmd/planloop-server", imports: []string{"internal/teamserver/..."}},
		{folder: "cmd", imports: []string{"internal/cli"}},
		{folder: "internal/teamwire", imports: []string{"plan", "internal/store"}},
		{folder: "internal/teamserver", imports: onBase("internal/session", "internal/store", "internal/store/...", "internal/teamwire",
			"internal/build", "internal/verbs", "internal/review", "internal/web", "internal/notify", "internal/transport", "mcpserver")},
		{folder: "internal/cli", imports: []string{"..."}},
		{folder: "internal/store", imports: []string{"plan", "internal/safefile", "internal/broadcast"}},
		{folder: "internal/session", imports: []string{"plan", "internal/store", "internal/broadcast"}},
		{folder: "internal/team", imports: onBase("internal/session", "internal/store", "internal/teamwire")},
		{folder: "internal/verbs", imports: onBase("gates", "prompts", "resources", "internal/session",
			"internal/strict", "internal/synonyms", "internal/workspace")},
		{folder: "internal/synonyms", imports: []string{"internal/strict"}},
		{folder: "internal/toolbox", imports: onBase("internal/shell", "internal/sandbox", "internal/workspace",
			"internal/strict")}, // checks its input when it is decoded
		{folder: "internal/shell", imports: onBase("internal/sandbox")},
		{folder: "internal/engine", imports: onBase("internal/session", "internal/toolbox")},
		{folder: "internal/downstream", imports: onBase("internal/toolbox")},
		{folder: "internal/hook", imports: onBase("internal/toolbox", "internal/exchange")}, // reads plans in Markdown
		{folder: "internal/hosts", imports: onBase("internal/hook", "internal/strict")},
		{folder: "internal/review", imports: onBase("internal/verbs", "internal/strict")},
		{folder: "internal/web", imports: onBase("internal/verbs", "internal/review", "internal/strict")},
		{folder: "internal/exchange", imports: onBase("resources", "internal/strict")},
		{folder: "internal/terminal", imports: onBase("resources", "internal/verbs")},
		{folder: "packaging", imports: []string{"internal/build", "internal/hook", "internal/hosts"}},
		{folder: "internal/e2e", imports: []string{"..."}},
		{folder: "internal/workspace", imports: onBase("gates", "prompts", "internal/shell")}, // the configuration uses their words
		{folder: "internal", imports: base()},
	}
}

// TestArrowsPointDown fails when a package imports one that its layer may not import.
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
		{"internal/session", module + "/internal/store/sqlite"}, {"internal/session", module + "/internal/store/postgres"},
		{"internal/store/postgres", module + "/internal/session"}, {"internal/session", module + "/internal/verbs"},
		{"internal/verbs", module + "/internal/store"}, {"internal/verbs", module + "/internal/transport"}, {"internal/verbs", module +
			"/mcpserver"},
		{"internal/transport", module + "/internal/web"}, {"internal/transport", module + "/internal/transportx"},
		{"internal/strict", module + "/prompts"},
		{"mcpserver", module + "/gates"}, {"mcpserver", module + "/internal/transport"}, {"mcpserver", module + "/internal/terminal"},
		{"mcpserver", module + "/internal/cli"}, {"cmd/planloop", module + "/mcpserver"}, {"web", "fmt"}, {".", "fmt"}, {"plans", "fmt"},
	} {
		if got := broken(map[string][]string{arrow[0]: {arrow[1]}}); len(got) != 1 {
			t.Errorf("%s may import %s", arrow[0], arrow[1])
		}
	}
	for _, arrow := range [][2]string{
		{"plan", "strings"}, {"plan", "golang.org/x/text/unicode/norm"}, {"prompts", module + "/plan"}, {"internal/store/sqlite",
			module + "/internal/store"},
		{"internal/session", module + "/internal/store"}, {"internal/verbs", module + "/internal/strict"}, {"internal/transport",
			"github.com/mark3labs/mcp-go/mcp"},
		{"internal/review/page", module + "/internal/review"}, {"internal/review", module + "/internal/review/page"},
		{"mcpserver", module + "/internal/store"}, {"cmd/planloop", module + "/internal/cli"}, {"internal/cli", module + "/mcpserver"},
	} {
		if got := broken(map[string][]string{arrow[0]: {arrow[1]}}); len(got) != 0 {
			t.Error(got)
		}
	}
}

// TestTheServerStaysOutOfThePlanloop fails when cmd/planloop links the team server, or one of its large modules.
func TestTheServerStaysOutOfThePlanloop(t *testing.T) {
	packages, seen := imports(sources(t)), map[string]bool{}
	var follow func(path string)
	follow = func(path string) {
		for _, only := range []string{module + "/internal/teamserver", module + "/internal/store/postgres", "github.com/jackc/pgx",
			"github.com/pressly/goose", "github.com/go-webauthn", "github.com/coreos/go-oidc"} {
			if under(path, only) {
				t.Errorf("cmd/planloop links %s, which only cmd/planloop-server may", path)
			}
		}
		folder, isOwn := strings.CutPrefix(path, module+"/")
		if !isOwn || seen[path] {
			return
		}
		seen[path] = true
		for _, next := range packages[folder] {
			follow(next)
		}
	}
	if follow(module + "/cmd/planloop"); len(seen) < 30 {
		t.Errorf("only %d packages were followed: the test reads nothing", len(seen))
	}
}

// TestFilesAreNamedForWhatTheyHold fails on names that fit any content.
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

// Limits of a reader's load.
const (
	mostFiles   = 60  // in a package, without tests
	mostLines   = 80  // in a function
	mostColumns = 140 // in a line, a tab counted as four
)

// TestNothingIsTooLargeToRead fails on packages of many files, long functions and
// wide lines. Generated files are exempt.
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

// Limits of the whole program: lines of Go without tests and bench, and direct dependencies in go.mod.
const (
	mostLinesInAll   = 105_900 // 8,770 of them for the team server and its laptops
	mostDependencies = 39      // x/tools for TestOtherSystems, x509roots for the image; six for the team server and its tests
)

// size is how large a package is, or may be.
type size struct{ lines, modules int } // of Go without tests; of others that it imports

// TestSizes compares each package with its limits in testdata/sizes.txt, which rise only in a commit that says why.
func TestSizes(t *testing.T) {
	const file = "testdata/sizes.txt"
	modules := requirements(t)
	if len(modules) > mostDependencies {
		t.Errorf("go.mod requires %d modules directly, more than %d: drop one", len(modules), mostDependencies)
	}
	sizes, all := measure(t, modules), 0
	for _, is := range sizes {
		all += is.lines
	}
	if all > mostLinesInAll {
		t.Errorf("the program has %d lines of Go, more than %d: make it smaller", all, mostLinesInAll)
	}
	if *update {
		var b strings.Builder
		for _, folder := range slices.Sorted(maps.Keys(sizes)) {
			fmt.Fprintf(&b, "%s %d %d\n", folder, roundUp(sizes[folder].lines), sizes[folder].modules)
		}
		if err := os.WriteFile(file, []byte(b.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	limits := map[string]size{}
	for line := range strings.Lines(readDoc(t, file)) {
		var folder string
		var limit size
		if _, err := fmt.Sscan(line, &folder, &limit.lines, &limit.modules); err != nil {
			t.Fatalf("%s: %q: %v", file, line, err)
		}
		limits[folder] = limit
		if _, ok := sizes[folder]; !ok {
			t.Errorf("%s has a row for %s, which is not a package: remove it", file, folder)
		}
	}
	for _, folder := range slices.Sorted(maps.Keys(sizes)) {
		for _, complaint := range sizes[folder].compare(limits[folder]) {
			t.Errorf("%s %s; go test . -run TestSizes -update writes %s", folder, complaint, file)
		}
	}
}

// compare lists where a size and its limit do not fit.
func (s size) compare(limit size) (complaints []string) {
	switch {
	case limit == size{}:
		return []string{"has no limits yet"}
	case s.lines > limit.lines:
		complaints = append(complaints, fmt.Sprintf("has %d lines, more than %d: make it smaller, or say in the commit why it grows",
			s.lines, limit.lines))
	case limit.lines-s.lines > 50 && (limit.lines-s.lines)*20 > limit.lines:
		complaints = append(complaints, fmt.Sprintf("has only %d lines: lower the limit to %d", s.lines, roundUp(s.lines)))
	}
	switch {
	case s.modules > limit.modules:
		complaints = append(complaints, fmt.Sprintf("imports %d modules, more than %d: do without, or say in the commit why it needs one",
			s.modules, limit.modules))
	case s.modules < limit.modules:
		complaints = append(complaints, fmt.Sprintf("imports %d modules: lower the limit of %d", s.modules, limit.modules))
	}
	return complaints
}

func TestSizesThatMustBreak(t *testing.T) {
	for _, test := range []struct {
		is, limit size
		want      int
	}{
		{size{100, 1}, size{100, 1}, 0}, {size{101, 1}, size{100, 1}, 1}, {size{101, 2}, size{100, 1}, 2}, {size{50, 0}, size{100, 0}, 0},
		{size{49, 0}, size{100, 0}, 1}, {size{1900, 0}, size{2000, 0}, 0}, {size{1899, 0}, size{2000, 0}, 1}, {size{1, 0}, size{1, 1}, 1},
		{size{1, 0}, size{}, 1},
	} {
		if got := test.is.compare(test.limit); len(got) != test.want {
			t.Errorf("%v against %v: %q", test.is, test.limit, got)
		}
	}
}

// roundUp returns n rounded up to the next ten.
func roundUp(n int) int { return (n + 9) / 10 * 10 }

// requirements lists the modules that go.mod requires directly.
func requirements(t *testing.T) []string {
	t.Helper()
	var modules []string
	for _, found := range regexp.MustCompile(`(?m)^(?:\t|require )([^\s(]+) v\S+(.*)$`).FindAllStringSubmatch(readDoc(t, "go.mod"), -1) {
		if found[2] != " // indirect" {
			modules = append(modules, found[1])
		}
	}
	if len(modules) == 0 {
		t.Fatal("go.mod requires nothing: the test reads nothing")
	}
	return modules
}

// testSupport lists the packages that only tests import: they count as tests.
func testSupport() []string {
	return []string{"internal/e2e", "internal/rapidtest", "internal/testenv", "internal/outbound/outboundtest",
		"internal/process/lineagetest", "internal/store/postgres/postgrestest"}
}

// measure returns the sizes of all packages, by folder.
func measure(t *testing.T, modules []string) map[string]size {
	t.Helper()
	files := sources(t)
	sizes := map[string]size{}
	for path := range files {
		folder := filepath.ToSlash(filepath.Dir(path))
		if slices.Contains(testSupport(), folder) {
			continue
		}
		is := sizes[folder]
		is.lines += strings.Count(readDoc(t, path), "\n")
		sizes[folder] = is
	}
	for folder, paths := range imports(files) {
		if slices.Contains(testSupport(), folder) {
			continue
		}
		used := map[string]bool{}
		for _, path := range paths {
			if standard(path) || under(path, module) {
				continue
			}
			i := slices.IndexFunc(modules, func(module string) bool { return under(path, module) })
			if i < 0 {
				t.Errorf("%s imports %s, which go.mod does not require directly", folder, path)
				continue
			}
			used[modules[i]] = true
		}
		is := sizes[folder]
		is.modules = len(used)
		sizes[folder] = is
	}
	return sizes
}

// TestVerbsNameNoCommands fails on command lines in texts of verbs, which only a
// terminal understands: the faces describe how to make a call.
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

// TestNothingIsMutableAndShared fails on func init and on package variables,
// except for those that never change.
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

// mutable returns the names of a declaration's variables, except for assertions
// (var _), embedded files, variables that the linker sets, and results of calls that
// never change: an error, a pattern, a lazy constant.
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

// linked reports whether the linker sets the only variable of a declaration.
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

// own returns the folder in which the packages of a layer may import each other. The
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

// standard reports whether path is in the standard library: its first element is
// not a host name.
func standard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".") && path != module
}

// imports returns the import paths of each package, by folder.
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

// sources returns the parsed files of the program for all systems; allSources
// includes those of its tests.
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

// TestConceptsAreWhereTheDocumentSays fails on a file or package in the table of docs/reference/code.md that does not exist.
func TestConceptsAreWhereTheDocumentSays(t *testing.T) {
	_, table, found := strings.Cut(readDoc(t, "docs/reference/code.md"), "| concept | where |")
	if !found {
		t.Fatal("docs/reference/code.md has no table of concepts")
	}
	for line := range strings.Lines(table) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		folder := ""
		for _, name := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cells[2], -1) {
			path := name[1]
			switch at := strings.LastIndex(path, "/"); {
			case at >= 0:
				folder = path[:at]
			case strings.Contains(path, "."):
				path = folder + "/" + path
			default:
				folder = path
			}
			inside, _ := filepath.Glob("internal/" + path)
			outside, _ := filepath.Glob(path)
			if len(inside)+len(outside) == 0 {
				t.Errorf("%s: %s does not exist", strings.TrimSpace(cells[1]), path)
			}
		}
	}
}
