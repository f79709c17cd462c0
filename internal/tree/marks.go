package tree

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"iter"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/planloop/planloop/internal/safetext"
)

const (
	maxMarkText     = 200 // characters
	maxMarksPerFile = 200
)

// language is the language of a file.
type language struct {
	name    string   // "" if unknown
	openers []string // strings that start a comment
}

//go:embed languages.txt
var languages string

// byEnding reads languages.txt at the first scan: most commands do not scan.
var byEnding = sync.OnceValue(func() map[string]language {
	table := map[string]language{}
	for line := range strings.Lines(languages) {
		form, endings, listed := strings.Cut(line, " . ")
		if !listed {
			continue
		}
		words := strings.Fields(form)
		for _, ending := range strings.Fields(endings) {
			table[ending] = language{name: strings.ReplaceAll(words[0], "_", " "), openers: words[1:]}
		}
	}
	return table
})

func languageOf(name string) language {
	base := strings.ToLower(path.Base(name))
	if strings.HasPrefix(base, "dockerfile") {
		base = "dockerfile"
	}
	if l, ok := byEnding()[base]; ok {
		return l
	}
	return byEnding()[path.Ext(base)]
}

// notes holds the patterns for marks. The first scan compiles them, to keep other commands fast.
type notes struct{ word, calling, assignee *regexp.Regexp }

var noteForms = sync.OnceValue(func() notes {
	return notes{
		word:     regexp.MustCompile(`TODO|FIXME|HACK|XXX`),
		calling:  regexp.MustCompile(`^(?:TODO|FIXME|HACK|XXX)(?::|\([^)]*\):?) ?\S`),
		assignee: regexp.MustCompile(`^\s*[(\[][^()\[\]]{0,60}[)\]]`),
	}
})

// marks yields the marks in a file's comments with their lines. It looks at one line at a time, so a line of
// a multi-line string may look like a comment.
func marks(name string, content []byte) iter.Seq2[mark, int] {
	return func(yield func(mark, int) bool) {
		if !noteForms().word.Match(content) {
			return
		}
		openers, number, found := languageOf(name).openers, 0, 0
		for line := range bytes.Lines(content) {
			number++
			if found == maxMarksPerFile {
				return
			}
			if !noteForms().word.Match(line) {
				continue
			}
			word, rest, ok := markIn(commentIn(string(line), openers))
			if !ok {
				continue
			}
			found++
			m := mark{word: word, text: markText(rest)}
			if m.text == "" {
				m.within = name
			}
			if !yield(m, number) {
				return
			}
		}
	}
}

// commentIn returns the text after the first comment opener in a line. A line that starts with a mark and a
// colon or a name is taken as part of a multi-line comment and returned whole. Otherwise it returns "".
func commentIn(line string, openers []string) string {
	begin := strings.TrimLeft(line, " \t")
	first := len(line)
	var comment string
	for _, opener := range openers {
		at := openerIn(line, opener, len(line)-len(begin))
		if at >= 0 && at < first {
			first, comment = at, line[at+len(opener):]
		}
	}
	if first == len(line) && len(openers) > 0 && noteForms().calling.MatchString(begin) {
		return begin
	}
	return comment
}

// openerIn returns the position of a comment opener outside of quotes, words and URLs, or -1.
func openerIn(line, opener string, begin int) int {
	if opener == "*" {
		if strings.HasPrefix(line[begin:], opener) {
			return begin
		}
		return -1
	}
	quote := byte(0)
	for i := 0; i < len(line); i++ {
		c := line[i]
		switch {
		case quote != 0 && c == '\\':
			i++
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case strings.HasPrefix(line[i:], opener) && (i == 0 || strings.IndexByte(" \t;{}(),>", line[i-1]) >= 0):
			return i
		case c == '"', c == '`', c == '\'' && (i == 0 || !wordByte(line[i-1])):
			quote = c
		}
	}
	return -1
}

// decoration may precede the words of a comment.
const decoration = " \t/*#;-!%<>@|=~+.([{"

// markIn finds the first mark in a line of comment. Comments also mention the words without marking anything,
// so a mark must start the comment or a sentence, or be followed by a colon or a name in brackets.
func markIn(text string) (word, rest string, ok bool) {
	start := len(text) - len(strings.TrimLeft(text, decoration))
	for _, at := range noteForms().word.FindAllStringIndex(text, -1) {
		if !wholeWord(text, at[0], at[1]) {
			continue
		}
		after := text[at[1]:]
		called := strings.HasPrefix(after, ":") || strings.HasPrefix(after, "(")
		before := strings.TrimRight(text[:at[0]], " \t")
		if at[0] == start || called || before != "" && strings.IndexByte(".;!?", before[len(before)-1]) >= 0 {
			return text[at[0]:at[1]], after, true
		}
	}
	return "", "", false
}

func wholeWord(text string, from, to int) bool {
	if from > 0 && strings.IndexByte(decoration, text[from-1]) < 0 {
		return false
	}
	if from > 1 && text[from-1] != ' ' && wordByte(text[from-2]) {
		return false // part of a word such as NOT-TODO or path/TODO
	}
	if to == len(text) {
		return true
	}
	if strings.IndexByte(" \t\r\n:(.;!?*])}", text[to]) >= 0 {
		return text[to] != '.' || to+1 == len(text) || strings.IndexByte(" \t\r\n.", text[to+1]) >= 0 // TODO.md is a file
	}
	return text[to] == '-' && to+1 < len(text) && !wordByte(text[to+1])
}

// markText returns the text after a mark, without the name of an assignee.
func markText(rest string) string {
	rest = strings.TrimPrefix(rest, noteForms().assignee.FindString(rest))
	rest = strings.TrimLeft(rest, " \t:-!.;*])}")
	line := safetext.Line(strings.TrimRight(rest, " \t\r\n*/->#."))
	return shorten(strings.ReplaceAll(line, "`", "'"), maxMarkText) // in a hint, back quotes name a file
}

func wordByte(c byte) bool {
	return c == '_' || c >= 0x80 || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

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
	urgency := []string{"FIXME", "XXX", "HACK", "TODO"} // broken code comes before future plans
	slices.SortFunc(findings, func(a, b Finding) int {
		return cmp.Or(slices.Index(urgency, a.mark.word)-slices.Index(urgency, b.mark.word), -cmp.Compare(a.Count, b.Count),
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

const dots = "..."

// shorten cuts text to at most limit characters, at a space if one is near.
func shorten(text string, limit int) string {
	runes := []rune(text)
	if len(runes) <= limit {
		return text
	}
	head := string(runes[:max(limit-len(dots), 0)])
	if space := strings.LastIndexByte(head, ' '); space > len(head)*2/3 {
		head = head[:space]
	}
	return strings.TrimRight(head, " ,;:") + dots
}

// shortenPath cuts a path to at most limit characters, keeping its end.
func shortenPath(name string, limit int) string {
	runes := []rune(name)
	if len(runes) <= limit {
		return name
	}
	return dots + string(runes[len(runes)-limit+len(dots):])
}
