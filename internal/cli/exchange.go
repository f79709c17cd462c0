package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/exchange"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

type exportOptions struct {
	format, plan, file, dir string
	draft                   bool
	folder                  *os.Root // of file, for --all: no link leads out of it
}

func newExportCommand(a *app) *cobra.Command {
	var o exportOptions
	var all bool
	cmd := newCommand("export", "", noArguments, func(cmd *cobra.Command, _ []string) error {
		if all {
			return a.exportAll(cmd.Context(), o)
		}
		return a.export(cmd.Context(), o)
	})
	flags := cmd.Flags()
	flags.StringVarP(&o.format, "format", "f", "", "write as `FORMAT`: "+strings.Join(exchange.JSON.Values(), ", ")+
		" (default: by the file's extension, else json)")
	flags.StringVar(&o.plan, "plan", "", "export another plan, by its `ID` or the beginning of its id")
	flags.BoolVar(&o.draft, "draft", false, "export the waiting plan")
	flags.StringVarP(&o.file, "output", "o", "", "write to `FILE` instead of standard output")
	flags.StringVar(&o.dir, "dir", "", "write rawko's files with all versions to the workspace folder `DIR`")
	flags.BoolVar(&all, allTracks, false, "write each track's plan to a file in the folder that --output names")
	complete(cmd, "format", words(exchange.JSON))
	complete(cmd, "plan", a.completePlans)
	return cmd
}

type exportReply struct {
	PlanID  string   `json:"plan_id"`
	Format  string   `json:"format"`
	File    string   `json:"file,omitempty"`
	Files   []string `json:"files,omitempty"`   // in a folder
	Content string   `json:"content,omitempty"` // without a file
	Notes   []string `json:"notes"`
}

func (a *app) export(ctx context.Context, o exportOptions) error {
	format := formatOf(o.format, o.file)
	if err := plan.OneOf("--format", format); err != nil {
		return err
	}
	if o.dir != "" && o.format == "" {
		format = exchange.RawkoYAML
	}
	if o.dir != "" && (o.file != "" || format != exchange.RawkoYAML) {
		return usageError{fmt.Errorf("--dir writes several files; use it alone, or with --format %s", exchange.RawkoYAML)}
	}
	ws, state, err := a.state(ctx)
	if err != nil {
		return err
	}
	o.format = string(format)
	return a.exportFrom(ctx, ws, state, o)
}

// exportFrom exports a plan of an opened track in o.format.
func (a *app) exportFrom(ctx context.Context, ws *openWorkspace, state plan.State, o exportOptions) (err error) {
	if o.dir != "" || o.file != "" && o.file != "-" {
		if err := a.refuseWhilePlanning(ctx, ws, "no file may be written", cmp.Or(o.dir, o.file)); err != nil {
			return err
		}
	}
	format := exchange.Format(o.format)
	switch {
	case !o.draft:
		state, _, err = namedPlan(ctx, ws, state, o.plan)
	case o.plan != "" || o.dir != "":
		err = usageError{errors.New("--draft cannot be combined with --plan or --dir")}
	case state.Draft == nil:
		err = noWaitingPlan()
	default:
		state, err = ws.verbs.PlanState(ctx, state.Draft.ID)
	}
	if err != nil {
		return err
	}
	if o.dir != "" {
		return a.exportFolder(ctx, ws, state, o.dir)
	}
	state, left := exchange.Inlined(state, ws.verbs.KeptValue(ctx))
	text, notes, err := exchange.Export(format, state)
	if format.IsJSON() {
		text, err = indented(text, err)
	}
	if err != nil {
		return err
	}
	if format.HoldsValues() {
		notes = append(left, notes...)
	}
	reply := exportReply{PlanID: state.Plan.ID, Format: string(format), Notes: orEmpty(notes)}
	if o.file == "" || o.file == "-" {
		if a.flags.json && format != exchange.JSON {
			reply.Content = string(text)
			return a.printJSON(reply)
		}
		a.note(notes...)
		if a.outIsTerminal { // a pipe gets the plan byte for byte
			text = []byte(safetext.Escape(string(text)))
		}
		return a.print(text)
	}
	if err := o.write(text); err != nil {
		return err
	}
	reply.File = o.file
	if a.flags.json {
		return a.printJSON(reply)
	}
	a.note(notes...)
	_, err = fmt.Fprintf(a.err, "Wrote %s.\n", safetext.EscapeLine(o.file))
	return err
}

// exportAll writes a file for each track with a plan.
func (a *app) exportAll(ctx context.Context, o exportOptions) error {
	if o.file == "" || o.file == "-" || o.dir != "" || o.plan != "" || o.draft {
		return usageError{errors.New("--all writes several files; give their folder with --output, and leave out --dir, --plan " +
			"and --draft")}
	}
	format := formatOf(o.format, "")
	if err := plan.OneOf("--format", format); err != nil {
		return err
	}
	if format.Extension() == "" {
		return usageError{fmt.Errorf("--all names files by their format, and %s has no extension of its own; export one track with --track",
			format)}
	}
	o.format = string(format)
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	if err := a.refuseWhilePlanning(ctx, ws, "no file may be written", o.file); err != nil {
		return err
	}
	if err := os.MkdirAll(o.file, 0o755); err != nil {
		return err
	}
	if o.folder, err = os.OpenRoot(o.file); err != nil {
		return err
	}
	defer o.folder.Close()
	var failed error
	for _, track := range tracksOf(ws.place) {
		opened, state, err := a.readTrack(ctx, track)
		if err == nil && state.Plan != nil {
			each := o
			each.file = filepath.Join(o.file, track.TrackName()+format.Extension())
			err = a.exportFrom(ctx, opened, state, each)
		}
		if opened != nil {
			err = errors.Join(err, opened.release())
		}
		failed = errors.Join(failed, err)
	}
	return failed
}

func (o exportOptions) write(text []byte) error {
	if o.folder == nil {
		return writeFile(o.file, text)
	}
	name := filepath.Base(o.file)
	info, err := replaceable(o.folder, name)
	if err != nil {
		return fmt.Errorf("%s: %w", safetext.EscapeLine(o.file), err)
	}
	return safefile.Write(o.folder, name, text, safefile.Options{Like: info})
}

func formatOf(name, file string) exchange.Format {
	if name != "" {
		return exchange.Named(name)
	}
	return exchange.ForFile(file)
}

// writeFile writes a file atomically. A special file, such as a device, is written directly.
func writeFile(path string, text []byte) error {
	info, err := os.Stat(path)
	switch {
	case err != nil: // a new file
	case info.IsDir():
		return usageError{fmt.Errorf("%s is a directory; name a file in it", plan.Quote(path))}
	case !info.Mode().IsRegular():
		return os.WriteFile(path, text, 0o644)
	default:
		if real, err := filepath.EvalSymlinks(path); err == nil {
			path = real
		}
	}
	// A new file gets default permissions; an existing one keeps its mode and owner.
	return safefile.WriteFile(path, text, safefile.Options{Like: info})
}

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
