package review_test

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/review"
)

// What a browser loads to show a plan, and what it must weigh at most when compressed.
const mostBytes = 120 << 10

func TestThePageIsSmallAndWhole(t *testing.T) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	for name, want := range map[string]string{
		"index.html": "text/html", "page.js": "text/javascript", "graph.js": "text/javascript",
		"page.css": "text/css", "icon.svg": "image/svg+xml",
	} {
		content, contentType, ok := review.PageFile(name)
		if !ok || len(content) == 0 || !strings.HasPrefix(contentType, want) {
			t.Errorf("%s: %d bytes of %q, %v", name, len(content), contentType, ok)
		}
		if _, err := w.Write(content); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if packed.Len() > mostBytes {
		t.Errorf("the page weighs %d bytes compressed; at most %d", packed.Len(), mostBytes)
	}
	for _, name := range []string{"", "none.js", "../page_test.go", "dist/page.js", "/page.js", "page"} {
		if _, _, ok := review.PageFile(name); ok {
			t.Errorf("%q is a file of the page", name)
		}
	}
}

// TestNothingIsLoadedFromElsewhere holds what the policy of the page would refuse, and what
// no policy can see in the App.
func TestNothingIsLoadedFromElsewhere(t *testing.T) {
	for _, name := range []string{"index.html", "page.js", "page.css", "graph.js", "app.html"} {
		content, _, _ := review.PageFile(name)
		for _, found := range regexp.MustCompile(`https?://[^"'`+"`"+`\s)]*`).FindAllString(string(content), -1) {
			words := []string{"https://github.com/erikbrinkman/d3-dag/issues", "https://github.com/markedjs/marked.", // of errors
				"http://"} // put before an address without it
			if !strings.HasPrefix(found, "http://www.w3.org/") && !slices.Contains(words, found) { // names of SVG, XHTML and MathML
				t.Errorf("%s names %s", name, found)
			}
		}
	}
	for _, placeholder := range []string{"/*script*/", "/*style*/"} {
		if app := review.AppPage(); app == "" || strings.Contains(app, placeholder) {
			t.Errorf("the App's document still holds %s", placeholder)
		}
	}
}

// TestDistIsBuiltFromTheSources needs no Node: the build leaves the digest of what it read.
func TestDistIsBuiltFromTheSources(t *testing.T) {
	var files []string
	err := filepath.WalkDir("page/src", func(path string, entry fs.DirEntry, err error) error {
		if path == filepath.Join("page", "src", "dev") {
			return fs.SkipDir
		}
		if err == nil && !entry.IsDir() && entry.Name() != "types.ts" { // which leaves nothing behind in dist
			files = append(files, strings.TrimPrefix(filepath.ToSlash(path), "page/"))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	slices.Sort(files)
	sum := sha256.New()
	for _, file := range append(files, "build.mjs", "package-lock.json") {
		content, err := os.ReadFile("page/" + file)
		if err != nil {
			t.Fatal(err)
		}
		sum.Write([]byte(file + "\x00"))
		sum.Write(append(content, 0))
	}
	built, err := os.ReadFile("page/dist/sources.sha256")
	if want := hex.EncodeToString(sum.Sum(nil)); err != nil || strings.TrimSpace(string(built)) != want {
		t.Errorf("dist was built from other sources (%v): npm ci && npm run build in internal/review/page, and commit dist", err)
	}
}
