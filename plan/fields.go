package plan

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// FieldKind says what a field holds, and so how it is cleaned, written and read.
type FieldKind int

// The kinds of field.
const (
	LineField    FieldKind = iota // text on one line
	BlockField                    // text with line breaks
	LinesField                    // a list of lines
	BlocksField                   // a list of texts with line breaks
	PathsField                    // a list of paths within the workspace
	StepsField                    // ids of steps
	WordField                     // one of a few words
	FlagField                     // true or false
	CountField                    // a whole number
	SecondsField                  // a whole number of seconds
	JSONField                     // a JSON value
	TimeField                     // a moment
	RecordField                   // evidence, a result, an approval
)

// Binding says which changes of a field an approval does not cover.
type Binding int

// The ways a field binds.
const (
	Unbound    Binding = iota // no change of it needs a new agreement
	BindsAny                  // any change
	BindsMore                 // an entry that is added, a flag that is set, a word that ranks higher
	BindsFewer                // an entry that is dropped, a flag that is taken back
)

// Field is a row of the table of a step's or a plan's fields: the one place that
// says how a field is called, cleaned, changed, shown and carried elsewhere.
type Field[T any] struct {
	Name  string // in our JSON; a slash stands before the name of a field within
	Label string // what people read before its value, of a list before each entry
	Words string // what a line of the log calls it
	Flag  string // of the command line; "" when no flag sets it
	Help  string // what it says, with a `PLACEHOLDER` for the value unless it is a flag
	Rawko string // rawko's name of it; "" where rawko has no place for it

	Kind      FieldKind
	Max       int  // characters of the text or of each entry, or the highest number
	Most      int  // entries of a list; 0: MaxList
	Required  bool // it must not be blank
	ShownOnly bool // a check list shows it and does not give it back

	Binding Binding
	Breach  string // what a change that is not covered is called

	In func(*T) any // a pointer to the value

	given  func(*Patch) bool
	assign func(*T, *Patch)
	take   func(*Patch, *T)
}

// StepFields lists the fields of a step, but for its id, in the order in which they
// are shown: first what it asks for, then what has become of it.
func StepFields() []Field[Step] { return stepFields() }

// PlanFields lists the fields of a plan that an author writes, and those that an
// export may lose, in the order in which they are shown.
func PlanFields() []Field[Plan] { return planFields() }

// SpecFields lists the fields of a Spec, the first of StepFields.
func SpecFields() []Field[Step] { return stepFields()[:specFieldCount] }

// ProgressFields lists the fields of a Progress, which follow in StepFields.
func ProgressFields() []Field[Step] { return stepFields()[specFieldCount:] }

const specFieldCount = 21

// spec completes a row for a field of a step's Spec, which a Patch can change.
func spec[V any](f Field[Step], in func(*Step) *V, patch func(*Patch) **V) Field[Step] {
	f.given = func(p *Patch) bool { return *patch(p) != nil }
	f.assign = func(s *Step, p *Patch) { *in(s) = **patch(p) }
	f.take = func(p *Patch, s *Step) {
		value := *in(s)
		switch list := any(&value).(type) { // an empty list erases, none would say nothing
		case *[]string:
			*list = append([]string{}, *list...)
		case *[]StepID:
			*list = append([]StepID{}, *list...)
		}
		*patch(p) = &value
	}
	return row(f, in)
}

// row completes a row: what it leaves out follows from the name.
func row[T, V any](f Field[T], in func(*T) *V) Field[T] {
	f.In = func(of *T) any { return in(of) }
	plain := strings.ReplaceAll(f.Name[strings.LastIndexByte(f.Name, '/')+1:], "_", " ")
	if f.Label == "" {
		f.Label = plain
	}
	if f.Words == "" {
		f.Words = plain
	}
	if f.Flag == "" && f.Help != "" {
		f.Flag = strings.ReplaceAll(f.Label, " ", "-")
	}
	return f
}

var stepFields = sync.OnceValue(func() []Field[Step] { return slices.Concat(specRows(), progressRows()) })

