package verbs

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/plan"
)

// Decode reads JSON strictly into an input struct, by the rules for tool arguments. It accepts other names that models
// use for our fields if they are unambiguous. An error in the input is a *BadCall; the input then holds the parts that
// could be read.
func Decode(arguments []byte, into any) error {
	err := strict.Decode(arguments, into, synonyms())
	bad, ok := errors.AsType[*strict.Error](err)
	if !ok {
		return err
	}
	if wrapped, ok := into.(interface{ Wraps() []string }); ok && len(bytes.TrimSpace(arguments)) > 0 {
		for _, list := range wrapped.Wraps() {
			if strict.Decode([]byte(`{"`+list+`":`+string(arguments)+`}`), into, synonyms()) == nil {
				return nil
			}
		}
	}
	var list struct {
		Questions []AskUser `json:"questions" text:"lines"`
	}
	if ask, ok := into.(*AskUser); ok && strict.Decode(arguments, &list, synonyms()) == nil && len(list.Questions) > 0 {
		*ask = list.Questions[0]
		return onlyFirst(*ask, list.Questions[1:])
	}
	for _, one := range append([]*strict.Error{bad}, bad.Others...) {
		if path.Base(one.Pointer) == "timeout" && one.Want == "an integer" {
			one.Want += " of seconds"
		}
		if word := strings.ToLower(one.Given); inWords(word) != "" {
			one.Want, bad.Lost = "", append(bad.Lost, word)
		}
	}
	if len(bad.Lost) > 0 {
		return &BadCall{ValidationError: bad.Refusal(), InWords: keepInWords(into, bad.Lost)}
	}
	return &BadCall{ValidationError: bad.Refusal(), Mended: brief(bad.Corrected), mended: bad.Corrected,
		partly: strict.Partly(arguments, into, synonyms())}
}

// Try adds to a Decode error the verb's own objections to the parts of the input that could be read, so that the caller
// learns all at once. Nothing is changed.
func Try[In, Out any](ctx context.Context, s *Service, c Caller, err error, in In,
	verb func(*Service, context.Context, Caller, In) (Out, error)) error {
	bad, ok := errors.AsType[*BadCall](err)
	if !ok || !bad.partly || bad.Instead != "" {
		return err
	}
	c.wrong = bad.ValidationError
	_, more := verb(s, ctx, c, in)
	var refused *plan.ValidationError
	switch {
	case errors.As(more, new(*RefusedPlan)):
		return more
	case !errors.As(more, &refused) || refused.Kind == plan.Conflict || refused == c.wrong:
		return bad
	}
	all := mergeErrors(bad.ValidationError, refused)
	texts := map[string]string{}
	for _, one := range all.Others[len(bad.Others):] {
		texts[one.Field] = one.Suggestion
	}
	if again := strict.CorrectedAgain(bad.mended, &in, texts); again != nil {
		bad.Mended = brief(again)
	} else if own := new(BadCall); string(bad.mended) == "{}" && errors.As(more, &own) {
		bad.Mended = own.Mended // no argument remains, and an empty call is accepted
	}
	bad.ValidationError = all
	return bad
}

// BadCall refuses the input of a call and shows a corrected one.
type BadCall struct {
	*plan.ValidationError
	Mended  string // the arguments with placeholders for wrong or missing values; "" if they cannot be corrected
	Instead string // another call that does the same, in the caller's form; may be ""
	InWords string // what to do, if no call that keeps all that the caller said can be formed; else ""

	mended []byte // Mended, whole
	partly bool   // the input holds the readable parts
}

const skipInWords = `a step that is not needed is skipped with a reason: update_tasks takes {"id":3,"skip":"<why>"}`

