package verbs

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/internal/synonyms"
	"github.com/planloop/planloop/plan"
)

// Decode reads JSON strictly into an input struct, by the rules for tool arguments. It accepts other names that models
// use for our fields if they are unambiguous. An error in the input is a *BadCall; the input then holds the parts that
// could be read.
func Decode(arguments []byte, into any) error {
	err := strict.Decode(arguments, into, synonyms.Table())
	bad, ok := errors.AsType[*strict.Error](err)
	if !ok {
		return err
	}
	plain := bytes.TrimSpace(arguments)
	isOwn := len(bad.Lost) == 0 && bytes.HasPrefix(plain, []byte("{")) // all of its fields are the input's
	if wrapped, ok := into.(interface{ Wraps() []string }); ok && bad.Corrected != nil && !isOwn && len(plain) > 0 {
		for i, list := range wrapped.Wraps() {
			entry := []byte(`{"` + list + `":` + string(plain) + `}`)
			other, _ := errors.AsType[*strict.Error](strict.Decode(entry, into, synonyms.Table()))
			if other == nil {
				return nil
			}
			if i == 0 && len(other.Lost) < len(bad.Lost) && !other.Lacks() {
				bad, arguments = other, entry
			}
		}
	}
	for _, one := range append([]*strict.Error{bad}, bad.Others...) {
		if path.Base(one.Pointer) == "timeout" && one.Want == "an integer" {
			one.Want += " of seconds"
		}
		if word := strings.ToLower(one.Given); synonyms.Advice(word) != "" {
			one.Want, bad.Lost = "", append(bad.Lost, word)
		}
	}
	if bad.Corrected != nil {
		bad.Corrected = strict.Completed(bad.Corrected, into, nil)
	}
	again := &BadCall{ValidationError: bad.Refusal(), Mended: strict.Brief(bad.Corrected), mended: bad.Corrected}
	if again.partly = strict.Partly(arguments, into, synonyms.Table()); len(bad.Lost) > 0 {
		again.InWords = keepInWords(into, bad.Lost)
	}
	return again
}

