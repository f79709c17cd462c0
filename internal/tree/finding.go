package tree

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// Finding is a mark, worded as a task. Its texts are printable single lines without back quotes, except
// around the paths of existing files.
type Finding struct {
	Path  string // of the first place, relative to the root, with slashes
	Line  int
	Title string   // of a task, at most 160 characters
	Hints []string // for the agent that does the task
	Paths []string // the first files with the mark
	Type  string   // bugfix or chore
	Count int      // places with the mark

	mark mark
}

const (
	maxTitleText = 64 // characters of a mark's text in a title
	maxTitlePath = 64
	maxPaths     = 5 // files that a finding names
)

// mark is the content of a comment. Marks with the same text are one mark; marks without text are one per
// file.
type mark struct{ word, text, within string }

// place is a line of a file.
type place struct {
	path string
	line int
}

// places are the first places of a mark and their total number.
type places struct {
	first []place
	count int
}

func (s *places) add(at place) {
	s.count++
	if len(s.first) < 4*maxPaths {
		s.first = append(s.first, at)
	}
}

// risky matches words that make a title vague or turn one task into two. A mark with such a text is titled by
// its line, and the text goes into the hint. Compiling is slow, so the first scan does it.
var risky = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:and|then|also|plus|improve|better|optimi[sz]e|enhance|faster|cleaner|nicer|` +
		`entire|whole|every|everything|all|clean ?up|refactor|properly|somehow|stuff|things?|etc)\b|[,:;&+]|\. `)
})

func (s *places) finding(m mark) Finding {
	at := s.first[0]
	f := Finding{Path: at.path, Line: at.line, Title: titleByLine(m, at), Type: "chore", Count: s.count, mark: m}
	if m.text != "" && !risky().MatchString(m.text) {
		text := shorten(strings.ReplaceAll(m.text, `"`, "'"), maxTitleText)
		f.Title = fmt.Sprintf("Resolve the %s \"%s\" in %s", named(m.word), text, shortenPath(at.path, maxTitlePath))
	}
	if m.word == "FIXME" {
		f.Type = "bugfix"
	}
	for _, p := range s.first {
		if !slices.Contains(f.Paths, p.path) && len(f.Paths) < maxPaths {
			f.Paths = append(f.Paths, p.path)
		}
	}
	text := strings.TrimSuffix(m.word+": "+m.text, ": ")
	f.Hints = []string{fmt.Sprintf("Read line %d of %s, which says: %s", at.line, quoted(at.path), text)}
	if s.count > 1 {
		f.Hints = append(f.Hints, fmt.Sprintf("Resolve it in all %d places: %s", s.count, s.list()))
	}
	return f
}

// titleByLine returns a title that no other mark has.
func titleByLine(m mark, at place) string {
	return fmt.Sprintf("Resolve the %s in %s at line %d", named(m.word), shortenPath(at.path, maxTitlePath), at.line)
}

// named returns a mark's word for a title: "XXX" alone says too little.
func named(word string) string {
	if word == "XXX" {
		return "note XXX"
	}
	return word
}

func (s *places) list() string {
	var names []string
	for _, p := range s.first[:min(len(s.first), maxPaths)] {
		names = append(names, fmt.Sprintf("line %d of %s", p.line, shortenPath(p.path, maxTitlePath)))
	}
	if s.count > len(names) {
		names = append(names, fmt.Sprintf("%d more", s.count-len(names)))
	}
	return strings.Join(names, ", ")
}

// quoted puts a path in back quotes, as hints name files. A path that is too long for a hint is shortened and
// not quoted, because it no longer names a file.
func quoted(name string) string {
	if short := shortenPath(name, 200); short != name {
		return short
	}
	return "`" + name + "`"
}

// rank sorts findings by urgency, then by number of places, then by position. It gives each its own title:
// marks may differ only in case, or after the part that a title shows.
func rank(findings []Finding) {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(urgency(a.mark.word), urgency(b.mark.word)), -cmp.Compare(a.Count, b.Count),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.mark.text, b.mark.text))
	})
	titles := map[string]bool{}
	for i := range findings {
		f := &findings[i]
		if titles[strings.ToLower(f.Title)] {
			f.Title = titleByLine(f.mark, place{f.Path, f.Line})
		}
		titles[strings.ToLower(f.Title)] = true
	}
}

// urgency ranks a mark's word: broken code comes before future plans.
func urgency(word string) int { return slices.Index([]string{"FIXME", "XXX", "HACK", "TODO"}, word) }

const dots = "..."

// shorten cuts text to at most most characters, at a space if one is near.
func shorten(text string, most int) string {
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	head := string(runes[:max(most-len(dots), 0)])
	if space := strings.LastIndexByte(head, ' '); space > len(head)*2/3 {
		head = head[:space]
	}
	return strings.TrimRight(head, " ,;:") + dots
}

// shortenPath cuts a path to at most most characters, keeping its end.
func shortenPath(name string, most int) string {
	runes := []rune(name)
	if len(runes) <= most {
		return name
	}
	return dots + string(runes[len(runes)-most+len(dots):])
}
