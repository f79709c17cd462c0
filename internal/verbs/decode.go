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

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/strict"
	"github.com/planloop/planloop/plan"
)

// Decode reads JSON strictly into an input struct, by the rules for the arguments
// of tools. Other names that models use for our fields are understood where they can
// mean one thing only. The error about the input is a *BadCall; the input then holds what
// could be read of it.
func Decode(arguments []byte, into any) error {
	err := strict.Decode(arguments, into, synonyms())
	var bad *strict.Error
	if !errors.As(err, &bad) {
		return err
	}
	if wrapped, ok := into.(interface{ Wraps() []string }); ok && len(bytes.TrimSpace(arguments)) > 0 {
		for _, list := range wrapped.Wraps() {
			if strict.Decode([]byte(`{"`+list+`":`+string(arguments)+`}`), into, synonyms()) == nil {
				return nil
			}
		}
	}
	for _, one := range append([]*strict.Error{bad}, bad.Others...) {
		if path.Base(one.Pointer) == "timeout" && one.Want == "an integer" {
			one.Want += " of seconds"
		}
	}
	return &BadCall{ValidationError: bad.Refusal(), Mended: brief(bad.Mended), mended: bad.Mended,
		partly: strict.Partly(arguments, into, synonyms())}
}

// Try tells besides what is wrong with the form of an input, as Decode says, what the verb has
// against the part of it that could be read. Nothing is changed.
func Try[In, Out any](ctx context.Context, s *Service, c Caller, err error, in In,
	verb func(*Service, context.Context, Caller, In) (Out, error)) error {
	var bad *BadCall
	if !errors.As(err, &bad) || !bad.partly || bad.Instead != "" {
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
	all := besides(bad.ValidationError, refused)
	texts := map[string]string{}
	for _, one := range all.Others[len(bad.Others):] {
		texts[one.Field] = one.Plain
	}
	if again := strict.Reopened(bad.mended, &in, texts); again != nil {
		bad.Mended = brief(again)
	} else if own := new(BadCall); string(bad.mended) == "{}" && errors.As(more, &own) {
		bad.Mended = own.Mended // nothing is left of the call, and nothing is refused
	}
	bad.ValidationError = all
	return bad
}

// BadCall refuses the input of a call, and says how it would be right.
type BadCall struct {
	*plan.ValidationError
	Mended  string // the arguments as given, with placeholders for what is wrong or missing; "" where nothing can be made of them
	Instead string // another call that does what this one asks for, as the caller makes it; "" for none

	mended []byte // Mended, whole
	partly bool   // the input holds what could be read
}

// Unwrap returns the refusal alone.
func (e *BadCall) Unwrap() error { return e.ValidationError }

// elsewhere adds to the refusal of a call another one that does what it asks for, with
// the values that were given.
func (s *Service) elsewhere(err error, input any, arguments []byte, c Caller) error {
	var bad *BadCall
	if !errors.As(err, &bad) {
		return err
	}
	first, update, reads := "", Update{}, false
	switch input := input.(type) {
	case interface{ elsewhere([]byte) (Update, bool) }:
		update, reads = input.elsewhere(arguments)
	case *SetupPlan:
		first, update, reads = richPlan(arguments)
		first = c.word(Call{Act: ActSetUp}) + first + ", then "
	}
	for i, task := range update.AddTasks {
		update.AddTasks[i] = task.asked(s.opts.GateAll)
	}
	if call := update.call(); reads && len(call.JSON) <= shownArguments {
		if text, can := c.Can(call); can {
			bad.Instead = first + text
		}
	}
	return bad
}

// updateOf reads the arguments of a call about one step as an update: of several steps,
// or with all that an update takes.
func updateOf(arguments []byte) (Update, bool) {
	var update Update
	if Decode(arguments, &update) == nil && len(update.AddTasks)+len(update.UpdateTasks) > 0 {
		untitled := func(t NewTask) bool { return t.Title == nil }
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
		for ref := range strings.SplitSeq(string(refs), ",") {
			id, err := plan.ParseStepID(ref)
			if err != nil {
				return Update{}, false
			}
			update.UpdateTasks = append(update.UpdateTasks, TaskUpdate{ID: TaskID(id), Status: many.Status, Note: many.Note})
		}
	}
	return update, len(update.UpdateTasks) > 0
}

// worded is the update in the words of the contract: error and skip tell by themselves what
// became of a task.
func (in Update) worded() Update {
	in.UpdateTasks = slices.Clone(in.UpdateTasks)
	for i, u := range in.UpdateTasks {
		if u.Status != nil && slices.Contains([]plan.StepStatus{plan.Failed, plan.Skipped}, plan.StepStatus(*u.Status)) {
			in.UpdateTasks[i].Status = nil
		}
	}
	return in
}

// call is the call that makes the update.
func (in Update) call() Call {
	return Call{Act: ActUpdate, JSON: object(in.worded())}
}

// object is the JSON of arguments, "" where there is none.
func object(arguments any) string {
	var text strings.Builder
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if encoder.Encode(arguments) != nil {
		return ""
	}
	return strings.TrimSpace(text.String())
}

// mended returns the refusal of an input that was decoded with the input mended, and any
// other error as it is.
func mended(err error, input any) error {
	var refused *plan.ValidationError
	if !errors.As(err, &refused) || refused.Kind != plan.InvalidInput || errors.As(err, new(*BadCall)) {
		return err
	}
	if update, ok := input.(*Update); ok {
		input = new(update.worded())
	}
	texts := map[string]string{refused.Field: refused.Plain}
	for _, other := range refused.Others {
		texts[other.Field] = other.Plain
	}
	return &BadCall{ValidationError: refused, Mended: brief(strict.Mended(input, texts))}
}

// shownArguments bounds what of a call is shown again.
const shownArguments = 1_200 // bytes

// brief returns arguments fit to be shown again: without long texts, and not at all where
// they are too many all the same.
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
