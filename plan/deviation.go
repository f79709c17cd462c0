package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"
)

// maxKept bounds the deviations and the earlier comments that an approval keeps.
const maxKept = 100

// newest returns the entries that are kept: the newest ones.
func newest(entries []string) []string { return entries[max(0, len(entries)-maxKept):] }

// decideReports returns the events of those parts of a batch that edit nothing and so need no agreement.
// A part that depends on a waiting edit is left out.
func decideReports(s State, a Action, f Facts) []Event {
	var all []Event
	batch, _ := a.(Batch)
	for _, part := range batch.Parts {
		switch a := part.Action.(type) {
		case MarkStep, ClaimStep, ReportStep, RaiseSignal, ClearSignal, Judge:
		case AddContext:
			if len(a.Constraints) > 0 {
				continue
			}
		default:
			continue
		}
		events, err := decideAll(s, part.Action, f)
		if err != nil {
			continue
		}
		s = Apply(s, events...)
		all = append(all, events...)
	}
	return all
}

// addedSteps lists the steps of after that before did not have, without loop instances.
func addedSteps(before, after *Plan) []StepID {
	var ids []StepID
	for step := range after.Steps.All() {
		if _, known := before.Steps.Get(step.ID); !known && step.Loop() == 0 {
			ids = append(ids, step.ID)
		}
	}
	return ids
}

// splitSteps returns the approved step that each new step claims to split, by the id that the new step
// gets.
func splitSteps(p *Plan, a Action) map[StepID]StepID {
	wholes := map[StepID]StepID{}
	next := p.Steps.Highest() + 1
	var look func(Action)
	look = func(a Action) {
		switch a := a.(type) {
		case AddSteps:
			for _, step := range a.Steps {
				wholes[next] = step.Splits
				next++
			}
		case Batch:
			for _, part := range a.Parts {
				look(part.Action)
			}
		}
	}
	look(a)
	return wholes
}

func edits(events []Event) bool {
	return slices.ContainsFunc(events, func(e Event) bool {
		switch e := e.(type) {
		case StepsAdded, StepUpdated, StepMoved, PlanReplanned:
			return true
		case ContextAdded:
			return len(e.Constraints) > 0
		}
		return false
	})
}

// keepReasoning moves the reasons of a new version to its changes, so that the plan keeps the reasoning that a person approved.
func keepReasoning(events []Event) []Event {
	events = slices.Clone(events)
	for i, e := range events {
		if replanned, is := e.(PlanReplanned); is && replanned.Reasoning != "" {
			replanned.Changes = Shorten(replanned.Changes+"\n"+replanned.Reasoning, MaxLongText)
			replanned.Reasoning = ""
			events[i] = replanned
		}
	}
	return events
}

// deviations lists the differences from the approved plan: small ones need no new agreement, large
// ones do.
func deviations(approved, now *Plan, splits map[StepID]StepID) (small, large []string) {
	for step := range now.Steps.All() {
		old, known := approved.Steps.Get(step.ID)
		if !known && step.Loop() != 0 {
			continue // loop instances were approved with the loop
		}
		if !known {
			whole, split := approved.Steps.Get(splits[step.ID])
			if !split {
				large = append(large, fmt.Sprintf("new step %s %s%s", step.ID, Quote(step.Title), describeNewRights(approved, step)))
			} else if why := describeExcess(whole, step); why != "" {
				large = append(large, fmt.Sprintf("new step %s %s goes beyond %s, which it splits: %s",
					step.ID, Quote(step.Title), whole.ID, why))
			} else {
				small = append(small, fmt.Sprintf("%s split off %s: %s", step.ID, whole.ID, Quote(step.Title)))
			}
			continue
		}
		if why := describeBreach(old, step); why != "" {
			large = append(large, step.ID.String()+": "+why)
		} else if fields := changedFields(old, step); fields != "" {
			small = append(small, step.ID.String()+": "+fields+" changed")
		}
	}
	if !slices.Equal(approved.Metadata.Constraints, now.Metadata.Constraints) {
		large = append(large, "other constraints: "+Quote(Shorten(strings.Join(now.Metadata.Constraints, "; "), MaxNote)))
	}
	if id := firstReordered(approved, now); id != 0 {
		large = append(large, id.String()+": another place in the order")
	}
	return small, large
}

// describeNewRights describes what a new step may do that no approved step may.
func describeNewRights(approved *Plan, step *Step) string {
	var tools []string
	risk := -1
	for old := range approved.Steps.All() {
		tools, risk = append(tools, old.Tools...), max(risk, old.Risk.rank())
	}
	switch {
	case step.Tool != "":
		return ", which runs the tool " + Quote(step.Tool)
	case !containsAll(tools, step.Tools):
		return ", which uses a new tool"
	case step.Risk.rank() > risk:
		return ", which has a new risk: " + string(step.Risk)
	}
	return ""
}

