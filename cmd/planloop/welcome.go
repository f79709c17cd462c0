package main

import (
	"os"

	"github.com/spf13/cobra"
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
	path, err := os.Executable()
	if err != nil {
		path = "planloop"
	}
	return a.print(joined(welcomeText(a.screen(), path)))
}

func welcomeText(s screen, path string) []string {
	path = printableLine(path)
	var lines []string
	say := func(text string) { lines = append(lines, text) }
	host := func(name, how string) { say("  " + s.bold(pad(name, 15)) + how) }

	say(s.bold("planloop") + " keeps the plan your agent works by. Connect your agent's host:")
	say("")
	host("Claude Code", "claude mcp add --scope user planloop -- "+path+" serve")
	host("Codex", "codex mcp add planloop -- "+path+" serve")
	host("Gemini CLI", "gemini mcp add -s user planloop "+path+" serve")
	host("VS Code", `code --add-mcp '{"name":"planloop","command":"`+path+`","args":["serve"]}'`)
	host("Claude Desktop, Cursor, Windsurf", " in their MCP settings file:")
	say(`                 {"mcpServers":{"planloop":{"command":"` + path + `","args":["serve"]}}}`)
	say("")
	say("Then ask the agent to plan something, and watch it here:")
	say("")
	say("  planloop show --watch")
	say("")
	say(s.faint("All commands: planloop --help"))
	return lines
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
