package plan

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
)

// Action is a change that a verb asks for.
type Action interface {
	decide(State, Facts) ([]Event, error)
}

// cleanable is an action with input to check. clean returns it in the form to be recorded: texts
// normalised, everything within the general limits. It reports violations to the cleaner.
type cleanable interface {
	clean(*cleaner) Action
}

func (c *cleaner) action(a Action) Action {
	if input, ok := a.(cleanable); ok {
		return input.clean(c)
	}
	return a
}

// traits are the properties of an action that Decide needs before it judges the action.
type traits struct {
	word string // the action's word in the log

	authority authority
	activity  string // names the act in a refusal by permit

	isPlanning    bool     // part of planning mode itself, so allowed in every phase
	joinsPlanning bool     // allowed together with such an action in a batch
	isSignal      bool     // only raises or clears a signal
	anyPlan       bool     // does not depend on which plan its actor has seen
	claims        []StepID // steps with owners; the decision depends on their last sign of life
}

// authority is the authority that an action requires, weakest first.
type authority int

const (
	anyActor          authority = iota
	confirmedByPerson           // a person, possibly through an agent's client
	personOrClient              // like confirmedByPerson, but with Limits.PersonOnly a person must be present
	presentPerson               // a person must be present
)

// actionTable is the table of actions.
var actionTable = sync.OnceValue(func() map[reflect.Type]traits {
	return map[reflect.Type]traits{
		reflect.TypeFor[SetUp]():            {word: "set_up_plan", anyPlan: true},
		reflect.TypeFor[AdoptHostPlan]():    {word: "adopt_host_plan", anyPlan: true},
		reflect.TypeFor[AddSteps]():         {word: "add_steps"},
		reflect.TypeFor[UpdateStep]():       {word: "update_step"},
		reflect.TypeFor[MoveStep]():         {word: "move_step"},
		reflect.TypeFor[MarkStep]():         {word: "mark_step"},
		reflect.TypeFor[ClaimStep]():        {word: "claim_step"},
		reflect.TypeFor[ReportStep]():       {word: "report_step"},
		reflect.TypeFor[Close]():            {word: "close_plan"},
		reflect.TypeFor[Clear]():            {word: "clear_plan"},
		reflect.TypeFor[Restore]():          {word: "restore_plan"},
		reflect.TypeFor[Judge]():            {word: "judge_plan", joinsPlanning: true},
		reflect.TypeFor[RaiseSignal]():      {word: "raise_signal", isSignal: true, anyPlan: true},
		reflect.TypeFor[ClearSignal]():      {word: "clear_signal", isSignal: true, anyPlan: true},
		reflect.TypeFor[EnterMode]():        {word: "enter_plan_mode", isPlanning: true, anyPlan: true},
		reflect.TypeFor[SubmitPlan]():       {word: "submit_plan", isPlanning: true, anyPlan: true},
		reflect.TypeFor[RecordNoDecision](): {word: "leave_undecided", isPlanning: true, anyPlan: true},
		reflect.TypeFor[LeaveHostReview]():  {word: "leave_host_review", isPlanning: true, anyPlan: true},
		reflect.TypeFor[AskUser]():          {word: "ask_user", isPlanning: true, anyPlan: true},
		reflect.TypeFor[ExpireMode]():       {word: "expire_plan_mode", isPlanning: true, anyPlan: true},
		reflect.TypeFor[EndMode]():          {word: "end_plan_mode", isPlanning: true},
		reflect.TypeFor[WithdrawProposal](): {word: "withdraw_proposal", isPlanning: true},
		reflect.TypeFor[DecideDraft]():      decision(""),
		reflect.TypeFor[EditDraft](): {word: "edit_draft", isPlanning: true, anyPlan: true, authority: personOrClient,
			activity: "change of the draft"},
		reflect.TypeFor[AcceptUndone](): {word: "accept_undone", isPlanning: true, anyPlan: true, authority: personOrClient,
			activity: "acceptance of the draft"},
		reflect.TypeFor[CancelMode](): decision("cancel_plan_mode"),
		reflect.TypeFor[AnswerQuestion](): {word: "answer_question", isPlanning: true, anyPlan: true, authority: confirmedByPerson,
			activity: "answer"},
		reflect.TypeFor[AddComment](): {word: "comment", isPlanning: true, anyPlan: true, authority: confirmedByPerson,
			activity: "comment"},
		reflect.TypeFor[ResolveComment](): {word: "meet_comment", isPlanning: true, anyPlan: true, authority: confirmedByPerson,
			activity: "resolution of a comment"},
		reflect.TypeFor[ReplyToComment](): {word: "reply_to_comment", isPlanning: true, anyPlan: true},
		reflect.TypeFor[Purge]():          {word: "purge", anyPlan: true, authority: presentPerson, activity: "purge the history"},
		reflect.TypeFor[BeginRun]():       {word: "begin_run"},
		reflect.TypeFor[PauseRun]():       {word: "pause_run", isPlanning: true, anyPlan: true},
		reflect.TypeFor[EndRun](): {word: "end_run", isPlanning: true, anyPlan: true, authority: confirmedByPerson,
			activity: "end of the run"},
		reflect.TypeFor[Schedule]():   {word: "advance", isPlanning: true, anyPlan: true},
		reflect.TypeFor[AnswerStep](): {word: "answer_step", joinsPlanning: true},
		reflect.TypeFor[Replan]():     {word: "replan"},
		reflect.TypeFor[AddContext](): {word: "add_context"},
		reflect.TypeFor[ShareTrack](): {word: "share_track", isPlanning: true, anyPlan: true},
	}
})

