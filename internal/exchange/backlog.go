package exchange

import (
	"cmp"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/yamltext"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/resources"
)

// backlogTask is what stands before the text of a task of Backlog.md (1.52).
type backlogTask struct {
	ID            string         `json:"id"`
	Title         string         `json:"title"`
	Status        string         `json:"status"`
	Assignee      backlogNames   `json:"assignee"`
	CreatedDate   string         `json:"created_date,omitempty"`
	DueDate       string         `json:"due_date,omitempty"`
	Labels        backlogNames   `json:"labels"`
	Dependencies  backlogNames   `json:"dependencies"`
	References    backlogNames   `json:"references,omitempty"`
	Documentation backlogNames   `json:"documentation,omitempty"`
	ModifiedFiles backlogNames   `json:"modified_files,omitempty"`
	Parent        string         `json:"parent_task_id,omitempty"`
	Milestone     string         `json:"milestone,omitempty"`
	Priority      string         `json:"priority,omitempty"`
	Type          string         `json:"type,omitempty"`
	Ordinal       float64        `json:"ordinal,omitempty"`
	Rest          jsontext.Value `json:",embed"`
}

// backlogNames is a list of names, or one.
type backlogNames []string

// UnmarshalJSONFrom reads either.
func (n *backlogNames) UnmarshalJSONFrom(in *jsontext.Decoder) error {
	switch in.PeekKind() {
	case jsontext.KindBeginArray:
		return json.UnmarshalDecode(in, (*[]string)(n), scalarsAsText())
	case jsontext.KindNull:
		return in.SkipValue()
	}
	var one string
	err := json.UnmarshalDecode(in, &one, scalarsAsText())
	if one != "" {
		*n = backlogNames{one}
	}
	return err
}

// backlogConfig is what is of use of the file config.yml.
type backlogConfig struct {
	ProjectName string   `json:"project_name"`
	Statuses    []string `json:"statuses"`
}

// The sections of a task.
const (
	backlogDescription = "Description"
	backlogCriteria    = "Acceptance Criteria"
	backlogDone        = "Definition of Done"
	backlogPlan        = "Implementation Plan"
	backlogNotes       = "Implementation Notes"
	backlogSummary     = "Final Summary"
)

var (
	backlogFront  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?s)^---\n(.*?\n)---[ \t]*(?:\n|$)`) })
	backlogKeys   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?m)^(?:id|title|status):`) })
	backlogMarker = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^<!-- (?:SECTION:([A-Z_]+)|AC|DOD):(BEGIN|END) -->$`)
	})
	backlogSection = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^## (\S.*)$`) })
	backlogItem    = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[-*] \[([ xX])\] (?:#\d+ )?(.*)$`) })
)

func backlogRow() row {
	return row{format: Backlog, apart: true, about: "the task files of Backlog.md: a folder of them, or one", text: "Tasks from Backlog.md",
		is: func(s shape) bool {
			front := backlogFront().FindStringSubmatch(s.markdown)
			return front != nil && len(backlogKeys().FindAllString(front[1], -1)) == 3
		},
		read: parseBacklog, parts: backlogFiles,
		words: vocabulary{words: map[plan.StepStatus]string{plan.Pending: "To Do", plan.InProgress: "In Progress", plan.Done: "Done",
			plan.Skipped: "Done", plan.Cancelled: "Done"}},
		steps: []string{"details", "depends_on", "acceptance_criteria", "suggested_agent", "type", "notes", "affected_files",
			"relevant_file_paths"},
		keeps: func(f plan.Field[plan.Step], _ *plan.Step) bool { return f.Name == "output" }}
}

// parseBacklog reads the tasks of a folder. Drafts and what was archived are no tasks yet, or no more.
func parseBacklog(in input) (*source, error) {
	if in.files == nil {
		in.files = []File{{Name: path.Base(in.options.Name), Data: in.text}}
	}
	config, left := backlogConfig{}, 0
	var tasks []*backlogFile
	for _, file := range in.files {
		folder := path.Base(path.Dir(file.Name))
		switch {
		case slices.Contains([]string{"config.yml", "config.yaml"}, path.Base(file.Name)):
			if read, err := yamltext.Read(file.Data, maxExpanded); err == nil {
				_ = json.Unmarshal(read.JSON, &config, scalarsAsText()) // what it does not say is asked of nobody
			}
		case path.Ext(file.Name) != ".md" || slices.Contains([]string{"docs", "decisions", "milestones"}, folder):
		case slices.Contains([]string{"drafts", "archive"}, folder) || strings.Contains(file.Name, "archive/"):
			left++
		default:
			t, err := readBacklogFile(file)
			if err != nil {
				return nil, inFile(file.Name, err)
			}
			tasks = append(tasks, t)
		}
	}
	if len(tasks) > maxSteps {
		return nil, refuse("", fmt.Sprintf("there are more than %d tasks", maxSteps), "import a part of them")
	}
	slices.SortStableFunc(tasks, func(a, b *backlogFile) int {
		return cmp.Or(cmp.Compare(a.Ordinal, b.Ordinal), byDots(a.ID, b.ID))
	})
	l, checked := in.list(config.ProjectName), 0
	for _, t := range tasks {
		checked += t.onto(l, config)
	}
	if len(tasks) == 1 && config.ProjectName == "" {
		l.outline.Objective = tasks[0].Title
	}
	if left > 0 {
		l.note("%s left out.", plan.Counted(left, "draft or archived task"))
	}
	if checked > 0 {
		l.note("That a criterion is checked is not kept: %s.", plan.Counted(checked, "check mark"))
	}
	return l.done()
}

