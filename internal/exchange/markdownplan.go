package exchange

import (
	"cmp"
	_ "embed"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/yuin/goldmark/ast"

	"github.com/planloop/planloop/plan"
)

//go:embed planwords.txt
var planWordsText string

var planWords = sync.OnceValue(func() map[string]*regexp.Regexp {
	words := map[string]*regexp.Regexp{}
	for line := range strings.Lines(strings.ReplaceAll(planWordsText, "\n  ", "")) {
		if name, pattern, found := strings.Cut(line, ": "); found && line[0] != '#' {
			words[name] = regexp.MustCompile("(?i)" + strings.TrimSuffix(pattern, "\n"))
		}
	}
	return words
})

// matches reports whether a text matches a pattern of planwords.txt.
func matches(text, name string) bool { return planWords()[name].MatchString(text) }

// ReadPlanText reads a Markdown plan written for people, like those of hosts' plan modes. The objective is the plan's title, or
// else the given one. The steps are the check boxes, else the numbered sections, else the list or the subsections of a section
// such as "Steps", the first numbered list, or the sections about work. Fewer than two make one step. All other text becomes the
// context notes. Commands that the text before the steps lists as "will run" verify the last step; no other text becomes a command.
func ReadPlanText(data []byte, objective string) (plan.SetUp, error) {
	text, err := readable(data)
	if err != nil {
		return plan.SetUp{}, err
	}
	document, err := parseBlocks(text)
	if err != nil {
		return plan.SetUp{}, err
	}
	r := planReader{document: document, taken: make([]bool, len(document.lines)), src: &source{call: plan.StepID.String, foldLines: true}}
	if r.findSections(); len(r.sections) > maxSteps { // each is compared with all earlier ones
		return plan.SetUp{}, refuse("", fmt.Sprintf("the text has more than %d headings", maxSteps), "split the plan")
	}
	title, head := planTitle(r.takeTitle()), len(r.lines)
	if box := r.firstBox(); box >= 0 {
		head = box
		if r.src, err = parseMarkdown(text); err != nil {
			return plan.SetUp{}, err
		}
		r.tidyBoxes()
	} else {
		for _, s := range r.parts() {
			r.step(s)
			head = min(head, s.at)
		}
		for _, s := range r.sections {
			if !s.isProse && !s.inAside {
				head = min(head, s.at)
			}
		}
		r.src.outline.ContextNotes = r.rest()
	}
	o := &r.src.outline
	o.Objective, o.ContextNotes = cmp.Or(title, objective), plan.Shorten(o.ContextNotes, plan.MaxLongText)
	if len(r.src.steps) == 0 {
		r.src.steps = []sourceStep{{Step: plan.Step{Spec: plan.Spec{Title: plan.Shorten(o.Objective, plan.MaxTitle)}}}}
	}
	r.src.steps[len(r.src.steps)-1].Verify = r.willRun(head)
	read, err := r.src.action()
	return read.Action, err
}

// planTitle returns the title of a plan without words that only say that it is a plan.
func planTitle(title string) string {
	title = planWords()["lead"].ReplaceAllString(plain(title), "")
	return plan.Shorten(planWords()["trail"].ReplaceAllString(title, ""), plan.MaxObjective)
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
	title, more      string // the title as written, and text before the details
	at, body, end    int    // the first line, the one where the details begin, and the one after the part
	margin, outer    int    // columns to drop from all lines but the code from outer on
	level            int    // of a section; 7 for a line that is not a heading
	name             string // the section's title without its number
	isNumber, byWord bool   // the title has a number, after a word such as "Step"
	isProse, isCheck bool   // the section is not about work, or about checking it
	inAside          bool   // a section around it is one of these
	rank             int    // 1: its title says that steps follow; 2: it has such a word; 3: they may follow
}

func (s planPart) isAside() bool { return s.isProse || s.isCheck || s.inAside }

// isContainer reports whether the title names no work of its own.
func (s planPart) isContainer() bool { return s.rank == 1 || s.rank == 3 }

