package exchange

import (
	"strings"

	"github.com/planloop/planloop/plan"
)

// parseMarkdown reads a check list: the first heading is the objective, every
// item with a box a step, what is nested below an item its details or, as
// "- label: value", another of its fields. In a text without any box the items of
// its lists are the steps.
func parseMarkdown(text string, limits Limits) (*source, error) {
	r := &markdownReader{
		src:      &source{call: plan.StepID.String, shape: shape{foldLines: true}},
		boxes:    checkItem().MatchString(text),
		front:    strings.HasPrefix(text, "---\n") && strings.Contains(text[3:], "\n---\n"),
		sections: map[string]*textBlock{},
	}
	for i, line := range strings.Split(text, "\n") {
		if len(r.src.steps) > limits.Steps {
			break // it is refused anyway
		}
		r.number = i + 1
		r.line(line)
	}
	r.endStep()
	r.finish()
	return r.src, nil
}

// markdownReader reads line by line.
type markdownReader struct {
	src      *source
	boxes    bool // the text has boxes, so an item without one is no step
	number   int  // of the line
	fence    string
	comment  bool
	front    bool // within front matter
	section  string
	heading  string // the section as it is written, when it is not one of ours
	sections map[string]*textBlock
	order    []string
	step     *markdownStep
	blank    bool // the line before was blank
	seen     map[string]bool
}

// markdownStep is the item that is being read.
type markdownStep struct {
	sourceStep
	indent, content int // columns of its marker and of its text
	details         textBlock
	label           string // of the nested item that is being read
	value           *textBlock
	valueIndent     int
}

var (
	headingLine = pattern(`^(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	itemLine    = pattern(`^([-*+]|\d{1,9}[.)])(?:[ \t]+(.*))?$`)
	boxText     = pattern(`^\[([ xX/!~>-])\](?:[ \t]+(.*))?$`)
	fenceLine   = pattern("^(```+|~~~+)")
	ownID       = pattern(`^(S\d{3,6})[ \t]+(.*)$`)
)

func (r *markdownReader) line(line string) {
	indent, body := measure(line)
	if r.skipped(body) {
		return
	}
	switch {
	case r.fence != "":
		r.raw(line)
		if strings.HasPrefix(body, r.fence) && strings.Trim(body, r.fence[:1]) == "" {
			r.fence = ""
		}
	case body == "":
		r.blankLine()
		return
	case fenceLine().MatchString(body):
		r.fence = fenceLine().FindString(body)
		r.leaveStep(indent)
		r.raw(line)
	case indent < 2 && headingLine().MatchString(body):
		r.headingAt(body)
	case itemLine().MatchString(body):
		m := itemLine().FindStringSubmatch(body)
		r.item(line, indent, indent+len(m[1])+1, m[2])
	case strings.Trim(body, "=") == "" && r.underlined():
	default:
		r.leaveStep(indent)
		r.text(line, indent)
	}
	r.blank = false
}

// skipped reports whether the line belongs to front matter or to a comment.
func (r *markdownReader) skipped(body string) bool {
	switch {
	case r.front:
		r.front = r.number == 1 || body != "---"
		return true
	case r.fence != "":
		return false
	case r.comment || strings.HasPrefix(body, "<!--"):
		r.comment = !strings.Contains(body, "-->")
		return true
	}
	return false
}

func (r *markdownReader) headingAt(body string) {
	r.endStep()
	title := strings.TrimSpace(unescape(headingLine().FindStringSubmatch(body)[2]))
	if r.src.outline.Objective == "" && len(r.src.steps) == 0 {
		r.src.outline.Objective = title
		return
	}
	r.section, r.heading = strings.ToLower(title), title
}

// underlined takes the line before for the objective if it is the first of all.
func (r *markdownReader) underlined() bool {
	text := r.sections[""]
	if r.src.outline.Objective != "" || r.step != nil || len(r.src.steps) > 0 || r.blank || text == nil || text.String() == "" {
		return false
	}
	last := len(text.lines) - 1
	r.src.outline.Objective, text.lines = strings.TrimSpace(text.lines[last]), text.lines[:last]
	return r.src.outline.Objective != ""
}

// leaveStep ends the step at a line that is not part of it: one at the margin,
// after a blank line.
func (r *markdownReader) leaveStep(indent int) {
	if r.step != nil && r.blank && indent < r.step.indent+2 {
		r.endStep()
	}
}

