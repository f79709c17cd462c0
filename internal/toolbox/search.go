package toolbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/bmatcuk/doublestar/v4"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tree"
)

// How much of a line is searched. The time that an expression takes for one grows
// with the sizes of both, and cannot be stopped.
const (
	searchedLine  = 1 << 20
	searchedShort = 16 << 10 // by a large expression
)

// Sizes of an expression, in instructions.
const (
	largeExpression = 100
	maxExpression   = 1_000
)

// search is one run of Grep.
type search struct {
	box     *Box
	pattern *regexp.Regexp
	reach   int // bytes of a line that are searched
	glob    string
	max     int   // matches still to give at most
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
		if !e.Type().IsRegular() || !s.wanted(below(dir, rel)) {
			continue
		}
		if s.file(ctx, rel); s.cut {
			break
		}
	}
	s.cut = s.cut || w.Cut != tree.Whole || w.Crowded != ""
	s.note = join(s.note, s.box.passedOver(w))
}

// wanted reports whether the glob lets a file through: one without a slash is
// about the name alone.
func (s *search) wanted(rel string) bool {
	if s.glob == "" {
		return true
	}
	if !strings.Contains(s.glob, "/") {
		rel = path.Base(rel)
	}
	ok, err := doublestar.Match(s.glob, rel)
	return err == nil && ok
}

// file searches one file. One that cannot be read is counted.
func (s *search) file(ctx context.Context, rel string) {
	err := s.read(ctx, rel)
	switch {
	case err == nil:
	case ctx.Err() != nil:
		s.stop("stopped when the time was up, in " + safetext.EscapeLine(rel))
	default:
		s.unread++
	}
}

func (s *search) stop(why string) { s.cut, s.note = true, why }

func (s *search) read(ctx context.Context, rel string) (err error) {
	file, _, err := s.box.openFile("/path", rel)
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

// around is at most max bytes of a line around a match, to be shown.
func around(text []byte, at []int, max int) string {
	from, to := 0, len(text)
	if len(text) > max {
		from = min(at[0]-max/4, len(text)-max)
		from = min(from, at[0])
		if from < 0 {
			from = 0
		}
		to = from + max
	}
	for from > 0 && from < at[0] && !utf8.RuneStart(text[from]) {
		from++
	}
	for to < len(text) && to > at[0]+1 && !utf8.RuneStart(text[to]) {
		to--
	}
	all := safetext.Escape(string(text[from:to]))
	shown := head(all, max)
	if to < len(text) || len(shown) < len(all) {
		shown += " …"
	}
	if from > 0 {
		shown = "… " + shown
	}
	return shown
}
