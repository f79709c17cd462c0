package prompts

import (
	"embed"
	"strings"
	"sync"
	"text/template"
)

//go:embed templates/*.md
var files embed.FS

// steering parses the few files that every server needs at its start, templates all of them; each on first use, since
// most commands render nothing. The files are part of the program, so tests catch a template that does not parse.
var (
	steering  = sync.OnceValue(func() *template.Template { return parsed("templates/instructions.md", "templates/mindset_*.md") })
	templates = sync.OnceValue(func() *template.Template { return parsed("templates/*.md") })
)

func parsed(patterns ...string) *template.Template {
	return template.Must(template.New("").Option("missingkey=error").ParseFS(files, patterns...))
}

// mustRender executes the named template. Templates only print plain fields, so no data can make them fail; the tests
// render every branch. The result has no trailing newline, so that texts can be nested.
func mustRender(name string, data any) string {
	var b strings.Builder
	set := templates
	if name == "instructions" || strings.HasPrefix(name, "mindset_") {
		set = steering
	}
	if err := set().ExecuteTemplate(&b, name+".md", data); err != nil {
		panic(err)
	}
	return strings.TrimRight(b.String(), "\n")
}
