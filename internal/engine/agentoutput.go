package engine

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// agentOutput receives both output streams of an agent. It keeps a limited part in memory, whatever the length.
type agentOutput struct {
	log      io.Writer
	line     func(string)
	secrets  *secrets
	nonce    string
	reported chan struct{} // closed at the first report

	mu       sync.Mutex
	streams  []*stream
	tail     safetext.TailWriter
	report   *AgentReport
	lastLine []byte // the last line that is not blank, shortened; nil once it was shown
	closed   bool   // later output, from processes that could not be ended, is dropped
}

const (
	maxLine     = 1 << 20                // bytes of a line that are searched
	maxShown    = 200                    // characters of a line shown to people
	maxLastLine = 64 << 10               // bytes kept of the last line
	lineEvery   = 250 * time.Millisecond // interval between lines shown to people
)

func newAgentOutput(w AgentAssignment, s *secrets) *agentOutput {
	return &agentOutput{log: w.Log, line: w.Line, secrets: s, nonce: w.Nonce, reported: make(chan struct{}),
		tail: safetext.TailWriter{Max: maxTail}}
}

// stream is one of the two streams. It is searched for reports before the secrets are removed, because a secret may be
// a word of the report format.
type stream struct {
	output  *agentOutput
	pending []byte // possibly the beginning of a secret
	clean   []byte // buffer for the text without secrets
	line    []byte // the current line
	long    bool   // the line is longer than maxLine
	reports reportReader
}

func (o *agentOutput) stream() *stream {
	s := &stream{output: o, reports: reportReader{nonce: o.nonce, searchStrings: true}}
	o.streams = append(o.streams, s)
	return s
}

// Write never fails.
func (s *stream) Write(data []byte) (int, error) {
	s.output.mu.Lock()
	defer s.output.mu.Unlock()
	if s.output.closed {
		return len(data), nil
	}
	s.forward(data, true)
	for part := range bytes.Lines(data) {
		text, whole := bytes.CutSuffix(part, []byte("\n"))
		room := maxLine - len(s.line)
		s.long = s.long || len(text) > room
		s.line = append(s.line, text[:min(len(text), room)]...)
		if whole {
			s.endLine()
		}
	}
	if !s.long {
		s.output.keepReport(s.reports.peek(s.line)) // the final line may lack a line end
	}
	return len(data), nil
}

// forward passes on text without the secrets.
func (s *stream) forward(data []byte, more bool) {
	s.pending = append(s.pending, data...)
	var rest []byte
	s.clean, rest = s.output.secrets.remove(s.clean[:0], s.pending, more)
	s.pending = append(s.pending[:0], rest...)
	_, _ = s.output.tail.Write(s.clean)
	if s.output.log != nil && len(s.clean) > 0 {
		_, _ = s.output.log.Write(s.clean)
	}
}

func (s *stream) endLine() {
	if !s.long {
		s.output.keepReport(s.reports.readLine(s.line))
	} else if s.reports.isOurs(s.line) {
		s.reports.unread = fmt.Sprintf("the line with the report has more than %d KiB", maxLine>>10)
	}
	if len(bytes.TrimSpace(s.line)) > 0 {
		s.output.lastLine = append(s.output.lastLine[:0], s.line[:min(len(s.line), maxLastLine)]...)
	}
	s.line, s.long = s.line[:0], false
}

// keepReport keeps a report, if it is not nil.
func (o *agentOutput) keepReport(report *AgentReport) {
	if report == nil {
		return
	}
	if o.report == nil {
		close(o.reported)
	}
	report.Output, report.Note = o.secrets.removeFrom(report.Output), o.secrets.removeFrom(report.Note)
	for i, file := range report.AffectedFiles {
		report.AffectedFiles[i] = o.secrets.removeFrom(file)
	}
	o.report = report
}

// close takes the unfinished lines, after the end of all output.
func (o *agentOutput) close() {
	o.mu.Lock()
	for _, s := range o.streams {
		s.forward(nil, false)
		s.endLine()
	}
	o.closed = true
	o.mu.Unlock()
	o.showLine()
}

func (o *agentOutput) end() string { return safetext.Keepable(o.tail.End().Text, maxTail) }