// inWords says how to correct a call that has a key or a word for which no field can be given; "" for others.
func inWords(key string) string {
	skip := skipInWords
	goal := "the goal of a plan cannot be changed; add a constraint or a finding, or set up another plan"
	fixed := `a signal cannot be acknowledged; work on its cause, then clear it with "clear":true`
	return map[string]string{"remove_tasks": skip, "delete_tasks": skip, "remove_steps": skip, "delete_steps": skip, "remove": skip,
		"delete": skip, "goal": goal, "objective": goal, "acknowledge": fixed, "acknowledged": fixed, "ack": fixed,
		"plan_id": "this acts on the current plan alone; read it first, and leave out \"plan_id\" if you mean that plan",
		"reopen":  "a done step is reopened by the status in_progress alone"}[key]
}

// keepInWords says how to correct a call with fields that no other field can take.
func keepInWords(into any, keys []string) string {
	isStep := func(key string) bool { return key == "step_id" || key == "task_id" || key == "id" }
	if _, begins := into.(*Start); begins && slices.ContainsFunc(keys, isStep) {
		return `this sets up another plan; to begin a step, update_tasks takes {"id":3,"status":"in_progress"}`
	}
	names := make([]string, len(keys))
	for i, key := range keys {
		if words := inWords(key); words != "" {
			return words
		}
		names[i] = plan.Quote(plan.Shorten(key, titleShown))
	}
	if _, clears := into.(*ClearPlan); clears {
		return "this abandons the whole plan and takes no fields; " + skipInWords
	}
	return "put the content of " + strings.Join(names, ", ") + " into a known field, or leave it out if you can do without, and call again"
}

// Unwrap returns the refusal without the corrected call.
func (e *BadCall) Unwrap() error { return e.ValidationError }

// elsewhere adds to the refusal of a call the update that does what its arguments ask for. If that only marks steps and
// reports on them, it is made instead.
func (s *Service) elsewhere(ctx context.Context, c Caller, err error, input any, arguments []byte) (Reply, error) {
	bad, ok := errors.AsType[*BadCall](err)
	if !ok {
		return nil, err
	}
	first, update, reads := "", Update{}, false
	switch input.(type) {
	case *AddStep, *MarkStep, *UpdateStep:
		update, reads = updateOf(arguments)
	case *SetupPlan: // with more fields per step than the tool takes
		var in struct {
			Objective    string    `json:"objective"`
			InitialSteps []NewTask `json:"initial_steps"`
		}
		reads = Decode(arguments, &in) == nil && len(in.InitialSteps) > 0
		first, update.AddTasks = c.word(Call{Kind: CallSetUp})+objectiveAlone(in.Objective)+", then ", in.InitialSteps
	}
	for i, task := range update.AddTasks {
		update.AddTasks[i] = task.asked(s.opts.GateAll)
	}
	call := update.call()
	if text, can := c.Can(call); can && reads && len(call.JSON) <= shownArguments {
		bad.Instead = first + text
	}
	edits := func(u TaskUpdate) bool {
		return u.Status == nil || u.TaskFields != TaskFields{} || u.Dependencies != nil || u.After != nil
	}
	_, adds := input.(*AddStep)
	if adds || bad.Instead == "" || len(update.AddTasks) > 0 || slices.ContainsFunc(update.UpdateTasks, edits) {
		return nil, bad
	}
	out, err := s.Update(ctx, c, update)
	reply, err := answer(out, err, &update)
	if own, ok := errors.AsType[*BadCall](err); ok {
		own.Instead = c.word(Call{Kind: CallUpdate, JSON: own.Mended})
	}
	return reply, err
}

// byTitle replaces the titles that a call names steps by with their ids, if no other step has that title. It reports
// whether there is one.
func (s *Service) byTitle(ctx context.Context, c Caller, arguments []byte) ([]byte, bool) {
	state, err := s.State(ctx)
	if err != nil {
		return nil, false
	}
	known, found := referencesIn(state.ForEdits(c.Actor), nil), false
	named := regexp.MustCompile(`"(?:id|step|task|(?:step|task)_?[iI]d)"\s*:\s*("(?:[^"\\]|\\.)*")`)
	out := named.ReplaceAllFunc(arguments, func(member []byte) []byte {
		var title string
		text := named.FindSubmatch(member)[1]
		_ = json.Unmarshal(text, &title) // the expression matches texts alone
		id, ok := known.titled(title)
		if !ok {
			return member
		}
		found = true
		return append(bytes.TrimSuffix(member, text), object(id.String())...)
	})
	return out, found
}

