package engine

import (
	"bytes"
	"cmp"
	"fmt"
	"iter"
	"slices"
	"strings"
	"unicode"

	"github.com/charmbracelet/x/ansi"
	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/plan"
)

// AgentReport is an agent's report on its attempt. The texts are as given, but without secrets.
type AgentReport struct {
	Status        plan.StepStatus // done, failed or blocked
	Output        string          // plain text, or JSON if the value is not a string
	AffectedFiles []string
	Note          string
	Tokens        int // that the agent says it used
}

// reportReader searches lines of output for reports. A report is a JSON object with the nonce and a valid status, on one or a
// few lines. The reader removes decoration that hosts print around a model's text: colours, indentation, bullets,
// quotation marks, a time in brackets, a code fence, and text without a line end before it. A sentence in front of the
// object makes it part of the text, not a report. With searchStrings, the lines of JSON strings are searched, too, because
// hosts print events as JSON.
//
// The example line in the prompt is not a report: its status is not valid.
type reportReader struct {
	nonce         string
	otherNonce    bool   // a report with another attempt's nonce was found
	unread        string // why the last report of this attempt cannot be read, "" if all could be
	searchStrings bool   // search JSON strings, too
	block         []byte // the lines of an incomplete object
	lines         int    // number of lines in block
}

// Limits of an object on several lines.
const (
	maxBlock      = 64 << 10
	maxBlockLines = 200
)

// reportMark is a text in nearly every line that is or ends a report.
const reportMark = "planloop"

