package plan

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// FieldKind is the kind of value in a field. It decides how the field is cleaned, written and read.
type FieldKind int

// The kinds of field.
const (
	LineField    FieldKind = iota // text on one line
	BlockField                    // text with line breaks
	LinesField                    // a list of lines
	BlocksField                   // a list of texts with line breaks
	PathField                     // a path within the workspace
	PathsField                    // a list of them
	NameField                     // letters, digits, dashes and underscores
	StepsField                    // ids of steps
	WordField                     // one of a few words
	FlagField                     // true or false
	CountField                    // a whole number
	SecondsField                  // a whole number of seconds
	JSONField                     // a JSON value
	TimeField                     // a moment
	RecordField                   // evidence, a result, an approval
)

// Binding says which changes of a field an approval does not cover. Every field that binds is part
// of the digest of the version shown.
type Binding int

// The ways a field binds.
const (
	Unbound    Binding = iota // every change is covered
	BindsAny                  // every change needs a new agreement
	BindsMore                 // only setting the flag does
	BindsFewer                // only clearing the flag does
)

// Division says what the part split off an approved step may contain without a new agreement.
type Division int

// The ways a field divides.
const (
	SplitFree      Division = iota // anything
	SplitSubset                    // nothing beyond the whole
	SplitInherited                 // all entries of the whole, or a word no higher than its word; if empty, it is copied
	SplitForbidden                 // nothing
)

// Field is a row of the table of a step's or a plan's fields: the only place that says how a field
// is named, cleaned, changed, shown and exported.
type Field[T any] struct {
	Name  string // in our JSON, which identifies the value; a slash precedes a field within it
	Label string // shown to people before the value, or before each entry of a list
	Words string // its name in a line of the log
	Flag  string // on the command line; "" if no flag sets it
	Help  string // describes the flag, with a `PLACEHOLDER` for the value unless it is a boolean
	Rawko string // its name in rawko; "" if rawko has no such field

	Kind       FieldKind
	Max        int  // characters of the text or of each entry, or the highest number
	MaxEntries int  // entries of a list; 0: MaxList
	Required   bool // it must not be blank
	Empty      bool // an empty list differs from a missing one
	ShownOnly  bool // a check list shows it and does not read it back
	Masked     bool // secrets in it are masked

	Binding Binding
	Breach  string // the name of a change that is not covered
	Split   Division

	field   []int // index of the value in T
	patched []int // its index in Patch; nil if a patch cannot change it
}

// StepFields lists the fields of a step except its id, in display order: first its Spec, then its
// Progress.
func StepFields() []Field[Step] { return stepFields() }

// PlanFields lists the fields of a plan that an author writes or that an export may lose, in
// display order.
func PlanFields() []Field[Plan] { return planFields() }

// SpecFields lists the fields of a Spec, the first of StepFields.
func SpecFields() []Field[Step] { return specFields() }

// ProgressFields lists the fields of a Progress, the rest of StepFields.
func ProgressFields() []Field[Step] { return progressFields() }

// complete finds the value of each row and fills in the attributes that follow from its name. It
// panics if one of the structs lacks a field, a programming error that every test would hit.
func complete[T any](rows []Field[T], structs ...reflect.Type) []Field[T] {
	if err := checkRows(rows, structs); err != nil {
		panic(err)
	}
	fields, patched := indexes(reflect.TypeFor[T]()), indexes(reflect.TypeFor[Patch]())
	for i := range rows {
		f := &rows[i]
		f.field, f.patched = fields[f.Name], patched[f.Name]
		plain := strings.ReplaceAll(f.Name[strings.LastIndexByte(f.Name, '/')+1:], "_", " ")
		f.Label, f.Words = cmp.Or(f.Label, plain), cmp.Or(f.Words, plain)
		if f.Flag == "" && f.Help != "" {
			f.Flag = strings.ReplaceAll(f.Label, " ", "-")
		}
	}
	return rows
}

// checkRows names the rows whose field a struct lacks.
func checkRows[T any](rows []Field[T], structs []reflect.Type) error {
	var errs []error
	for _, in := range structs {
		known := indexes(in)
		for _, f := range rows {
			if known[f.Name] == nil {
				errs = append(errs, fmt.Errorf("%s lacks the field %q of plan/fields.go; add it, or remove its row", in, f.Name))
			}
		}
	}
	return errors.Join(errs...)
}

// indexes returns the index of each field of a struct by its JSON name.
func indexes(t reflect.Type) map[string][]int {
	all := map[string][]int{}
	for _, f := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		all[name] = f.Index
		if f.Type == reflect.TypeFor[Metadata]() {
			for inner, index := range indexes(f.Type) {
				all[name+"/"+inner] = slices.Concat(f.Index, index)
			}
		}
	}
	return all
}