func specRows() []Field[Step] {
	type step = Field[Step]
	return []step{
		spec(step{Name: "title", Kind: LineField, Max: MaxLongLine, Required: true, Rawko: "description",
			Binding: BindsAny, Breach: "another title"},
			func(s *Step) *string { return &s.Title }, func(p *Patch) **string { return &p.Title }),
		spec(step{Name: "details", Kind: BlockField, Max: MaxLongText, Help: "the `TEXT` one has to know to do it", Rawko: "instructions"},
			func(s *Step) *string { return &s.Details }, func(p *Patch) **string { return &p.Details }),
		spec(step{Name: "type", Kind: WordField, Help: "its `TYPE`: feature, bugfix, chore or test"},
			func(s *Step) *StepType { return &s.Type }, func(p *Patch) **StepType { return &p.Type }),
		spec(step{Name: "depends_on", Words: "dependencies", Kind: StepsField, Rawko: "dependsOn",
			Help: "the `STEPS` that must be done before, such as S001,S002", Binding: BindsAny, Breach: "other dependencies"},
			func(s *Step) *[]StepID { return &s.DependsOn }, func(p *Patch) **[]StepID { return &p.DependsOn }),
		spec(step{Name: "risk", Kind: WordField, Help: "its `RISK`: low, medium or high", Binding: BindsMore, Breach: "a new risk"},
			func(s *Step) *Risk { return &s.Risk }, func(p *Patch) **Risk { return &p.Risk }),
		spec(step{Name: "context_hints", Label: "hint", Words: "hints", Kind: LinesField, Max: MaxHint,
			Help: "`TEXT` on where to look first; may be given again, as may the other lists"},
			func(s *Step) *[]string { return &s.ContextHints }, func(p *Patch) **[]string { return &p.ContextHints }),
		spec(step{Name: "relevant_file_paths", Label: "path", Words: "paths", Kind: PathsField, Max: MaxPath,
			Help: "a `FILE` it is about, relative to the workspace"},
			func(s *Step) *[]string { return &s.RelevantFilePaths }, func(p *Patch) **[]string { return &p.RelevantFilePaths }),
		spec(step{Name: "creates", Words: "paths it creates", Kind: PathsField, Max: MaxPath, Help: "a `FILE` it brings into being"},
			func(s *Step) *[]string { return &s.Creates }, func(p *Patch) **[]string { return &p.Creates }),
		spec(step{Name: "acceptance_criteria", Label: "criterion", Kind: LinesField, Max: MaxLongLine, Rawko: "acceptanceCriteria",
			Help: "the `TEXT` of what must hold for it to be done", Binding: BindsFewer, Breach: "a dropped criterion"},
			func(s *Step) *[]string { return &s.AcceptanceCriteria }, func(p *Patch) **[]string { return &p.AcceptanceCriteria }),
		spec(step{Name: "verify", Words: "verification", Kind: LineField, Max: MaxLongLine, Help: "a `COMMAND` that shows that it is done",
			Binding: BindsAny, Breach: "another command to verify it by"},
			func(s *Step) *string { return &s.Verify }, func(p *Patch) **string { return &p.Verify }),
		spec(step{Name: "suggested_agent", Label: "agent", Flag: "suggested-agent", Words: "suggested agent", Kind: LineField, Max: MaxHint,
			Help: "the `NAME` of who should do it", Rawko: "suggestedAgent"},
			func(s *Step) *string { return &s.SuggestedAgent }, func(p *Patch) **string { return &p.SuggestedAgent }),
		spec(step{Name: "tools", Label: "may use", Kind: LinesField, Max: MaxHint, Help: "a `TOOL` that may be used for it",
			Binding: BindsMore, Breach: "a new tool"},
			func(s *Step) *[]string { return &s.Tools }, func(p *Patch) **[]string { return &p.Tools }),
		spec(step{Name: "tool", Kind: LineField, Max: MaxHint, Help: "the `TOOL` that carries it out, with --args",
			Binding: BindsAny, Breach: "another tool or arguments"},
			func(s *Step) *string { return &s.Tool }, func(p *Patch) **string { return &p.Tool }),
		spec(step{Name: "args", Words: "arguments", Kind: JSONField, Help: "the tool's arguments, a `JSON` object",
			Binding: BindsAny, Breach: "another tool or arguments"},
			func(s *Step) *json.RawMessage { return &s.Args }, func(p *Patch) **json.RawMessage { return &p.Args }),
		spec(step{Name: "critical", Kind: FlagField, Help: "the plan must be revised if it fails",
			Binding: BindsFewer, Breach: "not critical any more"},
			func(s *Step) *bool { return &s.Critical }, func(p *Patch) **bool { return &p.Critical }),
		spec(step{Name: "idempotent", Kind: FlagField, Help: "doing it twice does no harm",
			Binding: BindsMore, Breach: "said to be harmless when done twice"},
			func(s *Step) *bool { return &s.Idempotent }, func(p *Patch) **bool { return &p.Idempotent }),
		spec(step{Name: "requires_approval", Label: "approval", Flag: "requires-approval", Words: "approval", Kind: FlagField,
			Help: "a person must agree before it is run", Binding: BindsFewer, Breach: "no approval asked for any more"},
			func(s *Step) *bool { return &s.RequiresApproval }, func(p *Patch) **bool { return &p.RequiresApproval }),
		spec(step{Name: "timeout", Kind: SecondsField, Max: maxSeconds, Help: "the `TIME` it may run, such as 90s or 5m"},
			func(s *Step) *int { return &s.Timeout }, func(p *Patch) **int { return &p.Timeout }),
		spec(step{Name: "pause", Kind: LineField, Max: MaxLongLine, Help: "`TEXT` to ask a person before it starts",
			Binding: BindsAny, Breach: "another question to a person before it starts"},
			func(s *Step) *string { return &s.Pause }, func(p *Patch) **string { return &p.Pause }),
		spec(step{Name: "when", Words: "condition", Kind: LineField, Max: MaxLongLine, Help: "the `CONDITION` under which it is run",
			Binding: BindsAny, Breach: "another condition"},
			func(s *Step) *string { return &s.When }, func(p *Patch) **string { return &p.When }),
		spec(step{Name: "for_each", Words: "loop", Kind: LineField, Max: MaxLongLine, Help: "the `LIST` it is run for",
			Binding: BindsAny, Breach: "another list it is run for"},
			func(s *Step) *string { return &s.ForEach }, func(p *Patch) **string { return &p.ForEach }),
	}
}

