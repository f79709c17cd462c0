package agents

import (
	"bytes"
	"cmp"
	"context"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tail"
	"github.com/planloop/planloop/plan"
)

// output is what an agent prints on its two streams. However much that is, a bounded part of it is
// kept in memory.
type output struct {
	log     io.Writer
	line    func(string)
	secrets *secrets
	nonce   string
	seen    chan struct{} // closed at the first report

	mu      sync.Mutex
	streams []*stream
	tail    tail.Writer
	report  *Report
	last    []byte // the last line that is not blank, its beginning
	fresh   bool   // nobody was told of it
	closed  bool   // what still comes, from what could not be ended, is dropped
}

const (
	maxLine   = 1 << 20                // bytes of a line that are looked at
	maxShown  = 200                    // characters of a line that people are told
	mostLast  = 64 << 10               // bytes of the last line that are kept
	lineEvery = 250 * time.Millisecond // is how often people are told
)

func newOutput(w Assignment, s *secrets) *output {
	return &output{log: w.Log, line: w.Line, secrets: s, nonce: w.Nonce, seen: make(chan struct{}), tail: tail.Writer{Max: maxTail}}
}

// stream is one of the two, as it comes from the process. What is looked for in it is looked for
// before the secrets are taken out: one of them may be a word of the report's own.
type stream struct {
	of     *output
	held   []byte // the beginning of a secret, perhaps
	hidden []byte // room for a text without the secrets
	line   []byte // that is being printed
	long   bool   // more of it was printed than is looked at
	reader reader
}

func (o *output) stream() *stream {
	s := &stream{of: o, reader: reader{nonce: o.nonce, within: true}}
	o.streams = append(o.streams, s)
	return s
}

// Write never fails.
func (s *stream) Write(data []byte) (int, error) {
	s.of.mu.Lock()
	defer s.of.mu.Unlock()
	if s.of.closed {
		return len(data), nil
	}
	s.pass(data, true)
	for rest := data; len(rest) > 0; {
		part, after, whole := bytes.Cut(rest, []byte("\n"))
		room := maxLine - len(s.line)
		s.long = s.long || len(part) > room
		s.line = append(s.line, part[:min(len(part), room)]...)
		if whole {
			s.endLine()
		}
		rest = after
	}
	if !s.long {
		s.of.found(s.reader.peek(s.line)) // the last line of all may have no end
	}
	return len(data), nil
}

// pass hands a text on without the secrets.
func (s *stream) pass(data []byte, more bool) {
	s.held = append(s.held, data...)
	var rest []byte
	s.hidden, rest = s.of.secrets.hide(s.hidden[:0], s.held, more)
	s.held = append(s.held[:0], rest...)
	_, _ = s.of.tail.Write(s.hidden)
	if s.of.log != nil && len(s.hidden) > 0 {
		_, _ = s.of.log.Write(s.hidden)
	}
}

func (s *stream) endLine() {
	if !s.long {
		s.of.found(s.reader.next(s.line))
	}
	if len(bytes.TrimSpace(s.line)) > 0 {
		s.of.last, s.of.fresh = append(s.of.last[:0], s.line[:min(len(s.line), mostLast)]...), true
	}
	s.line, s.long = s.line[:0], false
}

// found keeps a report, if it is one.
func (o *output) found(report *Report) {
	if report == nil {
		return
	}
	if o.report == nil {
		close(o.seen)
	}
	report.Output, report.Note = o.secrets.in(report.Output), o.secrets.in(report.Note)
	for i, file := range report.AffectedFiles {
		report.AffectedFiles[i] = o.secrets.in(file)
	}
	o.report = report
}

// close takes what was printed without an end of line, when nothing more comes.
func (o *output) close() {
	o.mu.Lock()
	for _, s := range o.streams {
		s.pass(nil, false)
		s.endLine()
	}
	o.closed = true
	o.mu.Unlock()
	o.tell()
}

// otherNonce reports whether there was a report of another attempt. Nothing is printed any more.
func (o *output) otherNonce() bool {
	return slices.ContainsFunc(o.streams, func(s *stream) bool { return s.reader.other })
}

// end is the end of the output.
func (o *output) end() string { return safetext.Keepable(o.tail.End().Text, maxTail) }

// endAfter ends an agent some time after it has reported, unless it has ended by then.
func (o *output) endAfter(ctx context.Context, grace time.Duration, reported <-chan struct{}, end context.CancelCauseFunc) {
	select {
	case <-o.seen:
	case <-reported:
	case <-ctx.Done():
		return
	}
	timer := time.NewTimer(grace)
	defer timer.Stop()
	select {
	case <-timer.C:
		end(errReported)
	case <-ctx.Done():
	}
}

// tellLines tells people the last line, until ctx ends.
func (o *output) tellLines(ctx context.Context) {
	ticker := time.NewTicker(lineEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			o.tell()
		case <-ctx.Done():
			return
		}
	}
}

func (o *output) tell() {
	o.mu.Lock()
	line, fresh := slices.Clone(o.last), o.fresh
	o.fresh = false
	o.mu.Unlock()
	if text := o.secrets.in(shown(line)); fresh && text != "" && o.line != nil {
		o.line(plan.Shorten(text, maxShown))
	}
}

// shown is a line as people read it. Of an event in JSON that is its longest text, the last line of
// it, where it has one that is more than a word.
func shown(line []byte) string {
	text := safetext.Line(ansi.Strip(lastPart(string(line))))
	if !strings.HasPrefix(text, "{") {
		return text
	}
	longest := ""
	for literal := range literals(line) {
		if text := strings.TrimSpace(literal); len(text) > len(longest) && strings.ContainsAny(text, " \n") {
			longest = text
		}
	}
	return cmp.Or(safetext.Line(longest[strings.LastIndexByte(longest, '\n')+1:]), text)
}

// lastPart is what a line shows in the end, where a part of it was printed over another.
func lastPart(line string) string {
	line = strings.TrimRight(line, "\r")
	return line[strings.LastIndexByte(line, '\r')+1:]
}
