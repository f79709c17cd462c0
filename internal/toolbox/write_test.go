package toolbox_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

func TestCreateFile(t *testing.T) {
	box := open(t, map[string]string{"old.txt": "old"}, toolbox.Options{})
	tests := []struct {
		in   toolbox.CreateFile
		want string
	}{
		{toolbox.CreateFile{Path: "new.txt", Content: "one\ntwo"}, "Created new.txt: 2 lines, 7 bytes."},
		{toolbox.CreateFile{Path: "a/b/c.txt", Content: "one\n"}, "Created a/b/c.txt: 1 line, 4 bytes."},
		{toolbox.CreateFile{Path: "empty", Overwrite: true}, "Created empty: 0 lines, 0 bytes."},
		{toolbox.CreateFile{Path: "old.txt", Content: "\ufeffé\r\n", Overwrite: true}, "Replaced old.txt: 1 line, 7 bytes."},
	}
	for _, test := range tests {
		reply, err := box.CreateFile(t.Context(), test.in)
		if err != nil || reply.Text() != test.want {
			t.Errorf("%+v: %s, %v", test.in, reply.Text(), err)
		}
		if got := read(t, box, test.in.Path); got != test.in.Content {
			t.Errorf("%s holds %q", test.in.Path, got)
		}
	}
	nothingLeft(t, box)
}

