package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/notify"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

func newDoctorCommand(a *app) *cobra.Command {
	var repair, all bool
	var restore string
	cmd := newCommand("doctor", "", noArguments, func(cmd *cobra.Command, _ []string) error {
		if cmd.Flags().Changed("restore") && restore == "" {
			return usageError{errors.New("--restore needs the folder of a repair's kept files; give its name")}
		}
		if repair && restore != "" {
			return usageError{errors.New("--repair and --restore undo each other; give one of them")}
		}
		if all && !repair {
			return usageError{errors.New("--all repairs every track's log; give it with --repair")}
		}
		return a.doctor(cmd.Context(), repair, all, restore)
	})
	cmd.Flags().BoolVar(&repair, "repair", false, "make a new log from the intact part of a damaged one")
	cmd.Flags().BoolVar(&all, allTracks, false, "with --repair: the log of every track")
	cmd.Flags().StringVar(&restore, "restore", "", "put back the files that a repair kept in `FOLDER`")
	return cmd
}

type diagnosis struct {
	Status        string           `json:"status"` // sound, damaged, unexamined, newer, repaired, restored or empty
	Version       string           `json:"version"`
	Go            string           `json:"go"`
	SQLite        string           `json:"sqlite,omitempty"` // the version of its Go module
	Workspace     string           `json:"workspace"`
	StateDir      string           `json:"state_dir"`
	From          string           `json:"workspace_from"` // the source of the workspace
	Findings      []finding        `json:"findings"`
	Configuration string           `json:"configuration,omitempty"`
	Warnings      []string         `json:"warnings"`
	Revision      plan.Revision    `json:"revision"` // of the last good record
	Problems      []sqlite.Problem `json:"problems"`
	Removed       int              `json:"values_removed,omitempty"` // unused values of steps
	Repair        *repairDone      `json:"repair,omitempty"`
	Tracks        []trackLog       `json:"tracks,omitempty"` // besides the examined one
	Advice        string           `json:"advice"`
}

type repairDone struct {
	Kept     string        `json:"kept_in"`           // the folder with the former files; "" if nothing was done
	Resumed  bool          `json:"resumed,omitempty"` // an interrupted repair was finished
	Records  plan.Revision `json:"records"`
	Lost     plan.Revision `json:"lost_up_to,omitempty"`
	Restored plan.Revision `json:"restored_from,omitempty"` // revision of the snapshot
	back     bool          // the former files were put back
}

var errReported = errors.New("reported already") // the output has reported the error

// trackLog is what doctor found in the log of another track.
type trackLog struct {
	Track    string           `json:"track"`
	Status   string           `json:"status"`
	Revision plan.Revision    `json:"revision"`
	Problems []sqlite.Problem `json:"problems"`
	Repair   *repairDone      `json:"repair,omitempty"`
}

func (a *app) doctor(ctx context.Context, repair, all bool, restore string) error {
	a.noWarnings = true // the report contains the warnings
	place, err := a.find(ctx, nil)
	if err != nil {
		return err
	}
	if a.flags.ephemeral {
		return usageError{errors.New("--ephemeral keeps no log to check; leave it out")}
	}
	d := diagnosis{
		Version: version(), Go: runtime.Version(), SQLite: moduleVersion("modernc.org/sqlite"),
		Workspace: place.Path, From: place.From, StateDir: place.StateDir, Findings: []finding{},
	}
	d.configuration(a, place)
	if repair || restore != "" {
		if err := d.log(ctx, place.StateDir, repair, restore); err != nil {
			return err
		}
	} else {
		d.examine(ctx, a, place)
	}
	if all || !repair && restore == "" && !a.namesTrack() {
		d.otherLogs(ctx, place, all)
	}
	if err := a.printDiagnosis(d); err != nil {
		return err
	}
	if isUnsound(d.Status) || slices.ContainsFunc(d.Tracks, func(t trackLog) bool { return isUnsound(t.Status) }) {
		return errReported
	}
	return nil
}

func isUnsound(status string) bool {
	return slices.Contains([]string{"damaged", "newer", "unexamined"}, status)
}

// otherLogs examines the logs of the other tracks, after repairing them if asked to.
func (d *diagnosis) otherLogs(ctx context.Context, place workspace.Workspace, repair bool) {
	for _, track := range tracksOf(place) {
		if track.Track == place.Track {
			continue
		}
		one := diagnosis{StateDir: track.StateDir}
		if fault := one.log(ctx, track.StateDir, repair, ""); fault != nil {
			one.Status, one.Problems = "unexamined", []sqlite.Problem{{File: track.StateDir, Text: fault.Error()}}
		}
		d.Tracks = append(d.Tracks, trackLog{track.TrackName(), one.Status, one.Revision, one.Problems, one.Repair})
	}
}

