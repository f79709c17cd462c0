package verbs

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/planloop/planloop/plan"
)

// UndoneEdit is a person's edit of a former draft that a later one does not keep.
type UndoneEdit struct {
	Key  string // names it in every later draft, too
	Text string // what the person did: S002's title was set by ann
	Fate string // what became of it: changed it back
	Want string // the value the person gave; "" if the edit was of another kind

	restore plan.EditDraft // without a digest
}

// Undone lists people's edits of former drafts that the waiting one does not keep and that no person let go.
func (s *Service) Undone(ctx context.Context, state plan.State) ([]UndoneEdit, error) {
	u := undone{now: state.Draft, settled: map[string]bool{}}
	var drafts []*plan.Plan
	replaced := state.ModeNow().EditedDrafts
	if d := state.Draft; d != nil && d.Edits != nil && (len(replaced) == 0 || d.Edits.Revision > replaced[len(replaced)-1]) {
		drafts = append(drafts, d) // its own edits come after all others
	}
	for _, at := range slices.Backward(replaced) {
		draft, err := s.session.DraftAt(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("look for people's earlier changes: %w", err)
		}
		drafts = append(drafts, draft)
	}
	for _, edited := range drafts {
		if edited == nil {
			continue
		}
		submitted, err := s.session.SubmittedVersion(ctx, edited)
		if err != nil {
			return nil, fmt.Errorf("look for the earlier submission: %w", err)
		}
		if submitted != nil {
			u.find(submitted, edited)
		}
	}
	return slices.DeleteFunc(u.lost, func(e UndoneEdit) bool { return slices.Contains(state.ModeNow().LetGo, e.Key) }), nil
}

// undone collects the edits that a draft does not keep, those of the latest former draft first.
type undone struct {
	now     *plan.Plan
	lost    []UndoneEdit
	settled map[string]bool // parts of now that a person edited in a later draft
}

// find adds the edits between the submitted and the edited form of a former draft.
func (u *undone) find(submitted, edited *plan.Plan) {
	ids, by := u.follow(submitted, edited), strings.Join(edited.Edits.By, " and ")
	sinceSubmitted := movedSteps(submitted, u.now, matchSteps(u.now, submitted))
	was := map[plan.StepID]*plan.Step{}
	for step := range edited.Steps.All() {
		was[ids[step.ID]] = step
	}
	sinceEdited := movedSteps(edited, u.now, was)
	add := func(part, text, fate, want string, restore plan.EditDraft) {
		key := fmt.Sprintf("%d/%s", int(edited.Edits.After), part)
		u.lost = append(u.lost, UndoneEdit{Key: key, Text: text + " by " + by, Fate: fate, Want: want, restore: restore})
	}
	settle := func(part string) (first bool) {
		first = !u.settled[part]
		u.settled[part] = true
		return first
	}
	named := func(step *plan.Step) string {
		return step.ID.String() + " " + plan.Quote(plan.Shorten(step.Title, titleShown))
	}
	for _, change := range Compare(submitted, edited).Steps {
		old, _ := submitted.Steps.Get(change.StepID)
		want, _ := edited.Steps.Get(change.StepID)
		step, kept := u.now.Steps.Get(ids[change.StepID])
		part := change.StepID.String() + "/"
		switch {
		case change.Change == stepRemoved:
			at := slices.IndexFunc(u.now.Steps.List(), func(step *plan.Step) bool { return step.Title == old.Title })
			if settle("title/"+old.Title) && at >= 0 {
				back := u.now.Steps.At(at)
				add(part, named(back)+" was removed", "put it back", "", plan.EditDraft{Remove: back.ID})
			}
			continue
		case !kept:
			if settle("title/" + want.Title) {
				after, again := predecessor(edited, want, ids), plan.NewStep{Spec: translated(want, ids).Spec}
				verb := map[bool]string{true: " was added", false: " was changed"}[change.Change == stepAdded]
				add(part, named(want)+verb, "left it out", "",
					plan.EditDraft{Change: plan.AddSteps{Steps: []plan.NewStep{again}}, After: &after})
			}
			continue
		}
		mine := translated(want, ids)
		for _, f := range comparedFields() {
			_, differed := change.Fields[f.Name]
			if !differed || f.Name == status || !settle(step.ID.String()+"/"+f.Name) || slices.Equal(f.Texts(mine), f.Texts(step)) {
				continue
			}
			was, it, back := " was set", "it", ""
			if strings.HasSuffix(f.Words, "s") || strings.HasSuffix(f.Words, "criteria") {
				was, it = " were set", "them"
			}
			if old != nil && slices.Equal(f.Texts(translated(old, ids)), f.Texts(step)) {
				back = " back"
			}
			add(part+f.Name, step.ID.String()+"'s "+f.Words+was, "changed "+it+back, strings.Join(f.Texts(mine), "; "),
				plan.EditDraft{Change: plan.UpdateStep{Step: step.ID, Patch: plan.NewPatch(mine.Spec, []plan.Field[plan.Step]{f})}})
		}
		_, moved := change.Fields[place]
		if moved && settle(step.ID.String()+"/"+place) && len(sinceEdited) > 0 && (!sinceSubmitted[step.ID] || sinceEdited[step.ID]) {
			add(part+place, step.ID.String()+" was moved", "moved it back", "",
				plan.EditDraft{Change: plan.MoveStep{Step: step.ID, After: predecessor(edited, want, ids)}})
		}
	}
}