// Pointer returns a pointer to the field's value.
func (f Field[T]) Pointer(of *T) any { return f.value(of).Addr().Interface() }

func (f Field[T]) value(of *T) reflect.Value { return reflect.ValueOf(of).Elem().FieldByIndex(f.field) }

// change returns p's pointer to the new value, nil if p leaves the field as it is.
func (f Field[T]) change(p *Patch) reflect.Value {
	return reflect.ValueOf(p).Elem().FieldByIndex(f.patched)
}

var (
	stepFields = sync.OnceValue(func() []Field[Step] { return slices.Concat(specFields(), progressFields()) })
	specFields = sync.OnceValue(func() []Field[Step] {
		return complete(specRows(), reflect.TypeFor[Spec](), reflect.TypeFor[Patch]())
	})
	progressFields = sync.OnceValue(func() []Field[Step] { return complete(progressRows(), reflect.TypeFor[Progress]()) })
)

func specRows() []Field[Step] {
	return []Field[Step]{
		{Name: "title", Kind: LineField, Max: MaxLongLine, Required: true, Rawko: "description",
			Binding: BindsAny, Breach: "another title"},
		{Name: "details", Kind: BlockField, Max: MaxLongText, Help: "`TEXT` with details on how to do it", Rawko: "instructions",
			Binding: BindsAny, Breach: "other details"},
		{Name: "type", Kind: WordField, Help: "its `TYPE`: feature, bugfix, chore or test"},
		{Name: "depends_on", Words: "dependencies", Kind: StepsField, Rawko: "dependsOn",
			Help: "the `STEPS` that must be done before, such as S001,S002", Binding: BindsAny, Breach: "other dependencies",
			Split: SplitInherited},
		{Name: "risk", Kind: WordField, Help: "its `RISK`: low, medium or high", Binding: BindsAny, Breach: "risk",
			Split: SplitInherited},
		{Name: "context_hints", Label: "hint", Words: "hints", Kind: LinesField, Max: MaxHint,
			Help: "`TEXT` on where to look first; may be repeated, as may the other lists"},
		{Name: "relevant_file_paths", Label: "path", Words: "paths", Kind: PathsField, Max: MaxPath,
			Help: "a `FILE` it is about, relative to the workspace", Binding: BindsAny, Breach: "other paths", Split: SplitSubset},
		{Name: "creates", Words: "paths it creates", Kind: PathsField, Max: MaxPath, Help: "a `FILE` it creates",
			Binding: BindsAny, Breach: "other paths that it creates", Split: SplitSubset},
		{Name: "acceptance_criteria", Label: "criterion", Kind: LinesField, Max: MaxLongLine, Rawko: "acceptanceCriteria",
			Help: "`TEXT`: what must hold for it to be done", Binding: BindsAny, Breach: "other criteria", Split: SplitSubset},
		{Name: "verify", Words: "verification", Kind: LineField, Max: MaxLongLine, Help: "a `COMMAND` that verifies it",
			Binding: BindsAny, Breach: "another verification command", Split: SplitSubset},
		{Name: "suggested_agent", Label: "agent", Flag: "suggested-agent", Words: "suggested agent", Kind: LineField, Max: MaxHint,
			Help: "the `NAME` of the agent that should do it", Rawko: "suggestedAgent"},
		{Name: "tools", Label: "may use", Kind: LinesField, Max: MaxHint, Help: "a `TOOL` that may be used for it",
			Binding: BindsAny, Breach: "other tools", Split: SplitSubset},
		{Name: "tool", Kind: LineField, Max: MaxHint, Help: "the `TOOL` that carries it out, with --args",
			Binding: BindsAny, Breach: "another tool or arguments", Split: SplitForbidden},
		{Name: "args", Words: "arguments", Kind: JSONField, Help: "the tool's arguments, a `JSON` object",
			Binding: BindsAny, Breach: "another tool or arguments", Split: SplitForbidden},
		{Name: "critical", Kind: FlagField, Help: "the plan must be revised if it fails",
			Binding: BindsFewer, Breach: "no longer critical", Split: SplitInherited},
		{Name: "idempotent", Kind: FlagField, Help: "it is safe to do twice",
			Binding: BindsMore, Breach: "now marked as safe to do twice", Split: SplitSubset},
		{Name: "requires_approval", Label: "approval", Flag: "requires-approval", Words: "approval", Kind: FlagField,
			Help: "a person must approve it before it runs", Binding: BindsFewer, Breach: "no longer asks for approval",
			Split: SplitInherited},
		{Name: "always", Kind: FlagField, Help: "it runs at the end of a run, whatever happened, to clean up",
			Binding: BindsAny, Breach: "runs at another time", Split: SplitInherited},
		{Name: "timeout", Kind: SecondsField, Max: maxSeconds, Help: "the `TIME` it may run, such as 90s or 5m"},
		{Name: "retry", Kind: JSONField, Help: "when to try it again, as `JSON`: {\"attempts\":3,\"wait\":\"5s\",\"on\":[75,\"timeout\"]}"},
		{Name: "cwd", Label: "directory", Flag: "cwd", Words: "directory", Kind: PathField, Max: MaxPath,
			Help: "the `DIRECTORY` its commands run in, relative to the workspace", Binding: BindsAny, Breach: "another directory",
			Split: SplitInherited},
		{Name: "lock", Kind: NameField, Max: maxLockName,
			Help: "a `NAME`: steps with the same lock never run at once", Split: SplitInherited},
		{Name: "output_file", Kind: PathField, Max: MaxPath, Help: "a `FILE`: its text is the value once the step succeeds",
			Binding: BindsAny, Breach: "another output file", Split: SplitSubset},
		{Name: "pause", Kind: LineField, Max: MaxLongLine, Help: "`TEXT` to ask a person before it starts",
			Binding: BindsAny, Breach: "another question to a person before it starts", Split: SplitInherited},
		{Name: "when", Words: "condition", Kind: LineField, Max: MaxLongLine, Help: "run it only if this `CONDITION` is true",
			Binding: BindsAny, Breach: "another condition", Split: SplitInherited},
		{Name: "for_each", Words: "loop", Kind: LineField, Max: MaxLongText, Help: "run it once per entry of this `LIST`",
			Binding: BindsAny, Breach: "another loop list", Split: SplitSubset},
	}
}

