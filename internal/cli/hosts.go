package cli

import (
	"cmp"
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
)

func newHostsCommand(a *app) *cobra.Command {
	cmd := newCommand("hosts", "", noArguments, func(cmd *cobra.Command, _ []string) error { return a.hosts(cmd.Context()) })
	return completed(cmd, func(long string) string { return long + "\n\n" + string(a.welcome(true)) })
}

type hostState struct {
	Host      string       `json:"host"`
	Title     string       `json:"title"`
	Found     string       `json:"found,omitempty"` // the evidence for it
	Server    hosts.State  `json:"server,omitempty"`
	Hooks     hosts.State  `json:"hooks,omitempty"` // none: the host has no hooks
	Project   projectState `json:"project,omitzero"`
	Plugin    string       `json:"plugin,omitempty"` // the host's plugin that contains planloop
	Twice     string       `json:"twice,omitempty"`  // advice if both the plugin and a file connect planloop
	Starts    []string     `json:"starts"`           // the programs named in its files
	Heard     *hookCall    `json:"heard,omitempty"`
	Mode      string       `json:"planning_mode"` // for the host's own tools: enforced, not enforced or hooks not responding
	Why       string       `json:"why,omitempty"` // why it is not enforced, with the fix
	Obstacles []string     `json:"obstacles"`
	Faults    []string     `json:"faults"` // in its files
	Note      string       `json:"note,omitempty"`

	userPrograms []string // the programs named in the user's own files and plugins
	rivals       []string // other programs' hooks that may decide about its plans
	remedy       string   // fix for a program that its plugin cannot start; "" without a plugin
}

type projectState struct {
	Server hosts.State `json:"server,omitempty"`
	Hooks  hosts.State `json:"hooks,omitempty"`
}

type hookCall struct {
	At        time.Time `json:"at"`
	Event     string    `json:"event,omitempty"`
	Version   string    `json:"version,omitempty"` // of the host
	Workspace string    `json:"workspace"`
	Here      bool      `json:"here"` // in this workspace
	Runs      bool      `json:"runs"` // the host is still running
}

func (a *app) hosts(ctx context.Context) error {
	place, err := a.find(ctx, nil)
	if err != nil {
		return err
	}
	known, err := a.hostStates(ctx, place)
	if err != nil {
		return err
	}
	if a.flags.json {
		return a.printJSON(map[string]any{"workspace": place.Path, "hosts": known})
	}
	return a.printLines(hostTable(a.screen(), known))
}

// hostStates returns all hosts, in the order of the documentation.
func (a *app) hostStates(ctx context.Context, place workspace.Workspace) ([]hostState, error) {
	m, err := a.homeMachine()
	if err != nil {
		return nil, err
	}
	m.Project = place.Path
	heard := presence.HookSigns(place.StateHome())
	theirs := m.InspectAll(hosts.Request{Scope: hosts.Project})
	var all []hostState
	for i, own := range m.InspectAll(hosts.Request{Scope: hosts.User}) {
		k := hostState{Host: own.Name, Title: own.Title, Found: own.Found, Server: own.Server, Hooks: own.Hooks,
			Starts: orEmpty(own.Programs()), Obstacles: orEmpty(own.Obstacles),
			Faults: append(faults(own), own.UnreadFiles...), userPrograms: own.Programs()}
		k.addPlugin(m, own, theirs[i])
		if its := theirs[i]; !place.Default && (its.IsConfigured() || its.Server == hosts.Foreign) {
			k.Project = projectState{its.Server, its.Hooks}
			k.Starts = slices.Compact(slices.Sorted(slices.Values(append(k.Starts, its.Programs()...))))
			k.Faults = append(k.Faults, faults(its)...)
		}
		if k.Hooks.IsInstalled() || k.Project.Hooks.IsInstalled() {
			coverage := m.Coverage(k.Host)
			k.Obstacles, k.rivals = orEmpty(coverage.Problems), coverage.Rivals
		}
		if own.IsConfigured() || k.Project.isConfigured() || k.Plugin != "" {
			k.Note = own.Note
		}
		if i := slices.IndexFunc(heard, func(h presence.HookSign) bool { return h.Host == own.Name }); i >= 0 {
			k.Heard = lastHookCall(heard[i], place)
		}
		k.addEnforcement(a.enforcementOn(ctx, place, k, heard))
		all = append(all, k)
	}
	return all, nil
}

// enforcementOn returns how far planning mode is enforced on a host: for its agents at work here the least, else by its last sign of life.
func (a *app) enforcementOn(ctx context.Context, place workspace.Workspace, k hostState, heard []presence.HookSign) verbs.AgentEnforcement {
	last := verbs.ActiveAgent{Agent: k.Host, Host: k.Host, Title: k.Title,
		Settings: func() verbs.HookSettings { return a.hookSettings(place, k.Host) }}
	if i := slices.IndexFunc(heard, func(h presence.HookSign) bool {
		return h.Host == k.Host && h.State == filepath.Base(place.SharedDir())
	}); i >= 0 {
		last.Answered = heard[i].ToolChecked
	}
	found := verbs.EnforcementOf(last, last.Answered, false, time.Now())
	ws, state, err := a.state(ctx)
	if err != nil {
		return found
	}
	for i, agent := range slices.DeleteFunc(hookReports{ws.presence, a, place, ws.copied}.Agents(), func(agent verbs.ActiveAgent) bool {
		return agent.Title != k.Title
	}) {
		if one := ws.verbs.EnforcementIn(state, agent); i == 0 || found.State == verbs.Enforced {
			found = one
		}
	}
	return found
}