// follow maps the steps of an edited draft to the same ones of now, by the title that a person left or found, else by number.
func (u *undone) follow(submitted, edited *plan.Plan) map[plan.StepID]plan.StepID {
	ids, asSubmitted := formerIDs(matchSteps(u.now, edited)), formerIDs(matchSteps(u.now, submitted))
	for step := range edited.Steps.All() {
		old, _ := submitted.Steps.Get(step.ID)
		same, _ := u.now.Steps.Get(ids[step.ID])
		back, found := u.now.Steps.Get(asSubmitted[step.ID])
		if found && (same == nil || same.Title != step.Title && back.Title == old.Title) {
			ids[step.ID] = back.ID
		}
	}
	return ids
}

// translated returns a copy of a step with the current ids of the steps it names, without those that are gone.
func translated(step *plan.Step, ids map[plan.StepID]plan.StepID) *plan.Step {
	copied := *step
	copied.DependsOn = nil
	for _, id := range step.DependsOn {
		if ids[id] != 0 {
			copied.DependsOn = append(copied.DependsOn, ids[id])
		}
	}
	copied.Spec = copied.RenameReferences(func(id plan.StepID) string { return cmp.Or(ids[id], id).String() })
	return &copied
}

// predecessor returns the current id of the nearest step before another that is still there; 0 if none is.
func predecessor(p *plan.Plan, of *plan.Step, ids map[plan.StepID]plan.StepID) plan.StepID {
	before := plan.StepID(0)
	for step := range p.Steps.All() {
		if step.ID == of.ID {
			break
		}
		before = cmp.Or(ids[step.ID], before)
	}
	return before
}

// Told describes the edit to the agent that undid it (you), or to a person (the agent).
func (e UndoneEdit) Told(who string) string { return e.Text + "; " + who + " " + e.Fate }

func undoneLines(edits []UndoneEdit, who string) (lines []string) {
	for _, e := range edits {
		lines = append(lines, e.Told(who))
	}
	return lines
}

// undoneText shows the person who decides the edits that the waiting draft undoes; "" without any.
func (s *Service) undoneText(ctx context.Context, state plan.State) string {
	edits, err := s.Undone(ctx, state)
	if err != nil {
		return "Whether the plan keeps people's earlier edits is unknown: " + err.Error()
	}
	text := ""
	for i, line := range undoneLines(edits, "the agent") {
		text += fmt.Sprintf("\n   %d. %s%s", i+1, line, prefixed(". You set: ", plan.Shorten(oneLine(edits[i].Want), 2*titleShown)))
	}
	were := map[bool]string{true: "was", false: "were"}[len(edits) == 1]
	return prefixed(fmt.Sprintf("%d of your edits %s undone: restore or accept?", len(edits), were), text)
}

// SettleUndone is the input of SettleUndone.
type SettleUndone struct {
	Key    string // of the edit; "": all
	Digest string // of the draft shown
	Accept bool   // let it go, instead of restoring it
}

// SettleUndone restores people's edits in the waiting draft as edits by the caller, or lets them go. It is not a tool.
func (s *Service) SettleUndone(ctx context.Context, c Caller, in SettleUndone) (DraftEditReply, error) {
	state, err := s.State(ctx)
	if err != nil {
		return DraftEditReply{}, err
	}
	edits, err := s.Undone(ctx, state)
	edits = slices.DeleteFunc(edits, func(e UndoneEdit) bool { return in.Key != "" && e.Key != in.Key })
	if err == nil && len(edits) == 0 {
		err = plan.Refuse(plan.NotFound, "/key", "no such edit was undone", "look at the plan again")
	}
	if err != nil {
		return DraftEditReply{}, err
	}
	reply, accept := DraftEditReply{PlanID: state.Draft.ID, Digest: in.Digest}, plan.AcceptUndone{Digest: in.Digest}
	for _, e := range edits {
		if in.Accept {
			accept.Keys = append(accept.Keys, e.Key)
			continue
		}
		e.restore.Digest = reply.Digest
		if reply, err = s.EditDraft(ctx, c, e.restore); err != nil {
			return DraftEditReply{}, err
		}
	}
	if !in.Accept {
		return reply, nil
	}
	accept.Text = strings.Join(undoneLines(edits, "the agent"), "\n")
	outcome, err := s.do(ctx, c, accept)
	reply.Message, reply.Heartbeat = "Accepted: these edits stay undone.", s.heartbeat(outcome.After, c)
	return reply, err
}
