package engine

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
	"github.com/planloop/planloop/plan"
)

// output receives both output streams of an agent. It keeps a limited part in memory, whatever the length.
type output struct {
	log     io.Writer
	line    func(string)
	secrets *secrets
	nonce   string
	seen    chan struct{} // closed at the first report

	mu      sync.Mutex
	streams []*stream
	tail    safetext.TailWriter
	report  *AgentReport
	last    []byte // the last line that is not blank, shortened
	fresh   bool   // last was not shown yet
	closed  bool   // later output, from processes that could not be ended, is dropped
}

const (
	maxLine   = 1 << 20                // bytes of a line that are searched
	maxShown  = 200                    // characters of a line shown to people
	mostLast  = 64 << 10               // bytes kept of the last line
	lineEvery = 250 * time.Millisecond // interval between lines shown to people
)

func newOutput(w AgentAssignment, s *secrets) *output {
	return &output{log: w.Log, line: w.Line, secrets: s, nonce: w.Nonce, seen: make(chan struct{}), tail: safetext.TailWriter{Max: maxTail}}
}

// stream is one of the two streams. It is searched for reports before the secrets are removed, because a secret may be
// a word of the report format.
type stream struct {
	of     *output
	held   []byte // possibly the beginning of a secret
	hidden []byte // buffer for the text without secrets
	line   []byte // the current line
	long   bool   // the line is longer than maxLine
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
		s.of.found(s.reader.peek(s.line)) // the final line may lack a line end
	}
	return len(data), nil
}

// pass forwards text without the secrets.
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

// found keeps a report, if it is not nil.
func (o *output) found(report *AgentReport) {
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

// close takes the unfinished lines, after the end of all output.
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

// otherNonce reports whether there was a report with the nonce of another attempt. Call it only after all output.
func (o *output) otherNonce() bool {
	return slices.ContainsFunc(o.streams, func(s *stream) bool { return s.reader.other })
}

// end returns the end of the output.
func (o *output) end() string { return safetext.Keepable(o.tail.End().Text, maxTail) }

// endAfter ends an agent after a grace period that begins with its report.
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

// tellLines shows people the last line periodically, until ctx ends.
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

// shown returns a line for people. Of a JSON event it is the last line of the longest text that has more than one word.
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

// lastPart returns the visible part of a line after carriage returns overwrote its beginning.
func lastPart(line string) string {
	line = strings.TrimRight(line, "\r")
	return line[strings.LastIndexByte(line, '\r')+1:]
}
