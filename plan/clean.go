package plan

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"
)

const (
	// MaxNesting bounds how deep the JSON of a step's arguments or value is nested.
	MaxNesting = 32

	maxArgs    = 256 << 10 // bytes of a step's arguments or value
	maxSeconds = 1<<31 - 1
)

// CleanStep returns n with every field normalised and checked by the rules for
// what comes from elsewhere than the planning_* tools: text by Text, lists
// in at most MaxList entries, paths within the workspace, enums by their
// words, args as a JSON object. field is the JSON pointer of the step; the error
// is a *ValidationError that names the field below it. Whether the steps in
// DependsOn exist is for Decide to judge. n is left as it was.
func CleanStep(field string, n NewStep) (NewStep, error) {
	c := cleaner{field: field}
	c.spec(&n.Spec)
	c.progress(&n.Progress)
	if c.err != nil {
		return NewStep{}, c.err
	}
	return n, nil
}

// CleanOutline returns o with every field normalised and checked, as CleanStep
// does for a step.
func CleanOutline(field string, o Outline) (Outline, error) {
	c := cleaner{field: field}
	c.required(&o.Objective, "objective", MaxLongLine)
	c.block(&o.Summary, "summary", MaxSummary)
	c.block(&o.ContextNotes, "context_notes", MaxLongText)
	c.lines(&o.Questions, "questions", MaxLongLine)
	c.block(&o.Reasoning, "reasoning", MaxLongText)
	if k := o.Metadata.Complexity; k < 0 || k > 10 {
		c.refuse("metadata/complexity", fmt.Sprintf("complexity %d is out of range (1 to 10)", k), "give 1 to 10, or leave it out")
	}
	c.lines(&o.Metadata.Tags, "metadata/tags", MaxHint)
	c.lines(&o.Metadata.Constraints, "metadata/constraints", MaxLongLine)
	c.lines(&o.Metadata.InformedBy, "metadata/informed_by", MaxPath)
	c.count(o.EstimatedDuration, "estimated_duration", maxSeconds)
	if c.err != nil {
		return Outline{}, c.err
	}
	return o, nil
}

// cleaner cleans fields in place and keeps the first refusal.
type cleaner struct {
	field string
	err   error
}

func (c *cleaner) spec(s *Spec) {
	c.required(&s.Title, "title", MaxLongLine)
	c.block(&s.Details, "details", MaxLongText)
	c.keep(OneOf(c.at("type"), s.Type))
	c.ids(&s.DependsOn, "depends_on")
	c.lines(&s.ContextHints, "context_hints", MaxHint)
	c.paths(&s.RelevantFilePaths, "relevant_file_paths")
	c.paths(&s.Creates, "creates")
	c.lines(&s.AcceptanceCriteria, "acceptance_criteria", MaxLongLine)
	c.line(&s.SuggestedAgent, "suggested_agent", MaxHint)
	c.keep(OneOf(c.at("risk"), s.Risk))
	c.lines(&s.Tools, "tools", MaxHint)
	c.line(&s.Tool, "tool", MaxHint)
	c.raw(&s.Args, "args")
	if len(s.Args) > 0 && s.Args[0] != '{' {
		c.refuse("args", "is no JSON object", "give the arguments by name, such as {\"path\":\"go.mod\"}")
	}
	c.count(s.Timeout, "timeout", maxSeconds)
	c.line(&s.Pause, "pause", MaxLongLine)
	c.line(&s.When, "when", MaxLongLine)
	c.line(&s.ForEach, "for_each", MaxLongLine)
	c.line(&s.Verify, "verify", MaxLongLine)
}

func (c *cleaner) progress(p *Progress) {
	c.keep(OneOf(c.at("status"), p.Status))
	c.each(&p.Notes, "notes", MaxNotes, func(text *string, name string) {
		c.text(text, name, Text{Max: MaxLongText, Multiline: true}, true)
	})
	c.evidence(&p.Evidence)
	c.result(&p.Result)
	c.block(&p.Output, "output", MaxLongText)
	c.block(&p.Error, "error", MaxLongText)
	c.lines(&p.AffectedFiles, "affected_files", MaxPath) // a report of what was; nothing opens them
	c.count(p.Attempts, "attempts", maxSeconds)
	c.line(&p.ClaimedBy, "claimed_by", MaxHint)
	c.time(&p.LeaseUntil, "lease_until")
	c.line(&p.ExecutedBy, "executed_by", MaxHint)
	c.time(&p.StartedAt, "started_at")
	c.time(&p.CompletedAt, "completed_at")
}

func (c *cleaner) evidence(list *[]Evidence) {
	if !c.fits(len(*list), "evidence", MaxList) {
		return
	}
	*list = emptyIsNone(slices.Clone(*list))
	for i := range *list {
		e, name := &(*list)[i], fmt.Sprintf("evidence/%d/", i)
		c.line(&e.Criterion, name+"criterion", MaxLongLine)
		c.block(&e.Command, name+"command", MaxLongText)
		c.block(&e.Output, name+"output", MaxLongText)
		c.block(&e.Note, name+"note", MaxLongText)
		c.line(&e.By, name+"by", MaxHint)
		c.time(&e.At, name+"at")
	}
}

