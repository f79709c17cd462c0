package exchange

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"sync"

	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

var (
	specKitLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*[-*] \[[ xX]\] +\**T\d{3,5}\b`) })
	specKitTask = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^\**(T\d{3,5}[a-z]?)\**:?\s+((?:\[(?:P|[A-Z]{1,5}\d{1,3})\]\s*)*)(.*)$`)
	})
	specKitAfter = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`(?i)\(depends on:? ((?:T\d{3,5}[a-z]?(?:, ?(?:and )?| and )?)+)\)`)
	})
	specKitName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`T\d{3,5}[a-z]?`) })

	openSpecLine = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^[ \t]*[-*] \[[ xX]\] +\d{1,3}\.\d{1,3}\b`) })
	openSpecTask = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^(\d{1,3}(?:\.\d{1,3})+)\.?\s+(.*)$`) })
	groupNumber  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\d{1,3}[.)]\s+`) })
)

func boxes() map[plan.StepStatus]string {
	return map[plan.StepStatus]string{plan.Pending: " ", plan.Done: "x", plan.Skipped: "x", plan.Cancelled: "x"}
}

func specKitRow() row {
	return row{format: SpecKit, about: "tasks.md of spec-kit", text: "Tasks from spec-kit",
		is:    func(s shape) bool { return specKitLine().MatchString(s.markdown) },
		words: vocabulary{words: boxes()}, plan: []string{"objective"}, steps: []string{"details", "depends_on"},
		read: parseSpecKit,
		write: func(r *row, s plan.State) ([]byte, []string, error) {
			name := func(i int, id plan.StepID) string { return fmt.Sprintf("T%03d", int(id)) }
			title := func(step *plan.Step) string { // in which only what is written behind it tells what it depends on
				text := resources.EscapeInline(specKitAfter().ReplaceAllString(step.Title, "[depends on $1]"))
				if len(step.DependsOn) == 0 {
					return text
				}
				return text + " (depends on " + strings.ReplaceAll(plan.ListIDs(step.DependsOn), "S", "T") + ")"
			}
			head := "# Tasks: " + resources.EscapeInline(s.Plan.Objective) + "\n\n## Tasks\n\n"
			return r.taskList(head, s.Plan, name, title), r.losses(s.Plan), nil
		}}
}

func openSpecRow() row {
	return row{format: OpenSpec, about: "tasks.md of an OpenSpec change", text: "Tasks from OpenSpec",
		files: []string{"openspec/changes/*/tasks.md", "openspec/changes/archive/*/tasks.md"},
		is:    func(s shape) bool { return openSpecLine().MatchString(s.markdown) },
		words: vocabulary{words: boxes()}, plan: []string{"objective"}, steps: []string{"details"},
		read: parseOpenSpec,
		write: func(r *row, s plan.State) ([]byte, []string, error) {
			name := func(i int, _ plan.StepID) string { return fmt.Sprintf("1.%d", i+1) }
			head := "# Tasks\n\n## 1. " + resources.EscapeInline(s.Plan.Objective) + "\n\n"
			title := func(step *plan.Step) string { return resources.EscapeInline(step.Title) }
			return r.taskList(head, s.Plan, name, title), r.losses(s.Plan), nil
		}}
}

// taskList writes steps as a check list in which each has a name.
func (r *row) taskList(head string, p *plan.Plan, name func(int, plan.StepID) string, title func(*plan.Step) string) []byte {
	var b strings.Builder
	b.WriteString(head)
	i := 0
	for step := range p.Steps.All() {
		fmt.Fprintf(&b, "- [%s] %s %s\n", r.words.write(step.Status), name(i, step.ID), title(step))
		if step.Details != "" {
			b.WriteString("\n  " + resources.EscapeBlock(step.Details, "  ") + "\n\n")
		}
		i++
	}
	return []byte(b.String())
}

// parseSpecKit reads the tasks; which may run side by side, and for which story they are, become hints.
func parseSpecKit(in input) (*source, error) {
	src, err := readCheckList(string(in.text), "")
	if err != nil {
		return nil, err
	}
	src.outline.Objective = strings.TrimPrefix(src.outline.Objective, "Tasks: ")
	beside := 0
	l := in.listOf(src, func(title string) task {
		m := specKitTask().FindStringSubmatch(title)
		if m == nil {
			return task{Step: plan.Step{Spec: plan.Spec{Title: title}}}
		}
		t := task{name: m[1]}
		for _, tag := range strings.Fields(strings.NewReplacer("[", " ", "]", " ").Replace(m[2])) {
			if tag == "P" {
				beside++
				t.hints("", "May be done beside others (P)")
			} else {
				t.hints("Story: ", tag)
			}
		}
		t.Title = m[3]
		if at := specKitAfter().FindStringSubmatchIndex(t.Title); at != nil {
			t.after = specKitName().FindAllString(t.Title[at[2]:at[3]], -1)
			if at[1] == len(t.Title) { // it says no more than the dependencies do
				t.Title = strings.TrimSpace(t.Title[:at[0]])
			}
		}
		return t
	})
	if beside > 0 {
		l.note("The order that phases and [P] imply is not made into dependencies; what a task is said to depend on is.")
	}
	return l.done()
}

// parseOpenSpec reads the tasks of a change, whose name is that of its folder.
func parseOpenSpec(in input) (*source, error) {
	change := ""
	if row := openSpecRow(); row.named(in.options.Name) {
		change = strings.ReplaceAll(path.Base(path.Dir(in.options.Name)), "-", " ")
	}
	src, err := readCheckList(string(in.text), in.row.text)
	if err != nil {
		return nil, err
	}
	groups := map[string]bool{}
	l := in.listOf(src, func(title string) task {
		if m := openSpecTask().FindStringSubmatch(title); m != nil {
			return task{name: m[1], Step: plan.Step{Spec: plan.Spec{Title: m[2]}}}
		}
		return task{Step: plan.Step{Spec: plan.Spec{Title: title}}}
	})
	for _, t := range l.tasks {
		for _, hint := range t.ContextHints {
			if group, is := strings.CutPrefix(hint, "Section: "); is {
				groups[groupNumber().ReplaceAllString(group, "")] = true
			}
		}
	}
	if len(groups) == 1 {
		l.outline.Objective = keysOf(groups)[0]
	}
	if change != "" {
		l.outline.Objective = change
	}
	return l.done()
}

// listOf makes a list of what a check list holds. of reads a title.
func (in input) listOf(src *source, of func(title string) task) *list {
	l := in.list("")
	for _, step := range src.steps {
		t := of(step.Title)
		t.at, step.Title = step.at, t.Title
		step.ContextHints, step.DependsOn = append(step.ContextHints, t.ContextHints...), nil
		t.Step = step.Step
		l.add(t)
	}
	src.steps = nil
	l.source = src
	return l
}
