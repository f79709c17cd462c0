package scan

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// The kinds of findings.
const (
	KindMark     = "mark"      // a TODO, FIXME or XXX in a comment
	KindUntested = "untested"  // source that has no tests by the conventions of its language
	KindDeadLink = "dead_link" // a relative link in a document that leads nowhere
)

// Finding is one thing worth doing, in the words of a task. Its texts are
// printable, on one line each, and hold no back quotes but those around files
// that exist.
type Finding struct {
	Kind     string
	Path     string // of the first place, relative to the root, with slashes
	Line     int
	Text     string   // what the mark says, what the source lacks, where the link leads
	Title    string   // of a task, at most 160 characters
	Hints    []string // for whoever does it
	Criteria []string // when it is done
	Paths    []string // files concerned; all of them exist
	Type     string   // bugfix, chore or test
	Count    int      // of the places that hold the same
	Rank     int      // from 1, the best first

	numbered     string // another title, that no other finding has
	weight, size int
}

const (
	maxTitleText = 64 // characters of what a mark says in a title
	maxTitlePath = 64
	maxPaths     = 5 // files that a finding names
)

// What is broken comes before what is meant to be done some day, and that before
// what is not known to be wrong.
const (
	weightFixme = iota
	weightXXX
	weightDeadLink
	weightTodo
	weightUntested
	weightOutside
)

func (p place) compare(other place) int {
	return cmp.Or(cmp.Compare(p.path, other.path), cmp.Compare(p.line, other.line))
}

// found is what is kept while scanning: the same thing in several places is one.
type found struct {
	thing
	outside bool
	places  []place // the first few, in order
	count   int
	size    int
}

// add notes another place, and keeps the first ones.
func (f *found) add(at place) {
	f.count++
	i, _ := slices.BinarySearchFunc(f.places, at, place.compare)
	f.places = slices.Insert(f.places, i, at)
	f.places = f.places[:min(len(f.places), 4*maxPaths)]
}

func (f *found) paths() []string {
	var paths []string
	for _, p := range f.places {
		if !slices.Contains(paths, p.path) && len(paths) < maxPaths {
			paths = append(paths, p.path)
		}
	}
	return paths
}

func (f *found) finding() Finding {
	made := Finding{Kind: f.kind, Path: f.places[0].path, Line: f.places[0].line, Paths: f.paths(), Count: f.count, size: f.size}
	switch f.kind {
	case KindMark:
		f.fillMark(&made)
	case KindDeadLink:
		f.fillLink(&made)
	default:
		f.fillUntested(&made)
	}
	return made
}

// risky are words that make a title vague, or two tasks of one. A mark that says
// such a thing is named by its line, and its text goes into the hint. It takes long
// to compile, so that is done when a scan asks for it.
var risky = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)\b(?:and|then|also|plus|improve|better|optimi[sz]e|enhance|faster|cleaner|nicer|` +
		`entire|whole|every|everything|all|clean ?up|refactor|properly|somehow|stuff|things?|etc)\b|[,:;&+]|\. `)
})

func (f *found) fillMark(made *Finding) {
	article := "the "
	if f.word == "XXX" {
		article = "the note "
	}
	made.numbered = fmt.Sprintf("Resolve %s%s in %s at line %d", article, f.word, shortenPath(made.Path, maxTitlePath), made.Line)
	made.Title = made.numbered
	if f.text != "" && !risky().MatchString(f.text) {
		text := shorten(strings.ReplaceAll(f.text, `"`, "'"), maxTitleText)
		made.Title = fmt.Sprintf("Resolve %s%s \"%s\" in %s", article, f.word, text, shortenPath(made.Path, maxTitlePath))
	}
	made.Text = strings.TrimSuffix(f.word+": "+f.text, ": ")
	made.Hints = []string{fmt.Sprintf("Read line %d of %s, which says: %s", made.Line, quoted(made.Path), made.Text)}
	if f.count > 1 {
		made.Hints = append(made.Hints, fmt.Sprintf("Resolve it in all %d places: %s", f.count, f.otherPlaces()))
	}
	made.Criteria = []string{fmt.Sprintf("No comment says \"%s\" any more, because what it asks for is done or no longer needed",
		made.Text)}
	made.Type, made.weight = "chore", weightTodo
	switch f.word {
	case "FIXME":
		made.Type, made.weight = "bugfix", weightFixme
	case "XXX":
		made.weight = weightXXX
	}
}

func (f *found) otherPlaces() string {
	var names []string
	for _, p := range f.places[:min(len(f.places), maxPaths)] {
		names = append(names, fmt.Sprintf("line %d of %s", p.line, shortenPath(p.path, maxTitlePath)))
	}
	if f.count > len(names) {
		names = append(names, fmt.Sprintf("%d more", f.count-len(names)))
	}
	return strings.Join(names, ", ")
}

func (f *found) fillLink(made *Finding) {
	target := shortenPath(f.text, maxTitlePath)
	made.Text = target + " does not exist"
	made.Title = fmt.Sprintf("Fix the dead link to %s in %s", shortenPath(target, 48), shortenPath(made.Path, maxTitlePath))
	made.weight = weightDeadLink
	if f.outside {
		made.Text = target + " lies outside the workspace"
		made.Title = fmt.Sprintf("Fix the link in %s that leaves the workspace for %s", shortenPath(made.Path, 60), shortenPath(target, 48))
		made.weight = weightOutside
	}
	made.Hints = []string{fmt.Sprintf("Correct the link at line %d of %s, or remove it: %s", made.Line, quoted(made.Path), made.Text)}
	made.Criteria = []string{fmt.Sprintf("%s has no link to %s, or the file it leads to exists", quoted(made.Path), target)}
	made.Type = "chore"
}

func (f *found) fillUntested(made *Finding) {
	made.Text = "has no tests"
	made.Title = "Add tests for " + shortenPath(made.Path, maxTitlePath)
	made.Hints = []string{fmt.Sprintf("Test what %s offers: going by file names, nothing does yet", quoted(made.Path))}
	made.Criteria = []string{fmt.Sprintf("Tests of %s exist where its language expects them, and pass", quoted(made.Path))}
	made.Type, made.weight = "test", weightUntested
}

// quoted puts a path in back quotes, as hints name files; one too long for a hint
// is shortened, and then names no file.
func quoted(name string) string {
	if short := shortenPath(name, 200); short != name {
		return short
	}
	return "`" + name + "`"
}

// rank puts findings in order: by weight, then what stands in many places or is
// large, then by path and line, which is the same for every scan of a tree.
func rank(findings []Finding) {
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(
			cmp.Compare(a.weight, b.weight), -cmp.Compare(a.Count, b.Count), -cmp.Compare(a.size, b.size),
			cmp.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Text, b.Text), cmp.Compare(a.Title, b.Title))
	})
	titles := map[string]bool{}
	for i := range findings {
		f := &findings[i]
		f.Rank = i + 1
		if titles[strings.ToLower(f.Title)] && f.numbered != "" {
			f.Title = f.numbered // marks that differ in case, or behind what a title shows
		}
		titles[strings.ToLower(f.Title)] = true
	}
}

const dots = "..."

// shorten cuts text to at most most characters, at a space if there is one near.
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

// shortenPath cuts a path to at most most characters and keeps its end.
func shortenPath(name string, most int) string {
	runes := []rune(name)
	if len(runes) <= most {
		return name
	}
	return dots + string(runes[len(runes)-most+len(dots):])
}