// examine checks everything and repairs nothing. A log that cannot be read in time is not judged.
func (d *diagnosis) examine(ctx context.Context, a *app, place workspace.Workspace) {
	found := make(chan []finding, 1)
	go func() { found <- runChecks(ctx, a.checks(place)) }()
	limited, cancel := context.WithTimeout(context.WithoutCancel(ctx), logTimeout)
	defer cancel()
	own := *d
	examined, fault := await(limited, func() (diagnosis, error) {
		err := own.log(ctx, place.StateDir, false, "")
		return own, err
	})
	if errors.Is(fault, errAbandoned) {
		fault = errors.New("the log could not be read within " + logTimeout.String())
	} else {
		*d = examined
	}
	if d.Findings = <-found; fault != nil {
		d.Status, d.Problems = "unexamined", []sqlite.Problem{{File: place.StateDir, Text: fault.Error()}}
		d.Advice = d.advice(fault)
	}
}

func (d *diagnosis) configuration(a *app, place workspace.Workspace) {
	d.Warnings = []string{}
	if place.Doubt != "" {
		d.Warnings = append(d.Warnings, place.Doubt)
	}
	if path, err := workspace.ConfigFile(a.getenv, ""); err == nil {
		if _, err := os.Stat(path); err == nil {
			d.Configuration = path
		}
	}
	config, warnings, err := workspace.Load(workspace.Sources{Getenv: a.getenv, Workspace: place, Gates: gates.Names()})
	for _, w := range warnings {
		d.Warnings = append(d.Warnings, w.Error())
	}
	servers, unread := configuredServers(config.Servers)
	wrong := []error{err, a.modelFault(config.Model), faultIn(config.Notify, &notify.Config{}), unread}
	wrong = append(wrong, servers.Faults()...)
	for _, err := range append(wrong, a.agentFaults(place, config)...) {
		if err != nil {
			d.Warnings = append(d.Warnings, err.Error())
		}
	}
}

func faultIn(section workspace.Section, config interface{ Validate() error }) error {
	if err := section.Decode(config); err != nil || !section.Given() {
		return err
	}
	return config.Validate()
}

func (a *app) agentFaults(place workspace.Workspace, config workspace.Config) []error {
	staff, err := a.configuredAgents(place, config)
	if err != nil || staff == nil {
		return []error{err}
	}
	var all []error
	for _, name := range staff.Names() {
		all = append(all, staff.Check(name))
		for _, variable := range staff.Unset(name) {
			all = append(all, fmt.Errorf("agents.%s.env names %s, which is not set here", name, variable))
		}
	}
	return all
}

// log examines the log, after repairing or restoring it if asked to.
func (d *diagnosis) log(ctx context.Context, dir string, repair bool, restore string) error {
	var done sqlite.RepairReport
	var err error
	switch {
	case restore != "":
		done, err = sqlite.Restore(ctx, dir, restore)
	case repair:
		done, err = sqlite.Repair(ctx, dir)
	}
	if none, ok := errors.AsType[*sqlite.NotKeptError](err); ok {
		return usageError{fmt.Errorf("%w; nothing was changed", none)}
	}
	if err != nil {
		return err
	}
	if repair || restore != "" {
		d.Repair = &repairDone{done.Folder, done.Resumed, done.Records, done.Lost, done.Restored, restore != "" && !done.Resumed}
	}
	found, err := sqlite.Check(ctx, dir)
	if err != nil {
		return err
	}
	d.Revision, d.Problems = found.Head.Seq, orEmpty(found.Problems)
	logs := engine.CheckLogs(dir)
	for _, path := range slices.Sorted(maps.Keys(logs)) {
		d.Problems = append(d.Problems, sqlite.Problem{File: path, Text: logs[path].Error()})
	}
	switch {
	case found.Newer != nil:
		d.Status = "newer"
	case found.Fault != nil:
		d.Status = "unexamined"
	case found.Damaged():
		d.Status = "damaged"
	case d.Repair != nil && d.Repair.back:
		d.Status = "restored"
	case d.Repair != nil && d.Repair.Kept != "":
		d.Status = "repaired"
	case !found.Exists:
		d.Status = "empty"
	default:
		d.Status = "sound"
		if d.Removed, err = sqlite.SweepValues(ctx, dir, time.Now()); err != nil {
			d.Problems = append(d.Problems, sqlite.Problem{File: dir, Text: "unused values could not be removed: " + err.Error()})
		}
	}
	if d.Advice = d.advice(found.Fault); found.IsInterrupted {
		d.Advice = "Run `planloop doctor --repair` to finish the interrupted repair."
	}
	return nil
}

