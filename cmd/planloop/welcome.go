package main

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
)

// welcome is what planloop without a command does: tell a person at a terminal
// how to connect a host, refuse a word that is no command.
func (a *app) welcome(cmd *cobra.Command, args []string) error {
	switch {
	case len(args) > 0:
		return unknownCommand(cmd, args[0])
	case a.flags.json:
		return a.printJSON(commandList(cmd))
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
	var lines []string
	say := func(text string) { lines = append(lines, text) }
	host := func(name, how string) { say("  " + s.Bold(terminal.Pad(name, 15)) + safetext.EscapeLine(how)) }

	say(s.Bold("planloop") + " keeps the plan your agent works by. Connect your agent's host:")
	say("")
	host("Claude Code", "claude mcp add --scope user planloop -- "+word+" serve")
	host("Codex", "codex mcp add planloop -- "+word+" serve")
	host("Gemini CLI", "gemini mcp add -s user planloop "+word+" serve")
	host("VS Code", "code --add-mcp "+terminal.ShellWord(`{"name":"planloop",`+server[1:]))
	host("Claude Desktop, Cursor, Windsurf", " in their MCP settings file:")
	host("", `{"mcpServers":{"planloop":`+server+`}}`)
	say("")
	say("Then ask the agent to plan something, and watch it here:")
	say("")
	say("  planloop show --watch")
	say("")
	say(s.Faint("All commands: planloop --help"))
	return lines
}

// serverJSON is how settings files name a server.
func serverJSON(path string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(struct {
		Command string   `json:"command"`
		Args    []string `json:"args"`
	}{path, []string{"serve"}})
	if err != nil {
		return "{}" // a string and a list of strings can always be written
	}
	return strings.TrimSpace(b.String())
}

// listedCommand is a command as --json lists it.
type listedCommand struct {
	Command string `json:"command"`
	Does    string `json:"does"`
}

type commandListing struct {
	Version  string          `json:"version"`
	Commands []listedCommand `json:"commands"`
}

func commandList(root *cobra.Command) commandListing {
	list := commandListing{Version: version()}
	for _, cmd := range root.Commands() {
		if cmd.IsAvailableCommand() {
			list.Commands = append(list.Commands, listedCommand{cmd.CommandPath(), cmd.Short})
		}
	}
	return list
}