func (c *cleaner) result(r **Result) {
	if *r == nil {
		return
	}
	clean := **r
	c.raw(&clean.Value, "result/value")
	c.block(&clean.Error, "result/error", MaxLongText)
	if clean.Duration < 0 {
		c.refuse("result/duration", fmt.Sprintf("%d is negative", clean.Duration), "give milliseconds")
	}
	c.time(&clean.Timestamp, "result/timestamp")
	*r = &clean
}

func (c *cleaner) at(name string) string { return c.field + "/" + name }

func (c *cleaner) keep(err error) {
	if c.err == nil {
		c.err = err
	}
}

func (c *cleaner) refuse(name, problem, fix string) {
	c.keep(&ValidationError{Kind: InvalidInput, Field: c.at(name), Problem: problem, Fix: fix})
}

func (c *cleaner) text(text *string, name string, rule Text, required bool) {
	if c.err != nil {
		return
	}
	rule.Field = c.at(name)
	clean, err := rule.Clean(*text)
	if required && err == nil {
		clean, err = rule.Required(*text)
	}
	c.keep(err)
	*text = clean
}

func (c *cleaner) required(text *string, name string, longest int) {
	c.text(text, name, Text{Max: longest}, true)
}

func (c *cleaner) line(text *string, name string, longest int) {
	c.text(text, name, Text{Max: longest}, false)
}

func (c *cleaner) block(text *string, name string, longest int) {
	c.text(text, name, Text{Max: longest, Multiline: true}, false)
}

// each cleans the entries of a copy of list.
func (c *cleaner) each(list *[]string, name string, most int, clean func(text *string, name string)) {
	if !c.fits(len(*list), name, most) {
		return
	}
	*list = emptyIsNone(slices.Clone(*list))
	for i := range *list {
		clean(&(*list)[i], fmt.Sprintf("%s/%d", name, i))
	}
}

func (c *cleaner) lines(list *[]string, name string, longest int) {
	c.each(list, name, MaxList, func(text *string, name string) { c.required(text, name, longest) })
}

func (c *cleaner) paths(list *[]string, name string) {
	c.each(list, name, MaxList, func(text *string, name string) {
		c.required(text, name, MaxPath)
		if problem := pathProblem(*text); problem != "" {
			c.refuse(name, Quote(*text)+" "+problem, "give a path relative to the workspace, with /")
		}
	})
}

func (c *cleaner) ids(list *[]StepID, name string) {
	if !c.fits(len(*list), name, DefaultMaxSteps) {
		return
	}
	seen := make(map[StepID]bool, len(*list))
	var ids []StepID
	for i, id := range *list {
		if id < 1 || id > MaxStepID {
			c.refuse(fmt.Sprintf("%s/%d", name, i), fmt.Sprintf("%d is not the number of a step", int(id)), "name steps as S001")
		}
		if !seen[id] {
			ids = append(ids, id)
		}
		seen[id] = true
	}
	*list = ids
}

// raw compacts a JSON value, which must be valid and bounded.
func (c *cleaner) raw(value *json.RawMessage, name string) {
	if c.err != nil || len(*value) == 0 {
		*value = nil
		return
	}
	if len(*value) > maxArgs {
		c.refuse(name, fmt.Sprintf("has %d bytes", len(*value)), fmt.Sprintf("shorten it to at most %d", maxArgs))
		return
	}
	if pointer, problem := CheckJSON(*value, MaxNesting); problem != "" {
		c.refuse(name+pointer, problem, "give one JSON value")
		return
	}
	var compact bytes.Buffer
	_ = json.Compact(&compact, *value) // it is known to be valid
	*value = compact.Bytes()
}

func (c *cleaner) count(n int, name string, most int) {
	if n < 0 || n > most {
		c.refuse(name, fmt.Sprintf("%d is out of range", n), fmt.Sprintf("give 0 to %d", most))
	}
}

// time brings t to the resolution of the log.
func (c *cleaner) time(t *time.Time, name string) {
	*t = t.UTC().Truncate(time.Millisecond)
	if y := t.Year(); y < 1 || y > 9999 {
		c.refuse(name, "is out of range", "give a time such as 2026-01-23T10:00:00Z")
	}
}

func (c *cleaner) fits(n int, name string, most int) bool {
	if n > most {
		c.refuse(name, fmt.Sprintf("has %d entries", n), fmt.Sprintf("give at most %d", most))
	}
	return n <= most
}

func emptyIsNone[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// pathProblem says why text, which is clean in itself, is no path within the
// workspace, or returns "". Patterns and directories are paths too.
func pathProblem(text string) string {
	switch {
	case strings.ContainsRune(text, '\\'):
		return "has a backslash"
	case strings.HasPrefix(text, "/"):
		return "is absolute"
	case strings.HasPrefix(text, "~"):
		return "begins in a home directory"
	case hasDrive(text):
		return "begins with a drive"
	}
	if clean := path.Clean(text); clean == ".." || strings.HasPrefix(clean, "../") {
		return "leaves the workspace"
	}
	return ""
}

func hasDrive(text string) bool {
	if len(text) < 2 || text[1] != ':' {
		return false
	}
	letter := text[0] | 0x20
	return letter >= 'a' && letter <= 'z'
}