// Try adds to a Decode error the verb's own objections to the parts of the input that could be read, so that the caller
// learns all at once. Nothing is changed.
func Try[In, Out any](ctx context.Context, s *Service, c Caller, err error, in In,
	verb func(*Service, context.Context, Caller, In) (Out, error)) error {
	bad, ok := errors.AsType[*BadCall](err)
	if !ok || !bad.partly || bad.Instead+bad.InWords != "" {
		return err
	}
	c.wrong = bad.ValidationError
	_, more := verb(s, ctx, c, in)
	var refused *plan.ValidationError
	if gated, ok := errors.AsType[*RefusedPlan](more); ok {
		gated.mend(bad.mended, &in)
		return more
	}
	switch {
	case !errors.As(more, &refused) || refused.Kind == plan.Conflict || refused == c.wrong:
		return bad
	}
	all := mergeErrors(bad.ValidationError, refused)
	if again := strict.CorrectedAgain(bad.mended, &in, suggestions(all.Others[len(bad.Others):])); again != nil {
		bad.Mended = strict.Brief(again)
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

// keepInWords says how to correct a call with fields that no other field can take.
func keepInWords(into any, keys []string) string {
	names := make([]string, len(keys))
	for i, key := range keys {
		if words := synonyms.Advice(key); words != "" {
			return words
		}
		names[i] = plan.Quote(plan.Shorten(key, titleShown))
	}
	if own, ok := into.(interface{ TakesNoMore() string }); ok {
		return own.TakesNoMore()
	}
	return "put the content of " + strings.Join(names, ", ") + " into a known field, or leave it out, and call again"
}

// Unwrap returns the refusal without the corrected call.
func (e *BadCall) Unwrap() error { return e.ValidationError }

// elsewhere adds to a refusal the call of another verb that does what the arguments ask for, or makes it if it only reports.
func (s *Service) elsewhere(ctx context.Context, c Caller, err error, input any, arguments []byte) (Reply, error) {
	bad, ok := errors.AsType[*BadCall](err)
	if !ok {
		return nil, err
	}
	update := new(Update)
	other, call, makes := any(update), Call{Kind: CallUpdate}, false
	switch input.(type) {
	case *AddStep, *MarkStep, *UpdateStep:
		makes = true
	case *Start, *ClearPlan, *Status:
	case *SetupPlan: // with more fields per step than the tool takes
		other, call.Kind = new(Start), CallStart
	case *EnterPlanMode: // whose plan is to be submitted
		other, call.Kind = new(SubmitPlan), CallSubmit
	default:
		return nil, bad
	}
	wrong := Decode(arguments, other)
	if several, ok := marksOf(arguments); wrong != nil && other == any(update) && ok {
		*update, wrong = several, nil
	}
	own, _ := errors.AsType[*BadCall](wrong)
	switch {
	case wrong != nil && (own == nil || own.InWords != "" || bad.InWords == "" || call.Kind == CallUpdate && !makes):
		return nil, bad
	case own != nil:
		call.JSON = string(own.mended)
	case call.Kind == CallUpdate && !s.means(ctx, c, update, input):
		return nil, bad
	case call.Kind == CallUpdate:
		call.JSON = string(strict.Completed([]byte(update.call().JSON), other, nil))
	default:
		call.JSON = string(strict.Completed([]byte(object(other)), other, nil))
	}
	text, can := c.Can(call)
	if !can || call.JSON == "" || len(call.JSON) > strict.ShownInput {
		return nil, bad
	}
	bad.Instead = text
	if !makes || wrong != nil || len(update.AddTasks) > 0 || slices.ContainsFunc(update.UpdateTasks, TaskUpdate.edits) {
		return nil, bad
	}
	out, err := s.Update(ctx, c, *update)
	reply, err := answer(out, err, update)
	if own, ok := errors.AsType[*BadCall](err); ok {
		own.Instead = c.word(Call{Kind: CallUpdate, JSON: own.Mended})
	}
	return reply, err
}

// means reports whether an update says what a call of another verb asks for, and completes it.
func (s *Service) means(ctx context.Context, c Caller, in *Update, input any) bool {
	s.resolve(ctx, c, in)
	lacks := false
	for i := range in.UpdateTasks {
		u := &in.UpdateTasks[i]
		switch input.(type) {
		case *Start: // names the step to begin
			u.Status, lacks = cmp.Or(u.Status, new(Doing)), lacks || u.edits()
		case *ClearPlan:
			u.Skip, lacks = cmp.Or(u.Skip, new("<why it is not needed>")), lacks || u.edits()
		default:
			_, edits := input.(*UpdateStep)
			lacks = lacks || u.Status == nil && !u.edits() && (!edits || u.Note == nil)
		}
	}
	for _, task := range in.AddTasks {
		_, err := plan.ParseStepID(given(task.Ref)) // it names a step
		lacks = lacks || task.Title == nil || err == nil
	}
	_, adds := input.(*AddStep)
	return !lacks && (adds && len(in.AddTasks) > 0 || len(in.UpdateTasks) > 0)
}

// edits reports whether the update changes more than the status, and reports more than what was observed.
func (u TaskUpdate) edits() bool {
	return u.TaskFields != TaskFields{} || u.Dependencies != nil || u.Place != Place{}
}

// resolve puts an update into terms of the plan: an entry to add with only a step's title or id and a status reports on that
// step, a reason why a step is blocked is a note and no dependency, and dependencies to add join those of the step.
func (s *Service) resolve(ctx context.Context, c Caller, in *Update) {
	state, err := s.State(ctx)
	if err != nil {
		return
	}
	known, steps, same := referencesIn(state.ForEdits(c.Actor), nil), currentSteps(state.ForEdits(c.Actor)), []TaskUpdate(nil)
	in.UpdateTasks = slices.Clone(in.UpdateTasks)
	in.AddTasks = slices.DeleteFunc(slices.Clone(in.AddTasks), func(t NewTask) bool {
		name, status := TaskRef(cmp.Or(given(t.Title), given(t.Ref))), t.Status
		if t.Ref, t.Title, t.Status = nil, nil, nil; status == nil || t != (NewTask{}) {
			return false
		}
		id, isStep := known.resolve(name)
		switch step, _ := steps.Get(id); {
		case !isStep:
		case taskStatus(step.Status) == *status:
			same = append(same, TaskUpdate{ID: TaskID(id), Status: status})
		default:
			in.UpdateTasks = append(in.UpdateTasks, TaskUpdate{ID: TaskID(id), Status: status})
		}
		return isStep
	})
	if len(in.AddTasks)+len(in.UpdateTasks) == 0 {
		in.UpdateTasks = same
	}
	for i := range in.UpdateTasks {
		u := &in.UpdateTasks[i]
		step, ok := steps.Get(plan.StepID(u.ID))
		if ok && given(u.Title) == step.Title {
			u.Title = nil
		}
		if !ok || u.Dependencies == nil {
			continue
		}
		refs := known.split(*u.Dependencies)
		isUnknown := func(ref TaskRef) bool { _, ok := known.resolve(ref); return !ok && !ref.isChange() }
		if plan.ReadStatus(string(given(u.Status))) == plan.Blocked && u.Note == nil && slices.ContainsFunc(refs, isUnknown) {
			u.Note, u.Dependencies = new(fmt.Sprint((*u.Dependencies)[0])), nil
		} else if slices.ContainsFunc(refs, TaskRef.isChange) {
			u.Dependencies = new(changed(step.DependsOn, refs))
		}
	}
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
		if number, rest, _ := strings.Cut(title, " "); !ok { // S001 Build
			id, ok = known.titled(strings.TrimLeft(rest, "-: "))
			named, err := plan.ParseStepID(number)
			ok = ok && err == nil && named == id
		}
		if !ok {
			return member
		}
		found = true
		return append(bytes.TrimSuffix(member, text), object(id.String())...)
	})
	return out, found
}

// marksOf reads the arguments of a call about one step as marks of several, if they name several.
func marksOf(arguments []byte) (update Update, ok bool) {
	var many struct {
		StepIDs []TaskRef   `json:"step_ids"`
		Status  *TaskStatus `json:"status,omitempty"`
		Note    *string     `json:"note,omitempty"`
	}
	if Decode(arguments, &many) != nil {
		return Update{}, false
	}
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
	if gated, ok := errors.AsType[*RefusedPlan](err); ok {
		gated.mend([]byte(object(input)), input)
	}
	refused, ok := errors.AsType[*plan.ValidationError](err)
	if !ok || refused.Kind != plan.InvalidInput || errors.As(err, new(*BadCall)) {
		return err
	}
	if update, ok := input.(*Update); ok {
		input = new(update.worded())
	}
	return &BadCall{ValidationError: refused, Mended: strict.Brief(strict.Corrected(input, suggestions(refused.All())))}
}

// suggestions returns the text for each refused field, "" if only the caller knows it.
func suggestions(refused []*plan.ValidationError) map[string]string {
	texts := map[string]string{}
	for _, one := range refused {
		texts[one.Field] = one.Suggestion
	}
	return texts
}