func progressRows() []Field[Step] {
	type step = Field[Step]
	return []step{
		row(step{Name: "status", Kind: WordField, Rawko: "status"}, func(s *Step) *StepStatus { return &s.Status }),
		row(step{Name: "notes", Label: "note", Kind: BlocksField, Max: MaxLongText, Most: MaxNotes},
			func(s *Step) *[]string { return &s.Notes }),
		row(step{Name: "evidence", Kind: RecordField, ShownOnly: true}, func(s *Step) *[]Evidence { return &s.Evidence }),
		row(step{Name: "output", Kind: BlockField, Max: MaxLongText, Rawko: "output"}, func(s *Step) *string { return &s.Output }),
		row(step{Name: "error", Kind: BlockField, Max: MaxLongText, Rawko: "error"}, func(s *Step) *string { return &s.Error }),
		row(step{Name: "result", Kind: RecordField, ShownOnly: true}, func(s *Step) **Result { return &s.Result }),
		row(step{Name: "affected_files", Label: "affected file", Kind: LinesField,
			Max: MaxPath, Most: MaxNotes, Rawko: "affectedFiles"}, // a report: nothing opens them
			func(s *Step) *[]string { return &s.AffectedFiles }),
		row(step{Name: "claimed_by", Kind: LineField, Max: MaxHint, ShownOnly: true}, func(s *Step) *string { return &s.ClaimedBy }),
		row(step{Name: "lease_until", Kind: TimeField, ShownOnly: true}, func(s *Step) *time.Time { return &s.LeaseUntil }),
		row(step{Name: "executed_by", Kind: LineField, Max: MaxHint, Rawko: "executedBy"}, func(s *Step) *string { return &s.ExecutedBy }),
		row(step{Name: "attempts", Kind: CountField, Max: maxSeconds}, func(s *Step) *int { return &s.Attempts }),
		row(step{Name: "started_at", Label: "started", Kind: TimeField, Rawko: "startedAt"},
			func(s *Step) *time.Time { return &s.StartedAt }),
		row(step{Name: "completed_at", Label: "completed", Kind: TimeField, Rawko: "completedAt"},
			func(s *Step) *time.Time { return &s.CompletedAt }),
	}
}

