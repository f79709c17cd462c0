package verbs

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/tokens"
	"github.com/planloop/planloop/plan"
	"github.com/planloop/planloop/prompts"
)

// TaskStatus is a status in the words of planloop's JSON contract.
type TaskStatus string

const (
	Doing    TaskStatus = "IN_PROGRESS"
	Complete TaskStatus = "DONE"
)

func (TaskStatus) Values() []string { return plan.TaskWords.Words() }

// Read returns the contract's word for a status in any vocabulary and spelling, or our word if the contract has none.
func (TaskStatus) Read(word string) string {
	status := plan.ReadStatus(word)
	if task := status.Word(plan.TaskWords); plan.TaskWords.Status(task) == status {
		return task
	}
	return string(status)
}

func taskStatus(status plan.StepStatus) TaskStatus { return TaskStatus(status.Word(plan.TaskWords)) }

// Task is a step in the shape of planloop's JSON contract. The fields after the
// first seven are additions.
type Task struct {
	ID                int           `json:"id"`
	Title             string        `json:"title"`
	Type              plan.StepType `json:"type,omitempty"`
	Status            TaskStatus    `json:"status"`
	Dependencies      []int         `json:"dependencies"`
	ContextHints      []string      `json:"context_hints,omitzero"` // nil if not shown
	RelevantFilePaths []string      `json:"relevant_file_paths,omitzero"`

	State              plan.StepStatus `json:"state,omitempty"` // if the contract's word is not specific enough
	Details            string          `json:"details,omitempty"`
	Creates            []string        `json:"creates,omitempty"`
	AcceptanceCriteria []string        `json:"acceptance_criteria,omitempty"`
	Verify             string          `json:"verify,omitempty"`
	Risk               plan.Risk       `json:"risk,omitempty"`
	Tools              []string        `json:"tools,omitempty"`
	Tool               string          `json:"tool,omitempty"`     // the tool that carries it out
	Args               string          `json:"args,omitempty"`     // the tool's arguments as JSON
	Progress           string          `json:"progress,omitempty"` // while an engine carries it out
	SuggestedAgent     string          `json:"suggested_agent,omitempty"`
	Other              []string        `json:"other,omitempty"` // other fields, each with its label
	WaitingOn          []int           `json:"waiting_on,omitempty"`
	ClaimedBy          string          `json:"claimed_by,omitempty"`
	Notes              []string        `json:"notes,omitempty"` // the last ones
	EarlierNotes       int             `json:"earlier_notes,omitempty"`
	Output             string          `json:"output,omitempty"`
	AffectedFiles      []string        `json:"affected_files,omitempty"`
	Error              string          `json:"error,omitempty"`
	Comments           []string        `json:"comments,omitempty"` // people's open comments
	Outcomes           []Outcome       `json:"outcomes,omitempty"` // of its dependencies
	More               string          `json:"more,omitempty"`     // the omitted parts, and the call that shows them

	word string // the status in texts
}

// Outcome is the result of a task that another one depends on.
type Outcome struct {
	ID            int        `json:"id"`
	Title         string     `json:"title"`
	Status        TaskStatus `json:"status"`
	Note          string     `json:"note,omitempty"` // the last one
	Output        string     `json:"output,omitempty"`
	AffectedFiles []string   `json:"affected_files,omitempty"`

	word string // the status in texts
}

// notesShown is how many notes of a task are shown, unless it is asked for by its id.
const notesShown = 3

