package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

type importOptions struct {
	format    string
	objective string
	tag       string
	draft     bool
	active    bool
}

func newImportCommand(a *app) *cobra.Command {
	var o importOptions
	cmd := newCommand("import", "FILE", exactly(1, "a file, or - for standard input"), func(cmd *cobra.Command, args []string) error {
		return a.importPlan(cmd.Context(), args[0], o)
	})

	flags := cmd.Flags()
	flags.StringVarP(&o.format, "format", "f", "", "read as `FORMAT`: "+strings.Join(exchange.Readable("").Values(), ", ")+
		" (default: recognised from the name and the text)")
	flags.StringVar(&o.tag, "tag", "", "which `TAG` of Task Master's to read (default: master)")
	flags.StringVar(&o.objective, "objective", "", "`TEXT` on what the plan is for, in the place of what it says")
	flags.BoolVar(&o.draft, "draft", false, "put it beside the current plan, as a draft")
	flags.BoolVar(&o.active, "active", false, "make it the current plan, active whatever it says of itself")
	complete(cmd, "format", words(exchange.Readable("")))
	return cmd
}

// importReply is the reply to an import.
type importReply struct {
	verbs.SetupPlanReply
	Format string   `json:"format"`
	Notes  []string `json:"notes"`
}

func (a *app) importPlan(ctx context.Context, file string, o importOptions) error {
	if o.draft && o.active {
		return usageError{errors.New("--draft and --active exclude each other; give one of them")}
	}
	format, imported, err := a.readPlan(ctx, file, o)
	if err != nil {
		return err
	}
	action := imported.Action
	action.Draft = o.draft || action.Draft && !o.active
	if o.active {
		action.Origin.Status = ""
	}
	opened, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	reply, found, err := opened.verbs.ImportPlan(ctx, a.caller(), action, imported.former)
	if err != nil {
		return err
	}
	notes := append(imported.Notes, found...)
	if !a.flags.json {
		a.note(notes...)
	}
	return a.reply(importReply{reply, string(format), orEmpty(notes)})
}

// readPlan reads the plan of a file, or of a folder as rawko and others keep it.
func (a *app) readPlan(ctx context.Context, file string, o importOptions) (exchange.Format, importedRawko, error) {
	info, err := os.Stat(file)
	folder := err == nil && info.IsDir()
	if folder && (o.format == "" || o.format == string(exchange.RawkoYAML)) && !missingFile(filepath.Join(file, rawkoTask)) {
		file, folder = filepath.Join(file, rawkoTask), false
	}
	if folder {
		return a.importFolder(ctx, file, o)
	}
	if filepath.Base(file) == rawkoTask {
		imported, err := a.importRawko(ctx, file, exchange.ImportOptions{Objective: o.objective})
		return exchange.RawkoYAML, imported, err
	}
	data, err := a.readInput(ctx, file)
	if err != nil {
		return "", importedRawko{}, err
	}
	format, err := o.formatOf(data, file)
	if err != nil {
		return "", importedRawko{}, err
	}
	if format == exchange.Execution && file == "-" && o.objective == "" {
		return "", importedRawko{}, usageError{errors.New("a plan of the format execution says no objective: give it with --objective")}
	}
	imported, err := exchange.Import(data, format, exchange.ImportOptions{Objective: o.objective, Name: o.fileName(file), Tag: o.tag})
	return format, importedRawko{Imported: imported}, err
}

// importFolder reads the plan of a folder that holds a file for each task.
func (a *app) importFolder(ctx context.Context, folder string, o importOptions) (exchange.Format, importedRawko, error) {
	format := exchange.Named(o.format)
	if o.format != "" && !format.Apart() {
		return "", importedRawko{}, usageError{fmt.Errorf("%s is a folder, which is not read as %s; leave out --format, or name a file",
			plan.Quote(folder), plan.Quote(o.format))}
	}
	files, err := a.folderFiles(ctx, folder)
	if err != nil {
		return "", importedRawko{}, err
	}
	if o.format == "" {
		if format, err = exchange.DetectFolder(files); err != nil {
			return "", importedRawko{}, usageError{fmt.Errorf("%s is a folder in which no plan is recognised; name a file, or a folder in "+
				"which %s, Backlog.md or Claude Code keeps tasks", plan.Quote(folder), "rawko")}
		}
	}
	imported, err := exchange.ImportFolder(files, format, exchange.ImportOptions{Objective: o.objective, Name: o.fileName(folder)})
	return format, importedRawko{Imported: imported}, err
}

