package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

type importOptions struct {
	format, objective string
	draft, active     bool
}

func newImportCommand(a *app) *cobra.Command {
	var o importOptions
	cmd := newCommand("import", "FILE", exactly(1, "a file, or - for standard input"), func(cmd *cobra.Command, args []string) error {
		return a.importPlan(cmd.Context(), args[0], o)
	})
	flags := cmd.Flags()
	flags.StringVarP(&o.format, "format", "f", "", "read as `FORMAT`: "+strings.Join(exchange.Readable("").Values(), ", ")+
		" (default: by the file's extension, else json)")
	flags.StringVar(&o.objective, "objective", "", "use `TEXT` as the objective instead of the file's")
	flags.BoolVar(&o.draft, "draft", false, "make it a draft next to the current plan")
	flags.BoolVar(&o.active, "active", false, "make it the current plan and active, despite the file's status")
	complete(cmd, "format", words(exchange.Readable("")))
	return cmd
}

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
		if ws, _ := a.open(ctx, nil); ws != nil && len(imported.Action.Steps) > 0 {
			err = ws.verbs.ImportFaults(ctx, err, imported.Action)
		}
		return err
	}
	action := imported.Action
	action.Draft = o.draft || action.Draft && !o.active
	if o.active {
		action.Import.Status = ""
	}
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	var found []string
	reply, err := confirmed(ctx, a, func(c verbs.Caller) (reply verbs.SetupPlanReply, err error) {
		reply, found, err = ws.verbs.ImportPlan(ctx, c, action, imported.former)
		return reply, err
	})
	if err != nil {
		return err
	}
	notes := append(imported.Notes, found...)
	if !a.flags.json {
		a.note(notes...)
	}
	return a.reply(importReply{reply, string(format), orEmpty(notes)})
}

func (a *app) readPlan(ctx context.Context, file string, o importOptions) (format exchange.Format, imported importedRawko, err error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		task := filepath.Join(file, rawkoTaskFile)
		switch {
		case o.format != "" && o.format != string(exchange.RawkoYAML):
			return format, imported, usageError{fmt.Errorf("%s is a folder, not %s; leave out --format, or name a file",
				plan.Quote(file), plan.Quote(o.format))}
		case missingFile(task):
			return format, imported, usageError{fmt.Errorf("%s is a folder without rawko's %s; name a file", plan.Quote(file),
				rawkoTaskFile)}
		}
		file = task
	}
	if filepath.Base(file) == rawkoTaskFile {
		imported, err = a.importRawko(ctx, file, exchange.ImportOptions{Objective: o.objective})
		return exchange.RawkoYAML, imported, err
	}
	format = formatOf(o.format, file)
	if err = plan.OneOf("--format", exchange.Readable(format)); err != nil {
		return format, imported, err
	}
	data, err := a.readInput(ctx, file)
	if err != nil {
		return format, imported, err
	}
	if format == exchange.Execution && file == "-" && o.objective == "" {
		return format, imported, usageError{errors.New("the format execution has no objective; give one with --objective")}
	}
	imported.Imported, err = exchange.Import(data, format, exchange.ImportOptions{Objective: o.objective, Name: filepath.Base(file),
		Guessed: o.format == ""})
	return format, imported, err
}