// task returns a step of a plan in the contract's shape.
func task(p *plan.Plan, step *plan.Step) Task {
	t := Task{
		ID: int(step.ID), Title: step.Title, Type: step.Type, Status: taskStatus(step.Status), Dependencies: stepNumbers(step.DependsOn),
		ContextHints: list(step.ContextHints), RelevantFilePaths: list(step.RelevantFilePaths), Details: step.Details,
		Creates: step.Creates, AcceptanceCriteria: step.AcceptanceCriteria, Verify: step.Verify, Risk: step.Risk, Tools: step.Tools,
		Tool: step.Tool, Args: string(step.Args), SuggestedAgent: step.SuggestedAgent,
		Other: labelled(step, plan.SpecFields()), ClaimedBy: Carrier(step),
		Output: ShownOutput(step), AffectedFiles: step.AffectedFiles, Error: step.Error, word: statusWord(step),
	}
	for _, result := range RunResults(step) {
		t.Other = append(t.Other, result.Label+": "+result.Text)
	}
	if unseen := p.Approval.UnseenNote(step.ID); unseen != "" {
		t.Other = append([]string{unseen}, t.Other...)
	}
	t.EarlierNotes = max(0, len(step.Notes)-notesShown)
	t.Notes = step.Notes[t.EarlierNotes:]
	if plan.TaskWords.Status(string(t.Status)) != step.Status {
		t.State = step.Status
	}
	if !step.Status.IsFinished() {
		t.WaitingOn = stepNumbers(p.Steps.UnmetDependencies(step.ID))
	}
	return t
}

// ShownOutput returns the output of a step for display; output of a failed attempt is labelled, as it is not a result.
func ShownOutput(step *plan.Step) string {
	failed := step.Status == plan.Failed ||
		step.Status == plan.Pending && (step.Error != "" || step.Result != nil && step.Result.Error != "")
	if failed && step.Output != "" {
		return "last output of the attempt that failed:\n" + step.Output
	}
	return step.Output
}

// currentTask returns a task with the outcomes of its dependencies, which its agent needs.
func currentTask(p *plan.Plan, step *plan.Step) Task {
	t := task(p, step)
	for _, id := range step.DependsOn {
		before, ok := p.Steps.Get(id)
		if !ok {
			continue
		}
		t.Outcomes = append(t.Outcomes, Outcome{ID: int(id), Title: before.Title, Status: taskStatus(before.Status),
			Note: lastOf(before.Notes), Output: ShownOutput(before), AffectedFiles: before.AffectedFiles,
			word: statusWord(before)})
	}
	return t
}

// labelled lists the fields that a Task has no field for.
func labelled(step *plan.Step, fields []plan.Field[plan.Step]) []string {
	const own = "title details type depends_on risk context_hints relevant_file_paths creates acceptance_criteria verify suggested_agent " +
		"tools tool args status notes output error affected_files claimed_by"
	named := strings.Fields(own)
	var lines []string
	for _, f := range fields {
		if slices.Contains(named, f.Name) {
			continue
		}
		for _, text := range f.Texts(step) {
			lines = append(lines, f.Label+": "+text)
		}
	}
	return lines
}

func list(texts []string) []string { return append([]string{}, texts...) }

func stepNumbers(ids []plan.StepID) []int {
	out := make([]int, len(ids))
	for i, id := range ids {
		out[i] = int(id)
	}
	return out
}

// field is a text or a list of texts that may have to be left out.
type field struct {
	tokens.Part
	text *string
	list *[]string
}

// fields returns the texts of a task, the indispensable ones first.
func (t *Task) fields() []field {
	one := func(name string, long bool, text *string) field {
		f := field{tokens.Part{Name: name, Long: long}, text, nil}
		if *text != "" {
			f.Texts = []string{*text}
		}
		return f
	}
	many := func(name string, texts *[]string) field {
		return field{tokens.Part{Name: name, Texts: *texts}, nil, texts}
	}
	notes := many("notes", &t.Notes)
	notes.Long, notes.Newest = true, true
	all := []field{many("part of comments on it", &t.Comments), one("tool that carries it out", false, &t.Tool),
		one("its arguments", false, &t.Args),
		one("command to verify it", false, &t.Verify), many("path", &t.RelevantFilePaths), many("hint", &t.ContextHints),
		many("criterion", &t.AcceptanceCriteria), many("path it creates", &t.Creates), one("details", true, &t.Details),
		one("its error", true, &t.Error), notes, many("tool", &t.Tools), many("other field", &t.Other),
		one("output", true, &t.Output), many("affected file", &t.AffectedFiles)}
	for i := range t.Outcomes {
		o := &t.Outcomes[i]
		all = append(all, one("its dependencies' notes", true, &o.Note), one("its dependencies' outputs", true, &o.Output),
			many("file of its dependencies", &o.AffectedFiles))
	}
	return all
}

