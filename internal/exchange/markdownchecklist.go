package exchange

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/util"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// parseMarkdown reads a check list: the first heading is the objective, and every item with a box is a step.
// Text nested below an item becomes its details or, as "- label: value", another field. If the text has no
// boxes, all list items are steps.
//
// goldmark finds the lines of each block. The text is then taken from the lines unchanged: a plan keeps
// Markdown and does not render it.
func parseMarkdown(text []byte) (*source, error) {
	document, err := parseBlocks(resources.Unmark(text))
	if err != nil {
		return nil, err
	}
	r := &checkListReader{
		src:      &source{call: plan.StepID.String, foldLines: true},
		document: document,
		sections: map[string]*textBlock{},
	}
	r.boxes = r.anyBox(r.root)
	r.blocks()
	r.placeSections()
	return r.src, nil
}

// checkListReader builds a plan from the blocks of a document.
type checkListReader struct {
	*document
	src      *source
	boxes    bool // the text has boxes, so an item without one is not a step
	section  string
	heading  string // the section's heading, unless it is one of ours
	sections map[string]*textBlock
	order    []string
	context  []string // parts of the context notes
}

// region is a part of the document. Its lines become one text, except those that become steps or fields.
type region struct {
	text   *textBlock
	next   int         // first line that is not used yet
	margin int         // columns to drop from each line
	step   *sourceStep // receives the labelled items; nil: none
	top    bool        // an item without a box may be a step
	nested bool        // the text of a point is already at the margin
}

// upTo adds the unused lines before end to the text.
func (r *checkListReader) upTo(in *region, end int) {
	for ; in.next < end; in.next++ {
		if !r.hidden[in.next] {
			in.text.add(dropColumns(r.lines[in.next], in.margin), r.code[in.next])
		}
	}
}

// blocks reads the document from top to bottom. The first heading is the objective, and each later one begins a section.
func (r *checkListReader) blocks() {
	in := region{text: r.sectionText(), top: true}
	for block := r.root.FirstChild(); block != nil; block = block.NextSibling() {
		switch block := block.(type) {
		case *ast.Heading:
			r.upTo(&in, r.start(block))
			title := foldLine(strings.TrimSpace(unescape(string(block.Lines().Value(r.source)))))
			if r.src.outline.Objective == "" && len(r.src.steps) == 0 {
				r.src.outline.Objective = title
			} else {
				r.section, r.heading = strings.ToLower(title), title
			}
			in.text, in.next = r.sectionText(), r.opened[block]+1
		case *ast.List:
			r.lists(block, &in)
		}
	}
	r.upTo(&in, len(r.lines))
}

func (r *checkListReader) sectionText() *textBlock {
	if r.sections[r.section] == nil {
		r.sections[r.section] = &textBlock{heading: r.heading}
		r.order = append(r.order, r.section)
	}
	return r.sections[r.section]
}

// lists reads the items of a list, or of the lists within an item.
func (r *checkListReader) lists(node ast.Node, in *region) {
	for child := node.FirstChild(); child != nil; child = child.NextSibling() {
		switch child := child.(type) {
		case *ast.ListItem:
			r.item(child, in)
		case *ast.List:
			r.lists(child, in)
		}
	}
}

var boxText = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\[([ xX/!~>-])\](?:[ \t]+(.*))?$`) })

// item reads a list item: a step, a field, or a part of the text.
func (r *checkListReader) item(item *ast.ListItem, in *region) {
	line, text := r.itemText(item)
	end := r.end(item)
	r.upTo(in, r.start(item))
	if box := boxText().FindStringSubmatch(text); box != nil {
		if in.step != nil {
			r.once("Nested boxes became steps of their own.")
		}
		mark := strings.NewReplacer("X", "x", "~", "/", ">", " ").Replace(box[1]) // other programs have marks of their own
		r.step(item, plan.BoxWords.Status(mark), box[2])
		in.next = end
		return
	}
	if in.step != nil {
		if label, value, ok := labelled(text); ok {
			r.field(item, in, label, value)
		} else {
			r.once("Nested points became details of their step.")
			r.point(item, in)
		}
		return
	}
	switch {
	case in.top && r.section == aboutSection:
		r.about(text)
		in.next = line + 1
	case in.top && !r.boxes && sectionKind(r.section) != textSection:
		r.once("Without check boxes, every list item became a step.")
		r.step(item, plan.Pending, text)
		in.next = end
	default:
		r.lists(item, in)
	}
}

// point adds an item and everything below it to the text, moved to the margin.
func (r *checkListReader) point(item *ast.ListItem, in *region) {
	margin, nested := in.margin, in.nested
	if !nested {
		in.margin, _ = util.IndentWidth([]byte(r.lines[r.start(item)]), 0)
	}
	in.nested = true
	r.lists(item, in)
	r.upTo(in, r.end(item))
	in.margin, in.nested = margin, nested
}

// field reads "label: value". The value may continue on the lines below.
func (r *checkListReader) field(item *ast.ListItem, in *region, label, value string) {
	line, _ := r.itemText(item)
	rest := region{text: &textBlock{}, next: line + 1, margin: contentColumn(item)}
	rest.text.add(value, false)
	r.lists(item, &rest)
	r.upTo(&rest, r.end(item))
	if !r.set(in.step, label, rest.text.String()) {
		in.text.add("- "+label+": "+rest.text.String(), true)
		r.once("Nested points became details of their step.")
	}
	in.next = r.end(item)
}

var ownID = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(S\d{3,6})[ \t]+(.*)$`) })

