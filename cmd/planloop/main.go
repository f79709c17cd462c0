// Command planloop keeps the plan an agent works by: an MCP server with
// planning tools, and a command line over the same state. This package parses
// the command line, wires the parts together, prints, and turns errors into
// exit codes. It decides nothing about plans.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/internal/terminal"
)

func main() {
	shell.Confine() // returns, unless this process was started to confine a command
	terminal.EnableColours(os.Stdout)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, environment(), os.Args[1:])
	stop()
	os.Exit(code)
}
