package toolbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"regexp/syntax"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/plan"
)

// Grep is the input of Box.Grep.
type Grep struct {
	Pattern    string `json:"pattern" jsonschema:"description=regular expression (RE2)" text:"any"`
	Path       string `json:"path,omitempty" jsonschema:"description=file or directory to search"`
	Glob       string `json:"glob,omitempty" jsonschema:"description=only files that match\\, such as *.go"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Ignored    bool   `json:"ignored,omitempty" jsonschema:"description=also what .gitignore names"`
	Max        int    `json:"max,omitempty" jsonschema:"minimum=1,maximum=1000,description=lines to give; 100 if not given"`
}

// GrepMatch is a matching line.
type GrepMatch struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"` // of a long line, the part around the match
}

// GrepReply lists the matching lines.
type GrepReply struct {
	Matches   []GrepMatch `json:"matches"`
	Files     int         `json:"files"` // number of files searched
	Truncated bool        `json:"truncated,omitempty"`
	Note      string      `json:"note,omitempty"`
}

// Grep finds lines by their text.
func (b *Box) Grep(ctx context.Context, in Grep) (GrepReply, error) {
	rel, err := b.place(cmp.Or(in.Path, "."))
	if err != nil {
		return GrepReply{}, err
	}
	s, err := b.search(in)
	if err != nil {
		return GrepReply{}, err
	}
	info, err := b.root.Stat(rel)
	if err != nil {
		return GrepReply{}, refused(rel, err)
	}
	timed, cancel := context.WithTimeout(ctx, b.limits.SearchTime)
	defer cancel()
	if info.IsDir() {
		s.directory(timed, rel, in.Ignored)
		return s.result(), ended(ctx)
	}
	if err := regular(rel, info); err != nil {
		return GrepReply{}, err
	}
	s.file(timed, rel)
	return s.result(), ended(ctx)
}

func (in Grep) check(b *Box) (rel string, err error) {
	if _, err := b.search(in); err != nil {
		return "", err
	}
	return b.place(cmp.Or(in.Path, "."))
}

// search prepares a search, or refuses it.
func (b *Box) search(in Grep) (*search, error) {
	s := &search{box: b, bytes: b.limits.SearchBytes, matches: []GrepMatch{}}
	var err error
	if s.pattern, s.reach, err = expression(in.Pattern, in.IgnoreCase); err != nil {
		return nil, err
	}
	if in.Glob != "" {
		if err := badGlob("/glob", in.Glob); err != nil {
			return nil, err
		}
		s.glob = relative(in.Glob)
	}
	if in.Max < 0 {
		return nil, invalid("/max", "is less than 1", fmt.Sprintf("ask for 1 to %d lines", b.limits.Matches))
	}
	s.max = min(cmp.Or(in.Max, firstMatches), b.limits.Matches)
	return s, nil
}

// expression compiles a pattern and returns how many bytes of a line it may search.
func expression(pattern string, ignoreCase bool) (re *regexp.Regexp, reach int, err error) {
	switch {
	case pattern == "":
		return nil, 0, invalid("/pattern", "is empty", "give a regular expression")
	case len(pattern) > maxPattern:
		return nil, 0, invalid("/pattern", "is too long", fmt.Sprintf("shorten it to at most %d bytes", maxPattern))
	}
	if ignoreCase {
		pattern = "(?i)" + pattern
	}
	instructions, err := instructions(pattern)
	if err == nil {
		re, err = regexp.Compile(pattern)
	}
	switch {
	case err != nil:
		problem := strings.TrimPrefix(err.Error(), "error parsing regexp: ")
		return nil, 0, invalid("/pattern", "is not an RE2 expression: "+safetext.EscapeLine(head(problem, 200)),
			`put \ before a character that is meant literally; look-around and back-references do not exist`)
	case instructions > maxExpression:
		return nil, 0, invalid("/pattern", "repeats too much", "use smaller repeat counts in the braces")
	case instructions > largeExpression:
		return re, searchedShort, nil
	}
	return re, searchedLine, nil
}

func instructions(pattern string) (int, error) {
	parsed, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return 0, err
	}
	program, err := syntax.Compile(parsed.Simplify())
	if err != nil {
		return 0, err
	}
	return len(program.Inst), nil
}

func (s *search) result() GrepReply {
	notes := join(s.note,
		when(s.binary > 0, plan.Pluralize(s.binary, "binary file")+" skipped"),
		when(s.unread > 0, plan.Pluralize(s.unread, "file")+" could not be read"),
		when(s.partly > 0, fmt.Sprintf("only the first %s of %s were searched", size(int64(s.reach)),
			plan.Pluralize(s.partly, "long line"))))
	return GrepReply{Matches: s.matches, Files: s.files, Truncated: s.cut, Note: notes}
}

