package exchange_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/testenv"
)

const small = "objective: o\nsteps:\n  - title: t\n"

// library makes a library of files, by their paths below user/ and workspace/.
func library(t *testing.T, files map[string]string) exchange.TemplateLibrary {
	t.Helper()
	root := t.TempDir()
	l := exchange.TemplateLibrary{User: filepath.Join(root, "data", "templates"), Workspace: filepath.Join(root, "ws")}
	for _, folder := range []string{l.User, filepath.Join(l.Workspace, exchange.TemplateFolder)} {
		testenv.Check(t, os.MkdirAll(folder, 0o700))
	}
	for name, text := range files {
		folder := l.User
		if file, foreign := strings.CutPrefix(name, "workspace/"); foreign {
			folder, name = filepath.Join(l.Workspace, exchange.TemplateFolder), file
		}
		testenv.Check(t, os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600))
	}
	return l
}

// TestWhichTemplateANameMeans: a name that occurs in two folders needs its folder; in one folder, .yaml comes before .json.
func TestWhichTemplateANameMeans(t *testing.T) {
	l := library(t, map[string]string{"own.yaml": small, "feature.yaml": small, "both.yaml": small, "note.txt": "x",
		"workspace/both.yaml": small, "workspace/release.yaml": small, "workspace/theirs.json": `{"objective":"o","steps":[{"title":"t"}]}`,
		"workspace/dup.yaml": small, "workspace/dup.json": "{", "workspace/only.json": `{"objective":"o","steps":[{"title":"t"}]}`})
	for name, want := range map[string]string{
		"own": "user/own", "feature": `"feature" is the name of several templates; give one of user/feature, builtin/feature`,
		"builtin/feature": "builtin/feature", "theirs": "workspace/theirs", "bug-fix": "builtin/bug-fix",
		"both":    "give one of user/both, workspace/both",
		"release": "give one of builtin/release, workspace/release", "workspace/release": "workspace/release", "user/both": "user/both",
		"user/bug-fix": "did you mean bug-fix?", "bugfix": "did you mean bug-fix?", "../own": "did you mean own?",
		"":    `template "" does not exist`,
		"dup": "workspace/dup", "workspace/dup": "workspace/dup", "only": "workspace/only",
	} {
		found, err := l.Find(t.Context(), name)
		if err == nil {
			err = found.Err
		}
		if got := found.FullName(); err == nil && got != want || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %s, %v, want %s", name, got, err, want)
		}
	}
	all, err := l.List(t.Context())
	if err != nil || len(all) != 13 {
		t.Fatalf("%d are listed, %v", len(all), err)
	}
	for _, one := range all {
		if found, err := l.Find(t.Context(), exchange.TemplateNamed(one, all)); err != nil || found.FullName() != one.FullName() {
			t.Errorf("%s is called %s, which means %s, %v", one.FullName(), exchange.TemplateNamed(one, all), found.FullName(), err)
		}
	}
}

// TestHostileFolders: files that are unreadable or do not belong to the user are reported and do no harm.
func TestHostileFolders(t *testing.T) {
	l := library(t, map[string]string{"workspace/Torn\x1b[31m.yaml": small, "workspace/big.yaml": strings.Repeat("x", 1<<20),
		"workspace/good.yaml": small})
	foreign := filepath.Join(l.Workspace, exchange.TemplateFolder)
	secret := filepath.Join(t.TempDir(), "secret.yaml")
	testenv.Check(t, os.WriteFile(secret, []byte(small), 0o600))
	testenv.Check(t, os.Symlink(secret, filepath.Join(foreign, "out.yaml")))
	testenv.Check(t, os.Symlink("none", filepath.Join(foreign, "lost.yaml")))
	testenv.Check(t, os.Mkdir(filepath.Join(foreign, "folder.yaml"), 0o700))
	testenv.Check(t, os.Symlink(secret, filepath.Join(l.User, "link.yaml")))
	all, err := l.List(t.Context())
	testenv.Check(t, err)
	usable := 0
	for _, one := range all {
		for name, why := range map[string]string{"out": "it is a link out of the workspace, which is not followed",
			"lost": syscall.ENOENT.Error(), "folder": "it is a directory"} {
			want := `the template workspace/` + name + ` (".planloop/templates/` + name + `.yaml") cannot be used: ` + why
			if got := details(one.Err); one.Name == name && got != want {
				t.Errorf("got %s, want %s", got, want)
			}
		}
		if strings.ContainsRune(one.FullName()+details(one.Err), '\x1b') {
			t.Errorf("%q reaches a terminal", one.FullName())
		}
		if one.Origin != exchange.BuiltIn && one.Err == nil {
			usable++
		}
	}
	if len(all) != 12 || usable != 1 {
		t.Errorf("%d are listed and %d of them usable, want 12 and 1", len(all), usable)
	}
	testenv.Check(t, os.Chmod(l.User, 0o777))
	if _, err := l.List(t.Context()); err == nil {
		t.Error("a folder that others can write to is the user's own")
	}
	none := exchange.TemplateLibrary{User: filepath.Join(t.TempDir(), "none"), Workspace: t.TempDir()}
	if all, err := none.List(t.Context()); err != nil || len(all) != 5 {
		t.Errorf("%d without folders, %v", len(all), err)
	}
}

func TestSave(t *testing.T) {
	l := exchange.TemplateLibrary{User: filepath.Join(t.TempDir(), "data", "templates")}
	file := testenv.Must(l.Save("own", []byte(small), false))(t)
	for _, path := range []string{file, filepath.Dir(file)} {
		if info, err := os.Stat(path); err != nil || info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s: %v, %v", path, info.Mode(), err)
		}
	}
	if _, err := l.Save("own", []byte(small), false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a template was replaced: %v", err)
	}
	if _, err := l.Save("own", []byte(small+"    risk: low\n"), true); err != nil {
		t.Error(err)
	}
	testenv.Check(t, os.WriteFile(filepath.Join(l.User, "old.json"), []byte("{}"), 0o600))
	if _, err := l.Save("old", []byte(small), false); !errors.Is(err, fs.ErrExist) {
		t.Errorf("a template was replaced: %v", err)
	}
	if _, err := l.Save("old", []byte(small), true); err != nil {
		t.Error(err)
	}
	if old, err := l.Find(t.Context(), "old"); err != nil || old.Err != nil {
		t.Errorf("the saved template is not the one in use: %v, %v", old.Err, err)
	}
	for name, text := range map[string]string{"../x": small, "a/b": small, "X": small, "": small, "a--b": small, "bad": "steps: []"} {
		if _, err := l.Save(name, []byte(text), true); err == nil {
			t.Errorf("%q was saved", name)
		}
	}
	found, err := l.Find(t.Context(), "own")
	if made, wrong := found.Make(map[string]json.RawMessage{}); err != nil || wrong != nil || made.Steps[0].Risk != "low" {
		t.Errorf("got %+v, %v, %v", made, err, wrong)
	}
}
