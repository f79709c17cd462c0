package exchange

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/yuin/goldmark/ast"

	"github.com/planloop/planloop/plan"
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

// ReadPlanText reads a Markdown plan written for people, like those of hosts' plan modes. The objective is
// the plan's title, or else the given one. Its steps are the check boxes, else the numbered sections, else
// the items of an ordered list, the subsections or the points in a section such as "Steps". All other text
// becomes the context notes. A text without any of these becomes one step.
func ReadPlanText(data []byte, objective string) (plan.SetUp, error) {
	text, err := readable(data)
	if err != nil {
		return plan.SetUp{}, err
	}
	src, err := parsePlanText(text, objective)
	if err != nil {
		return plan.SetUp{}, err
	}
	read, err := src.action()
	return read.Action, err
}

func parsePlanText(text []byte, objective string) (*source, error) {
	if checkItem().Match(text) {
		src, err := parseMarkdown(text)
		if err == nil {
			src.outline.Objective = cmp.Or(planTitle(src.outline.Objective), objective)
		}
		return src, err
	}
	document, err := parseBlocks(text)
	if err != nil {
		return nil, err
	}
	r := planReader{document: document, taken: make([]bool, len(document.lines)), src: &source{call: plan.StepID.String, foldLines: true}}
	r.src.outline.Objective = objective
	if r.findSections(); len(r.sections) > maxSteps { // each is compared with all earlier ones
		return nil, refuse("", fmt.Sprintf("the text has more than %d headings", maxSteps), "split the plan")
	}
	if len(r.sections) > 0 && (r.sections[0].level == 1 || len(r.sections) == 1) {
		r.src.outline.Objective = cmp.Or(planTitle(r.sections[0].title), objective)
		r.taken[r.sections[0].at] = true
	}
	if !r.numbered() && !r.listed(false, stepsTitle().MatchString) && !r.subsections() && !r.listed(true, stepsTitle().MatchString) &&
		!r.listed(false, func(title string) bool { return !otherTitle().MatchString(title) }) {
		r.src.steps = []sourceStep{{Step: plan.Step{Spec: plan.Spec{Title: r.src.outline.Objective}}}}
	}
	r.src.outline.ContextNotes = r.rest()
	return r.src, nil
}

// planTitle returns the title of a plan without words that only say that it is a plan.
func planTitle(title string) string {
	for _, lead := range []string{"Plan: ", "Implementation Plan: ", "Plan for "} {
		title = strings.TrimPrefix(title, lead)
	}
	if word := strings.ToLower(title); word == "plan" || word == "implementation plan" {
		return ""
	}
	return title
}

// planReader finds the steps in a text for people.
type planReader struct {
	*document
	src      *source
	sections []planSection
	taken    []bool // the line is used
}

// planSection is a heading with the text below it.
type planSection struct {
	title string
	level int
	at    int // the line of the heading
	body  int // the line after it
	end   int // the line of the next heading of this level or above
}

func (r *planReader) findSections() {
	for block := r.root.FirstChild(); block != nil && len(r.sections) <= maxSteps; block = block.NextSibling() {
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

// plain returns a line without bold markers and escapes.
func plain(line string) string { return unescape(strings.ReplaceAll(line, "**", "")) }

// numbered turns the numbered sections into steps, at the first level with several of them.
func (r *planReader) numbered() bool {
	for level := 2; level <= 6; level++ {
		found := slices.DeleteFunc(slices.Clone(r.sections), func(s planSection) bool {
			return s.level != level || !numberedTitle().MatchString(s.title)
		})
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

// subsections turns the sections below the first section about steps into steps.
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

// step adds a step with the given lines as its details.
func (r *planReader) step(title string, from, to, margin int) {
	if len(r.src.steps) > maxSteps { // action refuses the plan
		return
	}
	details := textBlock{}
	for i := from; i < to; i++ {
		if r.taken[i] = true; !r.hidden[i] {
			details.add(dropColumns(r.lines[i], margin), r.code[i])
		}
	}
	r.src.steps = append(r.src.steps, sourceStep{Step: plan.Step{Spec: plan.Spec{Title: title, Details: details.String()}}})
}

// listed turns the list items of the first matching section into steps. Lists without numbers count if points is set.
func (r *planReader) listed(points bool, fits func(title string) bool) bool {
	found, in := false, -2
	for block := r.root.FirstChild(); block != nil; block = block.NextSibling() {
		list, is := block.(*ast.List)
		if !is || !points && !list.IsOrdered() {
			continue
		}
		within, title := r.sectionAt(r.start(list))
		if !fits(title) || found && within != in {
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

// sectionAt returns the innermost section around a line, or -1.
func (r *planReader) sectionAt(line int) (at int, title string) {
	at = -1
	for i, s := range r.sections {
		if s.body <= line && line < s.end && s.level > 1 {
			at, title = i, s.title
		}
	}
	return at, title
}

// rest returns the text outside of the steps, "" if only a heading is left.
func (r *planReader) rest() string {
	rest := textBlock{}
	for i, line := range r.lines {
		if !r.taken[i] && !r.hidden[i] {
			rest.add(line, true)
		}
	}
	text := rest.String()
	only := strings.TrimSpace(text)
	if slices.ContainsFunc(r.sections, func(s planSection) bool { return strings.TrimSpace(r.lines[s.at]) == only }) {
		return ""
	}
	return plan.Shorten(text, plan.MaxLongText)
}