// traitsOf returns the traits of an action, with those that depend on its content.
func traitsOf(a Action) traits {
	t := actionTable()[reflect.TypeOf(a)]
	switch a := a.(type) {
	case Batch:
		return a.traits()
	case MarkStep:
		t.claims = []StepID{a.Step}
	case ClaimStep:
		t.claims = []StepID{a.Step}
	case ReportStep:
		t.claims = []StepID{a.Step}
	case Schedule:
		for _, lost := range a.Lost {
			t.claims = append(t.claims, lost.Step)
		}
	case DecideDraft:
		t.word = map[Outcome]string{Approved: "approve_plan", Rejected: "reject_plan", Returned: "return_plan"}[a.Outcome]
	}
	return t
}

// decision returns the traits of an action that decides about planning mode.
func decision(word string) traits {
	return traits{word: word, isPlanning: true, anyPlan: true, authority: personOrClient, activity: "decision"}
}

// ActionWord returns the action's word in the log.
func ActionWord(a Action) string { return traitsOf(a).word }

// Actions returns one zero value of each type of action, by its word, for decoders.
func Actions() map[string]Action {
	all := map[string]Action{}
	for kind := range actionTable() {
		a := reflect.Zero(kind).Interface().(Action)
		all[ActionKind(a)] = a
	}
	all[batchKind] = Batch{}
	return all
}

// batchKind is the word for a Batch, which has a word of its author in the log.
const batchKind = "batch"

// ActionKind returns the word for the action's type.
func ActionKind(a Action) string {
	switch a.(type) {
	case Batch:
		return batchKind
	case DecideDraft:
		return "decide_draft"
	}
	return ActionWord(a)
}

// permit refuses the action if its actor lacks the required standing.
func (t traits) permit(f Facts) error {
	switch way := f.Actor.Way(); {
	case way == WayShared && f.Limits.PersonOnly && t.authority != anyActor && t.authority != confirmedByPerson:
		return conflict("other programs can read this terminal, and only a person's own decision is accepted here (approval: person)",
			OwnTerminal)
	case t.authority == anyActor, f.Actor.IsPresent():
		return nil
	case t.authority == presentPerson:
		return conflict("only a person at a terminal may "+t.activity, "ask the user to do it on a terminal")
	case way != WayClient:
		return conflict("no person confirmed this "+t.activity, "ask the user to give it on a terminal")
	case t.authority == personOrClient && f.Limits.PersonOnly:
		return conflict("only a person's own decision is accepted here (approval: person)", "ask the user to decide on a terminal")
	}
	return nil
}

// OwnTerminal says where to decide instead of a shared terminal.
const OwnTerminal = "decide in a terminal of your own: no tmux, screen, zellij, and no remote control"

// DependsOnPlan reports whether an action refers to the current plan as its actor last saw it. On
// another plan the action would mean something else.
func DependsOnPlan(a Action) bool { return !traitsOf(a).anyPlan }

// ClaimOwners lists the actors with a claim that a concerns. Facts.Seen must have their last sign of life.
func ClaimOwners(s State, a Action) []string {
	var owners []string
	t := traitsOf(a)
	if request := s.proposal(); t.isPlanning && request != nil { // only its author may act
		owners = append(owners, request.By)
	} else if mode := s.ModeNow(); t.isPlanning && mode.IsAgentsOwn {
		owners = append(owners, mode.By)
	}
	if list, is := a.(AdoptHostPlan); is {
		for _, mark := range list.marks(s) {
			t.claims = append(t.claims, mark.Step)
		}
	}
	for _, id := range t.claims {
		if step, ok := s.step(id); ok && step.ClaimedBy != "" {
			owners = append(owners, step.ClaimedBy)
		}
	}
	return owners
}

// Bounds on words and names.
const (
	MaxName = 80 // characters of an actor's name
	maxWord = 40 // letters of an action's word in the log
)

// actor refuses an unknown kind and a name that is not clean: the name is recorded as given.
func (c *cleaner) actor(a Actor) {
	if !slices.Contains(a.Kind.Values(), string(a.Kind)) {
		c.Add(Refuse(InvalidInput, "/actor/kind", Quote(string(a.Kind))+" is not a kind of actor",
			"use one of "+strings.Join(a.Kind.Values(), ", ")))
	}
	rule := Text{Field: "/actor/name", Max: MaxName}
	name, err := rule.Required(a.Name)
	if err == nil && name != a.Name {
		err = rule.refuse("is not trimmed and normalised", "use "+Quote(name))
	}
	if err == nil && a.Kind == Agent {
		err = CheckAgentName(rule.Field, name)
	}
	c.Add(err)
}

