package agents

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/plan"
)

// Report is what an agent says of its attempt. The texts are as it gave them, without secrets.
type Report struct {
	Status        plan.StepStatus // done, failed or blocked
	Output        string          // a text, or the JSON of what is none
	AffectedFiles []string
	Note          string
}

// reader looks for reports in the lines of an output. A report is one JSON object with the nonce and
// a known status, on one line or on a few. It is found behind and before what hosts print around the
// words of a model: colours, indentation, bullets and marks of quotation, a time in brackets, the
// fence of a code block, the end of a text that was printed without an end of line. Words of a sentence
// before it make it no report. Within, it is also found as a line of a JSON string, which is how hosts
// print events.
//
// The line by which the prompt shows how to report is none, since its status is no known one.
type reader struct {
	nonce  string
	other  bool   // what would be one was found, with the nonce of another attempt
	within bool   // looks into JSON strings, too
	block  []byte // the lines of an object that is not whole yet
	lines  int    // how many
}

// Bounds of an object on several lines.
const (
	mostBlock      = 64 << 10
	mostBlockLines = 200
)

// mark is what a line holds that is or ends a report, mostly.
const mark = "planloop"

// next takes a line, and returns the report that it is or ends; nil for none.
func (r *reader) next(line []byte) *Report {
	has := bytes.Contains(line, []byte(mark))
	if !has && r.block == nil && !bytes.Contains(line[:min(len(line), 100)], []byte("{")) {
		return nil
	}
	text := bare(line)
	whole := bytes.HasSuffix(text, []byte("}"))
	switch {
	case bytes.HasPrefix(text, []byte("{")) && whole:
		r.block = nil
		if report := r.read(text); report != nil {
			return report
		}
	case bytes.HasPrefix(text, []byte("{")):
		r.block, r.lines = append([]byte{}, text...), 1
	case r.block != nil:
		if report := r.peek(line); report != nil {
			r.block = nil
			return report
		}
		r.block, r.lines = append(r.block, text...), r.lines+1
	}
	if len(r.block) > mostBlock || r.lines > mostBlockLines {
		r.block = nil
	}
	if has && r.within {
		return r.inside(line)
	}
	return nil
}

// peek returns the report that a line would be or end if nothing followed on it.
func (r *reader) peek(line []byte) *Report {
	const behind = 20 // bytes of marks and colours
	if len(line) > mostBlock || !bytes.Contains(line[max(0, len(line)-behind):], []byte("}")) {
		return nil
	}
	text := bare(line)
	if r.block != nil && !bytes.HasPrefix(text, []byte("{")) {
		text = slices.Concat(r.block, text)
	}
	return r.read(text)
}

// read returns the report that a JSON object is, nil for another object.
func (r *reader) read(object []byte) *Report {
	if r.nonce == "" || !bytes.Contains(object, []byte(mark)) || !bytes.HasPrefix(object, []byte("{")) {
		return nil
	}
	var given struct {
		Planloop string         `json:"planloop"`
		Status   string         `json:"status"`
		Output   jsontext.Value `json:"output"`
		Files    jsontext.Value `json:"affected_files"`
		Note     jsontext.Value `json:"note"`
	}
	if json.Unmarshal(object, &given, jsontext.AllowInvalidUTF8(true)) != nil || given.Planloop == "" {
		return nil
	}
	status := plan.ReadStatus(given.Status)
	if !slices.Contains([]plan.StepStatus{plan.Done, plan.Failed, plan.Blocked}, status) {
		return nil
	}
	if given.Planloop != r.nonce {
		r.other = true
		return nil
	}
	report := &Report{Status: status, Output: textOf(given.Output), Note: textOf(given.Note)}
	if json.Unmarshal(given.Files, &report.AffectedFiles) != nil {
		report.AffectedFiles = nil
		if file := textOf(given.Files); file != "" {
			report.AffectedFiles = []string{file}
		}
	}
	return report
}

// textOf is a value as a text: what a string says, nothing for null, else its JSON.
func textOf(value jsontext.Value) string {
	var text *string
	if len(value) == 0 || json.Unmarshal(value, &text, jsontext.AllowInvalidUTF8(true)) == nil {
		if text == nil {
			return ""
		}
		return *text
	}
	return string(value)
}

// inside returns the last report among the lines of the JSON strings that stand on a line.
func (r *reader) inside(line []byte) (last *Report) {
	for literal := range literals(line) {
		if !strings.Contains(literal, mark) {
			continue
		}
		inner := reader{nonce: r.nonce}
		for text := range strings.SplitSeq(literal, "\n") {
			if report := inner.next([]byte(text)); report != nil {
				last = report
			}
		}
		r.other = r.other || inner.other
	}
	return last
}

// literals are the JSON strings that stand on a line, whatever else stands there.
func literals(line []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		for begin := bytes.IndexByte(line, '"'); begin >= 0; begin = bytes.IndexByte(line, '"') {
			line = line[begin:]
			end := 1
			for ; end < len(line) && line[end] != '"'; end++ {
				if line[end] == '\\' {
					end++
				}
			}
			if end >= len(line) {
				return
			}
			if text, err := jsontext.AppendUnquote(nil, line[:end+1]); err == nil && !yield(string(text)) {
				return
			}
			line = line[end+1:]
		}
	}
}

// bare is a line without what hosts print around it.
func bare(line []byte) []byte {
	text := strings.TrimRightFunc(lastPart(string(line)), decoration)
	if strings.ContainsRune(text, '\x1b') {
		text = strings.TrimRightFunc(ansi.Strip(text), decoration)
	}
	if _, after, timed := strings.Cut(text, "] "); timed && strings.HasPrefix(text, "[") {
		text = after
	}
	rest := strings.TrimLeftFunc(text, decoration)
	if fence, fenced := strings.CutPrefix(rest, "json"); fenced && strings.HasSuffix(text[:len(text)-len(rest)], "`") {
		rest = strings.TrimLeftFunc(fence, decoration)
	}
	if i := strings.Index(rest, `{"planloop"`); i > 0 && strings.ContainsFunc(rest[i-1:i], ofText) {
		rest = rest[i:] // what was printed before had no end of line: in a sentence, a blank or a quote would stand there
	}
	return []byte(rest)
}

// ofText reports whether a character may end a text.
func ofText(r rune) bool {
	return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(".!?", r)
}

// decoration reports whether a character is neither of a word nor of JSON.
func decoration(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(`{}[]",:`, r)
}
