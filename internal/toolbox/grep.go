package toolbox

import (
	"context"
	"fmt"
	"regexp"
	"regexp/syntax"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/safetext"
)

// Grep is the input of Grep.
type Grep struct {
	Pattern    string `json:"pattern" jsonschema:"description=regular expression (RE2)"`
	Path       string `json:"path,omitempty" jsonschema:"description=file or directory to search"`
	Glob       string `json:"glob,omitempty" jsonschema:"description=only files that match\\, such as *.go"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Ignored    bool   `json:"ignored,omitempty" jsonschema:"description=also what .gitignore names"`
	Max        int    `json:"max,omitempty" jsonschema:"minimum=1,maximum=1000,description=lines to give; 100 if not given"`
}

// GrepMatch is a line that matches.
type GrepMatch struct {
	Path string `json:"path"`
	Line int    `json:"line"`
	Text string `json:"text"` // of a long line, what is around the match
}

// GrepReply lists the lines that match.
type GrepReply struct {
	Matches   []GrepMatch `json:"matches"`
	Files     int         `json:"files"` // that were searched
	Truncated bool        `json:"truncated,omitempty"`
	Note      string      `json:"note,omitempty"`
}

// Grep finds lines by their text.
func (b *Box) Grep(ctx context.Context, in Grep) (GrepReply, error) {
	rel, err := b.placeOr("/path", in.Path, ".")
	if err != nil {
		return GrepReply{}, err
	}
	s, err := b.search(in)
	if err != nil {
		return GrepReply{}, err
	}
	info, err := b.root.Stat(rel)
	if err != nil {
		return GrepReply{}, refused("/path", rel, err)
	}
	timed, cancel := context.WithTimeout(ctx, b.limits.SearchTime)
	defer cancel()
	if info.IsDir() {
		s.directory(timed, rel, in.Ignored)
		return s.result(), ended(ctx)
	}
	if err := regular("/path", rel, info); err != nil {
		return GrepReply{}, err
	}
	s.file(timed, rel)
	return s.result(), ended(ctx)
}

// search prepares a search, or refuses it.
func (b *Box) search(in Grep) (*search, error) {
	s := &search{box: b, max: min(firstMatches, b.limits.Matches), bytes: b.limits.SearchBytes}
	var err error
	if s.pattern, s.reach, err = expression(in.Pattern, in.IgnoreCase); err != nil {
		return nil, err
	}
	if in.Glob != "" {
		if s.glob, err = globPattern("/glob", in.Glob); err != nil {
			return nil, err
		}
	}
	if in.Max < 0 {
		return nil, invalid("/max", "is less than 1", fmt.Sprintf("ask for 1 to %d lines", b.limits.Matches))
	}
	if in.Max > 0 {
		s.max = min(in.Max, b.limits.Matches)
	}
	return s, nil
}

// expression compiles a pattern and says how much of a line it may search.
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
		return nil, 0, invalid("/pattern", "is no RE2 expression: "+safetext.EscapeLine(head(problem, 200)), `put \ before a character that is meant literally; look-around and back-references do not exist`)
	case instructions > maxExpression:
		return nil, 0, invalid("/pattern", "repeats too much", "use smaller counts in braces")
	case instructions > largeExpression:
		return re, searchedShort, nil
	}
	return re, searchedLine, nil
}

// instructions is the size of a compiled pattern.
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
	notes := []string{s.note}
	if s.binary > 0 {
		notes = append(notes, counted(s.binary, "binary file", "binary files")+" skipped")
	}
	if s.unread > 0 {
		notes = append(notes, counted(s.unread, "file", "files")+" could not be read")
	}
	if s.partly > 0 {
		notes = append(notes, fmt.Sprintf("of %s only the first %s were searched", counted(s.partly, "long line", "long lines"), size(int64(s.reach))))
	}
	return GrepReply{Matches: s.matches, Files: s.files, Truncated: s.cut, Note: join(notes...)}
}

// Text is what a model reads.
func (r GrepReply) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s in %s searched", counted(len(r.Matches), "match", "matches"), counted(r.Files, "file", "files"))
	if r.Truncated {
		b.WriteString(", more may match")
	}
	if r.Note != "" {
		b.WriteString(" (" + r.Note + ")")
	}
	for _, m := range r.Matches {
		fmt.Fprintf(&b, "\n%s:%d: %s", m.Path, m.Line, m.Text)
	}
	return b.String()
}

// seconds writes a duration for people.
func seconds(d time.Duration) string {
	if d < 10*time.Second {
		return d.Round(10 * time.Millisecond).String()
	}
	return d.Round(time.Second).String()
}
