// Command planloop keeps the plan that an agent works by: an MCP server with planning tools, and a command line over the same state.
package main

import "github.com/planloop/planloop/internal/cli"

func main() { cli.Main() }
