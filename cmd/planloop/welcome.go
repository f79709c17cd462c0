package main

import (
	"os"
	"os/exec"
	"path/filepath"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/plan"
)

// withoutCommand shows the plan where there is one; else it tells a person at a terminal
// how to connect a host. A word that is not a command is refused.
func (a *app) withoutCommand(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 0:
		return unknownCommand(cmd, args[0])
	case a.flags.json:
		return a.printJSON(commandList(cmd))
	}
	opened, state, err := a.state(cmd.Context())
	if err != nil {
		return err
	}
	switch {
	case state.Plan != nil && !state.Plan.Cleared() || state.Draft != nil || state.PhaseNow() != plan.PhaseInactive:
		return a.print(terminal.Joined(a.view(opened, state, nil, false).Page().Lines()))
	case !a.outIsTerm:
		return cmd.Help()
	}
	return a.print(terminal.Joined(welcomeText(a.screen(), ownPath())))
}

// ownPath returns the path that starts this program: the one it was found by,
// which stays when an update moves what a link leads to, else its own.
func ownPath() string {
	own, err := os.Executable()
	if err != nil {
		return "planloop"
	}
	found, err := exec.LookPath(os.Args[0])
	if err != nil {
		return own
	}
	if found, err = filepath.Abs(found); err != nil || !sameFile(found, own) {
		return own
	}
	return found
}

func sameFile(a, b string) bool {
	first, err := os.Stat(a)
	if err != nil {
		return false
	}
	second, err := os.Stat(b)
	return err == nil && os.SameFile(first, second)
}

func welcomeText(s terminal.Screen, path string) []string {
	word, server := terminal.ShellWord(path), serverJSON(path)
	host := func(name, how string) string { return "  " + s.Bold(terminal.Pad(name, 15)) + safetext.EscapeLine(how) }
	return []string{
		s.Bold("planloop") + " keeps the plan your agent works by. Connect your agent's host:",
		"",
		host("Claude Code", "claude mcp add --scope user planloop -- "+word+" serve"),
		host("Codex", "codex mcp add planloop -- "+word+" serve"),
		host("Gemini CLI", "gemini mcp add -s user planloop "+word+" serve"),
		host("VS Code", "code --add-mcp "+terminal.ShellWord(`{"name":"planloop",`+server[1:])),
		host("Claude Desktop, Cursor, Windsurf", " in their MCP settings file:"),
		host("", `{"mcpServers":{"planloop":`+server+`}}`),
		"",
		"Then ask the agent to plan something, and watch it here:",
		"",
		"  planloop show --watch",
		"",
		s.Faint("All commands: planloop --help"),
	}
}

// serverJSON is how settings files name a server.
func serverJSON(path string) string {
	text, _ := json.Marshal(struct { // a string and a list of strings can always be written
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{path, []string{"serve"}}, jsontext.AllowInvalidUTF8(true))
	return string(text)
}

// listedCommand is a command as --json lists it.
type listedCommand struct {
	Command string `json:"command"`
	Does    string `json:"does"`
}

func commandList(root *cobra.Command) any {
	var commands []listedCommand
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			commands = append(commands, listedCommand{cmd.CommandPath(), cmd.Short})
		}
	}
	return struct {
		Version  string          `json:"version"`
		Commands []listedCommand `json:"commands"`
	}{version(), commands}
}