// Tokens of a task without its texts, and the least per dependency; idsShown is the most ids in a list.
const (
	taskFrame   = 80
	outcomeRoom = 90
	idsShown    = 40
)

// fit shortens a task to room tokens. The omitted parts are counted, with next as the call that shows them.
func (t *Task) fit(room int, next string) { t.page(room, tokens.Fit, next) }

// page is fit for one of several pages. It reports whether the page has any text.
func (t *Task) page(room int, fit func([]tokens.Part, int) (shown, left []tokens.Part), next string) bool {
	outcomes := max(1, room/outcomeRoom/2)
	var more []string
	count := func(n int, noun string) {
		if n > 0 {
			more = append(more, plan.Pluralize(n, noun))
		}
	}
	count(len(t.Dependencies)-idsShown, "more dependency")
	count(len(t.Outcomes)-outcomes, "more outcome")
	count(t.EarlierNotes, "earlier note")
	t.Title = tokens.ShortenCautiously(t.Title, room/7, plan.MaxLongLine)
	t.SuggestedAgent = tokens.ShortenCautiously(t.SuggestedAgent, nameTokens, titleShown)
	t.ClaimedBy = tokens.ShortenCautiously(t.ClaimedBy, nameTokens, titleShown)
	t.Dependencies, t.WaitingOn = t.Dependencies[:min(len(t.Dependencies), idsShown)], t.WaitingOn[:min(len(t.WaitingOn), idsShown)]
	t.Outcomes = slices.Clone(t.Outcomes[:min(len(t.Outcomes), outcomes)])
	for i := range t.Outcomes {
		o := &t.Outcomes[i]
		o.Title = tokens.ShortenCautiously(o.Title, 2*titleTokens, plan.MaxTitle)
		room -= tokens.CountCautiously(o.Title) + taskFrame/3
	}
	room -= taskFrame + tokens.CountCautiously(t.Title) + 3*(len(t.Dependencies)+len(t.WaitingOn))
	fields := t.fields()
	parts := make([]tokens.Part, len(fields))
	for i := range fields {
		parts[i] = fields[i].Part
	}
	shown, left := fit(parts, room)
	any := false
	for i, f := range fields {
		texts := shown[i].Texts
		if any = any || len(texts) > 0; f.list != nil {
			*f.list = list(texts)
		} else {
			*f.text = strings.Join(texts, "\n")
		}
	}
	if rest := tokens.Left(left); rest != "" {
		more = append(more, rest)
	}
	if more != nil {
		t.More = strings.Join(more, ", ") + ": " + next
	}
	return any
}

func (t Task) name() string {
	return plan.StepID(t.ID).String() + inBrackets(strings.Join(nonEmpty(t.word, string(t.Type)), ", "))
}

