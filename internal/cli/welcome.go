package cli

import (
	"context"
	"os/exec"
	"runtime"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/plan"
)

// runWithoutCommand shows the plan where there is one; else it tells a person at a terminal how to connect a host.
func (a *app) runWithoutCommand(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 0:
		return unknownCommand(cmd, args[0])
	case a.flags.json:
		return a.printJSON(commandList(cmd))
	}
	ws, state, err := a.state(cmd.Context())
	if err != nil {
		return err
	}
	switch {
	case state.Plan != nil && !state.Plan.IsCleared() || state.Draft != nil || state.PhaseNow() != plan.PhaseInactive:
		return a.printLines(a.view(cmd.Context(), ws, state, nil, false).Page().Lines())
	case !a.outIsTerminal:
		return cmd.Help()
	}
	if connected := a.connected(cmd.Context()); len(connected) > 0 {
		return a.printLines([]string{"planloop is connected to " + strings.Join(connected, ", ") + ". This project has no plan yet.",
			"Ask your agent: Use planloop to plan how to …",
			"Then read its plan and decide: planloop review. All commands: planloop --help"})
	}
	return a.print(a.welcome(false))
}

// connected returns the titles of the hosts that planloop is connected to.
func (a *app) connected(ctx context.Context) (titles []string) {
	m, err := a.machine(ctx, hosts.User)
	if err != nil {
		return nil // then the welcome text helps
	}
	for _, h := range m.InspectAll(hosts.Request{Scope: hosts.User}) {
		if h.Server.IsInstalled() {
			titles = append(titles, h.Title)
		}
	}
	return titles
}

// welcomeText says how to begin; all adds where each host keeps what init writes.
func welcomeText(s terminal.Screen, path string, m hosts.Machine, all bool) []string {
	word, places := safetext.EscapeLine(safetext.QuoteWord(path)), m.HostFiles(hosts.User)
	found := []string{}
	for _, place := range places {
		if place.Found != "" {
			found = append(found, place.Title)
		}
	}
	lines := []string{s.Bold("planloop") + " keeps the plan your agent works by. Connect the agents' hosts on this machine:", ""}
	if len(found) == 0 {
		lines = append(lines, "  "+word+" init HOST", "", "No host was found. HOST is one of "+strings.Join(hosts.Names(), ", ")+".")
	} else {
		lines = append(lines, "  "+word+" init", "",
			"It shows the changes and asks before writing. Found here: "+strings.Join(found, ", ")+".")
	}
	if all {
		lines = append(lines, "", "Known hosts and their files:", "")
		for _, place := range places {
			lines = append(lines, "  "+s.Bold(terminal.Pad(place.Name, 16))+"server  "+safetext.EscapeLine(m.Short(place.Server)))
			if place.Hooks != "" {
				lines = append(lines, strings.Repeat(" ", 18)+"hooks   "+safetext.EscapeLine(m.Short(place.Hooks)))
			}
		}
		lines = append(lines, "", "By hand, in a host's settings for MCP servers:", "",
			"  "+safetext.EscapeLine(`{"mcpServers":{"planloop":`+serverJSON(path)+`}}`))
	}
	return append(lines, "", "Then ask the agent for a plan, and open it in your browser:", "", "  planloop review", "",
		s.Faint("All commands: planloop --help"))
}

func (a *app) welcome(all bool) []byte {
	home, _ := a.home() // without one the files are named from the root
	m := hosts.Machine{GOOS: runtime.GOOS, Home: home, Getenv: a.getenv, LookPath: exec.LookPath}
	return terminal.Joined(welcomeText(a.screen(), ownPath(), m, all))
}

func serverJSON(path string) string {
	text, _ := json.Marshal(struct { // a string and a list of strings can always be written
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{path, []string{"serve"}}, jsontext.AllowInvalidUTF8(true))
	return string(text)
}

func commandList(root *cobra.Command) any {
	var commands []describedCommand
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			commands = append(commands, describedCommand{Command: cmd.CommandPath(), Does: cmd.Short})
		}
	}
	return struct {
		Version  string             `json:"version"`
		Commands []describedCommand `json:"commands"`
	}{version(), commands}
}