func (r *planReader) findSections() {
	for block := r.root.FirstChild(); block != nil && len(r.sections) <= maxSteps; block = block.NextSibling() {
		start := r.start(block)
		if heading, is := block.(*ast.Heading); is {
			title := foldLine(strings.TrimSpace(string(heading.Lines().Value(r.source))))
			r.section(planPart{title: title, level: heading.Level, at: start, body: r.opened[block] + 1})
		}
		for i := start; block.Kind() == ast.KindParagraph && i < start+block.Lines().Len() && len(r.sections) <= maxSteps; i++ {
			line := strings.TrimSpace(r.lines[i])
			number := planWords()["number"].FindStringSubmatch(plain(line))
			if row := planWords()["row"].FindStringSubmatch(line); row != nil {
				r.section(planPart{title: "1. " + row[1], more: strings.Trim(row[2], " |"), level: 7, at: i, body: i + 1, end: i + 1})
			} else if number != nil && (number[1] != "" || strings.HasPrefix(line, "**")) || planWords()["bold"].FindString(line) == line {
				r.section(planPart{title: line, level: 7, at: i, body: i + 1})
			}
		}
	}
}

func (r *planReader) section(s planPart) {
	s.name, s.end = plain(s.title), cmp.Or(s.end, len(r.lines))
	if number := planWords()["number"].FindStringSubmatch(s.name); number != nil {
		s.name, s.isNumber, s.byWord = s.name[len(number[0]):], true, number[1] != ""
		s.title = s.name
	}
	s.name = strings.TrimRight(s.name, ":： ")
	s.isProse, s.isCheck = !s.byWord && matches(s.name, "prose"), !s.byWord && matches(s.name, "checks")
	s.rank = 1 + slices.IndexFunc([]string{"steps", "work", "approach"}, func(name string) bool { return matches(s.name, name) })
	for i := range r.sections {
		if before := &r.sections[i]; before.level >= s.level {
			before.end = min(before.end, s.at)
		} else if before.end > s.at {
			s.inAside = s.inAside || before.isAside()
		}
	}
	r.sections = append(r.sections, s)
}

