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

// What is read of each origin.
const (
	maxTemplates = 200
	maxRead      = 4 << 20 // bytes of their files
)

// Library is where templates come from.
type Library struct {
	User      string // the folder of the user's own; "": there are none
	Workspace string // the directory of the workspace; "": it has none
}

// shelf holds the templates of one origin, which are read when they are asked for.
type shelf struct {
	origin Origin
	names  []string
	file   func(name string) string // where it stands, for people
	text   func(name string) ([]byte, error)
}

// List returns all templates by name, of one name the user's first. One that cannot be
// used says why.
func (l Library) List(ctx context.Context) ([]Template, error) {
	shelves, err := l.shelves(ctx)
	if err != nil {
		return nil, err
	}
	var all []Template
	for _, s := range shelves {
		left := maxRead
		for _, name := range s.names {
			t := s.unread(name)
			if left <= 0 {
				t.refuse(plan.Refuse(plan.InvalidInput, "", "those before it are more than is read to list them", "ask for it by its name"))
			} else {
				t = s.read(name)
			}
			left -= len(t.text)
			all = append(all, t)
		}
	}
	slices.SortStableFunc(all, func(a, b Template) int { return cmp.Compare(a.Name, b.Name) })
	return all, nil
}

// Find returns the template that a name means: "bug-fix", or "user/bug-fix" where there are
// several. The user's stands before the shipped one; one of the workspace before none.
func (l Library) Find(ctx context.Context, name string) (Template, error) {
	shelves, err := l.shelves(ctx)
	if err != nil {
		return Template{}, err
	}
	var found []shelf
	var names, which []string
	for _, s := range shelves {
		for _, own := range s.names {
			full := s.unread(own).FullName()
			if checkName(own) != nil {
				continue
			}
			if full == name {
				return s.read(own), nil
			}
			if own == name {
				found, which = append(found, s), append(which, full)
			}
			names = append(names, full)
		}
	}
	foreign := slices.ContainsFunc(found, func(s shelf) bool { return s.origin == Workspace })
	switch {
	case len(found) == 0:
		return Template{}, plan.Refuse(plan.NotFound, "/template", "there is no template "+plan.Quote(name), meant(name, names))
	case foreign && len(found) > 1:
		return Template{}, plan.Refuse(plan.InvalidInput, "/template", plan.Quote(name)+" means several templates",
			"give one of "+strings.Join(which, ", "))
	}
	return found[0].read(name), nil
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

func (l Library) shelves(ctx context.Context) ([]shelf, error) {
	entries, err := shipped.ReadDir("shipped")
	if err != nil {
		return nil, err
	}
	all := []shelf{{Shipped, namesOf(entries), func(string) string { return "" }, func(name string) ([]byte, error) {
		return shipped.ReadFile("shipped/" + name + extension)
	}}}
	if l.Workspace != "" {
		all = append([]shelf{l.ofWorkspace(ctx)}, all...)
	}
	if l.User == "" {
		return all, ctx.Err()
	}
	own, err := l.ofUser()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, plan.Refuse(plan.Conflict, "", "the folder of your templates cannot be used: "+err.Error(), "mend that")
	}
	return append([]shelf{own}, all...), ctx.Err()
}

func (l Library) ofUser() (shelf, error) {
	if err := private.Folder(l.User); err != nil {
		return shelf{}, err
	}
	entries, err := os.ReadDir(l.User)
	file := func(name string) string { return filepath.Join(l.User, name+extension) }
	return shelf{User, namesOf(entries), file, func(name string) ([]byte, error) { return private.Read(file(name), maxBytes+1) }}, err
}

// ofWorkspace is a shelf without anything where there is no folder, or none that may be read.
func (l Library) ofWorkspace(ctx context.Context) shelf {
	file := func(name string) string { return WorkspaceFolder + "/" + name + extension }
	files, err := tree.Open(l.Workspace)
	if err != nil {
		return shelf{}
	}
	defer files.Close() //nolint:errcheck // it was only read
	entries, _, _ := files.List(ctx, WorkspaceFolder)
	return shelf{Workspace, namesOf(entries), file, func(name string) ([]byte, error) {
		files, err := tree.Open(l.Workspace)
		if err != nil {
			return nil, err
		}
		defer files.Close() //nolint:errcheck // it was only read
		opened, info, err := files.Open(file(name))
		if err != nil {
			return nil, err
		}
		defer opened.Close() //nolint:errcheck // it was only read
		if info.IsDir() {
			return nil, errors.New("it is a directory")
		}
		return io.ReadAll(io.LimitReader(opened, maxBytes+1))
	}}
}

// namesOf are the names of the templates in a folder, as many as are looked at.
func namesOf(entries []fs.DirEntry) []string {
	var names []string
	for _, e := range entries {
		if name, is := strings.CutSuffix(e.Name(), extension); is && len(names) < maxTemplates {
			names = append(names, name)
		}
	}
	return names
}

// unread is the template of that name before it is read: a file may be called anything.
func (s shelf) unread(name string) Template {
	return Template{Name: plan.Shorten(safetext.EscapeLine(name), maxName), Origin: s.origin, File: s.file(name)}
}

// read reads the template of that name.
func (s shelf) read(name string) Template {
	t, err := s.unread(name), checkName(name)
	var text []byte
	if err == nil {
		text, err = s.text(name)
	}
	if err != nil {
		t.refuse(plan.Refuse(plan.InvalidInput, "", safetext.EscapeLine(err.Error()), ""))
		return t
	}
	return Read(name, s.origin, t.File, text)
}

// Save writes a template into the user's folder, and returns where it is. Unless replace is
// set, one that is there stays, and the error wraps fs.ErrExist.
func (l Library) Save(name string, text []byte, replace bool) (string, error) {
	if err := checkName(name); err != nil {
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
