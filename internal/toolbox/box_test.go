package toolbox_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

func TestMain(m *testing.M) {
	process.Keep()
	shell.Confine()
	os.Exit(testenv.Fixed{Tests: m}.Run())
}

// launcher is this process's launcher.
var launcher = sync.OnceValue(func() *process.Launcher {
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return &process.Launcher{Program: program}
})

// open returns the tools on a workspace with the given files.
func open(t testing.TB, files map[string]string, opts toolbox.Options) *toolbox.Box {
	t.Helper()
	top := filepath.Join(t.TempDir(), "workspace")
	testenv.Check(t, os.Mkdir(top, 0o755))
	for name, text := range files {
		write(t, filepath.Join(top, name), text)
	}
	box := testenv.Must(toolbox.Open(top, opts))(t)
	t.Cleanup(func() { _ = box.Close() })
	return box
}

func write(t testing.TB, path, text string) {
	t.Helper()
	testenv.Check(t, os.MkdirAll(filepath.Dir(path), 0o755))
	testenv.Check(t, os.WriteFile(path, []byte(text), 0o644))
}

func read(t testing.TB, box *toolbox.Box, name string) string {
	t.Helper()
	data := testenv.Must(os.ReadFile(filepath.Join(box.Path(), name)))(t)
	return string(data)
}

// refused fails unless err refuses a field for a reason that contains want.
func refused(t *testing.T, err error, kind plan.ErrorKind, field, want string) {
	t.Helper()
	var bad *plan.ValidationError
	if !errors.As(err, &bad) {
		t.Fatalf("got %v, want a refusal of %s because of %q", err, field, want)
	}
	if bad.Kind != kind || bad.Field != field || !strings.Contains(bad.Problem, want) || bad.Fix == "" {
		t.Fatalf("got %+v, want %s of %s because of %q", bad, kind, field, want)
	}
}

func TestOpenRefusesWhatIsNoDirectory(t *testing.T) {
	top := t.TempDir()
	write(t, filepath.Join(top, "file"), "")
	for _, name := range []string{"file", "missing"} {
		if _, err := toolbox.Open(filepath.Join(top, name), toolbox.Options{}); err == nil {
			t.Errorf("%s was opened", name)
		}
	}
}

// everyPath calls each tool that takes a path.
func everyPath(t *testing.T, box *toolbox.Box, path string, check func(tool string, err error)) {
	t.Helper()
	ctx := t.Context()
	_, err := box.View(ctx, toolbox.View{Path: path})
	check("view", err)
	_, err = box.Glob(ctx, toolbox.Glob{Pattern: "**", Path: path})
	check("glob", err)
	_, err = box.Grep(ctx, toolbox.Grep{Pattern: "secret", Path: path})
	check("grep", err)
	_, err = box.CreateFile(ctx, toolbox.CreateFile{Path: path, Content: "planted"})
	check("create_file", err)
	_, err = box.CreateFile(ctx, toolbox.CreateFile{Path: path, Content: "planted", Overwrite: true})
	check("create_file with overwrite", err)
	_, err = box.StrReplace(ctx, toolbox.StrReplace{Path: path, Old: "secret", New: "planted"})
	check("str_replace", err)
	_, err = box.ReadFile(ctx, toolbox.ReadFile{Path: path})
	check("read_file", err)
	_, err = box.WriteFile(ctx, toolbox.WriteFile{Path: path, Content: "planted"})
	check("write_file", err)
}

func TestPathsThatAreRefused(t *testing.T) {
	box := open(t, map[string]string{"a.txt": "a"}, toolbox.Options{})
	outside := filepath.Join(filepath.Dir(box.Path()), "outside.txt")
	write(t, outside, "secret")
	write(t, box.Path()+"-2/outside.txt", "secret") // begins with the same letters
	for path, problem := range map[string]string{
		"..":                             "outside",
		"../outside.txt":                 "outside",
		"a/../../outside.txt":            "outside",
		outside:                          "outside",
		box.Path() + "/../outside.txt":   "outside",
		box.Path() + "-2/outside.txt":    "outside",
		"/etc/passwd":                    "outside",
		"a\x00b":                         "control",
		"a\nb":                           "control",
		"a\x1b[1m":                       "control",
		"a\xffb":                         "UTF-8",
		`..\outside.txt`:                 "backslash",
		`\\server\share`:                 "backslash",
		"~/outside.txt":                  "~",
		"~root":                          "~",
		"C:/outside.txt":                 "drive",
		"c:outside.txt":                  "drive",
		strings.Repeat("a/", 600) + "ab": "too long",
	} {
		if filepath.IsAbs(path) { // on Windows, a drive or a share is absolute
			problem = "outside"
		}
		everyPath(t, box, path, func(tool string, err error) {
			t.Run(tool+" "+path, func(t *testing.T) { refused(t, err, plan.InvalidInput, "/path", problem) })
		})
	}
	if data, err := os.ReadFile(outside); err != nil || string(data) != "secret" {
		t.Errorf("the file outside holds %q, %v", data, err)
	}
}

