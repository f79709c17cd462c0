package tree

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// SummaryOptions limit a summary. Zero fields mean the default in brackets.
type SummaryOptions struct {
	MaxLines int           // [120]
	MaxBytes int           // [6 KiB]
	MaxFiles int           // files and folders to visit [100,000]
	Duration time.Duration // time limit; the summary then covers the part read so far [5 s]
}

// Summary describes the tree as an indented list for a prompt: its folders with the number of files below
// them, the files that define the project, and as many others as fit. The upper levels come first; the
// numbers include files that are not listed. When ctx ends early, it describes the part read so far.
func Summary(ctx context.Context, t *Tree, o SummaryOptions) string {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(o.Duration, 5*time.Second))
	defer cancel()
	root := &branch{path: "."}
	s := summary{root: root, branches: map[string]*branch{".": root}, languages: map[string]int{}}
	w := t.Walk(Options{Breadth: true, Entries: cmp.Or(o.MaxFiles, 100_000), Skip: skipped(ctx, t)})
	for name, e := range w.Below(ctx, ".") {
		s.add(name, e)
	}
	return s.render(o, w.Bound() != Whole)
}

// branch is a folder in a summary.
type branch struct {
	path    string
	above   *branch // nil: this is the root
	files   []string
	folders []*branch
	total   int // files here and below
	depth   int
}

type summary struct {
	root      *branch
	branches  map[string]*branch
	languages map[string]int // number of files by language
}

// add records a file or folder. Its folder was recorded before.
func (s *summary) add(name string, e fs.DirEntry) {
	above := s.branches[path.Dir(name)]
	if e.IsDir() {
		b := &branch{path: name, above: above, depth: above.depth + 1}
		s.branches[name] = b
		above.folders = append(above.folders, b)
		return
	}
	if !e.Type().IsRegular() {
		return
	}
	above.files = append(above.files, e.Name())
	if l := languageOf(name).name; l != "" {
		s.languages[l]++
	}
	for at := above; at != nil; at = at.above {
		at.total++
	}
}

func (s *summary) render(o SummaryOptions, more bool) string {
	head := s.head(more)
	entries := s.entries(s.root)
	shown := choose(entries, cmp.Or(o.MaxLines, 120)-2, cmp.Or(o.MaxBytes, 6<<10)-len(head)-64)
	var b strings.Builder
	b.WriteString(head)
	for _, e := range entries {
		if shown[e.path] {
			b.WriteString(e.text)
		}
	}
	if left := len(entries) - len(shown); left > 0 {
		fmt.Fprintf(&b, "(%d more entries are not listed)\n", left)
	}
	return b.String()
}

func (s *summary) head(more bool) string {
	names := slices.SortedFunc(maps.Keys(s.languages), func(a, b string) int {
		return cmp.Or(-cmp.Compare(s.languages[a], s.languages[b]), cmp.Compare(a, b))
	})
	head := fmt.Sprintf("%s in %s", plan.Pluralize(s.root.total, "file"), plan.Pluralize(len(s.branches), "folder"))
	if more {
		head = "more than " + head
	}
	var counts []string
	for _, name := range names[:min(len(names), 8)] {
		counts = append(counts, fmt.Sprintf("%s %d", name, s.languages[name]))
	}
	if len(counts) > 0 {
		head += ": " + strings.Join(counts, ", ")
	}
	return head + "\n"
}

// entry is a possible line of a summary.
type entry struct {
	path, above string
	text        string
	weight      int // lower weights are chosen first
}

// maxListed limits the files listed for one folder.
const maxListed = 200

// entries returns a line for everything below a folder, in tree order.
func (s *summary) entries(b *branch) []entry {
	var list []entry
	indent := strings.Repeat("  ", b.depth)
	for i, name := range b.files {
		weight := 10*b.depth + 35 // after the folders two levels deeper
		if notable(name) {
			weight = 10*b.depth + 11 // right after the folders of its level
		} else if i >= maxListed {
			continue
		}
		list = append(list, entry{path.Join(b.path, name), b.path, indent + shorten(name, 80) + "\n", weight})
	}
	for _, below := range b.folders {
		if below.total == 0 {
			continue
		}
		text := fmt.Sprintf("%s%s/ (%s)\n", indent, shorten(path.Base(below.path), 80), plan.Pluralize(below.total, "file"))
		list = append(list, entry{path: below.path, above: b.path, text: text, weight: 10 * below.depth})
		list = append(list, s.entries(below)...)
	}
	return list
}

// choose picks entries by weight until the limits are reached. It skips entries in folders that were not
// picked.
func choose(entries []entry, lines, size int) map[string]bool {
	order := slices.Clone(entries)
	slices.SortStableFunc(order, func(a, b entry) int { return cmp.Compare(a.weight, b.weight) })
	shown := map[string]bool{}
	for _, e := range order {
		if len(shown) >= lines || len(e.text) > size {
			break
		}
		if e.above == "." || shown[e.above] {
			shown[e.path] = true
			size -= len(e.text)
		}
	}
	return shown
}

// notable reports whether a file defines a project, its build or an entry point.
func notable(name string) bool {
	lower := strings.ToLower(name)
	switch lower {
	case "go.mod", "go.work", "package.json", "tsconfig.json", "pyproject.toml", "setup.py", "requirements.txt", "cargo.toml",
		"pom.xml", "build.gradle", "build.gradle.kts", "gemfile", "composer.json", "cmakelists.txt", "makefile", "justfile", "dockerfile",
		"docker-compose.yml", "docker-compose.yaml", "compose.yaml", "agents.md", "claude.md", "architecture.md", "contributing.md",
		"spec.md", "design.md",
		"main.go", "main.py", "__main__.py", "app.py", "manage.py", "main.rs", "lib.rs", "index.ts", "index.js", "main.ts", "main.js",
		"server.ts", "server.js", "index.html":
		return true
	}
	return strings.HasPrefix(lower, "readme") || strings.HasSuffix(lower, ".spec.md")
}
