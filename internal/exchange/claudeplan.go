package exchange

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

var (
	numberedTitle = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^(?:(?i:step|phase|task|part|stage|change)\s+)?\d{1,3}\s*[.):–—-]\s*(\S.*)$`)
	})
	stepsTitle = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:steps?|implementation|plan|approach|tasks?|changes|to-?dos?|phases?|actions?)\b`)
	})
	otherTitle = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\b(?:verif\w*|test\w*|context|background|risks?|questions?|files?|notes?|goals?|` +
			`summary|overview)\b`)
	})
)

func claudePlanRow() row {
	return row{format: ClaudePlan, about: "a Markdown plan, as Claude Code's plan mode writes one", text: "Plan of Claude Code",
		files: []string{".claude/plans/*.md"}, read: parseClaudePlan,
		plan: []string{"objective", "summary", "context_notes", "reasoning"}, steps: []string{"details", "acceptance_criteria"},
		write: func(r *row, s plan.State) ([]byte, []string, error) { return claudePlan(s.Plan), r.losses(s.Plan), nil }}
}

const doneWhen = "Done when: " // what stands before a criterion

// claudePlan writes a plan as a text for people.
func claudePlan(p *plan.Plan) []byte {
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", resources.EscapeInline(p.Objective))
	if text := paragraphs(p.Summary, p.ContextNotes, p.Reasoning); text != "" {
		fmt.Fprintf(&b, "\n## Context\n\n%s\n", resources.EscapeBlock(text, ""))
	}
	b.WriteString("\n## Steps\n\n")
	i := 0
	for step := range p.Steps.All() {
		i++
		mark := fmt.Sprintf("%d. ", i)
		margin := strings.Repeat(" ", len(mark))
		fmt.Fprintf(&b, "%s%s\n", mark, resources.EscapeBlock(step.Title, margin))
		if step.Details != "" {
			fmt.Fprintf(&b, "\n%s%s\n\n", margin, resources.EscapeBlock(step.Details, margin))
		}
		for _, criterion := range step.AcceptanceCriteria {
			fmt.Fprintf(&b, "%s- %s%s\n", margin, doneWhen, resources.EscapeInline(criterion))
		}
	}
	return []byte(b.String())
}

// parseClaudePlan reads a plan that was written for people. Its steps are the boxes; else the
// sections that are numbered; else the items of an ordered list, the subsections or the points where
// the steps are told. Everything else goes into the context notes. A text that lists nothing is one step.
func parseClaudePlan(in input) (*source, error) {
	text := string(in.text)
	if checkItem().MatchString(text) {
		src, err := parseMarkdown(text)
		if err == nil {
			src.outline.Objective = cmp.Or(planTitle(src.outline.Objective), in.row.text)
		}
		return src, err
	}
	lines := strings.Split(text, "\n")
	if len(lines) > maxLines {
		return nil, refuse("", fmt.Sprintf("the text has %d lines; at most %d are read", len(lines), maxLines), "split the plan")
	}
	blankFrontMatter(lines)
	document, err := parseBlocks(lines)
	if err != nil {
		return nil, err
	}
	r := planReader{document: document, taken: make([]bool, len(lines)), l: in.list("")}
	r.findSections()
	if len(r.sections) > 0 && (r.sections[0].level == 1 || len(r.sections) == 1) {
		r.l.outline.Objective = cmp.Or(planTitle(r.sections[0].title), in.row.text)
		r.taken[r.sections[0].at] = true
	}
	if !r.numbered() && !r.listed(ordered, stepsTitle().MatchString) && !r.subsections() && !r.listed(points, stepsTitle().MatchString) &&
		!r.listed(ordered, func(title string) bool { return !otherTitle().MatchString(title) }) {
		r.l.add(task{Step: plan.Step{Spec: plan.Spec{Title: r.l.outline.Objective}}})
		r.l.note("No steps are told apart in it: it became one step, with the text in the context notes.")
	}
	r.rest()
	return r.l.done()
}

func planTitle(title string) string {
	for _, lead := range []string{"Plan: ", "Implementation Plan: ", "Plan for "} {
		title = strings.TrimPrefix(title, lead)
	}
	if word := strings.ToLower(title); word == "plan" || word == "implementation plan" { // which says nothing
		return ""
	}
	return title
}

// planReader makes a plan of a text for people.
type planReader struct {
	*document
	l        *list
	sections []planSection
	taken    []bool // the line is part of a step
}

// planSection is a heading with what follows it.
type planSection struct {
	title string
	level int
	at    int // the line of the heading
	body  int // the line behind it
	end   int // the line of the next heading of this level or above
}

func (r *planReader) findSections() {
	for block := r.root.FirstChild(); block != nil; block = block.NextSibling() {
		heading, is := block.(*ast.Heading)
		if !is {
			continue
		}
		title := plain(foldLine(strings.TrimSpace(string(heading.Lines().Value(r.source)))))
		s := planSection{title: title, level: heading.Level, at: r.start(block), body: r.opened[block] + 1, end: len(r.lines)}
		for i := range r.sections {
			if before := &r.sections[i]; before.end == len(r.lines) && before.level >= s.level {
				before.end = s.at
			}
		}
		r.sections = append(r.sections, s)
	}
}

// plain is a line without emphasis and escapes.
func plain(line string) string { return unescape(strings.ReplaceAll(line, "**", "")) }

// numbered takes the sections with numbers for steps, the outermost where several levels have some.
func (r *planReader) numbered() bool {
	for level := 2; level <= 6; level++ {
		var found []planSection
		for _, s := range r.sections {
			if s.level == level && numberedTitle().MatchString(s.title) {
				found = append(found, s)
			}
		}
		if len(found) < 2 {
			continue
		}
		for _, s := range found {
			r.section(s, numberedTitle().FindStringSubmatch(s.title)[1])
		}
		return true
	}
	return false
}

// subsections takes the sections within the one that tells the steps.
func (r *planReader) subsections() bool {
	for i, s := range r.sections {
		if s.level == 1 || !stepsTitle().MatchString(s.title) {
			continue
		}
		found := false
		for _, inner := range r.sections[i+1:] {
			if inner.at < s.end && inner.level == s.level+1 {
				r.section(inner, inner.title)
				found = true
			}
		}
		if found {
			return true
		}
	}
	return false
}

func (r *planReader) section(s planSection, title string) {
	for i := s.at; i < s.body; i++ {
		r.taken[i] = true
	}
	r.step(title, s.body, s.end, 0)
}

// step adds a step whose details are the lines that stand from one to another.
func (r *planReader) step(title string, from, to, margin int) {
	if len(r.l.tasks) > maxSteps { // more are refused anyway
		return
	}
	details, t := textBlock{}, task{at: fmt.Sprintf("line %d", from)}
	for i := from; i < to; i++ {
		r.taken[i] = true
		line := dropColumns(r.lines[i], margin)
		if criterion, is := strings.CutPrefix(line, "- "+doneWhen); is && !r.code[i] && len(t.AcceptanceCriteria) < plan.MaxList {
			t.AcceptanceCriteria = append(t.AcceptanceCriteria, unescape(criterion))
		} else if !r.hidden[i] {
			details.add(line, r.code[i])
		}
	}
	t.Title, t.Details = title, details.String()
	r.l.add(t)
}

func ordered(l *ast.List) bool { return l.IsOrdered() }
func points(*ast.List) bool    { return true }

// listed takes the items of the lists in a section that is meant, the first one that has some.
func (r *planReader) listed(kind func(*ast.List) bool, meant func(title string) bool) bool {
	found, in := false, -2
	for block := r.root.FirstChild(); block != nil; block = block.NextSibling() {
		list, is := block.(*ast.List)
		if !is || !kind(list) {
			continue
		}
		within, title := r.sectionAt(r.start(list))
		if !meant(title) || found && within != in {
			continue
		}
		for child := list.FirstChild(); child != nil; child = child.NextSibling() {
			item, is := child.(*ast.ListItem)
			if !is {
				continue
			}
			line, text := r.itemText(item)
			r.taken[line] = true
			r.step(plain(text), line+1, r.end(item), contentColumn(item))
		}
		found, in = true, within
	}
	return found
}

// sectionAt returns the innermost section that a line lies in, -1 for none.
func (r *planReader) sectionAt(line int) (at int, title string) {
	at = -1
	for i, s := range r.sections {
		if s.body <= line && line < s.end && s.level > 1 {
			at, title = i, s.title
		}
	}
	return at, title
}

// rest puts what is no step into the context notes.
func (r *planReader) rest() {
	rest := textBlock{}
	for i, line := range r.lines {
		if !r.taken[i] && !r.hidden[i] {
			rest.add(line, true)
		}
	}
	for _, s := range r.sections { // those of which nothing is left
		if strings.TrimSpace(rest.String()) == strings.TrimSpace(r.lines[s.at]) {
			rest.lines = nil
		}
	}
	r.l.outline.ContextNotes = rest.String()
	if len(r.l.outline.ContextNotes) > plan.MaxLongText {
		r.l.outline.ContextNotes = plan.Shorten(r.l.outline.ContextNotes, plan.MaxLongText-1)
		r.l.note("The text beside the steps was cut: it is longer than context notes may be.")
	}
}
