package exchange

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"github.com/planloop/planloop/plan"
)

// planPatterns recognize the words of plans, in English, German and Chinese.
type planPatterns struct {
	lead, trail            *regexp.Regexp // words of a title that only say that it is a plan
	number                 *regexp.Regexp // before a title, such as "2.1 " or "Step 3: "; group 1 is the word
	steps, work, approach  *regexp.Regexp // titles of sections with steps, with less and less certainty
	prose, checks          *regexp.Regexp // titles of sections without steps, and of those that check the work
	marks, italics         *regexp.Regexp
	boldLead, row, item    *regexp.Regexp // a line like a heading, a numbered row of a table, a list item with a command
	sentence, divider      *regexp.Regexp
	willRun, span, command *regexp.Regexp
}

var planWords = sync.OnceValue(func() planPatterns {
	compile := func(pattern string) *regexp.Regexp { return regexp.MustCompile(`(?i)` + pattern) }
	const kinds = `(?:(?:implementation|proposed|development|project|execution|detailed|technical|updated|revised|the|my)\s+)*`
	const steps = `(?:steps?|implementation|plan|changes|tasks?|to-?dos?|actions?|schritte|umsetzung|umsetzungsplan|änderungen|aufgaben|` +
		`\p{Han}{0,4}(?:步骤|实施|计划|变更|修改|实现|任务))`
	return planPatterns{
		lead:  compile(`^\PL*` + kinds + `(?:(?:umsetzungs)?plan|(?:实[现施])?计划)(?:\s+for\s+|\s*[:：–—]\s*|\s+-\s+|\PL*$)`),
		trail: compile(`[\s:–—-]+(?:implementation|execution|development)\s+plan$`),
		number: compile(`^(?:(step|phase|task|part|stage|change|milestone|schritt|步骤|阶段)\s*\d{1,3}(?:\.\d{1,3})*(?:\s*\([^)]*\))?` +
			`(?:\s*[.):：、–—-]\s*|$)|\d{1,3}(?:\.\d{1,3})+[.):]?\s+|\d{1,3}\s*[.):、–—-]\s+|[一二三四五六七八九十]{1,3}、\s*)`),
		steps: compile(`^\PL*` + kinds + `(?:(?:required|planned|needed|code|key|main|next|work|step-by-step|suggested)\s+)*` + kinds +
			steps + `(?:[\s&/]+(?:` + steps + `|and|order|details|list|items|breakdown|by file|to make|needed|required))*\PL*$`),
		work:     compile(`\b(?:steps|implementation|plan|changes|tasks)\b`),
		approach: compile(`^\PL*` + kinds + `(?:approach|phases|solution|design|proposal|strategy|vorgehen|方案)\PL*$`),
		prose: compile(`^\PL*(?:(?:current|existing|open|key|critical|relevant|affected|important|technical|executive|new|in|out|of|plan|` +
			`implementation|project|success|acceptance|root|user|design|target)\s+)*(?:(?:context|background|motivation|overview|summary|` +
			`introduction|problem|goals?|objectives?|scope|non-goals?|requirements|assumptions?|dependencies|findings|analysis|state|cause|` +
			`architecture|decisions?|options?|alternatives?|recommendation|questions?|risks?|trade-?offs?|considerations?|notes?|files?|` +
			`references?|rollback|timeline|criteria|commands|review|edge cases|kontext|hintergrund|ausgangslage|ziele?|risiken|dateien|` +
			`hinweise|offene \pL+|zusammenfassung)(?:\s*[&/:(,–—-].*|\s+(?:and|to|for|of|i|we|that|considered|required|statement|` +
			`assessment|plan|strategy|changed|modified|affected|involved|details|list)\b.*)?\PL*$|背景|概述|目标|风险|问题|文件|总结|说明|现状)|` +
			`\bwill run\b`),
		checks: compile(`^\PL*(?:(?:unit|manual|automated|final|integration|end-to-end)\s+)*(?:test|tests|testing|verification|verify|` +
			`validation|überprüfung|prüfung|验证|测试)(?:[\s&/]+(?:tests?|testing|verification|plan|strategy|steps?|checklist|cases|and))*\PL*$`),
		marks:    compile("(`+[^`]*`+)|~~[^~]*~~\\s*|!?\\[([^\\[\\]]*)\\]\\([^()\\s]*\\)|\\*\\*"),
		italics:  compile("(^|[\\s(])[*_](\\pL[^*_`]*)[*_]([^\\pL\\d]|$)"),
		boldLead: compile(`^\*\*([^*]+)\*\*(?:\s*[:：]|\s+[–—-]\s)?`),
		row:      compile(`^\|?\s*\d{1,3}\s*\|\s*([^|]*[^|\s])\s*\|(.*)$`),
		item:     compile("^\\s*(?:[-*+]|\\d{1,3}[.)])\\s+(`[^`]+`)"),
		sentence: compile("[.!?][)\"”]?\\s+[\"“(`\\pL]|[。！？]"),
		divider:  compile(`[:;]\s|\s[–—-]\s|[：；]`),
		willRun: compile(`^[\s#>*_+-]*(?:(?:the\s+)?commands?\s+(?:that\s+|which\s+)?(?:i\s+|we\s+)?|i\s+|we\s+|(?:the|this)\s+plan\s+)?` +
			"will run\\b[^:`]*(?:[:`]|$)"),
		span:    compile("`([^`]+)`"),
		command: regexp.MustCompile(`^(?:[A-Z_]+=[\w./-]* )*[a-z./][\w@%+=:,./~^*'" -]*$`),
	}
})