// maxFiles bounds how many files of a folder are read.
const maxFiles = 3 * plan.DefaultMaxSteps

// folderFiles reads the texts below a folder, two folders deep, without following links.
func (a *app) folderFiles(ctx context.Context, folder string) ([]exchange.File, error) {
	var files []exchange.File
	size := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return unreadableFile(path, err)
		}
		name, err := filepath.Rel(folder, path)
		if err != nil {
			return err
		}
		if entry.IsDir() && (strings.Count(filepath.ToSlash(name), "/") > 1 || entry.Name() == "node_modules" || entry.Name() == ".git") {
			return filepath.SkipDir
		}
		if ext := filepath.Ext(name); !entry.Type().IsRegular() || ext != ".md" && ext != ".json" && ext != ".yml" {
			return nil
		}
		data, err := a.readInput(ctx, path)
		if err != nil {
			return err
		}
		if size += len(data); size > maxInput || len(files) == maxFiles {
			return usageError{fmt.Errorf("%s holds more than %d MB or %d files, the most that is read; name a folder with less",
				plan.Quote(folder), maxInput>>20, maxFiles)}
		}
		files = append(files, exchange.File{Name: filepath.ToSlash(name), Data: data})
		return nil
	})
	return files, err
}

func (o importOptions) formatOf(data []byte, file string) (exchange.Format, error) {
	if o.format == "" {
		return exchange.Detect(data, o.fileName(file))
	}
	format := exchange.Named(o.format)
	return format, plan.OneOf("--format", exchange.Readable(format.Mark()))
}

// fileName is the name of a file with all folders, "" for standard input.
func (importOptions) fileName(file string) string {
	if file == "-" {
		return ""
	}
	if whole, err := filepath.Abs(file); err == nil {
		file = whole
	}
	return filepath.ToSlash(file)
}

// maxInput is more than any verb takes, so that too much is noticed and not cut.
const maxInput = 4<<20 + 1

// readInput reads a file, or standard input for "-", until ctx ends. It may be a pipe, and
// one that nobody writes to cannot be interrupted: then the reading goroutine is left behind
// until the process ends.
func (a *app) readInput(ctx context.Context, file string) ([]byte, error) {
	type input struct {
		data []byte
		err  error
	}
	read := make(chan input, 1)
	go func() {
		data, err := a.inputOf(file)
		read <- input{data, err}
	}()
	select {
	case got := <-read:
		return got.data, got.err
	case <-ctx.Done():
		return nil, fmt.Errorf("%s was not read to its end: %w", plan.Quote(file), context.Cause(ctx))
	}
}

func (a *app) inputOf(file string) ([]byte, error) {
	in := a.in
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, unreadableFile(file, err)
		}
		defer f.Close()
		in = f
	}
	data, err := io.ReadAll(io.LimitReader(in, maxInput))
	switch {
	case err != nil && file == "-":
		return nil, fmt.Errorf("read standard input: %w", err)
	case err != nil:
		return nil, unreadableFile(file, err)
	case len(data) == maxInput:
		return nil, usageError{fmt.Errorf("%s is longer than %d MB, the most that is read", plan.Quote(file), maxInput>>20)}
	}
	return data, nil
}

func unreadableFile(file string, err error) error {
	problem := err.Error()
	if detail := (*fs.PathError)(nil); errors.As(err, &detail) {
		problem = detail.Err.Error()
	}
	return usageError{fmt.Errorf("%s cannot be read: %s; name a file, or - for standard input", plan.Quote(file), problem)}
}