// item reads a list item; content is the column of its text.
func (r *markdownReader) item(line string, indent, content int, text string) {
	box := boxText().FindStringSubmatch(text)
	nested := r.step != nil && indent >= 2 && (indent >= r.step.indent+2 || box == nil)
	switch {
	case r.step != nil && r.step.value != nil && indent >= r.step.valueIndent+2 && box == nil:
		r.text(line, indent)
	case nested && box == nil:
		r.nestedItem(indent, text)
	case box != nil:
		if nested {
			r.once("Nested boxes became steps of their own.")
		}
		r.endStep()
		r.begin(indent, content, statusOfBox(box[1]), box[2])
	case r.section == aboutSection:
		r.endStep()
		r.about(text)
	case r.boxes || sectionKind(r.section) == textSection:
		r.endStep()
		r.text(line, indent)
	default:
		r.once("There are no boxes: every item of a list became a step.")
		r.endStep()
		r.begin(indent, content, plan.Pending, text)
	}
}

func (r *markdownReader) begin(indent, content int, status plan.StepStatus, title string) {
	s := &markdownStep{indent: indent, content: content}
	s.at, s.Status = lineName(r.number), status
	if m := ownID().FindStringSubmatch(title); m != nil {
		if id, err := plan.ParseStepID(m[1]); err == nil {
			s.own, title = id, m[2]
		}
	}
	s.Title = unescape(title)
	if r.heading != "" && sectionKind(r.section) == otherSection {
		s.ContextHints = []string{plan.Shorten("Section: "+r.heading, plan.MaxHint)}
		r.once("The headings that steps stand under became hints.")
	}
	r.step = s
}

func (r *markdownReader) nestedItem(indent int, text string) {
	s := r.step
	s.endValue(r)
	label, value, ok := labelled(text)
	if !ok {
		s.details.add("- "+unescape(text), false)
		r.once("Nested points became details of their step.")
		return
	}
	s.label, s.value, s.valueIndent = label, &textBlock{}, indent
	s.value.add(value, false)
}

// text adds a line to what is being read: a field of a step, its details, or the
// text of a section.
func (r *markdownReader) text(line string, indent int) {
	block, margin := r.sink(indent)
	block.add(dropColumns(line, margin), false)
}

// raw adds a line of a fenced block, in which nothing is escaped.
func (r *markdownReader) raw(line string) {
	indent, _ := measure(line)
	block, margin := r.sink(indent)
	block.add(dropColumns(line, margin), true)
}

func (r *markdownReader) sink(indent int) (block *textBlock, margin int) {
	s := r.step
	if s == nil {
		return r.sectionText(), 0
	}
	if s.value != nil && (indent >= s.valueIndent+2 || !r.blank) {
		return s.value, s.valueIndent + 2
	}
	s.endValue(r)
	return &s.details, s.content
}

func (r *markdownReader) sectionText() *textBlock {
	if r.sections[r.section] == nil {
		r.sections[r.section] = &textBlock{heading: r.heading}
		r.order = append(r.order, r.section)
	}
	return r.sections[r.section]
}

// blankLine adds a blank line to what is being read, which may go on after it.
func (r *markdownReader) blankLine() {
	r.blank = true
	switch {
	case r.step == nil:
		r.sectionText().add("", true)
	case r.step.value != nil:
		r.step.value.add("", true)
	default:
		r.step.details.add("", true)
	}
}

func (r *markdownReader) endStep() {
	s := r.step
	if s == nil {
		return
	}
	s.endValue(r)
	s.Details = s.details.String()
	r.src.steps = append(r.src.steps, s.sourceStep)
	r.step = nil
}

func (s *markdownStep) endValue(r *markdownReader) {
	if s.value == nil {
		return
	}
	label, value := s.label, s.value.String()
	s.label, s.value = "", nil
	if !r.set(&s.sourceStep, label, value) {
		s.details.add("- "+label+": "+value, true)
		r.once("Nested points became details of their step.")
	}
}

// once adds a note that is not there yet.
func (r *markdownReader) once(note string) {
	if r.seen == nil {
		r.seen = map[string]bool{}
	}
	if !r.seen[note] {
		r.seen[note] = true
		r.src.note("%s", note)
	}
}

// statusOfBox returns the status that a box stands for.
func statusOfBox(mark string) plan.StepStatus {
	switch mark {
	case "x", "X":
		return plan.Done
	case "/", "~":
		return plan.InProgress
	case "-":
		return plan.Skipped
	case "!":
		return plan.Failed
	}
	return plan.Pending
}