func (k *hostState) addEnforcement(e verbs.AgentEnforcement) {
	k.Mode = map[verbs.Enforcement]string{verbs.Enforced: "enforced", verbs.NotEnforced: "not enforced",
		verbs.NotResponding: "hooks not responding"}[e.State]
	if e.State != verbs.Enforced && (k.Hooks.IsInstalled() || k.Project.Hooks.IsInstalled()) && len(k.Obstacles) == 0 {
		k.Why = e.Text()
	}
}

// addPlugin adds the entries from a plugin of the host, for all projects or for this one.
func (k *hostState) addPlugin(m hosts.Machine, own, its hosts.Host) {
	p := its.Plugin
	if p == nil {
		return
	}
	if k.Plugin = p.Name; p.Server && !k.Server.IsInFile() {
		k.Server = hosts.ByPlugin
	}
	if p.Hooks && !k.Hooks.IsInFile() {
		k.Hooks = hosts.ByPlugin
	}
	for _, host := range []hosts.Host{own, its} {
		if host.IsDuplicated() {
			k.Twice = twice(host)
		}
	}
	for _, program := range p.Programs { // usually from the PATH
		if path, err := m.LookPath(program); err == nil {
			program = path
		}
		k.Starts, k.userPrograms = append(k.Starts, program), append(k.userPrograms, program)
	}
	k.remedy = "put planloop on the host's PATH, or run `" + p.RemoveCommand() + "` and then `planloop init " + k.Host + "`"
}

func faults(host hosts.Host) []string {
	all := []string{}
	for _, edit := range host.Edits {
		if refused, ok := errors.AsType[*hosts.Refusal](edit.Fault); ok {
			all = append(all, refused.Error()+"; "+refused.Fix)
		} else if edit.Fault != nil {
			all = append(all, edit.Fault.Error())
		}
	}
	return all
}

func lastHookCall(h presence.HookSign, place workspace.Workspace) *hookCall {
	answer := &hookCall{At: h.At, Event: h.Event, Version: h.Version, Here: h.State == filepath.Base(place.SharedDir()), Runs: h.Runs}
	in := workspace.FromState(filepath.Join(place.StateHome(), h.State))
	if answer.Workspace = cmp.Or(in.Path, in.Name); answer.Here {
		answer.Workspace = place.Path
	}
	return answer
}

func (p projectState) isConfigured() bool { return p != projectState{} }

func statesText(own, project hosts.State) string {
	text := cmp.Or(string(own), "none")
	if own == hosts.Old {
		text = "out of date"
	}
	if project != hosts.None {
		text += ", project " + strings.ReplaceAll(string(project), string(hosts.Old), "out of date")
	}
	return text
}

func (h *hookCall) lastHeard() string {
	if h == nil {
		return "never"
	}
	where := " in " + filepath.Base(h.Workspace)
	if h.Here {
		where = " here"
	}
	return h.At.Local().Format("2006-01-02 15:04") + where
}

func hostTable(s terminal.Screen, known []hostState) []string {
	rows, notes, absent := [][]string{{"host", "found", "server", "hooks", "heard from", "planning mode"}}, []string{}, []string{}
	for _, k := range known {
		connected := slices.ContainsFunc([]hosts.State{k.Server, k.Hooks},
			func(s hosts.State) bool { return s != hosts.None && s != hosts.Missing })
		if k.Found == "" && !k.Project.isConfigured() && !connected {
			absent = append(absent, k.Host)
			continue
		}
		rows = append(rows, []string{k.Host, cmp.Or(k.Found, "not found"), statesText(k.Server, k.Project.Server),
			statesText(k.Hooks, k.Project.Hooks), k.Heard.lastHeard(), k.Mode})
		for _, text := range append(slices.Clone(k.Faults), k.Obstacles...) {
			notes = append(notes, k.Host+": problem: "+text)
		}
		for _, text := range []string{k.Twice, k.Why, k.Note} {
			if text != "" {
				notes = append(notes, k.Host+": "+text)
			}
		}
	}
	var lines []string
	if len(rows) > 1 {
		lines = table(s, rows)
	}
	if len(notes) > 0 {
		lines = append(append(lines, ""), s.Told(safetext.Escape(strings.Join(notes, "\n")))...)
	}
	if len(absent) > 0 {
		if lines != nil {
			lines = append(lines, "")
		}
		lines = append(lines, s.Told("Not found: "+strings.Join(absent, ", ")+".")...)
	}
	return append(lines, s.Told("`planloop init HOST` connects a host; `planloop help hosts` lists the files.")...)
}

func table(s terminal.Screen, rows [][]string) []string {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			row[i] = safetext.EscapeLine(cell)
			widths[i] = max(widths[i], len(terminal.Pad(row[i], 0)))
		}
	}
	var lines []string
	for i, row := range rows {
		line := ""
		for j, cell := range row {
			line += terminal.Pad(cell, widths[j]) + "  "
		}
		if line = strings.TrimRight(line, " "); i == 0 {
			line = s.Faint(line)
		}
		lines = append(lines, line)
	}
	return lines
}