// Text is the answer for a model.
func (r GrepReply) Text() string {
	var b strings.Builder
	found := fmt.Sprintf("%s in %s searched", plan.Pluralize(len(r.Matches), "match"), plan.Pluralize(r.Files, "file"))
	b.WriteString(headline(found, r.Truncated, r.Note))
	for _, m := range r.Matches {
		fmt.Fprintf(&b, "\n%s:%d: %s", m.Path, m.Line, m.Text)
	}
	return b.String()
}

// Bytes of a line that are searched. The time for one line grows with the sizes of both the line and the expression,
// and the search of a line cannot be interrupted.
const (
	searchedLine  = 1 << 20
	searchedShort = 16 << 10 // by a large expression
)

const (
	largeExpression = 100
	maxExpression   = 1_000
)

// search is one run of Grep.
type search struct {
	box     *Box
	pattern *regexp.Regexp
	reach   int // bytes searched of a line
	glob    string
	max     int   // the most matches to return
	bytes   int64 // that may still be read

	matches []GrepMatch
	length  int
	cut     bool
	note    string

	files, binary, unread, partly int
}

func (s *search) directory(ctx context.Context, dir string, all bool) {
	w := s.box.walk(dir, all)
	for rel, e := range w.Below(ctx, dir) {
		if !e.Type().IsRegular() || !s.wanted(strings.TrimPrefix(rel, dir+"/")) {
			continue
		}
		if s.file(ctx, rel); s.cut {
			break
		}
	}
	s.cut = s.cut || w.Bound() != tree.Whole
	s.note = join(s.note, s.box.passedOver(w))
}

// wanted reports whether the glob matches a file. A glob without a slash is matched against the name only.
func (s *search) wanted(rel string) bool {
	if s.glob == "" {
		return true
	}
	if !strings.Contains(s.glob, "/") {
		rel = path.Base(rel)
	}
	return doublestar.MatchUnvalidated(s.glob, rel)
}

// file searches one file. Unreadable files are counted.
func (s *search) file(ctx context.Context, rel string) {
	if err := s.read(ctx, rel); err != nil && ctx.Err() != nil {
		s.stop("stopped when the time was up, in " + safetext.EscapeLine(rel))
	} else if err != nil {
		s.unread++
	}
}

func (s *search) stop(why string) { s.cut, s.note = true, why }

func (s *search) read(ctx context.Context, rel string) (err error) {
	file, _, err := s.box.openFile(rel)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	l := newLines(ctx, io.LimitReader(file, s.bytes), s.reach)
	defer func() {
		if s.bytes -= l.read; s.bytes <= 0 && !s.cut {
			s.stop("stopped after " + size(s.box.limits.SearchBytes) + ", in " + safetext.EscapeLine(rel))
		}
	}()
	beginning, err := l.r.Peek(tree.Sniffed)
	if err != nil && !errors.Is(err, io.EOF) {
		return err
	}
	if tree.Binary(beginning) {
		s.binary++
		return nil
	}
	s.files++
	for number := 1; !s.cut; number++ {
		if err := l.next(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		s.line(rel, number, l)
	}
	return nil
}

func (s *search) line(rel string, number int, l *lines) {
	if l.left > 0 {
		s.partly++
	}
	text := l.text
	if number == 1 && len(text) >= len(bom) && string(text[:len(bom)]) == bom {
		text = text[len(bom):]
	}
	at := s.pattern.FindIndex(text)
	if at == nil {
		return
	}
	m := GrepMatch{Path: safetext.EscapeLine(rel), Line: number, Text: around(text, at, s.box.limits.LineBytes/5)}
	s.length += len(m.Path) + len(m.Text) + 10
	if len(s.matches) == s.max || s.length > s.box.limits.PageBytes {
		s.stop(fmt.Sprintf("only the first %d are given; narrow the search", len(s.matches)))
		return
	}
	s.matches = append(s.matches, m)
}

// around returns at most limit bytes of a line around a match, escaped for display.
func around(text []byte, at []int, limit int) string {
	from, to := 0, len(text)
	if len(text) > limit {
		from = max(min(at[0]-limit/4, len(text)-limit), 0)
		to = from + limit
	}
	for from > 0 && from < at[0] && !utf8.RuneStart(text[from]) {
		from++
	}
	for to < len(text) && to > at[0]+1 && !utf8.RuneStart(text[to]) {
		to--
	}
	all := safetext.Escape(string(text[from:to]))
	shown := head(all, limit)
	return when(from > 0, "… ") + shown + when(to < len(text) || len(shown) < len(all), " …")
}