// nothingLeft fails if a temporary file remains.
func nothingLeft(t *testing.T, box *toolbox.Box) {
	t.Helper()
	err := filepath.WalkDir(box.Path(), func(path string, e fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(e.Name(), ".tmp") {
			t.Errorf("%s was left", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCreateFileRefuses(t *testing.T) {
	box := open(t, map[string]string{"f": "old", "d/x": ""}, toolbox.Options{Limits: toolbox.Limits{FileBytes: 10}})
	create := func(path, content string, overwrite bool) error {
		_, err := box.CreateFile(t.Context(), toolbox.CreateFile{Path: path, Content: content, Overwrite: overwrite})
		return err
	}
	refused(t, create("f", "new", false), plan.Conflict, "/path", "exists")
	refused(t, create("d", "new", true), plan.InvalidInput, "/path", "is a directory")
	refused(t, create("d/", "new", true), plan.InvalidInput, "/path", "names a directory")
	refused(t, create(".", "new", true), plan.InvalidInput, "/path", "is a directory")
	refused(t, create("f/g", "new", false), plan.InvalidInput, "/path", "not a directory")
	refused(t, create("g", "12345678901", false), plan.InvalidInput, "/content", "11 bytes long")
	for _, path := range []string{".git/hooks/pre-commit", ".GIT/config", "d/.git", "d/../.git/config"} {
		refused(t, create(path, "new", true), plan.InvalidInput, "/path", "belongs to git")
	}
	if read(t, box, "f") != "old" {
		t.Error("the file was changed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := box.CreateFile(ctx, toolbox.CreateFile{Path: "h"}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(box.Path(), "h")); !errors.Is(err, fs.ErrNotExist) {
		t.Error("a cancelled call wrote")
	}
	nothingLeft(t, box)
}

// Writing follows links within the workspace and leaves them as they are.
func TestWritingThroughLinks(t *testing.T) {
	box := open(t, map[string]string{"real/f": "one\n", ".git/config": "x"}, toolbox.Options{})
	for name, to := range map[string]string{"link": "real/f", "dir": "real", "back": "dir/../real/new", "git": ".git"} {
		if err := os.Symlink(to, filepath.Join(box.Path(), name)); err != nil {
			t.Skip(err)
		}
	}
	if _, err := box.StrReplace(t.Context(), toolbox.StrReplace{Path: "link", Old: "one", New: "two"}); err != nil {
		t.Error(err)
	}
	if _, err := box.CreateFile(t.Context(), toolbox.CreateFile{Path: "back", Content: "new"}); err != nil {
		t.Error(err)
	}
	if _, err := box.CreateFile(t.Context(), toolbox.CreateFile{Path: "dir/more/g", Content: "g"}); err != nil {
		t.Error(err)
	}
	if read(t, box, "real/f") != "two\n" || read(t, box, "real/new") != "new" || read(t, box, "real/more/g") != "g" {
		t.Error("the files behind the links were not written")
	}
	for _, name := range []string{"link", "dir", "back"} {
		if info, err := os.Lstat(filepath.Join(box.Path(), name)); err != nil || info.Mode()&fs.ModeSymlink == 0 {
			t.Errorf("%s is no link any more: %v", name, err)
		}
	}
	_, err := box.CreateFile(t.Context(), toolbox.CreateFile{Path: "git/config", Content: "y", Overwrite: true})
	refused(t, err, plan.InvalidInput, "/path", "belongs to git")
}

func TestStrReplace(t *testing.T) {
	tests := []struct {
		name, text string
		in         toolbox.StrReplace
		want, says string
	}{
		{"one", "a\nb\nc\n", toolbox.StrReplace{Old: "b", New: "B"}, "a\nB\nc\n", "Replaced it in f at line 2."},
		{"lines", "a\nb\nc\n", toolbox.StrReplace{Old: "b\nc", New: "x\ny\nz"}, "a\nx\ny\nz\n", "Replaced it in f at line 2."},
		{"removed", "a\nb\nc\n", toolbox.StrReplace{Old: "b\n"}, "a\nc\n", "Replaced it in f at line 2."},
		{"all", "x a x\nx", toolbox.StrReplace{Old: "x", New: "xx", All: true}, "xx a xx\nxx",
			"Replaced 3 occurrences in f, the first at line 1."},
		{"CR LF stays", "a\r\nb\r\nc\r\n", toolbox.StrReplace{Old: "a\nb", New: "1\n2\n3"}, "1\r\n2\r\n3\r\nc\r\n",
			"Replaced it in f at line 1."},
		{"CR LF as given", "a\r\nb\r\n", toolbox.StrReplace{Old: "a\r\nb", New: "1\r\n2"}, "1\r\n2\r\n", "Replaced it in f at line 1."},
		{"CR LF in what is new", "a\r\nb\r\n", toolbox.StrReplace{Old: "b", New: "b\nc"}, "a\r\nb\r\nc\r\n", "Replaced it in f at line 2."},
		{"mixed endings", "a\r\nb\nc\n", toolbox.StrReplace{Old: "b\nc", New: "x\ny"}, "a\r\nx\ny\n", "Replaced it in f at line 2."},
		{"byte order mark stays", "\ufeffone\n", toolbox.StrReplace{Old: "one", New: "two"}, "\ufefftwo\n", "Replaced it in f at line 1."},
		{"bytes that are no UTF-8 stay", "caf\xe9 one\n", toolbox.StrReplace{Old: "one", New: "two"}, "caf\xe9 two\n",
			"Replaced it in f at line 1."},
		{"patterns mean nothing", "a.*$1\n", toolbox.StrReplace{Old: ".*$1", New: "$2\\1"}, "a$2\\1\n", "Replaced it in f at line 1."},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			box := open(t, map[string]string{"f": test.text}, toolbox.Options{})
			test.in.Path = "f"
			reply, err := box.StrReplace(t.Context(), test.in)
			if err != nil || reply.Text() != test.says {
				t.Errorf("%s, %v", reply.Text(), err)
			}
			if got := read(t, box, "f"); got != test.want {
				t.Errorf("got %q, want %q", got, test.want)
			}
		})
	}
}

func TestStrReplaceRefuses(t *testing.T) {
	const text = "one\ntwo\n\tindented  text\nmore\r\ntwo\ntwo\n"
	box := open(t, map[string]string{"f": text}, toolbox.Options{})
	for _, test := range []struct {
		old, new     string
		field, wants string
	}{
		{"", "x", "/old", "is empty"},
		{"one", "one", "/new", "same as old"},
		{"two", "x", "/old", "found 3 times, at lines 2, 5, 6"},
		{"three", "x", "/old", "is not found in \"f\""},
		{"indented text\nmore", "x", "/old", "line 3 differs in white space alone"},
		{"One", "x", "/old", "is not found"},
	} {
		_, err := box.StrReplace(t.Context(), toolbox.StrReplace{Path: "f", Old: test.old, New: test.new})
		refused(t, err, plan.InvalidInput, test.field, test.wants)
	}
	_, err := box.StrReplace(t.Context(), toolbox.StrReplace{Path: "f", Old: "1\tone", New: "x"})
	if err == nil || !strings.Contains(err.Error(), "leave the line numbers of view out") {
		t.Error(err)
	}
	_, err = box.StrReplace(t.Context(), toolbox.StrReplace{Path: "missing", Old: "a", New: "b"})
	refused(t, err, plan.NotFound, "/path", "does not exist")
	if read(t, box, "f") != text {
		t.Error("the file was changed")
	}
	small := open(t, map[string]string{"f": "xxxx"}, toolbox.Options{Limits: toolbox.Limits{FileBytes: 100}})
	_, err = small.StrReplace(t.Context(), toolbox.StrReplace{Path: "f", Old: "x", New: strings.Repeat("y", 50), All: true})
	refused(t, err, plan.InvalidInput, "/new", "200 bytes long")
}

func TestModesStay(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	box := open(t, map[string]string{"f": "one"}, toolbox.Options{})
	for _, mode := range []fs.FileMode{0o755, 0o600, 0o666} {
		path := filepath.Join(box.Path(), "f")
		testenv.Check(t, os.Chmod(path, mode))
		testenv.Must(box.StrReplace(t.Context(), toolbox.StrReplace{Path: "f", Old: "one", New: "one one"}))(t)
		testenv.Must(box.CreateFile(t.Context(), toolbox.CreateFile{Path: "f", Content: "one", Overwrite: true}))(t)
		if info, err := os.Stat(path); err != nil || info.Mode() != mode {
			t.Errorf("%v became %v, %v", mode, info.Mode(), err)
		}
	}
}

// Concurrent edits are all kept, and only one of two calls that create the same file succeeds.
func TestWritersAtOnce(t *testing.T) {
	var text strings.Builder
	for i := range 40 {
		fmt.Fprintf(&text, "<%d>\n", i)
	}
	box := open(t, map[string]string{"f": text.String()}, toolbox.Options{})
	var all sync.WaitGroup
	created := make(chan bool, 40)
	for i := range 40 {
		all.Go(func() {
			if _, err := box.StrReplace(t.Context(), toolbox.StrReplace{Path: "f", Old: fmt.Sprintf("<%d>", i), New: "done"}); err != nil {
				t.Error(err)
			}
			_, err := box.CreateFile(t.Context(), toolbox.CreateFile{Path: "new", Content: fmt.Sprint(i)})
			created <- err == nil
		})
	}
	all.Wait()
	if read(t, box, "f") != strings.Repeat("done\n", 40) {
		t.Error(read(t, box, "f"))
	}
	n := 0
	for range 40 {
		if <-created {
			n++
		}
	}
	if n != 1 {
		t.Errorf("%d created it", n)
	}
	nothingLeft(t, box)
}

// TestReplacingThereAndBack: an edit changes only the text it names, with any line endings.
func TestReplacingThereAndBack(t *testing.T) {
	box := open(t, nil, toolbox.Options{})
	rapidtest.Check(t, func(r *rapid.T) {
		ending := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(r, "ending")
		before := rapid.StringMatching(`[a-c \n]{0,20}`).Draw(r, "before")
		after := rapid.StringMatching(`[a-c \n]{0,20}`).Draw(r, "after")
		file := func(middle string) string { return strings.ReplaceAll(before+middle+after, "\n", ending) }
		if _, err := box.WriteFile(t.Context(), toolbox.WriteFile{Path: "f", Content: file("X\nY")}); err != nil {
			r.Fatal(err)
		}
		if _, err := box.StrReplace(t.Context(), toolbox.StrReplace{Path: "f", Old: "X\nY", New: "P\nQ\nR"}); err != nil {
			r.Fatal(err)
		}
		if got := read(t, box, "f"); got != file("P\nQ\nR") {
			r.Fatalf("got %q, want %q", got, file("P\nQ\nR"))
		}
	})
}

func TestReadAndWriteWhole(t *testing.T) {
	const text = "\ufeffone\r\n\x1b[1m two\x00"
	box := open(t, map[string]string{"f": text, "latin": "caf\xe9"}, toolbox.Options{})
	reply, err := box.ReadFile(t.Context(), toolbox.ReadFile{Path: "f"})
	if err != nil || reply.Value() != text || strings.ContainsAny(reply.Text(), "\x1b\x00") {
		t.Errorf("%+v, %v", reply, err)
	}
	for range 2 {
		if _, err := box.WriteFile(t.Context(), toolbox.WriteFile{Path: "copy/f", Content: reply.Content}); err != nil {
			t.Error(err)
		}
	}
	if read(t, box, "copy/f") != text {
		t.Error("the copy differs")
	}
	_, err = box.ReadFile(t.Context(), toolbox.ReadFile{Path: "latin"})
	refused(t, err, plan.InvalidInput, "/path", "not UTF-8 text")
}

// TestNewNamesThatDeceive: a new file may not have a deceptive name, but an existing one may be replaced.
func TestNewNamesThatDeceive(t *testing.T) {
	const there = "a\u202etxt.exe"
	box := open(t, map[string]string{there: "old\n"}, toolbox.Options{})
	for _, name := range []string{"b\u202etxt.exe", "in\u200bvisible", "a\u2066b", "d\u00ad/f", "\u2800", "f\ufeff", "x\U000e0041"} {
		_, err := box.CreateFile(t.Context(), toolbox.CreateFile{Path: name, Content: "x"})
		refused(t, err, plan.InvalidInput, "/path", "hide or reorder")
	}
	for _, name := range []string{"naïve.txt", "日本語.md", "می\u200cخواهم.txt", "👩\u200d💻.md"} {
		if _, err := box.CreateFile(t.Context(), toolbox.CreateFile{Path: name, Content: "x"}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := box.CreateFile(t.Context(), toolbox.CreateFile{Path: there, Content: "new\n", Overwrite: true}); err != nil {
		t.Error(err)
	}
}