func progressRows() []Field[Step] {
	return []Field[Step]{
		{Name: "status", Kind: WordField, Rawko: "status"},
		{Name: "notes", Label: "note", Kind: BlocksField, Max: MaxLongText, MaxEntries: MaxNotes, Masked: true},
		{Name: "evidence", Kind: RecordField, ShownOnly: true},
		{Name: "output", Kind: BlockField, Max: MaxLongText, Rawko: "output", Masked: true},
		{Name: "error", Kind: BlockField, Max: MaxLongText, Rawko: "error", Masked: true},
		{Name: "result", Kind: RecordField, ShownOnly: true},
		{Name: "affected_files", Label: "affected file", Kind: LinesField,
			Max: MaxPath, MaxEntries: MaxNotes, Rawko: "affectedFiles", Empty: true}, // a report: nothing opens them
		{Name: "claimed_by", Kind: LineField, Max: MaxHint, ShownOnly: true},
		{Name: "lease_until", Kind: TimeField, ShownOnly: true},
		{Name: "executed_by", Kind: LineField, Max: MaxHint, Rawko: "executedBy"},
		{Name: "attempts", Kind: CountField, Max: maxSeconds},
		{Name: "started_at", Label: "started", Kind: TimeField, Rawko: "startedAt"},
		{Name: "completed_at", Label: "completed", Kind: TimeField, Rawko: "completedAt"},
	}
}

var planFields = sync.OnceValue(func() []Field[Plan] {
	return complete([]Field[Plan]{
		{Name: "objective", Kind: LineField, Max: MaxLongLine, Required: true, Rawko: "task"},
		{Name: "summary", Kind: BlockField, Max: MaxSummary},
		{Name: "context_notes", Kind: BlockField, Max: MaxLongText},
		{Name: "reasoning", Kind: BlockField, Max: MaxLongText},
		{Name: "changes", Kind: BlockField, Max: MaxLongText, ShownOnly: true},
		{Name: "discoveries", Label: "discovery", Kind: LinesField, Max: MaxLongLine, ShownOnly: true},
		{Name: "questions", Label: "question", Kind: LinesField, Max: MaxLongLine},
		{Name: "metadata/complexity", Kind: CountField, Max: 10, Rawko: "complexity"},
		{Name: "metadata/tags", Label: "tag", Kind: LinesField, Max: MaxHint, Rawko: "tags"},
		{Name: "metadata/constraints", Label: "constraint", Kind: LinesField, Max: MaxLongLine, Rawko: "constraints"},
		{Name: "metadata/informed_by", Kind: LinesField, Max: MaxPath, Rawko: "informedByMemories"},
		{Name: "estimated_duration", Kind: SecondsField, Max: maxSeconds},
		{Name: "approval", Kind: RecordField, ShownOnly: true},
		{Name: "final_summary", Kind: BlockField, Max: MaxLongText, ShownOnly: true},
	}, reflect.TypeFor[Plan]())
})