// updateOf reads the arguments of a call about one step as an update, if they name several steps or use fields of an
// update.
func updateOf(arguments []byte) (Update, bool) {
	var update Update
	if Decode(arguments, &update) == nil && len(update.AddTasks)+len(update.UpdateTasks) > 0 {
		untitled := func(t NewTask) bool { // or with the id of a step as its ref
			_, err := plan.ParseStepID(given(t.Ref))
			return t.Title == nil || err == nil
		}
		lacks := func(u TaskUpdate) bool { return u.Status == nil && u.TaskFields == TaskFields{} }
		return update, !slices.ContainsFunc(update.AddTasks, untitled) &&
			!slices.ContainsFunc(update.UpdateTasks, lacks)
	}
	var many struct {
		StepIDs []TaskRef   `json:"step_ids"`
		Status  *TaskStatus `json:"status,omitempty"`
		Note    *string     `json:"note,omitempty"`
	}
	if Decode(arguments, &many) != nil {
		return Update{}, false
	}
	update = Update{}
	for _, refs := range many.StepIDs {
		for _, ref := range safetext.SplitList(string(refs)) {
			id, err := plan.ParseStepID(ref)
			if err != nil {
				return Update{}, false
			}
			update.UpdateTasks = append(update.UpdateTasks, TaskUpdate{ID: TaskID(id), Status: many.Status, Note: many.Note})
		}
	}
	return update, len(update.UpdateTasks) > 0
}

// worded returns the update in the contract's words: error and skip already imply the task's status.
func (in Update) worded() Update {
	in.UpdateTasks = slices.Clone(in.UpdateTasks)
	for i, u := range in.UpdateTasks {
		if u.Status != nil && slices.Contains([]plan.StepStatus{plan.Failed, plan.Skipped}, plan.StepStatus(*u.Status)) {
			in.UpdateTasks[i].Status = nil
		}
	}
	return in
}

func (in Update) call() Call {
	return Call{Kind: CallUpdate, JSON: object(in.worded())}
}

// object encodes arguments as JSON, "" if that fails.
func object(arguments any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(arguments) != nil {
		return ""
	}
	return strings.TrimSpace(text.String())
}

// mended adds the corrected input to the refusal of an input that was decoded, and returns any other error as it is.
func mended(err error, input any) error {
	refused, ok := errors.AsType[*plan.ValidationError](err)
	if !ok || refused.Kind != plan.InvalidInput || errors.As(err, new(*BadCall)) {
		return err
	}
	if update, ok := input.(*Update); ok {
		input = new(update.worded())
	}
	texts := map[string]string{refused.Field: refused.Suggestion}
	for _, other := range refused.Others {
		texts[other.Field] = other.Suggestion
	}
	return &BadCall{ValidationError: refused, Mended: brief(strict.Corrected(input, texts))}
}

// shownArguments is the most of a call's arguments that a reply repeats.
const shownArguments = 1_200 // bytes

// brief shortens arguments for a reply: long texts become placeholders; if the rest is still too long, a sentence
// replaces it.
func brief(arguments []byte) string {
	if len(arguments) > shownArguments/2 {
		long := regexp.MustCompile(`:"(?:[^"\\]|\\.){80,}"`)
		arguments = long.ReplaceAll(arguments, []byte(`:"<as before>"`))
	}
	if len(arguments) > shownArguments {
		return "with that corrected and the rest unchanged"
	}
	return safetext.Escape(string(arguments))
}

