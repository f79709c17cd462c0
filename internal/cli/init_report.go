package cli

import (
	"cmp"
	"errors"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/safetext"
)

// initReply is init's reply.
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

// initFile is init's report on a file.
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

// printInit reports the changes, made or planned, or the current state. The exit code tells
// whether a change was refused, or for --check whether something is missing.
func (a *app) printInit(m hosts.Machine, o initOptions, chosen []hosts.Host) error {
	reply := initReply{o.Scope, o.dry, []initHost{}}
	var differences, lines, pastes []string
	code := exitOK
	for _, host := range chosen {
		told := initHost{host.Name, host.Title, host.Found, host.Server, host.Hooks, "", []initFile{}, host.Obstacles, ""}
		lines = append(lines, host.Title+" ("+cmp.Or(host.Found, "not found on this machine")+")")
		if p := host.Plugin; p != nil {
			told.Plugin = p.Name
			lines = append(lines, "  "+pluginLine(host, o.Remove))
		}
		if host.IsDuplicated() && o.check && code == exitOK {
			code = exitRefused
		}
		for _, edit := range host.Edits {
			file := newInitFile(m, o, edit)
			told.Files = append(told.Files, file)
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
			told.Note = host.Note
			lines = append(lines, "  note: "+host.Note)
		}
		reply.Hosts = append(reply.Hosts, told)
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
	told := append(a.screen().Told(strings.Join(lines, "\n")), pastes...) // text to paste keeps its line breaks
	var err error
	if a.flags.json {
		err = a.printJSON(reply)
	} else {
		err = a.printLines(told)
	}
	if code != exitOK {
		return errors.Join(err, exitStatus(code))
	}
	return err
}

// exitFor returns the exit code for a file.
func exitFor(edit hosts.Edit, o initOptions) int {
	switch {
	case errors.As(edit.Fault, new(*hosts.Refusal)), o.check && (edit.HasChanges() || edit.Paste != ""):
		return exitRefused
	case edit.Fault != nil:
		return exitFault
	}
	return exitOK
}

// pluginLine names the parts that a plugin of the host has, which init does not write again.
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

// twice reports that a host has planloop twice, with the remedy.
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

// line describes the change of a file on one line.
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

// describeChange describes the change of a part in this state.
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