// step reads an item that is a step, then the steps nested below it.
func (r *checkListReader) step(item *ast.ListItem, status plan.StepStatus, title string) {
	at := len(r.src.steps)
	if at > maxSteps { // action refuses the plan
		return
	}
	line, _ := r.itemText(item)
	s := sourceStep{at: fmt.Sprintf("line %d", line+1)}
	s.Status = status
	if m := ownID().FindStringSubmatch(title); m != nil {
		if id, err := plan.ParseStepID(m[1]); err == nil && id.String() == m[1] {
			s.ID, title = id, m[2]
		}
	}
	s.Title = unescape(title)
	if r.heading != "" && sectionKind(r.section) == otherSection {
		s.ContextHints = []string{plan.Shorten("Section: "+r.heading, plan.MaxHint)}
		r.once("The headings above steps became hints.")
	}
	r.src.steps = append(r.src.steps, s)
	details := region{text: &textBlock{}, next: line + 1, margin: contentColumn(item), step: &s}
	r.lists(item, &details)
	r.upTo(&details, r.end(item))
	s.Details = details.text.String()
	r.src.steps[at] = s
}

// once adds a note unless it is already there.
func (r *checkListReader) once(note string) {
	if !slices.Contains(r.src.notes, note) {
		r.src.notes = append(r.src.notes, note)
	}
}

// sectionSort is a kind of section in a check list.
type sectionSort int

const (
	otherSection sectionSort = iota
	stepSection
	textSection
)

const aboutSection = "about"

// sectionKind recognizes our own and the usual section names.
func sectionKind(name string) sectionSort {
	switch name {
	case "", "steps", "tasks", "todo", "to do", "checklist", "check list", "plan":
		return stepSection
	case "summary", "context notes", "context", "reasoning", "changes", "final summary", aboutSection:
		return textSection
	}
	return otherSection
}

// placeSections assigns the texts of the sections to fields.
func (r *checkListReader) placeSections() {
	o := &r.src.outline
	for _, name := range r.order {
		text := r.sections[name].String()
		if name == "" {
			text = r.withoutStatus(text)
		}
		if text == "" {
			continue
		}
		switch {
		case name == "summary", name == "" && utf8.RuneCountInString(text) <= plan.MaxSummary:
			o.Summary = text
		case name == "context notes", name == "context", name == "":
			r.context = append(r.context, text)
		case name == "reasoning":
			o.Reasoning = text
		case name == "changes", name == "final summary":
			r.once("The changes of former versions and the final summary are left out.")
		default:
			r.context = append(r.context, r.sections[name].heading+"\n\n"+text)
			r.once("Text outside of the list went into the context notes.")
		}
	}
	o.ContextNotes = strings.Join(r.context, "\n\n")
	if o.Objective == "" {
		o.Objective = "Imported check list"
		r.once("The text has no heading that could be the objective.")
	}
}

var statusLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^Status: ([a-z]+), \d+ of \d+ done[^\n]*`) })

// withoutStatus removes the line with the status of an exported plan.
func (r *checkListReader) withoutStatus(text string) string {
	m := statusLine().FindStringSubmatch(text)
	if m == nil {
		return text
	}
	r.src.draft = m[1] == string(plan.StatusDraft)
	return strings.TrimSpace(strings.TrimPrefix(text, m[0]))
}

// stepField returns the field of a step for a label in a check list. Title and details have no labels.
func stepField(label string) (plan.Field[plan.Step], bool) {
	for _, f := range plan.StepFields() {
		if f.Label == label && f.Name != "title" && f.Name != "details" {
			return f, true
		}
	}
	return plan.Field[plan.Step]{}, false
}

// labelled splits "label: value" if the label is one that we write.
func labelled(text string) (label, value string, ok bool) {
	label, value, ok = strings.Cut(text, ":")
	label = strings.ToLower(strings.Trim(label, "* \t"))
	value = strings.TrimSpace(strings.TrimPrefix(value, "**"))
	if !ok || label == "waiting on" || label == "earlier notes" { // an export adds these labels, which are not fields
		return label, value, ok
	}
	_, ok = stepField(label)
	return label, value, ok
}

// set puts a value into the field that label names. It returns false if the value is not valid; the caller
// then keeps it in the details.
func (r *checkListReader) set(s *sourceStep, label, value string) bool {
	f, ok := stepField(label)
	switch {
	case f.Name == "evidence":
		r.once("Evidence was kept as text.")
	case f.Name == "result":
		r.once("Results of steps are left out.")
		return true
	case f.ShownOnly, !ok:
		return true
	}
	return f.Set(&s.Step, value)
}

// about reads an item of the section that holds the plan's own fields.
func (r *checkListReader) about(text string) {
	label, value, _ := strings.Cut(text, ":")
	p := plan.Plan{Outline: r.src.outline}
	for _, f := range plan.PlanFields() {
		ofSection := f.Kind == plan.LinesField || f.Kind == plan.CountField || f.Kind == plan.SecondsField
		if ofSection && f.Label == strings.ToLower(label) && f.Set(&p, unescape(strings.TrimSpace(value))) {
			r.src.outline = p.Outline
			return
		}
	}
	r.context = append(r.context, unescape(text))
}

// markdownLosses returns sentences about the parts of p that an import of the check list would lose.
func markdownLosses(p *plan.Plan) []string {
	return losses("Reading this file back would lose", p,
		func(f plan.Field[plan.Plan]) bool { return !f.ShownOnly },
		func(f plan.Field[plan.Step], _ *plan.Step) bool { return !f.ShownOnly })
}