func (c *cleaner) word(word string) {
	bad := func(r rune) bool { return r != '_' && (r < 'a' || r > 'z') }
	if word == "" || len(word) > maxWord || strings.ContainsFunc(word, bad) {
		c.Add(Refuse(InvalidInput, "", Quote(word)+" is not the name of an action", "use lower-case letters and _"))
	}
}

func (c *cleaner) outline(o *Outline) {
	clean, err := CleanOutline("", *o)
	c.Add(err)
	*o = clean
}

func (c *cleaner) steps(steps *[]NewStep, name string) {
	*steps = slices.Clone(*steps)
	for i, step := range *steps {
		clean, err := CleanStep(fmt.Sprintf("/%s/%d", name, i), step)
		c.Add(err)
		if clean.Splits < 0 || clean.Splits > MaxStepID {
			c.refuse(fmt.Sprintf("%s/%d/splits", name, i), fmt.Sprintf("%d is not the number of a step", int(clean.Splits)),
				"name a step as S001")
		}
		(*steps)[i] = clean
	}
	c.importedIDs(*steps, name)
}

// oneOf is OneOf for a value that must be given.
func (c *cleaner) oneOf(name, value string, allowed []string) {
	if !slices.Contains(allowed, value) {
		c.refuse(name, Quote(value)+" is not known", "use one of "+strings.Join(allowed, ", "))
	}
}

// Batch asks for several actions in order, all or none (planloop: update). Each is judged in the
// state that the previous ones lead to.
type Batch struct {
	Word     string // the action's word in the log
	Parts    []Part
	Findings GateFindings // by the gates; recorded if the batch becomes a submission
}

// Part is one action of a batch and its place in the input.
type Part struct {
	Field  string // JSON pointer
	Action Action
}

// partsPerStep bounds a batch: the parts allowed per step that a plan may have.
const partsPerStep = 4

func (b Batch) clean(c *cleaner) Action {
	c.word(b.Word)
	b.Parts = slices.Clone(b.Parts)
	for i := range b.Parts {
		part := cleaner{}
		b.Parts[i].Action = part.action(b.Parts[i].Action)
		c.Add(prefixField(b.Parts[i].Field, part.Err()))
	}
	c.findings(&b.Findings)
	return b
}

// traits combines those of the parts, with the highest standing that any part requires.
func (b Batch) traits() traits {
	all := traits{word: b.Word, isSignal: true, anyPlan: len(b.Parts) > 0 && traitsOf(b.Parts[0].Action).anyPlan}
	free := true // no part that a read-only phase refuses
	for _, part := range b.Parts {
		t := traitsOf(part.Action)
		all.isSignal = all.isSignal && t.isSignal
		all.isPlanning, free = all.isPlanning || t.isPlanning, free && (t.isPlanning || t.joinsPlanning)
		all.claims = append(all.claims, t.claims...)
		if t.authority > all.authority {
			all.authority, all.activity = t.authority, t.activity
		}
	}
	all.isPlanning = all.isPlanning && free
	return all
}

func (b Batch) decide(s State, f Facts) ([]Event, error) {
	if limit := partsPerStep * f.Limits.MaxSteps; len(b.Parts) > limit {
		return nil, conflict(fmt.Sprintf("%d changes are asked for at once; at most %d are accepted", len(b.Parts), limit),
			"send them in several calls")
	}
	var all []Event
	for _, part := range b.Parts {
		events, err := decideAll(s, part.Action, f)
		if err != nil {
			return nil, prefixField(part.Field, err)
		}
		isArchival := func(e Event) bool { _, is := e.(PlanArchived); return is }
		if len(all) > 0 && slices.ContainsFunc(events, isArchival) { // the archived head would name a revision that never existed
			return nil, prefixField(part.Field,
				conflict("the plan would be cleared or replaced in the middle of other changes", "do that first, or on its own"))
		}
		s = Apply(s, events...)
		all = append(all, events...)
	}
	return all, nil
}

// prefixField returns the refusal of a batch part with its field as a pointer into the input.
func prefixField(field string, err error) error {
	if field == "" {
		return err
	}
	return mapFields(err, func(inner string) string { return inputPointer(field, inner) })
}

// mapFields returns a refusal with its fields moved by at.
func mapFields(err error, at func(field string) string) error {
	refused, ok := errors.AsType[*ValidationError](err)
	if !ok {
		return err
	}
	all := refused.All()
	for _, one := range all {
		one.Field = at(one.Field)
	}
	all[0].Others = all[1:]
	return all[0]
}

// inputPointer returns the pointer to an action's field in the input, which has other names for some
// fields.
func inputPointer(field, inner string) string {
	switch {
	case inner == "/step_id":
		inner = "/id"
	case strings.HasPrefix(inner, "/steps"):
		inner = strings.TrimPrefix(inner, "/steps")
	}
	return field + strings.Replace(inner, "/depends_on", "/dependencies", 1)
}
