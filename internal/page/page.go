// Package page holds the review page as it is served: built from src by `npm run build`
// and committed, so that building planloop needs no Node.
package page

import (
	"embed"
	"path"
)

//go:embed dist
var dist embed.FS

// File returns a file of the page and its media type; the page itself is index.html.
func File(name string) (content []byte, contentType string, ok bool) {
	contentType, ok = map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	}[path.Ext(name)]
	content, err := dist.ReadFile("dist/" + name)
	return content, contentType, ok && err == nil
}

// App returns the page for hosts that show MCP Apps: one document that loads nothing.
func App() string {
	content, _, _ := File("app.html")
	return string(content)
}