var planFields = sync.OnceValue(func() []Field[Plan] {
	type p = Field[Plan]
	return []p{
		row(p{Name: "objective", Kind: LineField, Max: MaxLongLine, Required: true, Rawko: "task"},
			func(p *Plan) *string { return &p.Objective }),
		row(p{Name: "summary", Kind: BlockField, Max: MaxSummary}, func(p *Plan) *string { return &p.Summary }),
		row(p{Name: "context_notes", Kind: BlockField, Max: MaxLongText}, func(p *Plan) *string { return &p.ContextNotes }),
		row(p{Name: "reasoning", Kind: BlockField, Max: MaxLongText}, func(p *Plan) *string { return &p.Reasoning }),
		row(p{Name: "changes", Kind: BlockField, Max: MaxLongText, ShownOnly: true}, func(p *Plan) *string { return &p.Changes }),
		row(p{Name: "questions", Label: "question", Kind: LinesField, Max: MaxLongLine}, func(p *Plan) *[]string { return &p.Questions }),
		row(p{Name: "metadata/complexity", Kind: CountField, Max: 10, Rawko: "complexity"},
			func(p *Plan) *int { return &p.Metadata.Complexity }),
		row(p{Name: "metadata/tags", Label: "tag", Kind: LinesField, Max: MaxHint, Rawko: "tags"},
			func(p *Plan) *[]string { return &p.Metadata.Tags }),
		row(p{Name: "metadata/constraints", Label: "constraint", Kind: LinesField, Max: MaxLongLine, Rawko: "constraints"},
			func(p *Plan) *[]string { return &p.Metadata.Constraints }),
		row(p{Name: "metadata/informed_by", Kind: LinesField, Max: MaxPath, Rawko: "informedByMemories"},
			func(p *Plan) *[]string { return &p.Metadata.InformedBy }),
		row(p{Name: "estimated_duration", Kind: SecondsField, Max: maxSeconds}, func(p *Plan) *int { return &p.EstimatedDuration }),
		row(p{Name: "approval", Kind: RecordField, ShownOnly: true}, func(p *Plan) **Approval { return &p.Approval }),
		row(p{Name: "final_summary", Kind: BlockField, Max: MaxLongText, ShownOnly: true},
			func(p *Plan) *string { return &p.FinalSummary }),
	}
})

// Texts returns what the field holds as people read it: the entries of a list, else
// one text; none when it is empty.
func (f Field[T]) Texts(of *T) []string {
	text := ""
	switch v := f.In(of).(type) {
	case *string:
		text = *v
	case *[]string:
		return *v
	case *[]StepID:
		text = ListIDs(*v)
	case *json.RawMessage:
		text = string(*v)
	case *time.Time:
		if !v.IsZero() {
			text = v.Format(time.RFC3339Nano)
		}
	case *bool:
		if *v {
			text = "yes"
		}
	case *int:
		text = f.number(*v)
	case *[]Evidence:
		return evidenceTexts(*v)
	case **Result:
		text = (*v).text()
	case **Approval:
		if *v != nil {
			text = "by " + (*v).By
		}
	default:
		if word, words := f.word(of); words != nil {
			text = word.String()
		}
	}
	if text == "" {
		return nil
	}
	return []string{text}
}

func (f Field[T]) number(n int) string {
	switch {
	case n == 0:
		return ""
	case f.Kind == SecondsField:
		return strconv.Itoa(n) + " s"
	}
	return strconv.Itoa(n)
}

