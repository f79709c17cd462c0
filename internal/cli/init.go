package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

type initOptions struct {
	hosts.Request
	scope           string
	dry, check, yes bool
}

func newInitCommand(a *app) *cobra.Command {
	var o initOptions
	cmd := newCommand("init", "[HOST...]", nil, func(cmd *cobra.Command, args []string) error {
		return a.connect(cmd.Context(), o, args)
	})
	cmd.ValidArgsFunction = func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
		return described(hosts.Titles(), func(t hosts.Title) (string, string) { return t.Name, t.Title })
	}
	cmd.Flags().BoolVarP(&o.dry, "dry-run", "n", false, "show the changes without making them")
	cmd.Flags().BoolVar(&o.check, "check", false, "list missing and outdated entries, and exit with 2 if there are any")
	cmd.Flags().BoolVar(&o.Remove, "remove", false, "remove the entries that init has written")
	cmd.Flags().BoolVar(&o.NoHooks, "no-hooks", false, "write only the server, not the hooks")
	cmd.Flags().StringVar(&o.scope, "scope", string(hosts.User), "write the files of the `user`, or of the project")
	cmd.Flags().BoolVarP(&o.yes, "yes", "y", false, "do not ask")
	complete(cmd, "scope", cobra.FixedCompletions([]string{string(hosts.User), string(hosts.Project)}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (a *app) connect(ctx context.Context, o initOptions, names []string) error {
	if o.Scope = hosts.Scope(o.scope); o.Scope != hosts.User && o.Scope != hosts.Project {
		return usageError{fmt.Errorf("--scope is %s; write user or project", plan.Quote(o.scope))}
	}
	if o.check && (o.Remove || o.dry) {
		return usageError{errors.New("--check cannot be used with --remove or --dry-run; give one of them")}
	}
	if o.Remove && o.NoHooks {
		return usageError{errors.New("--remove removes server and hooks; leave out --no-hooks")}
	}
	machine, err := a.machine(ctx, o.Scope)
	if err != nil {
		return unrelatedToPlan{err}
	}
	chosen, err := chosenHosts(machine, o, names)
	if err != nil {
		return unrelatedToPlan{err}
	}
	if o.check || o.dry {
		return a.printInit(machine, o, chosen)
	}
	if err := a.refuseInit(ctx, o, chosen); err != nil {
		return err
	}
	if own := filepath.ToSlash(machine.Program); !o.Remove && (strings.Contains(own, "/_npx/") || strings.Contains(own, "/go-build")) {
		a.note("this program is in a cache that may be emptied; install planloop, and run init with the installed program")
	}
	if agreed, err := a.confirmInit(ctx, machine, o, chosen); err != nil || !agreed {
		return err
	}
	isChanged := slices.ContainsFunc(chosen, hosts.Host.HasChanges)
	for i, host := range chosen {
		chosen[i] = write(machine, host, o.Request)
	}
	if err := a.printInit(machine, o, chosen); err != nil || !isChanged {
		return err
	}
	return a.offerPage(ctx, o)
}

// offerPage offers a person with a desktop the review page in the background, which opens the browser when a plan waits.
func (a *app) offerPage(ctx context.Context, o initOptions) error {
	_, none := a.background()
	if o.Remove || !a.mayAsk(o) || none == nil || len(browsers(runtime.GOOS, a.getenv, "")) == 0 {
		return nil
	}
	yes, err := a.isYes(ctx, a.out, "\nStart the review page in the background? It opens your browser when a plan waits, "+
		"and shows a notice of all else.")
	if err != nil || !yes {
		return err
	}
	return a.startBackground(0)
}

// mayAsk reports whether there may be a person at a terminal to ask for consent.
func (a *app) mayAsk(o initOptions) bool {
	return !o.yes && !a.flags.json && a.outIsTerminal && a.person().Answer != presence.No
}

func (a *app) homeMachine() (hosts.Machine, error) {
	home, err := a.home()
	if err != nil {
		return hosts.Machine{}, plan.Refuse(plan.Conflict, "", "the home directory is unknown", "set HOME")
	}
	state, err := workspace.StateHome(a.getenv, "")
	if err != nil {
		return hosts.Machine{}, err
	}
	return hosts.Machine{GOOS: runtime.GOOS, Home: home, Getenv: a.getenv, LookPath: exec.LookPath, Program: ownPath(),
		Ledger: filepath.Join(state, "installed"), Marks: workspace.MarkFolder(state)}, nil
}

// machine returns the machine with the project of the scope: the workspace, or the working directory for the scope user.
func (a *app) machine(ctx context.Context, scope hosts.Scope) (hosts.Machine, error) {
	m, err := a.homeMachine()
	if err != nil {
		return m, err
	}
	if m.Project, err = os.Getwd(); err != nil || scope == hosts.User {
		return m, err
	}
	ws, err := a.open(ctx, nil)
	switch {
	case err != nil:
		return m, err
	case ws.place.Default:
		return m, plan.Refuse(plan.Conflict, "", "this folder is not a project", "run it in a project, or leave out --scope project")
	}
	m.Project = ws.place.Path
	return m, nil
}

// chosenHosts returns the named hosts; without names those found here, or for --remove those whose files have a part of planloop.
func chosenHosts(m hosts.Machine, o initOptions, names []string) ([]hosts.Host, error) {
	if len(names) == 0 {
		chosen := slices.DeleteFunc(m.InspectAll(o.Request), func(h hosts.Host) bool {
			return len(h.Edits) == 0 || o.Remove && !h.IsConfigured() || !o.Remove && h.Found == ""
		})
		if len(chosen) == 0 && !o.Remove {
			return nil, plan.Refuse(plan.NotFound, "", "no host was found on this machine",
				"name the one you use: planloop init HOST, where HOST is one of "+strings.Join(hosts.Names(), ", "))
		}
		return chosen, nil
	}
	var chosen []hosts.Host
	for i, name := range names {
		host, ok := m.Inspect(name, o.Request)
		switch {
		case slices.Contains(names[:i], name):
		case !ok:
			fix := "name one of " + strings.Join(hosts.Names(), ", ")
			if near := safetext.Nearest(name, hosts.Names()); near != "" {
				fix = "did you mean " + near + "?"
			}
			return nil, plan.Refuse(plan.NotFound, "", plan.Quote(name)+" is not a known host", fix)
		case len(host.Edits) == 0:
			return nil, plan.Refuse(plan.Conflict, "", host.Title+" has no project files for servers or hooks", "leave out --scope project")
		default:
			chosen = append(chosen, host)
		}
	}
	return chosen, nil
}

// refuseInit refuses changes that planning mode does not allow now. An agent may not disconnect a host: hooks enforce the mode for it.
func (a *app) refuseInit(ctx context.Context, o initOptions, chosen []hosts.Host) error {
	var files []string
	for _, host := range chosen {
		for _, edit := range host.Edits {
			if edit.HasChanges() {
				files = append(files, edit.Target)
			}
		}
	}
	why := a.agentSign()
	if a.flags.agent != "" {
		why = "--agent marks this caller as an agent"
	}
	if why == "" && o.Scope == hosts.User && !o.Remove {
		return nil
	}
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	if why == "" && a.caller().Actor.Kind == plan.Agent {
		why = "this command runs under an agent's host"
	}
	if isPlanning := len((workspace.Lookup{Getenv: a.getenv}).Marks()) > 0; o.Remove && why == "" && isPlanning {
		why = a.whyNoPerson()
	}
	if o.Remove && why != "" {
		return unrelatedToPlan{plan.Refuse(plan.Conflict, "", "only a person may disconnect a host, and "+why,
			"run it in your own terminal")}
	}
	if why != "" {
		files = append(files, string(filepath.Separator)) // the user's files count in every workspace
	} else if o.Scope == hosts.User {
		return nil
	}
	return a.refuseWhilePlanning(ctx, ws, "no file may be written", files...)
}

// confirmInit asks a person at a terminal for consent. Elsewhere it assumes consent.
func (a *app) confirmInit(ctx context.Context, m hosts.Machine, o initOptions, chosen []hosts.Host) (bool, error) {
	if !slices.ContainsFunc(chosen, hosts.Host.HasChanges) || !a.mayAsk(o) {
		return true, nil
	}
	o.dry = true
	if err := a.printInit(m, o, chosen); err != nil && !errors.As(err, new(exitStatus)) {
		return false, err
	}
	yes, err := a.isYes(ctx, a.out, "\nWrite these changes?")
	if err == nil && !yes {
		err = errors.Join(a.print([]byte("nothing was written\n")), exitStatus(exitRefused))
	}
	return yes, err
}

// write carries out the edits of a host, and computes an edit again if a running host changed the file since.
func write(m hosts.Machine, host hosts.Host, want hosts.Request) hosts.Host {
	const tries = 5
	for i, edit := range host.Edits {
		err := m.Write(edit)
		for try := 1; errors.Is(err, hosts.ErrChanged) && try < tries; try++ {
			again, _ := m.Inspect(host.Name, want)
			edit = again.Edits[i]
			err = m.Write(edit)
		}
		if host.Edits[i] = edit; err != nil {
			host.Edits[i].Fault = err
		}
	}
	return host
}

type initReply struct {
	Scope  hosts.Scope `json:"scope"`
	DryRun bool        `json:"dry_run,omitempty"`
	Hosts  []initHost  `json:"hosts"`
}

// initHost is init's report on a host. The states are those before the change.
type initHost struct {
	Host      string      `json:"host"`
	Title     string      `json:"title"`
	Found     string      `json:"found,omitempty"`
	Server    hosts.State `json:"server,omitempty"`
	Hooks     hosts.State `json:"hooks,omitempty"`
	Plugin    string      `json:"plugin,omitempty"` // a plugin that also has planloop
	Files     []initFile  `json:"files"`
	Obstacles []string    `json:"obstacles,omitempty"`
	Note      string      `json:"note,omitempty"`
}

type initFile struct {
	Path       string      `json:"path"`
	Target     string      `json:"target,omitempty"` // the end of the link if Path is one
	Server     hosts.State `json:"server,omitempty"`
	Hooks      hosts.State `json:"hooks,omitempty"`
	Changes    bool        `json:"changes"`
	Notes      []string    `json:"notes,omitempty"`
	Fault      string      `json:"fault,omitempty"`
	Fix        string      `json:"fix,omitempty"`
	Paste      string      `json:"paste,omitempty"`      // text that a person must paste into it
	Difference string      `json:"difference,omitempty"` // only for a dry run
}

// printInit reports changes, made or planned, or the state. The exit code tells whether one was refused, or for --check is missing.
func (a *app) printInit(m hosts.Machine, o initOptions, chosen []hosts.Host) error {
	reply := initReply{o.Scope, o.dry, []initHost{}}
	var differences, lines, pastes []string
	code := exitOK
	for _, host := range chosen {
		row := initHost{host.Name, host.Title, host.Found, host.Server, host.Hooks, "", []initFile{}, host.Obstacles, ""}
		lines = append(lines, host.Title+" ("+cmp.Or(host.Found, "not found on this machine")+")")
		if p := host.Plugin; p != nil {
			row.Plugin = p.Name
			lines = append(lines, "  "+pluginLine(host, o.Remove))
		}
		if host.IsDuplicated() && o.check && code == exitOK {
			code = exitRefused
		}
		for _, edit := range host.Edits {
			file := newInitFile(m, o, edit)
			row.Files = append(row.Files, file)
			lines = append(lines, "  "+file.line(m, o))
			for _, note := range file.Notes {
				lines = append(lines, "    "+note)
			}
			for line := range strings.Lines(file.Difference) {
				differences = append(differences, safetext.EscapeLine(strings.TrimRight(line, "\r\n")))
			}
			if file.Paste != "" && !o.check {
				pastes = append(pastes, "", "Paste this into "+m.Short(file.Path)+":", "")
				pastes = append(pastes, strings.Split(strings.TrimRight(file.Paste, "\n"), "\n")...)
			}
			if of := exitFor(edit, o); code == exitOK || of == exitFault {
				code = of
			}
		}
		for _, obstacle := range host.Obstacles {
			lines = append(lines, "  problem: "+obstacle)
		}
		if (host.HasChanges() || host.NeedsPaste()) && !o.Remove && !o.check && host.Note != "" {
			row.Note = host.Note
			lines = append(lines, "  note: "+host.Note)
		}
		reply.Hosts = append(reply.Hosts, row)
	}
	if len(chosen) == 0 {
		lines = []string{"planloop is not in any host's files"}
	}
	if !o.check && !o.dry && !o.Remove && slices.ContainsFunc(chosen, hosts.Host.HasChanges) {
		lines = append(lines, "", "Start a new session there, ask the agent for a plan, and open it with `planloop review`.")
	}
	if len(differences) > 0 {
		lines = slices.Concat(differences, []string{""}, lines)
	}
	for _, texts := range [][]string{lines, pastes} {
		for i, line := range texts {
			texts[i] = safetext.EscapeLine(line)
		}
	}
	shown := append(a.screen().Told(strings.Join(lines, "\n")), pastes...) // text to paste keeps its line breaks
	var err error
	if a.flags.json {
		err = a.printJSON(reply)
	} else {
		err = a.printLines(shown)
	}
	if code != exitOK {
		return errors.Join(err, exitStatus(code))
	}
	return err
}

func exitFor(edit hosts.Edit, o initOptions) int {
	switch {
	case errors.As(edit.Fault, new(*hosts.Refusal)), o.check && (edit.HasChanges() || edit.Paste != ""):
		return exitRefused
	case edit.Fault != nil:
		return exitFault
	}
	return exitOK
}

func pluginLine(host hosts.Host, remove bool) string {
	p := host.Plugin
	switch {
	case remove:
		return "the plugin " + p.Name + " stays; to remove it: " + p.RemoveCommand()
	case host.IsDuplicated():
		return twice(host)
	case p.Scope == hosts.Project:
		return "the plugin " + p.Name + " has " + p.Parts() + " in this project"
	}
	return "the plugin " + p.Name + " has " + p.Parts() + "; these entries are not written again"
}

func twice(host hosts.Host) string {
	return "planloop is connected twice, by the plugin " + host.Plugin.Name + " and in its files; keep one: `planloop init --remove " +
		host.Name + "` or `" + host.Plugin.RemoveCommand() + "`"
}

func newInitFile(m hosts.Machine, o initOptions, edit hosts.Edit) initFile {
	file := initFile{Path: edit.Path, Server: edit.Server, Hooks: edit.Hooks, Changes: edit.HasChanges(),
		Paste: edit.Paste, Notes: append(edit.Notes, edit.HookProblems...)}
	if edit.Target != edit.Path {
		file.Target = edit.Target
	}
	if refused, ok := errors.AsType[*hosts.Refusal](edit.Fault); ok {
		file.Fault, file.Fix = refused.Problem, refused.Fix
	} else if edit.Fault != nil {
		file.Fault = edit.Fault.Error()
	}
	if o.dry {
		file.Difference = edit.Difference(m.Short(edit.Target))
	}
	return file
}

func (f initFile) line(m hosts.Machine, o initOptions) string {
	name := m.Short(f.Path)
	if f.Target != "" {
		name += " (a link to " + m.Short(f.Target) + ")"
	}
	if f.Fault != "" {
		line := name + ": unchanged: " + f.Fault
		if f.Fix != "" {
			line += "; " + f.Fix
		}
		return line
	}
	var parts []string
	for _, part := range []struct {
		name  string
		state hosts.State
	}{{"server", f.Server}, {"hooks", f.Hooks}} {
		if part.state != hosts.None {
			parts = append(parts, part.name+" "+f.describeChange(part.state, o))
		}
	}
	return name + ": " + strings.Join(parts, ", ")
}

func (f initFile) describeChange(state hosts.State, o initOptions) string {
	does := ""
	switch {
	case state == hosts.Kept:
		return "kept: not written by init"
	case o.check && state == hosts.Old:
		return "out of date"
	case state == hosts.ByPlugin:
		return string(state)
	case o.Remove && state == hosts.Missing:
		return "not there"
	case o.Remove && state == hosts.Foreign:
		return "not planloop's, unchanged"
	case o.Remove:
		does = "removed"
	case o.check || state == hosts.Current || f.Paste != "" && state == hosts.Missing:
		return string(state)
	case f.Paste != "":
		return "out of date"
	case state == hosts.Edited:
		return "edited by hand, kept"
	case state == hosts.Missing:
		does = "added"
	default:
		does = "updated"
	}
	if o.dry {
		return "would be " + does
	}
	return does
}