// synonyms lists the names that models use for our fields: for each field, and what true means for it, its other names,
// except in inputs that have one of the fields in the last column, where the name means something else. A name in several
// rows means the first field that the input has, that is not given by its own name, and that can take the value.
var synonyms = sync.OnceValue(func() []strict.Synonym {
	var all []strict.Synonym
	for _, row := range [...]struct{ field, keys, unless string }{
		{"step_id", "id step task task_id number stepId ref key", ""},
		{"id", "step_id step task task_id number stepId taskId ref key", "message"},
		{"task", "task_id id number step step_id taskId ref", ""},
		{"step", "step_id id task task_id number ref", ""},
		{"task_id", "step_id step task", ""},
		{"id", "signal signal_id alert alert_id name title", "title status"},
		{"clear", "status state action resolved cleared closed resolve fixed close", ""},
		{"leave", "exit disable", ""},
		{"title", "name task step content text summary subject", "step_id id"},
		{"title", "description", "step_id id"},
		{"title", "name new_title", ""},
		{"details", "description desc body instructions new_details", ""},
		{"objective", "goal task title name description explanation", "title"},
		{"goal", "objective task title name description", ""},
		{"initial_steps", "steps tasks todos items plan phases milestones initialSteps", ""},
		{"steps", "tasks todos items initial_steps add_steps add_tasks new_steps plan phases milestones", ""},
		{"add_tasks", "tasks steps todos task step add_steps new_tasks phases subtasks add", ""},
		{"update_tasks", "tasks steps todos task step updates", ""},
		{"step_ids", "step_id ids id steps step tasks task task_ids", ""},
		{"status", "state new_status filter newStatus", ""},
		{"note", "result notes comment observation reason text summary message", "question"},
		{"dependencies", "depends_on dependsOn deps blocked_by blockedBy prerequisites requires waits_for waiting_on dependency", ""},
		{"findings", "context_notes finding discoveries notes decision decisions rationale", "step_id id"},
		{"findings", "observation observations learnings assumptions note", "summary step_id id"},
		{"questions", "open_questions openQuestions question", ""},
		{"reasoning", "rationale why justification", ""},
		{"type", "issuetype issue_type kind category", ""},
		{"verify", "test command check verification verify_command", ""},
		{"constraints", "constraint requirements rules", ""},
		{"context_hints", "hints hint contextHints", ""},
		{"relevant_file_paths", "paths file_paths relevant_files relevantFilePaths", ""},
		{"relevant_file_paths", "files", "affected_files"},
		{"affected_files", "changed_files files_changed modified_files files", ""},
		{"acceptance_criteria", "criteria acceptanceCriteria acceptance success_criteria definition_of_done", ""},
		{"ref", "id key", "status step_id"},
		{"ref", "step_id", "after"},
		{"estimated_duration", "estimatedDuration duration", ""},
		{"informed_by", "memories informedBy informed_by_memories", ""},
		{"requires_approval", "requiresApproval require_approval needs_approval needsApproval approval_required approval confirm", ""},
		{"for_each", "forEach foreach loop", ""},
		{"when", "if condition", ""},
		{"final_summary", "summary", ""},
		{"message", "text description", ""},
		{"level", "severity", ""},
		{"question", "text message", ""},
		{"reason", "task goal objective", "note"},
		{"after", "insert_after insertAfter", ""},
		{"title=null", "activeForm active_form", ""},
		{"full=null", "verbose format detail details", ""},
		{"question=null", "header multiSelect multi_select", ""},
		{`status="skipped"`, "delete remove deleted removed", ""},
		{`status="done"`, "done completed finished", ""},
	} {
		field, value, _ := strings.Cut(row.field, "=")
		for key := range strings.FieldsSeq(row.keys) {
			all = append(all, strict.Synonym{Key: key, Field: field, Unless: strings.Fields(row.unless), True: value})
		}
	}
	return all
})
