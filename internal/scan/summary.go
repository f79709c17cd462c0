package scan

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

// SummaryOptions bounds a summary. Zero fields mean the default in brackets.
type SummaryOptions struct {
	MaxLines int           // [120]
	MaxBytes int           // [6 KiB]
	MaxFiles int           // regular files, and folders, that are counted [100,000]
	Duration time.Duration // after which it sums up what it has seen [5 s]
}

func (o SummaryOptions) withDefaults() SummaryOptions {
	o.MaxLines = orDefault(o.MaxLines, 120)
	o.MaxBytes = orDefault(o.MaxBytes, 6<<10)
	o.MaxFiles = orDefault(o.MaxFiles, 100_000)
	o.Duration = orDefault(o.Duration, 5*time.Second)
	return o
}

// Summary describes the tree as an indented list, for a prompt: its folders with
// the number of files below them, the files that say what the project is, and as
// many others as there is room for. The upper levels come first; what is left out
// stands in the numbers. When ctx ends early, it describes what was seen.
func (t *Tree) Summary(ctx context.Context, o SummaryOptions) string {
	o = o.withDefaults()
	ctx, cancel := context.WithTimeout(ctx, o.Duration)
	defer cancel()
	s := summary{branches: map[string]*branch{}, languages: map[string]int{}}
	w := &walk{tree: t, maxFiles: o.MaxFiles, visit: s.add}
	cut, _ := w.run(ctx) // add refuses nothing
	return s.render(o, w, cut)
}

// branch is a folder in a summary.
type branch struct {
	path    string
	files   []string
	folders []*branch
	total   int // files here and below
	depth   int
}

type summary struct {
	branches  map[string]*branch
	languages map[string]int
}

// add takes a folder in. Those above it were there before.
func (s *summary) add(f folder) error {
	b := &branch{path: f.path, files: f.files, depth: f.depth}
	s.branches[f.path] = b
	for _, name := range f.files {
		if l := languageOf(name).name; l != "" {
			s.languages[l]++
		}
	}
	for at := f.path; ; at = path.Dir(at) {
		s.branches[at].total += len(f.files)
		if at == "." {
			break
		}
	}
	if f.path != "." {
		above := s.branches[path.Dir(f.path)]
		above.folders = append(above.folders, b)
	}
	return nil
}

func (s *summary) render(o SummaryOptions, w *walk, cut Bound) string {
	head := s.head(w, cut)
	root := s.branches["."]
	if root == nil {
		return head
	}
	entries := s.entries(root)
	shown := choose(entries, o.MaxLines-2, o.MaxBytes-len(head)-64)
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

func (s *summary) head(w *walk, cut Bound) string {
	var names []string
	for _, l := range languages(s.languages) {
		if len(names) < 8 {
			names = append(names, fmt.Sprintf("%s %d", l.Name, l.Files))
		}
	}
	head := fmt.Sprintf("%s in %s", counted(w.files, "file"), counted(w.folders, "folder"))
	if cut != Whole {
		head = "more than " + head
	}
	if len(names) > 0 {
		head += ": " + strings.Join(names, ", ")
	}
	return head + "\n"
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// entry is a line of a summary that may be shown.
type entry struct {
	path, above string
	text        string
	weight      int // the smaller, the sooner it is shown
}

// maxListed bounds the files of one folder that may be listed.
const maxListed = 200

// entries returns the lines of all that is below a folder, in the order of the tree.
func (s *summary) entries(b *branch) []entry {
	var list []entry
	indent := strings.Repeat("  ", b.depth)
	for i, name := range b.files {
		if i >= maxListed && !notable(name) {
			continue
		}
		list = append(list, entry{path: join(b.path, name), above: b.path, text: indent + shorten(name, 80) + "\n", weight: fileWeight(b.depth, name)})
	}
	for _, below := range b.folders {
		if below.total == 0 {
			continue
		}
		text := fmt.Sprintf("%s%s/ (%s)\n", indent, shorten(path.Base(below.path), 80), counted(below.total, "file"))
		list = append(list, entry{path: below.path, above: b.path, text: text, weight: 10 * below.depth})
		list = append(list, s.entries(below)...)
	}
	return list
}

// fileWeight puts a notable file right behind the folders of its level, and
// others behind the folders two levels deeper.
func fileWeight(depth int, name string) int {
	if notable(name) {
		return 10*depth + 11
	}
	return 10*depth + 35
}

// choose returns what fits into a number of lines and bytes, by weight, and
// nothing whose folder does not fit.
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

// notable reports the files that say what a project is, how it is built and where
// it begins.
func notable(name string) bool {
	lower := strings.ToLower(name)
	switch lower {
	case "go.mod", "go.work", "package.json", "tsconfig.json", "pyproject.toml", "setup.py", "requirements.txt", "cargo.toml",
		"pom.xml", "build.gradle", "build.gradle.kts", "gemfile", "composer.json", "cmakelists.txt", "makefile", "justfile", "dockerfile",
		"docker-compose.yml", "docker-compose.yaml", "compose.yaml", "agents.md", "claude.md", "architecture.md", "contributing.md", "spec.md", "design.md",
		"main.go", "main.py", "__main__.py", "app.py", "manage.py", "main.rs", "lib.rs", "index.ts", "index.js", "main.ts", "main.js", "server.ts", "server.js", "index.html":
		return true
	}
	return strings.HasPrefix(lower, "readme") || strings.HasSuffix(lower, ".spec.md")
}