// Texts returns the value as people read it: the entries of a list, else one text; nil if it is
// empty. Dependencies are a set, so they are sorted.
func (f Field[T]) Texts(of *T) []string {
	text := ""
	switch v := f.Pointer(of).(type) {
	case *string:
		text = *v
	case *[]string:
		return *v
	case *[]StepID:
		text = ListIDs(slices.Sorted(slices.Values(*v)))
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
		if *v != 0 {
			text = strconv.Itoa(*v)
		}
		if *v != 0 && f.Kind == SecondsField {
			text += " s"
		}
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

// orderedTexts is Texts with dependencies in their given order.
func (f Field[T]) orderedTexts(of *T) []string {
	if ids, is := f.Pointer(of).(*[]StepID); is && len(*ids) > 0 {
		return []string{ListIDs(*ids)}
	}
	return f.Texts(of)
}

// Set sets the field from text in the form that Texts returns; a list gets one more entry. It
// reports false if text does not fit. It does not clean.
func (f Field[T]) Set(of *T, text string) bool {
	switch v := f.Pointer(of).(type) {
	case *string:
		*v = text
		return true
	case *[]string:
		*v = append(*v, text)
		return true
	case *[]StepID:
		var more []StepID
		for word := range strings.SplitSeq(text, ",") {
			id, err := ParseStepID(word)
			if err != nil {
				return false
			}
			more = append(more, id)
		}
		*v = append(*v, more...)
		return true
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

// Values lists the words that the field may hold, nil if it is not a WordField.
func (f Field[T]) Values() []string {
	_, words := f.word(new(T))
	return words
}

// word returns the value of a field that holds one of a few words, and these words; nil for any
// other field.
func (f Field[T]) word(of *T) (reflect.Value, []string) {
	if word, ok := f.Pointer(of).(interface{ Values() []string }); ok {
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

// isBreach reports whether an approval of old does not cover the change to now.
func (f Field[T]) isBreach(old, now *T) bool {
	before, after := f.Texts(old), f.Texts(now)
	switch f.Binding {
	case BindsAny:
		return !slices.Equal(before, after)
	case BindsMore:
		return !containsAll(before, after)
	case BindsFewer:
		return !containsAll(after, before)
	}
	return false
}

// higher reports whether a word now ranks higher; an empty one ranks lowest.
func (f Field[T]) higher(old, now *T) bool {
	was, _ := f.word(old)
	word, words := f.word(now)
	return slices.Index(words, word.String()) > slices.Index(words, was.String())
}

// describeExcess describes how part's field goes beyond that of the step it splits, "" if it does not.
func (f Field[T]) describeExcess(whole, part *T) string {
	had, has := f.entries(whole), f.entries(part)
	switch f.Split {
	case SplitFree:
		return ""
	case SplitInherited:
		if f.Kind == WordField && len(has) >= len(had) && !f.higher(whole, part) || f.Kind != WordField && containsAll(has, had) {
			return ""
		}
		return f.describeBreach(whole, part)
	case SplitForbidden:
		had = nil
	}
	more := slices.DeleteFunc(slices.Clone(has), func(text string) bool { return slices.Contains(had, text) })
	for i, text := range more {
		more[i] = Quote(text)
	}
	if len(more) == 0 {
		return ""
	}
	return f.Words + " " + strings.Join(more, ", ")
}

// describeBreach names a change that is not covered; for a word, with its direction and new value.
func (f Field[T]) describeBreach(old, now *T) string {
	word, words := f.word(now)
	if words == nil {
		return f.Breach
	}
	way := "lower "
	if f.higher(old, now) {
		way = "higher "
	}
	return way + f.Breach + " (" + cmp.Or(word.String(), "none") + ")"
}

// entries is Texts with one entry per step of a list.
func (f Field[T]) entries(of *T) []string {
	ids, ok := f.Pointer(of).(*[]StepID)
	if !ok {
		return f.Texts(of)
	}
	return words(*ids)
}

// Fields lists the fields that the patch changes.
func (p Patch) Fields() []Field[Step] {
	return slices.DeleteFunc(slices.Clone(SpecFields()), func(f Field[Step]) bool { return f.change(&p).IsNil() })
}

// Apply returns spec with the patch applied.
func (p Patch) Apply(spec Spec) Spec {
	step := Step{Spec: spec}
	for _, f := range p.Fields() {
		f.value(&step).Set(f.change(&p).Elem())
	}
	return step.Spec
}

// NewPatch returns the patch that gives the fields their values in spec.
func NewPatch(spec Spec, fields []Field[Step]) Patch {
	var p Patch
	step := Step{Spec: spec}
	for _, f := range fields {
		value := f.value(&step)
		given := reflect.New(value.Type())
		given.Elem().Set(value)
		if value.Kind() == reflect.Slice && f.Kind != JSONField { // an empty list erases, nil would change nothing
			given.Elem().Set(reflect.AppendSlice(reflect.MakeSlice(value.Type(), 0, value.Len()), value))
		}
		f.change(&p).Set(given)
	}
	return p
}