// lines returns all texts of a task except its title.
func (t Task) lines() string {
	var b strings.Builder
	line := func(name string, texts ...string) {
		switch {
		case len(texts) == 1 && texts[0] != "":
			b.WriteString("\n" + name + ": " + safetext.AfterLabel(texts[0]))
		case len(texts) > 1:
			b.WriteString("\n" + name + ":")
			for _, text := range texts {
				b.WriteString("\n- " + safetext.AfterLabel(text))
			}
		}
	}
	inLine := func(name string, texts []string) { line(name, strings.Join(texts, ", ")) }
	line("Comments", t.Comments...)
	line("Details", t.Details)
	line("Hints", t.ContextHints...)
	inLine("Files", t.RelevantFilePaths)
	inLine("Creates", t.Creates)
	line("Criteria", t.AcceptanceCriteria...)
	line("Verify", t.Verify)
	line("Risk", string(t.Risk))
	inLine("Tools", t.Tools)
	line("Carried out by", strings.TrimSpace(t.Tool+" "+t.Args))
	line("So far", t.Progress)
	line("Suggested agent", t.SuggestedAgent)
	line("Other", t.Other...)
	line("Depends on", idTexts(t.Dependencies))
	line("Waits for", idTexts(t.WaitingOn))
	line("Claimed by", t.ClaimedBy)
	line("Error", t.Error)
	line("Output", t.Output)
	inLine("Affected files", t.AffectedFiles)
	line("Notes", t.Notes...)
	if t.EarlierNotes > 0 && t.More == "" {
		line("Earlier notes", strconv.Itoa(t.EarlierNotes))
	}
	for _, o := range t.Outcomes {
		line(fmt.Sprintf("%s (%s)", plan.StepID(o.ID), o.word), o.Title)
		line("  note", o.Note)
		line("  output", o.Output)
		inLine("  affected files", o.AffectedFiles)
	}
	line("More", t.More)
	return b.String()
}

// text returns a task whole, indented below its name.
func (t *Task) text() string {
	if t == nil {
		return ""
	}
	return prompts.Facts([]prompts.Fact{t.fact()})
}

func (t *Task) fact() prompts.Fact {
	return prompts.Fact{Name: t.name(), Texts: []string{t.Title + t.lines()}}
}

// entry returns a task as a line of a list.
func (t Task) entry() string {
	more := nonEmpty(string(t.Type), prefixed("depends on ", idTexts(t.Dependencies)),
		prefixed("waits for ", idTexts(t.WaitingOn)))
	return fmt.Sprintf("%s [%s] %s", plan.StepID(t.ID), t.word, t.Title) + inBrackets(strings.Join(more, "; "))
}

func idTexts(numbers []int) string {
	ids := make([]plan.StepID, len(numbers))
	for i, number := range numbers {
		ids[i] = plan.StepID(number)
	}
	return plan.ListIDs(ids)
}

// TaskID is a step by its number, as in the JSON contract. S002 is accepted, too.
type TaskID int

// UnmarshalJSON accepts a number, and everything plan.ParseStepID accepts.
func (id *TaskID) UnmarshalJSON(data []byte) error {
	parsed, err := plan.ParseStepID(strings.Trim(string(data), `"`))
	if err != nil {
		return err
	}
	*id = TaskID(parsed)
	return nil
}

// TaskRef names a task of the plan by its id, or a task added in the same call by its ref.
type TaskRef string

// Kinds returns the kinds of JSON values that it accepts.
func (TaskRef) Kinds() []string { return []string{"integer", "string"} }

// Member returns the reference for a member of an object, such as "add":["S001"]: +S001.
func (TaskRef) Member(name string, value []byte) []byte {
	sign, ok := map[string]string{"add": "+", "remove": "-", "set": ""}[name]
	if !ok {
		return nil
	}
	refs := strings.NewReplacer(`"`, "", "[", "", "]", "").Replace(string(value))
	return []byte(object(sign + strings.ReplaceAll(refs, ",", ","+sign)))
}

// isChange reports whether the reference adds to the dependencies of a step, or removes from them.
func (r TaskRef) isChange() bool {
	return strings.HasPrefix(string(r), "+") || strings.HasPrefix(string(r), "-")
}

// changed returns the dependencies of a step after the changes that references ask for.
func changed(have []plan.StepID, refs []TaskRef) (all []TaskRef) {
	for _, ref := range refs {
		if more, adds := strings.CutPrefix(string(ref), "+"); adds && more != "" {
			all = append(all, TaskRef(more))
		} else if id, err := plan.ParseStepID(strings.TrimPrefix(string(ref), "-")); err == nil {
			have = slices.DeleteFunc(slices.Clone(have), func(one plan.StepID) bool { return one == id })
		}
	}
	for _, id := range have {
		all = append(all, TaskRef(id.Number()))
	}
	return all
}

