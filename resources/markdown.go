package resources

import (
	"bytes"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Markdown returns the current plan as a check list under its objective, for reading and importing. The other fields of
// a step are nested below its title: details as text, the others as "- label: value". The boxes are [ ] pending, [/] in
// progress, [x] done, [-] skipped and [!] failed; a blocked step ([ ]) and a cancelled one ([-]) name their status.
func Markdown(s plan.State) []byte { return markdown(s, false) }

// TimelessMarkdown is Markdown without times and durations. A copy in a repository changes only with the plan.
func TimelessMarkdown(s plan.State) []byte { return markdown(s, true) }

func markdown(s plan.State, isTimeless bool) []byte {
	if s.Plan == nil {
		return []byte("No plan yet.\n")
	}
	w := markdownWriter{p: s.Plan, isTimeless: isTimeless}
	w.printf("# %s\n\n%s\n", EscapeInline(s.Plan.Objective), statusLine(s.Plan))
	w.section("Summary", s.Plan.Summary)
	w.section("Context notes", s.Plan.ContextNotes)
	w.section("Reasoning", s.Plan.Reasoning)
	w.section("Changes", s.Plan.Changes)
	w.about()
	w.section("Final summary", s.Plan.FinalSummary)
	w.steps()
	return []byte(w.out.String())
}

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
	p          *plan.Plan
	isTimeless bool
	out        strings.Builder
	sections   int
}

func (w *markdownWriter) printf(format string, args ...any) {
	_, _ = fmt.Fprintf(&w.out, format, args...) // a strings.Builder never fails
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
	w.printf("%s\n", EscapeBlock("\n"+text, "")[1:])
}

func (w *markdownWriter) about() {
	var list attributes
	for _, f := range plan.PlanFields() {
		switch f.Kind {
		case plan.LinesField, plan.CountField, plan.SecondsField:
			list.add(f.Label, f.Texts(w.p)...)
		}
	}
	if list.Len() == 0 {
		return
	}
	w.heading("About")
	w.printf("%s", list.String())
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
		w.printf("- [%s] %s %s\n", step.Status.Word(plan.BoxWords), step.ID, EscapeInline(step.Title))
		w.nested(step)
	}
}

func (w *markdownWriter) nested(step *plan.Step) {
	const margin = "  "
	if step.Details != "" {
		w.printf("%s\n\n", EscapeBlock("\n"+step.Details, margin))
	}
	rest := *step // the fields not written elsewhere
	rest.Title, rest.Details, rest.LeaseUntil = "", "", time.Time{}
	if step.Status != plan.Blocked && step.Status != plan.Cancelled {
		rest.Status = ""
	}
	if w.isTimeless {
		rest.StartedAt, rest.CompletedAt, rest.Result = time.Time{}, time.Time{}, nil
	}
	list := attributes{margin: margin}
	list.fields(plan.SpecFields(), &rest)
	if !step.Status.IsFinished() {
		list.add("waiting on", plan.ListIDs(w.p.Steps.UnmetDependencies(step.ID)))
	}
	if ask := step.OpenQuestion(); ask != nil {
		list.add("asks", strings.TrimSuffix(string(ask.Kind)+": "+ask.Text, ": "))
	}
	if loop := step.Loop(); loop != 0 {
		list.add("part of the loop", loop.String())
	}
	list.fields(plan.ProgressFields(), &rest)
	w.printf("%s", list.String())
}

type attributes struct {
	margin string
	strings.Builder
}

func (a *attributes) add(label string, values ...string) {
	for _, v := range values {
		if v != "" {
			a.WriteString(a.margin + "- " + label + ": " + EscapeBlock(v, a.margin+"  ") + "\n")
		}
	}
}

func (a *attributes) fields(fields []plan.Field[plan.Step], step *plan.Step) {
	for _, f := range fields {
		a.add(f.Label, f.Texts(step)...)
	}
}

// EscapeInline escapes text so that Markdown shows it unchanged, without code, links, HTML, emphasis or entities. Line
// breaks are kept.
func EscapeInline(text string) string {
	runes := []rune(text)
	var b strings.Builder
	for i, r := range runes {
		if special(runes, i) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func special(runes []rune, i int) bool {
	near := func(k int) rune {
		if k < 0 || k >= len(runes) {
			return ' '
		}
		return runes[k]
	}
	before, after := near(i-1), near(i+1)
	switch runes[i] {
	case '\\', '`', '*', '[', ']', '<':
		return true
	case '_': // no emphasis within a word
		return !wordRune(before) || !wordRune(after)
	case '~':
		return before == '~' || after == '~'
	case '&':
		return after == '#' || unicode.IsLetter(after)
	case '#': // would open a heading or close one
		return before == ' ' || before == '\n' || before == '#'
	}
	return false
}

func wordRune(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// escapeLine is EscapeInline for text at the beginning of a line, where more characters have a meaning.
func escapeLine(line string) string {
	body := strings.TrimLeft(line, " \t")
	blanks := line[:len(line)-len(body)]
	if n := orderedMarker(body); n > 0 {
		return blanks + body[:n] + `\` + EscapeInline(body[n:])
	}
	if body != "" && strings.IndexByte("-+=>|:", body[0]) >= 0 {
		return blanks + `\` + EscapeInline(body)
	}
	return blanks + EscapeInline(body)
}

// orderedMarker returns the number of digits before the dot or bracket of an ordered list's marker, 0 without a marker.
func orderedMarker(line string) int {
	n := strings.IndexFunc(line, func(r rune) bool { return r < '0' || r > '9' })
	if n > 0 && (line[n] == '.' || line[n] == ')') {
		return n
	}
	return 0
}

// EscapeBlock escapes text of several lines and adds margin and mark to all but the first. It removes blanks at line ends,
// since two of them would force a line break. Unmark is its inverse for the marks.
func EscapeBlock(text, margin string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = escapeLine(strings.TrimRight(line, " \t"))
		if i > 0 {
			lines[i] = strings.TrimRight(margin+safetext.Mark+lines[i], " ")
		}
	}
	return strings.Join(lines, "\n")
}

var marks = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^((?:  )*)  \|(?: |$)`) })

// Unmark removes the marks from a check list that Markdown wrote; other text is returned unchanged.
func Unmark(text []byte) []byte {
	if !bytes.Contains(text, []byte("\nStatus: ")) {
		return text
	}
	return marks().ReplaceAll(text, []byte("$1"))
}
