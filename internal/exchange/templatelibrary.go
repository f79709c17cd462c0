package exchange

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

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/plan"
)

//go:embed builtin/*.yaml
var builtIn embed.FS

// WorkspaceFolder is the folder of a workspace's templates, relative to the workspace.
const TemplateFolder = ".planloop/templates"

// maxTemplates limits the templates found in one folder.
const maxTemplates = 100

// TemplateLibrary finds templates in three folders.
type TemplateLibrary struct {
	User      string // the folder of the user's templates; "": none
	Workspace string // the workspace's directory; "": none
}

// Find returns the template with a name, such as bug-fix, or user/bug-fix if several folders have one.
func (l TemplateLibrary) Find(ctx context.Context, name string) (Template, error) {
	all, err := l.List(ctx)
	if err != nil {
		return Template{}, err
	}
	var found []Template
	var names, candidates []string
	for _, t := range all {
		if name == t.Name || name == t.FullName() {
			found, candidates = append(found, t), append(candidates, t.FullName())
		}
		names = append(names, t.Name)
	}
	switch {
	case len(found) == 1:
		return found[0], nil
	case len(found) > 1:
		return Template{}, &plan.ValidationError{Kind: plan.InvalidInput, Field: "/template",
			Problem: plan.Quote(name) + " is the name of several templates", Fix: "give one of " + strings.Join(candidates, ", "),
			Suggestion: candidates[0]}
	}
	fix := "" // the caller knows how to list them
	if near := safetext.Nearest(path.Base(name), names); near != "" {
		fix = "did you mean " + near + "?"
	}
	return Template{}, plan.Refuse(plan.NotFound, "/template", "template "+plan.Quote(name)+" does not exist", fix)
}

// TemplateNamed returns the shortest name by which Find finds one of all templates.
func TemplateNamed(t Template, all []Template) string {
	if slices.ContainsFunc(all, func(other Template) bool { return other.Name == t.Name && other.Origin != t.Origin }) {
		return t.FullName()
	}
	return t.Name
}

// List returns the templates of all folders, sorted by name. Of the same name, the workspace's comes last. An unusable
// template has its reason in Err.
func (l TemplateLibrary) List(ctx context.Context) ([]Template, error) {
	own, err := l.ofUser()
	if err != nil {
		return nil, plan.Refuse(plan.Conflict, "", "the folder of your templates cannot be used: "+err.Error(), "repair it")
	}
	files, err := builtIn.ReadDir("builtin")
	if err != nil {
		return nil, err
	}
	embedded := templatesOf(BuiltIn, "", files, func(file string) ([]byte, error) { return builtIn.ReadFile("builtin/" + file) })
	all := slices.Concat(own, embedded, l.ofWorkspace(ctx))
	slices.SortStableFunc(all, func(a, b Template) int { return cmp.Compare(a.Name, b.Name) })
	return all, ctx.Err()
}

func (l TemplateLibrary) ofUser() ([]Template, error) {
	if l.User == "" {
		return nil, nil
	}
	err := safefile.CheckFolder(l.User)
	var files []fs.DirEntry
	if err == nil {
		files, err = os.ReadDir(l.User)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return templatesOf(UserTemplate, l.User, files, func(file string) ([]byte, error) {
		return safefile.Read(filepath.Join(l.User, file), maxTemplateBytes+1)
	}), err
}

// ofWorkspace returns nothing if the workspace has no readable folder of templates.
func (l TemplateLibrary) ofWorkspace(ctx context.Context) []Template {
	if l.Workspace == "" {
		return nil
	}
	opened, err := tree.Open(l.Workspace)
	if err != nil {
		return nil
	}
	defer opened.Close() //nolint:errcheck // it was only read
	files, _, _ := opened.List(ctx, TemplateFolder)
	return templatesOf(WorkspaceTemplate, TemplateFolder, files, func(file string) ([]byte, error) { return readTemplate(opened, file) })
}

func readTemplate(files *tree.Tree, file string) ([]byte, error) {
	opened, info, err := files.Open(TemplateFolder + "/" + file)
	if tree.LeadsOut(err) {
		err = errors.New("it is a link out of the workspace, which is not followed")
	}
	if err != nil {
		return nil, err
	}
	defer opened.Close() //nolint:errcheck // it was only read
	if info.IsDir() {
		return nil, errors.New("it is a directory")
	}
	return io.ReadAll(io.LimitReader(opened, maxTemplateBytes+1))
}

// templatesOf returns the templates among the sorted files of a folder: NAME.yaml, or NAME.json without it.
func templatesOf(origin TemplateOrigin, folder string, files []fs.DirEntry, read func(file string) ([]byte, error)) []Template {
	var all []Template
	for _, f := range files {
		file := f.Name()
		ending := path.Ext(file)
		if ending != ".yaml" && ending != ".json" {
			continue
		}
		t := Template{Name: plan.Shorten(safetext.EscapeLine(strings.TrimSuffix(file, ending)), maxTemplateName), Origin: origin}
		if folder != "" {
			t.File = filepath.Join(folder, file)
		}
		i := slices.IndexFunc(all, func(other Template) bool { return other.Name == t.Name })
		if i < 0 && len(all) == maxTemplates {
			continue
		}
		err := checkName(t.Name)
		if err == nil {
			t.Text, err = read(file)
		}
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			err = failed.Err // the path is named already
		}
		if err != nil {
			t.refuse(err)
		} else {
			t = ReadTemplate(t.Name, origin, t.File, t.Text)
		}
		if i >= 0 {
			all[i] = t
		} else {
			all = append(all, t)
		}
	}
	return all
}

// Save writes a template to the user's folder and returns its file. Without replace, an existing file is kept
// and the error wraps fs.ErrExist.
func (l TemplateLibrary) Save(name string, text []byte, replace bool) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	if t := ReadTemplate(name, UserTemplate, "", text); t.Err != nil {
		return "", fmt.Errorf("the template could not be used: %w", t.Err)
	}
	if l.User == "" {
		return "", errors.New("no folder for templates: HOME is not set")
	}
	if err := safefile.MakeFolder(l.User); err != nil {
		return "", err
	}
	if _, err := os.Lstat(filepath.Join(l.User, name+".json")); err == nil && !replace {
		return "", fs.ErrExist
	}
	file := filepath.Join(l.User, name+".yaml")
	return file, safefile.WriteFile(file, text, safefile.Options{Mode: safefile.FileMode, New: !replace})
}