// ReadPlanText reads a Markdown plan written for people, like those of hosts' plan modes. The objective is the plan's title, or
// else the given one. The steps are the check boxes, else the numbered sections, else the list or the subsections of a section
// such as "Steps", the first numbered list, or the sections about work. Fewer than two make one step. All other text becomes the
// context notes. Commands that the text before the steps lists as "will run" verify the last step; no other text becomes a command.
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
	document, err := parseBlocks(text)
	if err != nil {
		return nil, err
	}
	r := planReader{document: document, taken: make([]bool, len(document.lines)), src: &source{call: plan.StepID.String, foldLines: true}}
	if r.findSections(); len(r.sections) > maxSteps { // each is compared with all earlier ones
		return nil, refuse("", fmt.Sprintf("the text has more than %d headings", maxSteps), "split the plan")
	}
	title, head := planTitle(r.takeTitle()), len(r.lines)
	if box := slices.IndexFunc(r.lines, checkItem().MatchString); box >= 0 && r.hasBoxes() {
		if r.src, err = parseMarkdown(text); err != nil {
			return nil, err
		}
		head = box
		r.tidyBoxes()
	} else {
		for _, p := range r.parts() {
			head = min(head, p.at)
			r.step(p)
		}
		r.src.outline.ContextNotes = r.rest()
	}
	o := &r.src.outline
	o.Objective, o.ContextNotes = cmp.Or(title, objective), plan.Shorten(o.ContextNotes, plan.MaxLongText)
	if len(r.src.steps) == 0 {
		r.src.steps = []sourceStep{{Step: plan.Step{Spec: plan.Spec{Title: plan.Shorten(o.Objective, plan.MaxTitle)}}}}
	}
	r.src.steps[len(r.src.steps)-1].Verify = r.willRun(head)
	return r.src, nil
}

// planTitle returns the title of a plan without words that only say that it is a plan.
func planTitle(title string) string {
	title = planWords().lead.ReplaceAllString(plain(title), "")
	return plan.Shorten(planWords().trail.ReplaceAllString(title, ""), plan.MaxObjective)
}

// planReader finds the steps in a text for people.
type planReader struct {
	*document
	src      *source
	sections []planPart
	taken    []bool // the line is used
}

// planPart is a list item, or a section: a heading, or a line like one, with the text below it.
type planPart struct {
	title, more string // the title as written, and text before the details
	at, body    int    // the first line, and the one where the details begin
	end         int    // the line after the part
	margin      int    // columns to drop from the lines before outer
	outer       int

	level            int    // of a section; 7 for a line that is not a heading
	name             string // the section's title without its number
	isNumber, byWord bool   // the title has a number, after a word such as "Step"
	isProse, isCheck bool   // the section is not about work, or about checking it
	inAside          bool   // a section around it is one of these
}

func (s planPart) isAside() bool { return s.isProse || s.isCheck || s.inAside }

