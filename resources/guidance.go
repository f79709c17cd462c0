package resources

import (
	"cmp"
	"embed"
	"strings"
	"sync"
	"text/template"
	"unicode/utf8"
)

// AgentsFile is the default path of the rule book in a workspace.
const AgentsFile = "docs/agents.md"

// AgentsMD returns the rule book for agents: Markdown that ends with a newline. It has the same words for the command
// line and the tools. file is the path of the rule book, by default [AgentsFile]; an unprintable path is not repeated.
func AgentsMD(file string) string {
	name, file := "this file", cmp.Or(file, AgentsFile)
	const longest = 120
	breaks := func(r rune) bool { return r == '`' || !readable(r) }
	if utf8.ValidString(file) && utf8.RuneCountInString(file) <= longest && strings.TrimSpace(file) != "" &&
		!strings.ContainsFunc(file, breaks) {
		name = "`" + file + "`"
	}
	return text("agents.md", struct{ File string }{name})
}

//go:embed texts/*.md texts/example
var texts embed.FS

// textTemplates parses the embedded texts on first use: most commands serve none of them. They are part of the program,
// so tests catch one that does not parse.
var textTemplates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Option("missingkey=error").ParseFS(texts, "texts/*.md"))
})

// text renders the named text. The templates only use plain fields, which cannot fail.
func text(name string, data any) string {
	var b strings.Builder
	if err := textTemplates().ExecuteTemplate(&b, name, data); err != nil {
		panic(err)
	}
	return b.String()
}

func embedded(name string) string {
	data, err := texts.ReadFile("texts/example/" + name)
	if err != nil {
		panic(err) // the file is part of the program
	}
	return string(data)
}

// PlanningGuide returns the planning guide: features of a good task, refinement of a plan, the gates' checks, and a
// worked example. It is Markdown that ends with a newline.
func PlanningGuide() string {
	return text("guide.md", struct{ Fence, Spec, Payload string }{
		Fence:   "```",
		Spec:    strings.TrimSpace(embedded("spec.md")),
		Payload: strings.TrimSpace(embedded("payload.json")),
	})
}

// GuideExample returns the example of the planning guide: the files of the workspace it assumes, by path, and the
// payload of the update that adds the tasks to a plan with a single task that asks for them. The caller owns both.
func GuideExample() (files map[string]string, payload []byte) {
	return map[string]string{
		"spec.md": embedded("spec.md"),
		"go.mod":  embedded("go.mod.txt"),
		"main.go": embedded("main.go.txt"),
	}, []byte(embedded("payload.json"))
}