// takeTitle removes the plan's title from the sections and returns it.
func (r *planReader) takeTitle() string {
	if len(r.sections) == 0 || r.sections[0].isAside() || r.sections[0].isNumber {
		return ""
	}
	first := r.sections[0]
	shared := slices.ContainsFunc(r.sections[1:], func(s planPart) bool { return s.level <= first.level })
	if says := planTitle(first.title); shared && (says == "" || says == plain(first.title)) && (first.level > 1 || first.isContainer()) {
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
	line = planWords()["marks"].ReplaceAllString(line, "$1$2")
	return strings.TrimSpace(unescape(planWords()["italics"].ReplaceAllString(line, "$1$2$3")))
}

// parts returns the parts of the text that are steps: those of the first way that finds two.
func (r *planReader) parts() (found []planPart) {
	isWork := func(s planPart) bool { return !s.isAside() }
	ways := []func() []planPart{r.numbered}
	for rank := 1; rank <= 3; rank++ {
		in := func(s planPart) bool { return isWork(s) && s.rank == rank }
		if first := slices.IndexFunc(r.sections, in); first < 0 || rank == 2 && slices.ContainsFunc(r.sections[first+1:], in) {
			continue // several are such as "API changes" and "UI changes"
		}
		ways = append(ways, func() []planPart { return r.listed(false, in) }, func() []planPart { return r.subsections(in) },
			func() []planPart { return r.listed(true, in) })
	}
	ways = append(ways, func() []planPart { return r.listed(false, isWork) }, func() []planPart {
		return r.highest(0, len(r.lines), func(s planPart) bool { return isWork(s) && !s.isContainer() })
	}, func() []planPart { return r.listed(true, func(planPart) bool { return len(r.sections) == 0 }) })
	for _, way := range ways {
		if found = way(); len(found) > 1 {
			return found[:min(len(found), maxSteps+1)] // action refuses the plan
		}
	}
	return nil
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

// subsections returns the sections below the first fitting one that has some.
func (r *planReader) subsections(fits func(planPart) bool) []planPart {
	for _, s := range r.sections {
		if fits(s) {
			inner := r.highest(s.body, s.end, func(s planPart) bool { return !s.isProse })
			if len(inner) > 1 && !slices.ContainsFunc(inner, planPart.isContainer) {
				return inner
			}
		}
	}
	return nil
}

// highest returns the fitting ones of the sections between two lines that are of the highest level there.
func (r *planReader) highest(from, to int, fits func(planPart) bool) []planPart {
	between := slices.DeleteFunc(slices.Clone(r.sections), func(s planPart) bool { return s.at < from || s.at >= to })
	level := 7
	for _, s := range between {
		level = min(level, s.level)
	}
	return slices.DeleteFunc(between, func(s planPart) bool { return s.level != level || !fits(s) })
}

func (r *planReader) step(p planPart) {
	title, rest := splitTitle(p.title)
	details := textBlock{lines: slices.DeleteFunc([]string{rest, p.more}, func(line string) bool { return line == "" })}
	for i := p.at; i < p.end; i++ {
		r.taken[i] = true
		if line := r.lines[i]; i >= p.body && !r.hidden[i] {
			if i < p.outer || !r.code[i] {
				line = dropColumns(line, p.margin)
			}
			details.add(line, r.code[i])
		}
	}
	text := details.String()
	if first, _, _ := strings.Cut(strings.TrimSpace(text), "\n"); title == "" {
		title, _ = splitTitle(first)
	}
	r.src.steps = append(r.src.steps, sourceStep{Step: plan.Step{Spec: plan.Spec{
		Title: cmp.Or(title, fmt.Sprintf("Step %d", len(r.src.steps)+1)), Details: plan.Shorten(text, plan.MaxLongText)}}})
}

// splitTitle returns the first sentence of a line without marks, or less if it is long, and the rest of the line.
func splitTitle(line string) (title, rest string) {
	const long, short = 90, 12
	whole := plain(line)
	if number := planWords()["number"].FindStringSubmatch(whole); number != nil && number[1] != "" {
		whole = whole[len(number[0]):]
	}
	end := len(whole)
	for _, at := range planWords()["sentence"].FindAllStringIndex(whole[:min(end, plan.MaxLongLine)], -1) {
		words := strings.FieldsFunc(whole[:at[0]], func(r rune) bool { return r == ' ' || r == '(' || r == '.' })
		if n := len(words); n > 0 && len(words[n-1]) > 1 && !slices.Contains([]string{"etc", "vs", "bzw", "ca"}, words[n-1]) {
			end = at[0]
			break
		}
	}
	if utf8.RuneCountInString(whole[:end]) > long {
		if at := planWords()["divider"].FindStringIndex(whole[short:end]); at != nil {
			end = short + at[0]
		}
	}
	const joints = " \t.:;,–—-。；："
	title = strings.TrimRight(whole[:end], joints)
	if cut := plan.Shorten(title, plan.MaxTitle); cut != title || strings.Contains(line, "](") {
		return cut, line
	}
	return title, strings.TrimLeft(whole[end:], joints+"!?！？")
}

// listed returns the items of the lists in the first fitting section, or outside of sections: of the first numbered list, or of
// all lists if points is set. If several sections have numbered lists, none of them holds the steps.
func (r *planReader) listed(points bool, fits func(planPart) bool) (found []planPart) {
	in := 0
	for block := r.root.FirstChild(); block != nil; block = block.NextSibling() {
		start, n := r.start(block), len(found)
		list, is := block.(*ast.List)
		if is && n > 0 && found[n-1].end == start && strings.HasPrefix(r.lines[start], "  ") { // below "10. ", but for "1. "
			found[n-1].end = r.end(block)
			continue
		}
		if !is || !points && !list.IsOrdered() {
			continue
		}
		switch within := r.sectionAt(start); {
		case !fits(within), points && n > 0 && within.at != in, !points && n > 0 && within.at == in && list.Start != n+1:
			continue
		case n == 0:
			in = within.at
		case within.at != in:
			return nil
		case !points:
			found[n-1].end = start // code between the items, for example
		}
		for item, is := list.FirstChild().(*ast.ListItem); is; item, is = item.NextSibling().(*ast.ListItem) {
			found = append(found, r.itemPart(item))
		}
	}
	return found
}

// itemPart returns a list item. Its title is its first line, and further lines of the same sentence.
func (r *planReader) itemPart(item *ast.ListItem) planPart {
	const wrapped = 60
	at, text := r.itemText(item)
	p := planPart{title: text, at: at, body: at + 1, end: r.end(item), outer: r.end(item), margin: contentColumn(item)}
	for first := item.FirstChild(); text != "" && len(p.title) < plan.MaxLongLine && p.body < at+first.Lines().Len(); p.body++ {
		next := strings.TrimSpace(r.lines[p.body])
		if strings.ContainsAny(text[len(text)-1:], ".:!?*") || len(text) < wrapped && (next == "" || !unicode.IsLower(rune(next[0]))) {
			break
		}
		p.title, text = p.title+" "+next, next
	}
	return p
}

// sectionAt returns the innermost section around a line; its level is 0 if there is none.
func (r *planReader) sectionAt(line int) (found planPart) {
	for i := range r.sections {
		if s := &r.sections[i]; s.body <= line && line < s.end {
			found = *s
		}
	}
	return found
}

// firstBox returns the line of the first check box about the work, or -1.
func (r *planReader) firstBox() int {
	for i, line := range r.lines {
		if checkItem().MatchString(line) && !r.code[i] && !r.hidden[i] && !r.sectionAt(i).isAside() {
			return i
		}
	}
	return -1
}

// tidyBoxes shortens the titles of a check list's steps, and makes text of what would run.
func (r *planReader) tidyBoxes() {
	for i := range r.src.steps {
		s := &r.src.steps[i]
		title, rest := splitTitle(s.Title)
		lines := []string{rest, s.Details}
		for _, f := range plan.StepFields() {
			if slices.Contains([]string{"verify", "tool", "args", "when", "for_each"}, f.Name) {
				for _, text := range f.Texts(&s.Step) {
					lines = append(lines, "- "+f.Label+": "+text)
				}
			}
		}
		s.Title, s.Verify, s.Tool, s.Args, s.When, s.ForEach = title, "", "", nil, "", ""
		s.Details = plan.Shorten((&textBlock{lines: lines}).String(), plan.MaxLongText)
	}
}

// willRun returns the plain commands that the lines before head list as those that will run, joined to one.
func (r *planReader) willRun(head int) string {
	const most, longest = 10, 190 // they fit into one line
	var commands []string
	isList := false
	for i, line := range r.lines[:head] {
		if strings.TrimSpace(line) == "" || r.hidden[i] {
			continue
		}
		var spans [][]string
		begins, item := !r.code[i] && matches(line, "willrun"), planWords()["item"].FindStringSubmatch(line)
		switch {
		case begins:
			spans = planWords()["code"].FindAllStringSubmatch(line, -1)
		case isList && r.code[i]:
			spans = [][]string{{"", strings.TrimPrefix(strings.TrimSpace(line), "$ ")}}
		case isList && item != nil:
			spans = [][]string{item}
		}
		isList = begins == (len(spans) == 0)
		for _, span := range spans {
			if matches(span[1], "command") && !slices.Contains(commands, span[1]) && len(commands) < most && len(span[1]) < longest {
				commands = append(commands, span[1])
			}
		}
	}
	return strings.Join(commands, " && ")
}

// rest returns the text outside of the steps, "" if only a heading is left.
func (r *planReader) rest() string {
	for _, s := range slices.Backward(r.sections) { // a heading whose text became steps says nothing more
		isUsed, isEmpty := false, true
		for i := s.body; i < s.end; i++ {
			isUsed, isEmpty = isUsed || r.taken[i], isEmpty && (r.taken[i] || r.hidden[i] || strings.TrimSpace(r.lines[i]) == "")
		}
		for i := s.at; i < s.end && isUsed && isEmpty; i++ {
			r.taken[i] = true
		}
	}
	rest := textBlock{}
	for i, line := range r.lines {
		if !r.taken[i] && !r.hidden[i] {
			rest.add(line, true)
		}
	}
	text := strings.TrimSpace(rest.String())
	if strings.HasPrefix(text, "#") && !strings.Contains(text, "\n") {
		return ""
	}
	return rest.String()
}