// isContainer reports whether the title only says that steps follow.
func (s planPart) isContainer() bool {
	return planWords().steps.MatchString(s.name) || planWords().approach.MatchString(s.name)
}

func (r *planReader) findSections() {
	for block := r.root.FirstChild(); block != nil && len(r.sections) <= maxSteps; block = block.NextSibling() {
		start := r.start(block)
		if heading, is := block.(*ast.Heading); is {
			title := foldLine(strings.TrimSpace(string(heading.Lines().Value(r.source))))
			r.section(planPart{title: title, level: heading.Level, at: start, body: r.opened[block] + 1})
		}
		for i := start; block.Kind() == ast.KindParagraph && i < start+block.Lines().Len() && len(r.sections) <= maxSteps; i++ {
			line := strings.TrimSpace(r.lines[i])
			number := planWords().number.FindStringSubmatch(plain(line))
			if row := planWords().row.FindStringSubmatch(line); row != nil {
				r.section(planPart{title: "1. " + row[1], more: strings.Trim(row[2], " |"), level: 7, at: i, body: i + 1, end: i + 1})
			} else if number != nil && (number[1] != "" || strings.HasPrefix(line, "**")) || planWords().boldLead.FindString(line) == line {
				r.section(planPart{title: line, level: 7, at: i, body: i + 1})
			}
		}
	}
}

func (r *planReader) section(s planPart) {
	s.name, s.end = plain(s.title), cmp.Or(s.end, len(r.lines))
	if number := planWords().number.FindStringSubmatch(s.name); number != nil {
		s.name, s.isNumber, s.byWord = s.name[len(number[0]):], true, number[1] != ""
		s.title = s.name
	}
	s.name = strings.TrimRight(s.name, ":： ")
	s.isProse = !s.byWord && planWords().prose.MatchString(s.name)
	s.isCheck = !s.byWord && planWords().checks.MatchString(s.name)
	for i := range r.sections {
		switch before := &r.sections[i]; {
		case before.end > s.at && before.level >= s.level:
			before.end = s.at
		case before.end > s.at:
			s.inAside = s.inAside || before.isAside()
		}
	}
	r.sections = append(r.sections, s)
}

// takeTitle removes the plan's title from the sections and returns it.
func (r *planReader) takeTitle() string {
	if len(r.sections) == 0 {
		return ""
	}
	first := r.sections[0]
	alone := !slices.ContainsFunc(r.sections[1:], func(s planPart) bool { return s.level <= first.level })
	if first.isAside() || first.isNumber || !alone && (first.level > 1 || first.isContainer()) {
		return ""
	}
	r.sections = r.sections[1:]
	for i := first.at; i < first.body; i++ {
		r.taken[i] = true
	}
	return first.title
}

// plain returns a line without emphasis, targets of links and escapes.
func plain(line string) string {
	line = planWords().marks.ReplaceAllString(line, "$1$2")
	return strings.TrimSpace(unescape(planWords().italics.ReplaceAllString(line, "$1$2$3")))
}

// parts returns the parts of the text that are steps.
func (r *planReader) parts() []planPart {
	with := func(pattern *regexp.Regexp) (found []int) {
		for i, s := range r.sections {
			if !s.isAside() && pattern.MatchString(s.name) {
				found = append(found, i)
			}
		}
		return found
	}
	steps, likely := with(planWords().steps), with(planWords().work)
	if len(likely) > 1 { // such as "API changes" and "UI changes"
		likely = nil
	}
	found := r.numbered()
	for _, in := range [][]int{steps, likely, with(planWords().approach)} {
		within := func(at int) bool { return slices.Contains(in, at) }
		for _, find := range []func() []planPart{
			func() []planPart { return r.listed(false, within) }, func() []planPart { return r.subsections(in) },
			func() []planPart { return r.listed(true, within) },
		} {
			if len(found) < 2 {
				found = find()
			}
		}
	}
	if len(found) < 2 {
		found = r.listed(false, func(at int) bool { return at < 0 || !r.sections[at].isAside() })
	}
	if len(found) < 2 {
		found = r.atLevel(0, len(r.lines), func(s planPart) bool { return !s.isAside() && !s.isContainer() })
	}
	if len(found) < 2 && len(r.sections) == 0 {
		found = r.listed(true, func(int) bool { return true })
	}
	if len(found) < 2 {
		return nil
	}
	return found[:min(len(found), maxSteps+1)] // action refuses the plan
}