// endAfterReport ends an agent after a grace period that begins with its report.
func (o *agentOutput) endAfterReport(ctx context.Context, grace time.Duration, reported <-chan struct{}, end context.CancelCauseFunc) {
	select {
	case <-o.reported:
	case <-reported:
	case <-ctx.Done():
		return
	}
	select {
	case <-time.After(grace):
		end(errReported)
	case <-ctx.Done():
	}
}

// showLines shows people the last line periodically, until ctx ends.
func (o *agentOutput) showLines(ctx context.Context) {
	for ctx.Err() == nil {
		select {
		case <-time.After(lineEvery):
			o.showLine()
		case <-ctx.Done():
		}
	}
}

func (o *agentOutput) showLine() {
	o.mu.Lock()
	line := o.lastLine
	o.lastLine = nil
	o.mu.Unlock()
	if text := o.secrets.removeFrom(readableLine(line)); text != "" && o.line != nil {
		o.line(plan.Shorten(text, maxShown))
	}
}

// readableLine returns a line for people. Of a JSON event it is the last line of the longest text that has more than one word.
func readableLine(line []byte) string {
	text := safetext.Line(ansi.Strip(visiblePart(string(line))))
	if !strings.HasPrefix(text, "{") {
		return text
	}
	longest := ""
	for literal := range jsonStrings(line) {
		if text := strings.TrimSpace(literal); len(text) > len(longest) && strings.ContainsAny(text, " \n") {
			longest = text
		}
	}
	return cmp.Or(safetext.Line(longest[strings.LastIndexByte(longest, '\n')+1:]), text)
}

// visiblePart returns the visible part of a line after carriage returns overwrote its beginning.
func visiblePart(line string) string {
	line = strings.TrimRight(line, "\r")
	return line[strings.LastIndexByte(line, '\r')+1:]
}

// secrets are texts to remove from agents' output, indexed by their first byte.
type secrets [256][][]byte

// secretsOf returns the values of the variables in named, and of variables with a telling name. The path of an existing
// file, such as a socket or a key file, does not count. Each line of a multi-line value is a secret.
func secretsOf(all, named []string) *secrets {
	s := &secrets{}
	for _, variable := range all {
		name, value, _ := strings.Cut(variable, "=")
		if !slices.Contains(named, name) && !outbound.IsSecretName(name) {
			continue
		}
		if _, err := os.Stat(value); filepath.IsAbs(value) && err == nil {
			continue
		}
		for line := range strings.Lines(value) {
			s.add(strings.TrimSpace(line))
		}
	}
	return s
}

// add adds a secret, also in its JSON encoding.
func (s *secrets) add(secret string) {
	if len(secret) < outbound.ShortestSecret {
		return
	}
	forms := [][]byte{[]byte(secret)}
	if quoted, err := json.Marshal(secret); err == nil {
		forms = append(forms, bytes.Trim(quoted, `"`))
	}
	for _, form := range forms {
		at := &s[form[0]]
		if !slices.ContainsFunc(*at, func(known []byte) bool { return bytes.Equal(known, form) }) {
			*at = append(*at, form)
		}
	}
}

// remove appends text to to without the secrets. If more follows, a possible beginning of a secret at the end is held
// back and returned.
func (s *secrets) remove(to, text []byte, more bool) (hidden, held []byte) {
	start := 0 // start of the text not yet appended
	for i := 0; i < len(text); {
		if s[text[i]] == nil {
			i++
			continue
		}
		length, open := s.matchAt(text[i:])
		if open && more {
			return append(to, text[start:i]...), text[i:]
		}
		if length == 0 {
			i++
			continue
		}
		to = append(append(to, text[start:i]...), outbound.Hidden...)
		i += length
		start = i
	}
	return append(to, text[start:]...), nil
}

// matchAt returns the length of the longest secret at the beginning of text, or 0, and whether text is the beginning of a
// longer secret.
func (s *secrets) matchAt(text []byte) (longest int, open bool) {
	for _, secret := range s[text[0]] {
		switch {
		case bytes.HasPrefix(text, secret):
			longest = max(longest, len(secret))
		case bytes.HasPrefix(secret, text):
			open = true
		}
	}
	return longest, open
}

func (s *secrets) removeFrom(text string) string {
	hidden, _ := s.remove(nil, []byte(text), false)
	return string(hidden)
}