func TestPathsThatAreTaken(t *testing.T) {
	box := open(t, map[string]string{"dir/a.txt": "hello\n"}, toolbox.Options{})
	for _, path := range []string{
		"dir/a.txt", "./dir/a.txt", "dir//a.txt", "dir/../dir/./a.txt",
		filepath.Join(box.Path(), "dir/a.txt"), box.Path() + "/x/../dir/a.txt",
	} {
		reply, err := box.View(t.Context(), toolbox.View{Path: path})
		if err != nil || reply.Path != "dir/a.txt" || reply.Content != "1\thello" {
			t.Errorf("%s: %+v, %v", path, reply, err)
		}
	}
	for _, path := range []string{".", "./", box.Path(), "dir/.."} {
		reply, err := box.View(t.Context(), toolbox.View{Path: path})
		if err != nil || reply.Path != "." || reply.Content != "dir/" {
			t.Errorf("%s: %+v, %v", path, reply, err)
		}
	}
}

// A path through a link to the workspace is inside it too.
func TestAbsolutePathsThroughALinkToTheWorkspace(t *testing.T) {
	top := t.TempDir()
	write(t, filepath.Join(top, "real/a.txt"), "hello\n")
	link := filepath.Join(top, "link")
	if err := os.Symlink("real", link); err != nil {
		t.Skip(err)
	}
	box := testenv.Must(toolbox.Open(link, toolbox.Options{}))(t)
	defer func() { _ = box.Close() }()
	for _, path := range []string{link + "/a.txt", box.Path() + "/a.txt"} {
		if reply, err := box.View(t.Context(), toolbox.View{Path: path}); err != nil || reply.Path != "a.txt" {
			t.Errorf("%s: %+v, %v", path, reply, err)
		}
	}
}

func TestLinksThatLeadOut(t *testing.T) {
	box := open(t, map[string]string{"a.txt": "a"}, toolbox.Options{})
	outside := filepath.Join(filepath.Dir(box.Path()), "outside")
	write(t, filepath.Join(outside, "f.txt"), "secret")
	for name, to := range map[string]string{
		"up": "../outside/f.txt", "absolute": filepath.Join(outside, "f.txt"), "dir": "../outside", "chain": "dir",
		"new": "../outside/new.txt", "deep": "./up",
	} {
		if err := os.Symlink(to, filepath.Join(box.Path(), name)); err != nil {
			t.Skip(err)
		}
	}
	for _, path := range []string{"up", "absolute", "dir/f.txt", "chain/f.txt", "new", "deep", "dir/new.txt"} {
		everyPath(t, box, path, func(tool string, err error) {
			t.Run(tool+" "+path, func(t *testing.T) { refused(t, err, plan.InvalidInput, "/path", "leads out") })
		})
	}
	found, err := box.Grep(t.Context(), toolbox.Grep{Pattern: "secret", Ignored: true})
	if err != nil || len(found.Matches) != 0 {
		t.Errorf("grep: %+v, %v", found, err)
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside holds %v, %v", entries, err)
	}
	if data, err := os.ReadFile(filepath.Join(outside, "f.txt")); err != nil || string(data) != "secret" {
		t.Errorf("the file outside holds %q, %v", data, err)
	}
}

func TestLinksInCircles(t *testing.T) {
	box := open(t, map[string]string{"d/a.txt": "needle\n"}, toolbox.Options{})
	for name, to := range map[string]string{"self": "self", "one": "two", "two": "one", "d/up": ".."} {
		if err := os.Symlink(to, filepath.Join(box.Path(), name)); err != nil {
			t.Skip(err)
		}
	}
	for _, path := range []string{"self", "one", "two/x"} {
		everyPath(t, box, path, func(tool string, err error) {
			t.Run(tool+" "+path, func(t *testing.T) { refused(t, err, plan.InvalidInput, "/path", "circle") })
		})
	}
	found, err := box.Grep(t.Context(), toolbox.Grep{Pattern: "needle"})
	if err != nil || len(found.Matches) != 1 || found.Files != 1 {
		t.Errorf("grep: %+v, %v", found, err)
	}
	globbed, err := box.Glob(t.Context(), toolbox.Glob{Pattern: "**/a.txt"})
	if err != nil || len(globbed.Paths) != 1 {
		t.Errorf("glob: %+v, %v", globbed, err)
	}
}