// advice says what to do next; for a log that could not be examined, fault is the reason.
func (d *diagnosis) advice(fault error) string {
	undo := ""
	if d.Repair != nil && d.Repair.Kept != "" {
		undo = "; `planloop doctor --restore " + d.Repair.Kept + "` puts the former files back"
	}
	switch {
	case d.Status == "newer":
		return "Update planloop; until then leave the log as it is."
	case errors.Is(fault, store.ErrFull):
		return "Nothing was changed, and the log was not checked. Free some disk space, then run `planloop doctor` again."
	case errors.Is(fault, store.ErrReadOnly):
		return "Nothing was changed, and the log was not checked. Make the state folder and its files yours to read and write, " +
			"then run `planloop doctor` again."
	case errors.Is(fault, store.ErrBusy):
		return "Nothing was changed, and the log was not checked. End the other program, then run `planloop doctor` again."
	case d.Status == "unexamined":
		return "Nothing was changed, and the log was not checked. Fix the problem above, then run `planloop doctor` " +
			"again; if the disk fails again, copy the state folder to another disk."
	case d.Status == "damaged" && undo == "":
		return "Run `planloop doctor --repair`: it makes a new log from the " + plan.Pluralize(int(d.Revision), "intact change") +
			" and restores the plan from the last snapshot, if any; later changes are lost. It keeps the damaged files."
	case d.Status == "damaged":
		return "The restored log is damaged: run `planloop doctor --repair`, or copy the state folder and report this" +
			undo + "."
	case undo != "":
		return "Check the plan with `planloop show`; if nothing is missing, delete the kept files" +
			undo + "."
	case len(d.Problems) > 0:
		return "The log itself is sound; fix the problems above."
	}
	return ""
}

func (a *app) printDiagnosis(d diagnosis) error {
	if a.flags.json {
		return a.printJSON(d)
	}
	s := a.screen()
	var lines []string
	row := func(label, text string, look terminal.Style) {
		lines = append(lines, s.Hang(s.Faint(terminal.Pad(label, 15)), look, safetext.EscapeLine(text))...)
	}
	found := func(abouts ...string) {
		for _, f := range d.Findings {
			if slices.Contains(abouts, f.About) {
				looks := map[status]terminal.Style{fine: s.Plain, wrong: s.Wrong, unknown: s.Waiting, past: s.Waiting}
				row(f.About, f.line(), looks[f.State])
			}
		}
	}
	row("planloop", strings.TrimSuffix(d.Version+", "+d.Go+", SQLite module "+d.SQLite, ", SQLite module "), s.Plain)
	found("program", "host")
	row("workspace", d.Workspace+" (from "+d.From+")", s.Plain)
	row("state folder", d.StateDir, s.Plain)
	found("state")
	if d.Configuration != "" {
		row("configuration", d.Configuration, s.Plain)
	}
	for _, text := range d.Warnings {
		row("warning", text, s.Waiting)
	}
	found("handshake", "server", "error")
	for _, p := range d.Problems {
		row("problem", p.Text, s.Wrong)
	}
	if d.Removed > 0 {
		row("removed", plan.Pluralize(d.Removed, "value")+" of steps, which were unused", s.Plain)
	}
	if d.Repair != nil {
		row(map[bool]string{true: "restore", false: "repair"}[d.Repair.back], d.Repair.text(), s.Good)
	}
	row("log", d.verdict(), map[string]terminal.Style{"damaged": s.Wrong, "newer": s.Wrong, "unexamined": s.Wrong, "empty": s.Plain,
		"sound": s.Good, "repaired": s.Good, "restored": s.Good}[d.Status])
	if d.Advice != "" {
		row("fix", d.Advice, s.Bold)
	}
	sound := 0
	for _, t := range d.Tracks {
		if len(t.Problems) == 0 && !isUnsound(t.Status) && (t.Repair == nil || t.Repair.Kept == "") {
			sound++
			continue
		}
		row("track", t.Track+": "+diagnosis{Status: t.Status, Revision: t.Revision}.verdict(), s.Wrong)
		for _, p := range t.Problems {
			row("problem", p.Text, s.Wrong)
		}
		if t.Repair != nil {
			row("repair", t.Repair.text(), s.Good)
		} else if t.Status == "damaged" {
			row("fix", "planloop --track "+t.Track+" doctor --repair", s.Bold)
		}
	}
	if sound > 0 {
		row("tracks", plan.Pluralize(sound, "further log")+" without a problem", s.Good)
	}
	return a.printLines(lines)
}

func (d diagnosis) verdict() string {
	changes := plan.Pluralize(int(d.Revision), "change")
	return cmp.Or(map[string]string{"empty": "no log yet", "newer": "written by a newer planloop",
		"unexamined": "could not be checked completely", "damaged": "damaged; " + changes + " from the beginning are readable",
	}[d.Status], d.Status+", "+changes)
}

func (r repairDone) text() string {
	switch {
	case r.Kept == "" && !r.Resumed:
		return "nothing needs repair, and nothing was changed"
	case r.Resumed:
		return "the interrupted repair is finished; the former files are in " + r.Kept
	case r.back:
		return "the kept files are back; the files they replaced are in " + r.Kept
	}
	text := "a new log was made from " + plan.Pluralize(int(r.Records), "intact change")
	if r.Restored > 0 {
		text += fmt.Sprintf(", and the plan restored as it was at revision %d", r.Restored)
	}
	if r.Lost > 0 {
		text += fmt.Sprintf("; changes up to revision %d are known to have existed and are lost", r.Lost)
	}
	return text + "; the damaged files are in " + r.Kept
}

func moduleVersion(path string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, module := range info.Deps {
			if module.Path == path {
				return module.Version
			}
		}
	}
	return ""
}
