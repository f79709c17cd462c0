package resources

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/planloop/planloop/plan"
)

// MarkdownOptions says how much Markdown shows. The zero value shows everything.
type MarkdownOptions struct {
	Short bool // the objective and a line for each step, nothing else
	Notes int  // the last notes of each step; 0 is all
}

// Markdown returns the current plan as a check list under its objective, to read
// and to import again. What a step has besides its title stands nested below it:
// details as text, everything else as "- label: value". The boxes are [ ] pending,
// [/] in progress, [x] done, [-] skipped and [!] failed; a blocked step ([ ]) and
// a cancelled one ([-]) name their status.
func Markdown(s plan.State, o MarkdownOptions) []byte {
	if s.Plan == nil {
		return []byte("There is no plan yet.\n")
	}
	w := markdownWriter{p: s.Plan, o: o}
	w.printf("# %s\n\n%s\n", escapeInline(s.Plan.Objective), statusLine(s.Plan))
	if !o.Short {
		w.section("Summary", s.Plan.Summary)
		w.section("Context notes", s.Plan.ContextNotes)
		w.section("Reasoning", s.Plan.Reasoning)
		w.section("Changes", s.Plan.Changes)
		w.about()
		w.section("Final summary", s.Plan.FinalSummary)
	}
	w.steps()
	return []byte(w.out.String())
}

// statusLine says where the plan stands.
func statusLine(p *plan.Plan) string {
	line := fmt.Sprintf("Status: %s, %d of %d done", p.Status, p.Steps.Count(plan.Done), p.Steps.Len())
	if p.Version > 1 {
		line += ", version " + strconv.Itoa(p.Version)
	}
	if next := p.Steps.Next(); next != nil {
		line += ", next " + next.ID.String()
	}
	return line
}

type markdownWriter struct {
	p        *plan.Plan
	o        MarkdownOptions
	out      strings.Builder
	sections int
}

func (w *markdownWriter) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(&w.out, format, args...) // a strings.Builder takes everything
}

func (w *markdownWriter) heading(name string) {
	w.sections++
	w.printf("\n## %s\n\n", name)
}

func (w *markdownWriter) section(name, text string) {
	if text == "" {
		return
	}
	w.heading(name)
	w.printf("%s\n", escapeBlock(text, ""))
}

func (w *markdownWriter) about() {
	p := w.p
	list := attributes{}
	list.each("question", p.Questions)
	list.number("complexity", p.Metadata.Complexity, "")
	list.each("tag", p.Metadata.Tags)
	list.each("constraint", p.Metadata.Constraints)
	list.each("informed by", p.Metadata.InformedBy)
	list.number("estimated duration", p.EstimatedDuration, " s")
	if len(list) == 0 {
		return
	}
	w.heading("About")
	list.write(&w.out, "")
}

func (w *markdownWriter) steps() {
	if w.p.Steps.Len() == 0 {
		return
	}
	if w.sections > 0 {
		w.heading("Steps")
	} else {
		w.printf("\n")
	}
	for step := range w.p.Steps.All() {
		w.printf("- [%s] %s %s\n", box(step.Status), step.ID, escapeInline(step.Title))
		if !w.o.Short {
			w.nested(step)
		}
	}
}

func (w *markdownWriter) nested(step *plan.Step) {
	const margin = "  "
	if step.Details != "" {
		w.printf("\n%s%s\n\n", margin, escapeBlock(step.Details, margin))
	}
	list := attributes{}
	if step.Status == plan.Blocked || step.Status == plan.Cancelled {
		list.text("status", string(step.Status))
	}
	list.spec(step)
	if !step.Status.Finished() {
		list.ids("waiting on", w.p.Steps.WaitingOn(step.ID))
	}
	list.progress(step, w.o.Notes)
	list.write(&w.out, margin)
}

func box(status plan.StepStatus) string {
	switch status {
	case plan.InProgress:
		return "/"
	case plan.Done:
		return "x"
	case plan.Skipped, plan.Cancelled:
		return "-"
	case plan.Failed:
		return "!"
	}
	return " "
}

// attributes is a list of labelled values.
type attributes []attribute

type attribute struct{ label, value string }

func (a *attributes) text(label, value string) {
	if value != "" {
		*a = append(*a, attribute{label, value})
	}
}

func (a *attributes) each(label string, values []string) {
	for _, v := range values {
		a.text(label, v)
	}
}

func (a *attributes) number(label string, n int, unit string) {
	if n != 0 {
		a.text(label, strconv.Itoa(n)+unit)
	}
}

func (a *attributes) flag(label string, set bool) {
	if set {
		a.text(label, "yes")
	}
}

func (a *attributes) ids(label string, ids []plan.StepID) {
	words := make([]string, len(ids))
	for i, id := range ids {
		words[i] = id.String()
	}
	a.text(label, strings.Join(words, ", "))
}

func (a *attributes) time(label string, t time.Time) {
	if !t.IsZero() {
		a.text(label, t.Format(time.RFC3339Nano))
	}
}

func (a *attributes) spec(step *plan.Step) {
	a.text("type", string(step.Type))
	a.ids("depends on", step.DependsOn)
	a.text("risk", string(step.Risk))
	a.each("hint", step.ContextHints)
	a.each("path", step.RelevantFilePaths)
	a.each("creates", step.Creates)
	a.each("criterion", step.AcceptanceCriteria)
	a.text("verify", step.Verify)
	a.text("agent", step.SuggestedAgent)
	a.each("may use", step.Tools)
	a.text("tool", step.Tool)
	a.text("args", string(step.Args))
	a.flag("critical", step.Critical)
	a.flag("idempotent", step.Idempotent)
	a.flag("needs approval", step.RequiresApproval)
	a.number("timeout", step.Timeout, " s")
	a.text("pause", step.Pause)
	a.text("when", step.When)
	a.text("for each", step.ForEach)
}

func (a *attributes) progress(step *plan.Step, lastNotes int) {
	notes := step.Notes
	if lastNotes > 0 && len(notes) > lastNotes {
		notes = notes[len(notes)-lastNotes:]
		a.number("earlier notes", len(step.Notes)-lastNotes, "")
	}
	a.each("note", notes)
	for _, e := range step.Evidence {
		a.text("evidence", evidenceText(e))
	}
	a.text("output", step.Output)
	a.text("error", step.Error)
	a.text("result", resultText(step.Result))
	a.each("affected file", step.AffectedFiles)
	a.text("claimed by", step.ClaimedBy)
	a.text("executed by", step.ExecutedBy)
	a.number("attempts", step.Attempts, "")
	a.time("started", step.StartedAt)
	a.time("completed", step.CompletedAt)
}

func evidenceText(e plan.Evidence) string {
	var parts []string
	add := func(text string) {
		if text != "" {
			parts = append(parts, text)
		}
	}
	add(e.Criterion)
	add(e.Command)
	if e.ExitCode != nil {
		add("exit status " + strconv.Itoa(*e.ExitCode))
	}
	add(e.Note)
	add(e.Output)
	return strings.Join(parts, "; ")
}

func resultText(r *plan.Result) string {
	switch {
	case r == nil:
		return ""
	case r.OK:
		return fmt.Sprintf("ok after %d ms", r.Duration)
	}
	return fmt.Sprintf("failed after %d ms: %s", r.Duration, r.Error)
}

func (a attributes) write(w io.StringWriter, margin string) {
	for _, each := range a {
		_, _ = w.WriteString(margin + "- " + each.label + ": " + escapeBlock(each.value, margin+"  ") + "\n")
	}
}