// numbered returns the numbered sections, at the first level with several. It skips levels on which the whole text is numbered.
func (r *planReader) numbered() []planPart {
	for level := 1; level <= 7; level++ {
		var found []planPart
		ofText := false
		for _, s := range r.sections {
			if s.level == level && s.isNumber && !s.inAside {
				ofText = ofText || !s.byWord && (s.isContainer() || s.isProse && len(found) == 0)
				found = append(found, s)
			}
		}
		found = slices.DeleteFunc(found, func(s planPart) bool { return s.isProse })
		if len(found) > 1 && !ofText {
			return found
		}
	}
	return nil
}

// subsections returns the sections below the first of the given ones that has some.
func (r *planReader) subsections(of []int) []planPart {
	for _, i := range of {
		s := r.sections[i]
		inner := r.atLevel(s.body, s.end, func(s planPart) bool { return !s.isProse })
		if len(inner) > 1 && !slices.ContainsFunc(inner, planPart.isContainer) {
			return inner
		}
	}
	return nil
}

// atLevel returns the fitting sections between two lines, at the highest level there.
func (r *planReader) atLevel(from, to int, fits func(planPart) bool) (found []planPart) {
	highest := 7
	for _, s := range r.sections {
		if from <= s.at && s.at < to {
			highest = min(highest, s.level)
		}
	}
	for _, s := range r.sections {
		if from <= s.at && s.at < to && s.level == highest && fits(s) {
			found = append(found, s)
		}
	}
	return found
}

// step adds a step.
func (r *planReader) step(p planPart) {
	title, rest := splitTitle(p.title)
	details := textBlock{lines: slices.DeleteFunc([]string{rest, p.more}, func(line string) bool { return line == "" })}
	for i := p.at; i < p.end; i++ {
		r.taken[i] = true
		if i < p.body || r.hidden[i] {
			continue
		}
		line := r.lines[i]
		if i < p.outer {
			line = dropColumns(line, p.margin)
		}
		details.add(line, r.code[i])
	}
	text := details.String()
	if title == "" {
		first, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
		title, _ = splitTitle(first)
		title = cmp.Or(title, fmt.Sprintf("Step %d", len(r.src.steps)+1))
	}
	spec := plan.Spec{Title: title, Details: plan.Shorten(text, plan.MaxLongText)}
	r.src.steps = append(r.src.steps, sourceStep{Step: plan.Step{Spec: spec}})
}

// splitTitle returns the first sentence of a line, without marks, and the rest of the line.
func splitTitle(line string) (title, rest string) {
	const long, short = 90, 12
	whole := plain(line)
	if number := planWords().number.FindStringSubmatch(whole); number != nil && number[1] != "" {
		whole = whole[len(number[0]):]
	}
	end := len(whole)
	for _, at := range planWords().sentence.FindAllStringIndex(whole, -1) {
		before := strings.FieldsFunc(whole[:at[0]], func(r rune) bool { return strings.ContainsRune(" (.", r) })
		if n := len(before); n > 0 && (len(before[n-1]) > 1) && !slices.Contains([]string{"etc", "vs", "bzw", "ca"}, before[n-1]) {
			end = at[0]
			break
		}
	}
	lead := plain(planWords().boldLead.FindString(line))
	if utf8.RuneCountInString(whole[:end]) > long {
		if len(lead) > short && len(lead) < end && strings.HasPrefix(whole, lead) {
			end = len(lead)
		} else if at := planWords().divider.FindStringIndex(whole[min(short, end):end]); at != nil {
			end = short + at[0]
		}
	}
	const joints = " \t.:;,–—-。；："
	title = strings.TrimRight(whole[:end], joints)
	if code := planWords().span.FindStringSubmatch(title); code != nil && code[0] == title {
		title = code[1]
	}
	if cut := plan.Shorten(title, plan.MaxTitle); cut != title || strings.Contains(line, "](") {
		return cut, line
	}
	return title, strings.TrimLeft(whole[end:], joints+"!?！？")
}