// readLine takes a line, and returns the report that it contains or completes, or nil.
func (r *reportReader) readLine(line []byte) *AgentReport {
	has := bytes.Contains(line, []byte(reportMark))
	if !has && r.block == nil && !bytes.Contains(line[:min(len(line), 100)], []byte("{")) {
		return nil
	}
	text := stripDecoration(line)
	whole := bytes.HasSuffix(text, []byte("}"))
	switch {
	case bytes.HasPrefix(text, []byte("{")) && whole:
		r.block = nil
		if report := r.parse(text); report != nil {
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
	if len(r.block) > maxBlock || r.lines > maxBlockLines {
		if r.isOurs(r.block) {
			r.unread = fmt.Sprintf("the report has more than %d KiB or %d lines", maxBlock>>10, maxBlockLines)
		}
		r.block = nil
	}
	if has && r.searchStrings {
		return r.inStrings(line)
	}
	return nil
}

// peek returns the report that the line would contain or complete if nothing followed.
func (r *reportReader) peek(line []byte) *AgentReport {
	const behind = 20 // bytes of marks and colours
	if len(line) > maxBlock || !bytes.Contains(line[max(0, len(line)-behind):], []byte("}")) {
		return nil
	}
	text := stripDecoration(line)
	if r.block != nil && !bytes.HasPrefix(text, []byte("{")) {
		text = slices.Concat(r.block, text)
	}
	return r.parse(text)
}

// parse returns the report in a JSON object, nil if it is a different object.
func (r *reportReader) parse(object []byte) *AgentReport {
	if r.nonce == "" || !bytes.Contains(object, []byte(reportMark)) || !bytes.HasPrefix(object, []byte("{")) {
		return nil
	}
	var given struct {
		Planloop string         `json:"planloop"`
		Status   string         `json:"status"`
		Output   jsontext.Value `json:"output"`
		Files    jsontext.Value `json:"affected_files"`
		Note     jsontext.Value `json:"note"`
		Tokens   jsontext.Value `json:"tokens"`
	}
	if err := json.Unmarshal(object, &given, jsontext.AllowInvalidUTF8(true)); err != nil || given.Planloop == "" {
		if err != nil && r.isOurs(object) && bytes.HasSuffix(object, []byte("}")) {
			r.unread = "the report is not valid: " + plan.Shorten(err.Error(), maxShown)
		}
		return nil
	}
	status := reportedStatus(given.Status)
	switch {
	case status == "" && given.Planloop == r.nonce && !strings.Contains(given.Status, "|"): // not the example in the prompt
		r.unread = "the report's status is " + plan.Quote(plan.Shorten(given.Status, maxShown)) + ", not done, failed or blocked"
		return nil
	case status == "":
		return nil
	case given.Planloop != r.nonce:
		r.otherNonce = true
		return nil
	}
	r.unread = ""
	report := &AgentReport{Status: status, Output: textOf(given.Output), Note: textOf(given.Note)}
	if plan.ReadStatus(given.Status) != status && report.Note == "" {
		report.Note = "it reported " + plan.Quote(plan.Shorten(given.Status, maxShown))
	}
	if json.Unmarshal(given.Tokens, &report.Tokens) != nil || report.Tokens < 0 {
		report.Tokens = 0
	}
	if json.Unmarshal(given.Files, &report.AffectedFiles) != nil {
		report.AffectedFiles = nil
		if file := textOf(given.Files); file != "" {
			report.AffectedFiles = []string{file}
		}
	}
	return report
}

// isOurs reports whether an object seems to be this attempt's report.
func (r *reportReader) isOurs(object []byte) bool {
	return r.nonce != "" && bytes.Contains(object, []byte(r.nonce)) && bytes.Contains(object, []byte(`"`+reportMark+`"`))
}

// reportedStatus returns the status that ends an attempt for a word, "" for other words. A word for a step that is not done
// is failed.
func reportedStatus(word string) plan.StepStatus {
	switch status := plan.ReadStatus(word); status {
	case plan.Done, plan.Failed, plan.Blocked:
		return status
	case plan.Skipped, plan.Cancelled:
		return plan.Failed
	}
	text := strings.NewReplacer("-", " ", "_", " ").Replace(strings.ToLower(strings.TrimSpace(word)))
	for _, not := range []string{"not ", "in", "un", "partial"} {
		rest, ok := strings.CutPrefix(text, not)
		rest = strings.TrimRight(strings.TrimPrefix(rest, "yet "), ".!")
		isDone := plan.ReadStatus(rest) == plan.Done || slices.Contains([]string{"complete", "successful", "able"}, rest)
		if ok && (not == "partial" || isDone) {
			return plan.Failed
		}
	}
	return ""
}

// textOf returns a value as text: a string's content, "" for null, else its JSON.
func textOf(value jsontext.Value) string {
	var text *string
	if len(value) == 0 || json.Unmarshal(value, &text, jsontext.AllowInvalidUTF8(true)) == nil {
		return *cmp.Or(text, new(string))
	}
	return string(value)
}

// inStrings returns the last report within the JSON strings on a line.
func (r *reportReader) inStrings(line []byte) (last *AgentReport) {
	for literal := range jsonStrings(line) {
		if !strings.Contains(literal, reportMark) {
			continue
		}
		inner := reportReader{nonce: r.nonce}
		for text := range strings.SplitSeq(literal, "\n") {
			if report := inner.readLine([]byte(text)); report != nil {
				last, r.unread = report, ""
			}
		}
		r.otherNonce, r.unread = r.otherNonce || inner.otherNonce, cmp.Or(inner.unread, r.unread)
	}
	return last
}

// jsonStrings yields the JSON strings on a line.
func jsonStrings(line []byte) iter.Seq[string] {
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

// stripDecoration returns a line without the decoration that hosts print around it.
func stripDecoration(line []byte) []byte {
	text := strings.TrimRightFunc(visiblePart(string(line)), isDecoration)
	if strings.ContainsRune(text, '\x1b') {
		text = strings.TrimRightFunc(ansi.Strip(text), isDecoration)
	}
	if _, after, timed := strings.Cut(text, "] "); timed && strings.HasPrefix(text, "[") {
		text = after
	}
	rest := strings.TrimLeftFunc(text, isDecoration)
	if fence, fenced := strings.CutPrefix(rest, "json"); fenced && strings.HasSuffix(text[:len(text)-len(rest)], "`") {
		rest = strings.TrimLeftFunc(fence, isDecoration)
	}
	endsText := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune(".!?", r) }
	if i := strings.Index(rest, `{"planloop"`); i > 0 && strings.ContainsFunc(rest[i-1:i], endsText) {
		rest = rest[i:] // text without a line end before the report; in a sentence, a blank or a quote would come between
	}
	return []byte(rest)
}

// isDecoration reports whether a character belongs neither to a word nor to JSON.
func isDecoration(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune(`{}[]",:`, r)
}
