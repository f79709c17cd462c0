package resources

import (
	"cmp"
	"embed"
	"strings"
	"sync"
	"text/template"
	"unicode/utf8"
)

// AgentsFile is where the rule book stands in a workspace unless configured.
const AgentsFile = "docs/agents.md"

// AgentsMD returns the rule book for agents: Markdown that ends with a newline. It
// serves the command line and the tools with the same words. file is where the rule
// book stands, [AgentsFile] when empty; a path that is no plain text is not repeated.
func AgentsMD(file string) string {
	name, file := "this file", cmp.Or(file, AgentsFile)
	if fitsInBackquotes(file) {
		name = "`" + file + "`"
	}
	return text("agents.md", struct{ File string }{name})
}

// fitsInBackquotes reports whether path can stand between backquotes in a line.
func fitsInBackquotes(path string) bool {
	const longest = 120
	return utf8.ValidString(path) && utf8.RuneCountInString(path) <= longest && strings.TrimSpace(path) != "" &&
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

// PlanningGuide returns the planning guide: what makes a good task, how to refine a
// plan, what the gates check, and a worked example. It is Markdown that ends with a
// newline.
func PlanningGuide() string {
	return text("guide.md", struct{ Fence, Spec, Payload string }{
		Fence:   "```",
		Spec:    strings.TrimSpace(embedded("spec.md")),
		Payload: strings.TrimSpace(embedded("payload.json")),
	})
}

// GuideExample returns the example of the planning guide: the files of the
// workspace it assumes, by path, and the payload of the update that adds the
// tasks to a plan whose only task so far asks for them. The caller owns both.
func GuideExample() (files map[string]string, payload []byte) {
	return map[string]string{
		"spec.md": embedded("spec.md"),
		"go.mod":  embedded("go.mod.txt"),
		"main.go": embedded("main.go.txt"),
	}, []byte(embedded("payload.json"))
}