// describeExcess describes how a new step goes beyond the approved step it splits.
func describeExcess(whole, part *Step) string {
	if whole.Status.IsFinished() {
		return whole.ID.String() + " is " + string(whole.Status)
	}
	allowed := *whole
	allowed.RelevantFilePaths = slices.Concat(whole.RelevantFilePaths, whole.Creates)
	allowed.Creates = allowed.RelevantFilePaths
	var grown []string
	for _, f := range SpecFields() {
		if more := f.describeExcess(&allowed, part); more != "" {
			grown = append(grown, more)
		}
	}
	return strings.Join(grown, ", ")
}

// inheritFields returns the new steps; those that split an approved step get the fields that a part must keep.
func inheritFields(p *Plan, newSteps []NewStep) []NewStep {
	newSteps = slices.Clone(newSteps)
	for i, n := range newSteps {
		whole, split := p.Steps.Get(n.Splits)
		if !split || p.Approval == nil {
			continue
		}
		part := Step{Spec: n.Spec}
		for _, f := range SpecFields() {
			if f.Split == SplitInherited && len(f.Texts(&part)) == 0 {
				f.value(&part).Set(f.value(whole))
			}
		}
		missing := slices.DeleteFunc(slices.Clone(whole.DependsOn), func(id StepID) bool { return slices.Contains(part.DependsOn, id) })
		part.DependsOn = slices.Concat(part.DependsOn, missing)
		newSteps[i].Spec = part.Spec
	}
	return newSteps
}

// describeBreach names the changes of an approved step that its approval does not cover, the risk first; ""
// if it covers all.
func describeBreach(old, now *Step) string {
	var first, others []string
	for _, f := range SpecFields() {
		switch {
		case !f.isBreach(old, now):
		case f.Kind == WordField:
			first = append(first, f.describeBreach(old, now))
		case !slices.Contains(others, f.Breach): // a tool and its arguments share a name
			others = append(others, f.Breach)
		}
	}
	return strings.Join(append(first, others...), ", ")
}

func changedFields(old, now *Step) string {
	var names []string
	for _, f := range SpecFields() {
		if !slices.Equal(f.Texts(old), f.Texts(now)) {
			names = append(names, f.Name)
		}
	}
	return strings.Join(names, ", ")
}

func containsAll(whole, part []string) bool {
	return !slices.ContainsFunc(part, func(text string) bool { return !slices.Contains(whole, text) })
}

// rank orders risks; no risk is the lowest.
func (r Risk) rank() int { return slices.Index(r.Values(), string(r)) }

// PlanDeviated notes changes to an approved plan that need no new agreement.
type PlanDeviated struct {
	Deviations  []string  `json:"what"`
	UnseenSteps []StepID  `json:"unseen,omitempty"` // split off
	By          string    `json:"by"`
	At          time.Time `json:"at"`
}

func (e PlanDeviated) apply(s State) State {
	if s.Plan == nil || s.Plan.Approval == nil {
		return s
	}
	approval := *s.Plan.Approval
	approval.Deviations = newest(slices.Concat(approval.Deviations, e.Deviations))
	approval.UnseenSteps = append(slices.Clip(approval.UnseenSteps), e.UnseenSteps...)
	return s.withPlan(e.At, func(p *Plan) { p.Approval = &approval })
}

// Digest identifies the parts of a plan that an approval binds: the objective, the summary and each
// binding field of the steps in their order. Hints, notes, progress and signals do not affect it.
func Digest(p *Plan) string {
	type bound struct {
		ID     StepID
		Fields [][]string // each its name and texts
	}
	form := struct {
		Objective, Summary string
		Steps              []bound
		HostText           string `json:",omitempty"`
	}{Objective: p.Objective, Summary: p.Summary}
	if p.HostPlan != nil {
		form.HostText = p.HostPlan.Text
	}
	for step := range p.Steps.All() {
		if step.Loop() != 0 {
			continue // an instance follows from its loop
		}
		if len(step.Args) > 0 && !json.Valid(step.Args) {
			return "" // equal to nothing, so never approved
		}
		form.Steps = append(form.Steps, bound{step.ID, boundFields(step, Field[Step].orderedTexts)})
	}
	return digestOf(form)
}

// StepDigest identifies the parts of a step that an approval binds, without its id, its position and the order of its dependencies.
func StepDigest(step *Step) string { return digestOf(boundFields(step, Field[Step].Texts)) }

// HasDigest reports whether digest identifies this step. In the oldest logs, the order of
// dependencies counts.
func (step *Step) HasDigest(digest string) bool {
	return digest == StepDigest(step) || digest == digestOf(boundFields(step, Field[Step].orderedTexts))
}

// boundFields returns the fields of a step that an approval binds, each as its name and texts.
func boundFields(step *Step, textsOf func(Field[Step], *Step) []string) [][]string {
	var fields [][]string
	for _, f := range SpecFields() {
		if texts := textsOf(f, step); f.Binding != Unbound && len(texts) > 0 {
			fields = append(fields, slices.Concat([]string{f.Name}, texts))
		}
	}
	return fields
}

func digestOf(form any) string {
	hash := sha256.New()
	if err := json.NewEncoder(hash).Encode(form); err != nil {
		return ""
	}
	return hex.EncodeToString(hash.Sum(nil))
}
