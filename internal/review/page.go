package review

import (
	"embed"
	"path"
)

//go:embed page/dist
var dist embed.FS

// PageFile returns a file of the page and its media type; the page itself is index.html. `npm run build` builds the files
// from page/src. They are committed, so that building planloop needs no Node.
func PageFile(name string) (content []byte, contentType string, ok bool) {
	contentType, ok = map[string]string{
		".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".css": "text/css; charset=utf-8", ".svg": "image/svg+xml",
	}[path.Ext(name)]
	content, err := dist.ReadFile("page/dist/" + name)
	return content, contentType, ok && err == nil
}

// AppPage returns the page for hosts that show MCP Apps: one document that loads nothing.
func AppPage() string {
	content, _, _ := PageFile("app.html")
	return string(content)
}