// byDots compares ids such as TASK-1.10 by their numbers.
func byDots(a, b string) int {
	numbers := func(id string) (list []int) {
		for _, word := range strings.FieldsFunc(id, func(r rune) bool { return !unicode.IsDigit(r) }) {
			n, err := strconv.Atoi(word)
			if err != nil { // too high for a number
				n = maxBytes
			}
			list = append(list, n)
		}
		return list
	}
	return cmp.Or(slices.Compare(numbers(a), numbers(b)), strings.Compare(a, b))
}

// backlogFile is a task with the sections of its text.
type backlogFile struct {
	backlogTask
	file     string
	sections map[string]string
	order    []string
}

func readBacklogFile(file File) (*backlogFile, error) {
	text, err := readable(file.Data)
	if err != nil {
		return nil, err
	}
	front := backlogFront().FindSubmatchIndex(text)
	if front == nil {
		return nil, refuse("", "there is no front matter", "give task files of Backlog.md")
	}
	read, err := yamltext.Read(text[front[2]:front[3]], maxExpanded)
	if err != nil {
		return nil, err
	}
	t := &backlogFile{file: file.Name, sections: map[string]string{}}
	if err := json.Unmarshal(read.JSON, &t.backlogTask, scalarsAsText()); err != nil {
		return nil, decodeError("", err)
	}
	t.split(string(text[front[1]:]))
	return t, nil
}

// split finds the sections of a text. Between its marks a section may have headings of its own.
func (t *backlogFile) split(text string) {
	name, within, lines := "", false, map[string][]string{}
	for line := range strings.SplitSeq(text, "\n") {
		if m := backlogMarker().FindStringSubmatch(strings.TrimSpace(line)); m != nil {
			within = m[2] == "BEGIN"
			continue
		}
		if m := backlogSection().FindStringSubmatch(line); m != nil && !within {
			name = m[1]
			continue
		}
		if lines[name] == nil {
			t.order = append(t.order, name)
		}
		lines[name] = append(lines[name], line)
	}
	for name, of := range lines {
		t.sections[name] = strings.TrimSpace(strings.Join(of, "\n"))
	}
}

// onto adds the task to l and returns how many of its criteria are checked.
func (t *backlogFile) onto(l *list, config backlogConfig) (checked int) {
	to := task{at: plan.Shorten(t.file, 120), name: t.ID, part: t.Parent, after: t.Dependencies,
		priority: unusual(strings.ToLower(t.Priority)),
		Step:     plan.Step{Spec: plan.Spec{Title: t.Title, SuggestedAgent: strings.Join(t.Assignee, ", "), Type: typeOf(t.Type)}}}
	to.Status = t.status(l, config)
	for _, name := range t.order {
		text := t.sections[name]
		switch name {
		case "", backlogDescription:
			to.Details = paragraphs(to.Details, text)
		case backlogCriteria, backlogDone:
			n, rest := t.criteria(&to.Step, text)
			checked += n
			to.Details = paragraphs(to.Details, titled(name, rest))
		case backlogNotes:
			if text != "" {
				to.Notes = append(to.Notes, text)
			}
		case backlogSummary:
			to.Output = text
		default:
			to.Details = paragraphs(to.Details, titled(name, text))
		}
	}
	to.hints("Label: ", t.Labels...)
	to.hints("Due: ", t.DueDate)
	to.hints("Milestone: ", t.Milestone)
	for _, ref := range slices.Concat(t.References, t.Documentation) {
		if ref = foldLine(ref); !strings.Contains(ref, "://") && plan.PathProblem(ref) == plan.PathWithin {
			to.RelevantFilePaths = append(to.RelevantFilePaths, ref)
		} else {
			to.hints("See: ", ref)
		}
	}
	for _, file := range t.ModifiedFiles {
		if plan.PathProblem(file) == plan.PathWithin {
			to.AffectedFiles = append(to.AffectedFiles, file)
		}
	}
	memberNames(l.unknown, "", t.Rest)
	delete(l.unknown, "updated_date")
	delete(l.unknown, "reporter")
	l.add(to)
	return checked
}

