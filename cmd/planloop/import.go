package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

type importOptions struct {
	format    string
	objective string
	draft     bool
	active    bool
}

// importFormat is a format a plan is read in.
type importFormat string

// Values lists the formats in order.
func (importFormat) Values() []string {
	return []string{"json", "yaml", "md", "rawko-yaml", "execution"}
}

func newImportCommand(a *app) *cobra.Command {
	var o importOptions
	cmd := newCommand("import", "FILE", exactly(1, "a file, or - for standard input"), func(cmd *cobra.Command, args []string) error {
		return a.importPlan(cmd.Context(), args[0], o)
	})

	flags := cmd.Flags()
	flags.StringVarP(&o.format, "format", "f", "", "read as `FORMAT`: json, yaml, md, rawko-yaml or execution (default: recognised "+
		"from the name and the text)")
	flags.StringVar(&o.objective, "objective", "", "`TEXT` on what the plan is for, in the place of what it says")
	flags.BoolVar(&o.draft, "draft", false, "put it beside the current plan, as a draft")
	flags.BoolVar(&o.active, "active", false, "make it the current plan, active whatever it says of itself")
	complete(cmd, "format", words(importFormat("")))
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

// readPlan reads the plan of a file, or of a folder as rawko keeps it.
func (a *app) readPlan(ctx context.Context, file string, o importOptions) (exchange.Format, importedRawko, error) {
	info, err := os.Stat(file)
	folder := err == nil && info.IsDir()
	if folder && o.format != "" && o.format != string(exchange.RawkoYAML) {
		return "", importedRawko{}, usageError{fmt.Errorf("%s is a folder, which is read as %s; leave out --format", plan.Quote(file),
			exchange.RawkoYAML)}
	}
	if folder && missingFile(filepath.Join(file, rawkoTask)) {
		return "", importedRawko{}, usageError{fmt.Errorf("%s is a folder without %s; name a file, or a folder in which rawko keeps plans",
			plan.Quote(file), rawkoTask)}
	}
	if folder {
		file = filepath.Join(file, rawkoTask)
	}
	if folder || filepath.Base(file) == rawkoTask {
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
	imported, err := exchange.Import(data, format, exchange.ImportOptions{Objective: o.objective, Name: o.fileName(file)})
	return format, importedRawko{Imported: imported}, err
}

func (o importOptions) formatOf(data []byte, file string) (exchange.Format, error) {
	switch {
	case o.format == "markdown":
		return exchange.Markdown, nil
	case o.format != "":
		return exchangeFormat(exportFormat(o.format)), plan.OneOf("--format", importFormat(o.format))
	}
	return exchange.Detect(data, o.fileName(file))
}

// fileName is the name of a file without its folder, "" for standard input.
func (importOptions) fileName(file string) string {
	if file == "-" {
		return ""
	}
	return filepath.Base(file)
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