// listed returns the items of the lists in the first fitting section, or outside of sections: of the first numbered list, or of
// all lists if points is set. If several sections have numbered lists, none of them holds the steps.
func (r *planReader) listed(points bool, fits func(section int) bool) (found []planPart) {
	in := -1
	for block := r.root.FirstChild(); block != nil; block = block.NextSibling() {
		list, is := block.(*ast.List)
		if !is || !points && !list.IsOrdered() {
			continue
		}
		start := r.start(list)
		within := r.sectionAt(start)
		switch n := len(found); {
		case !fits(within):
			continue
		case n == 0:
			in = within
		case within != in && !points:
			return nil
		case within != in, !points && list.Start != n+1:
			continue
		case !points:
			found[n-1].end = start // code between the items, for example
		}
		for child := list.FirstChild(); child != nil; child = child.NextSibling() {
			if item, is := child.(*ast.ListItem); is {
				found = append(found, r.itemPart(item))
			}
		}
	}
	return found
}

// itemPart returns a list item. Its title is its first line, and further lines of the same sentence.
func (r *planReader) itemPart(item *ast.ListItem) planPart {
	const wrapped = 60
	line, text := r.itemText(item)
	p := planPart{title: text, at: line, body: line + 1, end: r.end(item), outer: r.end(item), margin: contentColumn(item)}
	for first := item.FirstChild(); text != "" && p.body < line+first.Lines().Len(); p.body++ {
		next := strings.TrimSpace(r.lines[p.body])
		isLower := next != "" && strings.ToUpper(next[:1]) != next[:1]
		if !isLower && len(text) < wrapped || strings.ContainsAny(text[len(text)-1:], ".:!?*") {
			break
		}
		p.title, text = p.title+" "+next, next
	}
	return p
}

// sectionAt returns the innermost section around a line, or -1.
func (r *planReader) sectionAt(line int) int {
	at := -1
	for i, s := range r.sections {
		if s.body <= line && line < s.end {
			at = i
		}
	}
	return at
}

// hasBoxes reports whether the text has check boxes about the work.
func (r *planReader) hasBoxes() bool {
	for i, line := range r.lines {
		if checkItem().MatchString(line) && !r.code[i] && !r.hidden[i] {
			if at := r.sectionAt(i); at < 0 || !r.sections[at].isAside() {
				return true
			}
		}
	}
	return false
}

// tidyBoxes makes the steps of a check list like those of other texts: with short titles, and nothing that runs.
func (r *planReader) tidyBoxes() {
	for i := range r.src.steps {
		s := &r.src.steps[i]
		title, rest := splitTitle(s.Title)
		lines := []string{rest, s.Details}
		for label, text := range map[string]string{"verify": s.Verify, "tool": s.Tool, "args": string(s.Args), "when": s.When, "for each": s.ForEach} {
			if text != "" {
				lines = append(lines, "- "+label+": "+text)
			}
		}
		slices.Sort(lines[2:])
		s.Title, s.Verify, s.Tool, s.Args, s.When, s.ForEach = title, "", "", nil, "", ""
		s.Details = plan.Shorten((&textBlock{lines: lines}).String(), plan.MaxLongText)
	}
}

// willRun returns the plain commands that the lines before head list as those that will run, joined to one.
func (r *planReader) willRun(head int) string {
	var commands []string
	isList := false
	for i, line := range r.lines[:head] {
		at := planWords().willRun.FindStringIndex(line)
		var spans [][]string
		switch item := planWords().item.FindStringSubmatch(line); {
		case strings.TrimSpace(line) == "" || r.hidden[i]:
			continue
		case at != nil && !r.code[i]:
			spans = planWords().span.FindAllStringSubmatch(line, -1)
			isList = len(spans) == 0
		case isList && r.code[i]:
			spans = [][]string{{"", strings.TrimPrefix(strings.TrimSpace(line), "$ ")}}
		case isList && item != nil:
			spans = planWords().span.FindAllStringSubmatch(item[1], -1)
		default:
			isList = false
		}
		for _, span := range spans {
			if command := strings.TrimSpace(span[1]); planWords().command.MatchString(command) && !slices.Contains(commands, command) {
				commands = append(commands, command)
			}
		}
	}
	if joined := strings.Join(commands, " && "); len(joined) <= plan.MaxLongLine {
		return joined
	}
	return ""
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
	if slices.ContainsFunc(r.sections, func(s planPart) bool { return strings.TrimSpace(r.lines[s.at]) == only }) {
		return ""
	}
	return text
}