// UnmarshalText accepts any text; numbers arrive as digits.
func (r *TaskRef) UnmarshalText(text []byte) error {
	*r = TaskRef(text)
	return nil
}

// TaskFields are the writable fields of a task: those of the contract and our additions. Fields that models rarely need
// are accepted but not listed in the tool's schema, which costs tokens in every conversation; those that let planloop run
// the step are listed with the toolset execution. They are the fields of a plan.Patch except the dependencies: their
// meaning depends on the plan.
type TaskFields struct {
	Title              *string        `json:"title,omitempty"`
	Details            *string        `json:"details,omitempty" text:"rest"`
	Type               *plan.StepType `json:"type,omitempty"`
	DependsOn          *[]plan.StepID `json:"-"`
	ContextHints       *[]string      `json:"context_hints,omitempty" hint:"where to look first"`
	RelevantFilePaths  *[]string      `json:"relevant_file_paths,omitempty" hint:"a file it is about"`
	Creates            *[]string      `json:"creates,omitempty" jsonschema:"description=files it brings about"`
	AcceptanceCriteria *[]string      `json:"acceptance_criteria,omitempty" hint:"a checkable criterion"`
	Verify             *string        `json:"verify,omitempty" text:"commands"`
	Risk               *plan.Risk     `json:"risk,omitempty"`
	SuggestedAgent     *string        `json:"suggested_agent,omitempty" jsonschema:"-"`
	Critical           *bool          `json:"critical,omitempty" jsonschema:"-"`
	Tools              *[]string      `json:"tools,omitempty"`
	Tool               *string        `json:"tool,omitempty" jsonschema:"description=it carries out the step" toolset:"execution"`

	Args *json.RawMessage `json:"args,omitempty" jsonschema:"type=object,description=a value $S001.path is filled in" toolset:"execution"`

	Idempotent       *bool   `json:"idempotent,omitempty" jsonschema:"-"`
	RequiresApproval *bool   `json:"requires_approval,omitempty" jsonschema:"description=a person first" toolset:"execution"`
	Always           *bool   `json:"always,omitempty" jsonschema:"description=to clean up when a run ends" toolset:"execution"`
	Timeout          *int    `json:"timeout,omitempty" jsonschema:"description=seconds" toolset:"execution"`
	Pause            *string `json:"pause,omitempty" jsonschema:"-"`
	When             *string `json:"when,omitempty" jsonschema:"description=such as steps.S001.ok" toolset:"execution"`

	ForEach *string `json:"for_each,omitempty" jsonschema:"description=list or glob\\, once per $item" toolset:"execution" text:"list"`

	Retry      *json.RawMessage `json:"retry,omitempty" jsonschema:"-"`
	Cwd        *string          `json:"cwd,omitempty" jsonschema:"-"`
	Lock       *string          `json:"lock,omitempty" jsonschema:"-"`
	OutputFile *string          `json:"output_file,omitempty" jsonschema:"-"`
}

// patch returns the given fields, cleaned, without the dependencies. field is the task's JSON pointer.
func (t TaskFields) patch(field string) (plan.Patch, error) {
	for _, list := range []**[]string{&t.RelevantFilePaths, &t.Creates} {
		if *list != nil {
			split := gates.SplitPaths(**list)
			*list = &split
		}
	}
	if t.Verify != nil { // without a prompt, and the quotes of Markdown around it
		command := strings.TrimPrefix(strings.TrimSpace(*t.Verify), "$ ")
		if inner := strings.Trim(command, "`"); len(inner) == len(command)-2 && !strings.Contains(inner, "`") {
			command = inner
		}
		t.Verify = &command
	}
	for _, object := range []**json.RawMessage{&t.Args, &t.Retry} {
		if *object != nil {
			*object = new(runnable.Written(**object))
		}
	}
	return plan.CleanPatch(field, plan.Patch(t))
}
