package template

import (
	"cmp"
	"context"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/atomicfile"
	"github.com/planloop/planloop/internal/private"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/spelling"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/plan"
)

//go:embed shipped/*.yaml
var shipped embed.FS

const extension = ".yaml"

// WorkspaceFolder is where the templates of a workspace stand below it.
const WorkspaceFolder = ".planloop/templates"

// maxTemplates is how many of each origin are read.
const maxTemplates = 200

// Library is where templates come from.
type Library struct {
	User      string // the folder of the user's own; "": there are none
	Workspace string // the directory of the workspace; "": it has none
}

// List returns all templates by name, of one name the user's first. One that cannot be
// used says why.
func (l Library) List(ctx context.Context) ([]Template, error) {
	var all []Template
	for _, list := range []func(context.Context) ([]Template, error){l.ofUser, l.ofWorkspace, ofPlanloop} {
		some, err := list(ctx)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	slices.SortStableFunc(all, func(a, b Template) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// Find returns the template that a name means: "bug-fix", or "user/bug-fix" where there are
// several. The user's stands before the shipped one; one of the workspace before none.
func (l Library) Find(ctx context.Context, name string) (Template, error) {
	all, err := l.List(ctx)
	if err != nil {
		return Template{}, err
	}
	var found []Template
	var names []string
	for _, t := range all {
		if t.FullName() == name {
			return t, nil
		}
		if t.Name == name {
			found = append(found, t)
		}
		names = append(names, t.FullName())
	}
	if len(found) == 0 {
		return Template{}, plan.Refuse(plan.NotFound, "/template", "there is no template "+plan.Quote(name), meant(name, names))
	}
	if foreign := slices.IndexFunc(found, func(t Template) bool { return t.Origin == Workspace }); foreign >= 0 && len(found) > 1 {
		var which []string
		for _, t := range found {
			which = append(which, t.FullName())
		}
		return Template{}, plan.Refuse(plan.InvalidInput, "/template", plan.Quote(name)+" means several templates",
			"give one of "+strings.Join(which, ", "))
	}
	return found[0], nil
}

// Called is the shortest name by which Find finds one of all templates.
func (l Library) Called(t Template, all []Template) string {
	same := func(origin Origin) bool {
		return slices.ContainsFunc(all, func(other Template) bool { return other.Name == t.Name && other.Origin == origin })
	}
	alone := t.Origin == User && !same(Workspace) || t.Origin == Shipped && !same(User) && !same(Workspace) ||
		t.Origin == Workspace && !same(User) && !same(Shipped)
	if alone {
		return t.Name
	}
	return t.FullName()
}

func meant(name string, names []string) string {
	short := make([]string, len(names))
	for i, full := range names {
		short[i] = path.Base(full)
	}
	if near := spelling.Nearest(path.Base(name), short); near != "" {
		return "did you mean " + near + "?"
	}
	slices.Sort(names)
	const shown = 20
	list := strings.Join(names[:min(len(names), shown)], ", ")
	if len(names) > shown {
		list += ", …"
	}
	return "there are " + list
}

// readAll reads the templates among the names of a folder's files.
func readAll(origin Origin, names []string, where func(file string) string, content func(file string) ([]byte, error)) []Template {
	var all []Template
	for _, file := range names {
		name, is := strings.CutSuffix(file, extension)
		if !is || len(all) == maxTemplates {
			continue
		}
		t := Template{Name: plan.Shorten(safetext.EscapeLine(name), maxName), Origin: origin, File: where(file)}
		err := CheckName(name)
		var text []byte
		if err == nil {
			text, err = content(file)
		}
		if err != nil {
			t.refuse(plan.Refuse(plan.InvalidInput, "", safetext.EscapeLine(err.Error()), ""))
			all = append(all, t)
			continue
		}
		all = append(all, Read(name, origin, t.File, text))
	}
	return all
}

func ofPlanloop(context.Context) ([]Template, error) {
	entries, err := shipped.ReadDir("shipped")
	return readAll(Shipped, fileNames(entries), func(string) string { return "" }, func(file string) ([]byte, error) {
		return shipped.ReadFile("shipped/" + file)
	}), err
}

func (l Library) ofUser(context.Context) ([]Template, error) {
	if l.User == "" {
		return nil, nil
	}
	if err := private.Folder(l.User); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(l.User)
	if err != nil {
		return nil, err
	}
	where := func(file string) string { return filepath.Join(l.User, file) }
	return readAll(User, fileNames(entries), where, func(file string) ([]byte, error) {
		return private.Read(where(file), maxBytes+1)
	}), nil
}

func (l Library) ofWorkspace(ctx context.Context) ([]Template, error) {
	if l.Workspace == "" {
		return nil, nil
	}
	files, err := tree.Open(l.Workspace)
	if err != nil {
		return nil, err
	}
	defer files.Close() //nolint:errcheck // it was only read
	entries, _, err := files.List(ctx, WorkspaceFolder)
	if err != nil {
		return nil, ctx.Err() // there is no such folder, or none that may be read
	}
	where := func(file string) string { return WorkspaceFolder + "/" + file }
	return readAll(Workspace, fileNames(entries), where, func(file string) ([]byte, error) {
		opened, info, err := files.Open(where(file))
		if err != nil {
			return nil, err
		}
		defer opened.Close() //nolint:errcheck // it was only read
		if info.IsDir() {
			return nil, errors.New("it is a directory")
		}
		return io.ReadAll(io.LimitReader(opened, maxBytes+1))
	}), nil
}

func fileNames(entries []fs.DirEntry) []string {
	names := make([]string, len(entries))
	for i, e := range entries {
		names[i] = e.Name()
	}
	return names
}

// Save writes a template into the user's folder, and returns where it is. Unless replace is
// set, one that is there stays, and the error wraps fs.ErrExist.
func (l Library) Save(name string, text []byte, replace bool) (string, error) {
	if err := CheckName(name); err != nil {
		return "", err
	}
	if t := Read(name, User, "", text); t.Err != nil {
		return "", fmt.Errorf("the template could not be used: %w", t.Err)
	}
	if l.User == "" {
		return "", errors.New("there is no folder to keep templates in")
	}
	if err := private.Make(l.User); err != nil {
		return "", err
	}
	file := filepath.Join(l.User, name+extension)
	return file, atomicfile.WriteFile(file, text, atomicfile.Options{Mode: private.FileMode, New: !replace})
}
