package resources

import (
	"embed"
	"strings"
	"sync"
	"text/template"
)

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
