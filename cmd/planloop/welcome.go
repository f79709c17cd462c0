package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
)

// welcome is what planloop without a command does: tell a person at a terminal
// how to connect a host, refuse a word that is no command.
func (a *app) welcome(cmd *cobra.Command, args []string) error {
	if len(args) > 0 {
		err := fmt.Errorf("there is no command %q; see `planloop --help`", args[0])
		if near := cmd.SuggestionsFor(args[0]); len(near) > 0 {
			err = fmt.Errorf("there is no command %q; did you mean %q?", args[0], near[0])
		}
		return usageError{err}
	}
	if !a.outIsTerm {
		return cmd.Help()
	}
	path, err := os.Executable()
	if err != nil {
		path = "planloop"
	}
	_, err = fmt.Fprintf(a.out, `planloop keeps the plan your agent works by. Connect your agent's host:

  Claude Code   claude mcp add --scope user planloop -- %[1]s serve
  Codex         codex mcp add planloop -- %[1]s serve
  Gemini CLI    gemini mcp add -s user planloop %[1]s serve
  VS Code       code --add-mcp '{"name":"planloop","command":"%[1]s","args":["serve"]}'
  Claude Desktop, Cursor, Windsurf: in their MCP settings file
                {"mcpServers":{"planloop":{"command":"%[1]s","args":["serve"]}}}

Then ask the agent to plan something, and watch it here:

  planloop show --watch

All commands: planloop --help
`, path)
	return err
}