// status is what a word for a status means. The first of those that the project has made up is for
// what is to be done, the last for what is.
func (t *backlogFile) status(l *list, config backlogConfig) plan.StepStatus {
	at := slices.IndexFunc(config.Statuses, func(word string) bool { return strings.EqualFold(word, t.Status) })
	switch known := l.row.words.read(t.Status); {
	case known != "" || at < 0:
		return l.status(t.Status)
	case at == 0:
		return plan.Pending
	case at == len(config.Statuses)-1:
		return plan.Done
	}
	l.turned[plan.Shorten(t.Status, 40)+" is in progress"] = true
	return plan.InProgress
}

// criteria adds the points of a section to a step and returns how many are checked, and the text
// that is no point.
func (t *backlogFile) criteria(step *plan.Step, text string) (checked int, rest string) {
	var others []string
	for line := range strings.SplitSeq(text, "\n") {
		m := backlogItem().FindStringSubmatch(line)
		switch {
		case m == nil || len(step.AcceptanceCriteria) == plan.MaxList:
			others = append(others, line)
			continue
		case m[1] != " ":
			checked++
		}
		step.AcceptanceCriteria = append(step.AcceptanceCriteria, m[2])
	}
	return checked, strings.TrimSpace(strings.Join(others, "\n"))
}

// backlogFiles writes a file for each step.
func backlogFiles(r *row, s plan.State) ([]File, []string, error) {
	var files []File
	for step := range s.Plan.Steps.All() {
		n := int(step.ID)
		t := backlogTask{ID: backlogID(step.ID), Title: step.Title, Status: r.words.write(step.Status), Assignee: backlogNames{},
			CreatedDate: s.Plan.CreatedAt.Format("2006-01-02 15:04"), Labels: backlogNames{}, Dependencies: backlogNames{},
			ModifiedFiles: step.AffectedFiles, References: step.RelevantFilePaths, Type: string(step.Type),
			Priority: priority(step), Ordinal: float64(len(files)+1) * 1000}
		if t.Type == string(plan.Bugfix) {
			t.Type = "bug"
		}
		if !slices.Contains([]string{"high", "medium", "low"}, t.Priority) {
			t.Priority = ""
		}
		if step.SuggestedAgent != "" {
			t.Assignee = append(t.Assignee, step.SuggestedAgent)
		}
		for _, dep := range step.DependsOn {
			t.Dependencies = append(t.Dependencies, backlogID(dep))
		}
		front, err := json.Marshal(t)
		if err == nil {
			front, err = resources.YAMLOf(front)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("write %s: %w", step.ID, err)
		}
		text := "---\n" + string(front) + "---\n" + backlogText(step)
		files = append(files, File{Name: fmt.Sprintf("task-%d - %s.md", n, fileWords(step.Title)), Data: []byte(text)})
	}
	return files, r.losses(s.Plan), nil
}

func backlogID(id plan.StepID) string { return "TASK-" + strconv.Itoa(int(id)) }

// backlogText writes the sections of a task.
func backlogText(step *plan.Step) string {
	var b strings.Builder
	section := func(name, mark, text string) {
		if text != "" { // a mark within it would end the section
			text = strings.NewReplacer("<!-- SECTION:", "<!-- section:", "<!-- AC:", "<!-- ac:", "<!-- DOD:", "<!-- dod:").Replace(text)
			fmt.Fprintf(&b, "\n## %s\n\n<!-- %s:BEGIN -->\n%s\n<!-- %s:END -->\n", name, mark, text, mark)
		}
	}
	section(backlogDescription, "SECTION:DESCRIPTION", step.Details)
	var points []string
	for i, criterion := range step.AcceptanceCriteria {
		points = append(points, fmt.Sprintf("- [ ] #%d %s", i+1, criterion))
	}
	section(backlogCriteria, "AC", strings.Join(points, "\n"))
	section(backlogNotes, "SECTION:NOTES", strings.Join(step.Notes, "\n\n"))
	section(backlogSummary, "SECTION:FINAL_SUMMARY", step.Output)
	return b.String()
}

// fileWords makes a part of a file's name of a title.
func fileWords(title string) string {
	words := strings.FieldsFunc(title, func(r rune) bool { return r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	text := strings.Join(words, "-")
	return cmp.Or(strings.TrimRight(text[:min(len(text), 60)], "-"), "task")
}
