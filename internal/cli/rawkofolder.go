package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// rawko keeps plans in a folder: a file that names the current plan, and a file for each version of each plan below plans (rawko: Plan
// Persistence).
const (
	rawkoTaskFile    = "current-task.yaml"
	rawkoPlansFolder = "plans"
)

// exportFolder writes a plan and its former versions into a folder of the workspace in rawko's layout. Other files stay.
func (a *app) exportFolder(ctx context.Context, ws *openWorkspace, state plan.State, dir string) error {
	files, reply, err := rawkoFiles(ctx, ws, state)
	if err != nil {
		return err
	}
	folder, err := withinWorkspace(ws.place.Path, dir)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(ws.place.Path)
	if err != nil {
		return err
	}
	defer root.Close()
	infos := make([]fs.FileInfo, len(files))
	for i, file := range files { // check all before writing any
		if infos[i], err = plainFile(root, filepath.Join(folder, file.name)); err != nil {
			return err
		}
	}
	for i, file := range files {
		name := filepath.Join(folder, file.name)
		if err := root.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return fmt.Errorf("make the folder %s: %w", plan.Quote(dir), err)
		}
		if err := safefile.Write(root, name, file.data, safefile.Options{Like: infos[i]}); err != nil {
			return err
		}
		reply.Files = append(reply.Files, filepath.ToSlash(filepath.Join(dir, file.name)))
	}
	if a.flags.json {
		return a.printJSON(reply)
	}
	a.note(reply.Notes...)
	for _, file := range reply.Files {
		if _, err := fmt.Fprintf(a.err, "Wrote %s.\n", safetext.EscapeLine(file)); err != nil {
			return err
		}
	}
	return nil
}

type rawkoFile struct {
	name string // relative to the folder
	data []byte
}

// rawkoFiles returns the files of a plan. The one that names the plan is last, so that its target exists when it is written.
func rawkoFiles(ctx context.Context, ws *openWorkspace, state plan.State) ([]rawkoFile, exportReply, error) {
	reply := exportReply{Format: string(exchange.RawkoYAML)}
	if state.Plan == nil {
		_, _, err := exchange.Export(exchange.RawkoYAML, state)
		return nil, reply, err // reports the missing plan
	}
	current := state.Plan
	versions := []string{current.ID}
	all, err := ws.verbs.State(ctx)
	if err != nil {
		return nil, reply, err
	}
	for head := range all.Versions(current.Root()) {
		if head.ID != current.ID {
			versions = append(versions, head.ID)
		}
	}
	var files []rawkoFile
	for _, id := range versions {
		then := state
		if id != current.ID {
			if then, err = ws.verbs.PlanState(ctx, id); err != nil {
				return nil, reply, err
			}
		}
		text, notes, err := exchange.Export(exchange.RawkoYAML, then)
		if err != nil {
			return nil, reply, err
		}
		if id == current.ID {
			reply.PlanID, reply.Notes = id, orEmpty(notes)
		}
		files = append(files, rawkoFile{filepath.Join(rawkoPlansFolder, id+".yaml"), text})
	}
	task, err := exchange.RawkoTask(current)
	return append(files, rawkoFile{rawkoTaskFile, task}), reply, err
}

func withinWorkspace(workspace, dir string) (string, error) {
	whole := dir
	if !filepath.IsAbs(dir) {
		here, err := os.Getwd()
		if err != nil {
			return "", err
		}
		if real, err := filepath.EvalSymlinks(here); err == nil { // as in the workspace's path
			here = real
		}
		whole = filepath.Join(here, dir)
	}
	within, err := filepath.Rel(workspace, whole)
	if err != nil || !filepath.IsLocal(within) {
		return "", usageError{fmt.Errorf("--dir %s leaves the workspace; name a folder in it, such as .rawko", plan.Quote(dir))}
	}
	return within, nil
}

// plainFile returns the file at a path to write, nil if missing. It refuses links, also as parents: they hide the real target.
func plainFile(root *os.Root, name string) (fs.FileInfo, error) {
	at := ""
	parts := strings.Split(filepath.ToSlash(name), "/")
	for i, part := range parts {
		at = filepath.Join(at, part)
		info, err := root.Lstat(at)
		switch last := i == len(parts)-1; {
		case errors.Is(err, fs.ErrNotExist):
			return nil, nil
		case err != nil:
			return nil, err
		case info.IsDir() && !last:
			continue
		case info.Mode().IsRegular() && last:
			return info, nil
		case info.Mode()&fs.ModeSymlink != 0:
			return nil, plan.Refuse(plan.Conflict, "", plan.Quote(filepath.ToSlash(at))+" is a link, which is not followed",
				"remove it, or name another folder with --dir")
		}
		return nil, plan.Refuse(plan.Conflict, "", plan.Quote(filepath.ToSlash(at))+" is in the way", "name another folder with --dir")
	}
	return nil, nil
}

// importedRawko is a plan of rawko's folder with its former versions, oldest first.
type importedRawko struct {
	exchange.Imported
	former []plan.SetUp
}

// importRawko reads the folder's current plan and its former versions. file names the current plan.
func (a *app) importRawko(ctx context.Context, file string, options exchange.ImportOptions) (importedRawko, error) {
	var all importedRawko
	data, err := a.readInput(ctx, file)
	if err != nil {
		return all, err
	}
	id, err := exchange.RawkoCurrent(data)
	if err != nil {
		return all, err
	}
	read := map[string]bool{}
	for id != "" && !read[id] && len(read) < maxVersions {
		read[id] = true
		plans := filepath.Join(filepath.Dir(file), rawkoPlansFolder, id+".yaml")
		if len(read) > 1 && missingFile(plans) {
			break // the folder lacks this version
		}
		if data, err = a.readInput(ctx, plans); err != nil {
			return all, err
		}
		imported, err := exchange.Import(data, exchange.RawkoYAML, options)
		if err != nil {
			return all, fmt.Errorf("%s: %w", safetext.EscapeLine(filepath.ToSlash(plans)), err)
		}
		if len(read) == 1 {
			all.Imported = imported
		} else {
			all.former = slices.Insert(all.former, 0, imported.Action)
		}
		id, options.Objective = imported.Action.Import.PreviousPlanID, ""
	}
	return all, nil
}

const maxVersions = 100

func missingFile(name string) bool {
	_, err := os.Stat(name)
	return errors.Is(err, fs.ErrNotExist)
}
