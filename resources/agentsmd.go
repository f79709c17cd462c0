package resources

import (
	"embed"
	"strings"
	"sync"
	"text/template"
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
		strings.IndexFunc(path, func(r rune) bool { return r == '`' || !readable(r) }) < 0
}

//go:embed texts/*.md texts/example
var texts embed.FS

// textTemplates parses the embedded texts on first use: most commands serve none
// of them. They are part of the program, so one that does not parse is a fault
// the tests catch.
var textTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Option("missingkey=error").ParseFS(texts, "texts/*.md"))
})

// text fills in the named text. The templates use plain fields alone, which
// cannot fail on any value.
func text(name string, data any) string {
	var b strings.Builder
	if err := textTemplates().ExecuteTemplate(&b, name, data); err != nil {
		panic(err)
	}
	return b.String()
}

// embedded reads a file of the example.
func embedded(name string) string {
	data, err := texts.ReadFile("texts/example/" + name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(data)
}