// Set gives the field the value that text says, as Texts writes it; a list gets one
// entry more. It reports false when text does not fit. Nothing is cleaned.
func (f Field[T]) Set(of *T, text string) bool {
	switch v := f.In(of).(type) {
	case *string:
		*v = text
		return true
	case *[]string:
		*v = append(*v, text)
		return true
	case *[]StepID:
		return appendIDs(v, text)
	case *json.RawMessage:
		*v = json.RawMessage(text)
		return true
	case *time.Time:
		t, err := time.Parse(time.RFC3339, text)
		return err == nil && set(v, t)
	case *bool:
		yes := strings.EqualFold(text, "yes") || strings.EqualFold(text, "true")
		return (yes || strings.EqualFold(text, "no") || strings.EqualFold(text, "false")) && set(v, yes)
	case *int:
		n, err := strconv.Atoi(strings.TrimSuffix(text, " s"))
		return err == nil && set(v, n)
	case *[]Evidence:
		*v = append(*v, Evidence{Note: text})
		return true
	}
	word, words := f.word(of)
	text = strings.ToLower(text)
	if !slices.Contains(words, text) {
		return false
	}
	word.SetString(text)
	return true
}

func set[V any](field *V, value V) bool {
	*field = value
	return true
}

func appendIDs(ids *[]StepID, text string) bool {
	var more []StepID
	for word := range strings.SplitSeq(text, ",") {
		id, err := ParseStepID(word)
		if err != nil {
			return false
		}
		more = append(more, id)
	}
	*ids = append(*ids, more...)
	return true
}

// Values lists the words that the field may hold, nil when it takes others.
func (f Field[T]) Values() []string {
	_, words := f.word(new(T))
	return words
}

// word returns a field that holds one of a few words, and the words; none when it
// holds something else.
func (f Field[T]) word(of *T) (reflect.Value, []string) {
	if word, ok := f.In(of).(interface{ Values() []string }); ok {
		return reflect.ValueOf(word).Elem(), word.Values()
	}
	return reflect.Value{}, nil
}

func evidenceTexts(list []Evidence) []string {
	var texts []string
	for _, e := range list {
		parts := []string{e.Criterion, e.Command, "", e.Note, e.Output}
		if e.ExitCode != nil {
			parts[2] = "exit status " + strconv.Itoa(*e.ExitCode)
		}
		texts = append(texts, strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; "))
	}
	return texts
}

func (r *Result) text() string {
	switch {
	case r == nil:
		return ""
	case r.OK:
		return fmt.Sprintf("ok after %d ms", r.Duration)
	}
	return fmt.Sprintf("failed after %d ms: %s", r.Duration, r.Error)
}

// breaches reports whether an approval of old does not cover what the field is now.
func (f Field[T]) breaches(old, now *T) bool {
	before, after := f.Texts(old), f.Texts(now)
	switch f.Binding {
	case BindsAny:
		return !slices.Equal(before, after)
	case BindsMore:
		if word, words := f.word(now); words != nil {
			was, _ := f.word(old)
			return slices.Index(words, word.String()) > slices.Index(words, was.String())
		}
		return !contains(before, after)
	case BindsFewer:
		return !contains(after, before)
	}
	return false
}

// Given lists the fields that the patch changes.
func (p Patch) Given() []Field[Step] {
	var given []Field[Step]
	for _, f := range SpecFields() {
		if f.given(&p) {
			given = append(given, f)
		}
	}
	return given
}

// On returns spec with the patch applied.
func (p Patch) On(spec Spec) Spec {
	step := Step{Spec: spec}
	for _, f := range p.Given() {
		f.assign(&step, &p)
	}
	return step.Spec
}

// PatchOf returns the patch that gives the fields their values in spec.
func PatchOf(spec Spec, fields []Field[Step]) Patch {
	var p Patch
	step := Step{Spec: spec}
	for _, f := range fields {
		f.take(&p, &step)
	}
	return p
}
