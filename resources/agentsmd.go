package resources

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// AgentsFile is where the rule book stands in a workspace unless configured.
const AgentsFile = "docs/agents.md"

// agentsPathShown bounds the path that the rule book names, in characters.
const agentsPathShown = 120

// AgentsData is what the rule book says about its workspace.
type AgentsData struct {
	File string // where the rule book stands, [AgentsFile] when empty
}

// AgentsMD returns the rule book for agents (planloop: I-1): Markdown that ends
// with a newline, the same for the same data. It serves the command line and the
// tools with the same words. A path that is no plain text is not repeated.
func AgentsMD(d AgentsData) string {
	name := "this file"
	if d.File == "" {
		d.File = AgentsFile
	}
	if printablePath(d.File) {
		name = "`" + d.File + "`"
	}
	return text("agents.md", struct{ File string }{name})
}

// printablePath reports whether path can stand between backquotes in a line.
func printablePath(path string) bool {
	return utf8.ValidString(path) && utf8.RuneCountInString(path) <= agentsPathShown && strings.TrimSpace(path) != "" &&
		strings.IndexFunc(path, func(r rune) bool { return r == '`' || !unicode.IsPrint(r) }) < 0
}
