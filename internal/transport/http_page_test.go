package transport

import (
	"io"
	"net/http"
	"strings"
	"testing"
)

// pageOf has the given paths, and one of MCP's own, which it must not get.
type pageOf []string

func (p pageOf) Has(path string) bool {
	for _, own := range append(p, "/mcp", "/sse", "/message") {
		if path == own {
			return true
		}
	}
	return strings.HasPrefix(path, "/api/")
}

func (p pageOf) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.WriteString(w, "the page")
}

// TestPageStandsBesideMCP: the page gets its paths, whatever their requests contain, and the guard before all others is
// unchanged.
func TestPageStandsBesideMCP(t *testing.T) {
	const token = "correct-horse-battery"
	f := serve(t, HTTPOptions{Token: token, Page: pageOf{"/", "/page.js"}})
	with := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+token) }
	elsewhere := func(r *http.Request) { r.Host, r.Header["Origin"] = "evil.example", []string{"http://evil.example"} }
	for _, c := range []struct {
		method, path string
		edit         func(*http.Request)
		status       int
		page         bool
	}{
		{"GET", "/", nil, 200, true}, {"GET", "/page.js", nil, 200, true}, {"GET", "/api/view?workspace=w1", nil, 200, true},
		{"POST", "/api/act", nil, 200, true}, {"GET", "/?x=/mcp", nil, 200, true},
		{"GET", "/", elsewhere, 200, true}, // its own guard judges it
		{"POST", "/mcp", nil, 401, false}, {"POST", "/mcp?x=/api/", nil, 401, false}, {"GET", "/sse", nil, 401, false},
		{"POST", "/message", nil, 401, false}, {"POST", "/%6dcp", nil, 401, false}, {"GET", "/page%2ejs", nil, 401, false},
		{"GET", "/app.html", nil, 401, false}, {"GET", "/.well-known/oauth-protected-resource", nil, 401, false},
		{"GET", "//", nil, 401, false}, {"POST", "/mcp", elsewhere, 403, false}, {"GET", "/other", elsewhere, 403, false},
		{"GET", "/other", with, 404, false}, {"GET", "/api", with, 404, false}, {"PUT", "/mcp", with, 405, false},
	} {
		answer := f.raw(t, c.method, c.path, "", c.edit)
		if answer.status != c.status || (answer.body == "the page") != c.page {
			t.Errorf("%s %s: %d %s", c.method, c.path, answer.status, answer.body)
		}
	}
	if answer := f.raw(t, http.MethodPost, "/mcp", initializeBody, with); answer.status != http.StatusOK {
		t.Errorf("MCP: %d %s", answer.status, answer.body)
	}
	alone := serve(t, HTTPOptions{})
	if answer := alone.raw(t, http.MethodGet, "/", "", nil); answer.status != http.StatusNotFound {
		t.Errorf("without a page: %d", answer.status)
	}
}
