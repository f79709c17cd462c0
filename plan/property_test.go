package plan_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/plan"
)

// TestLaws lets actors do anything, most of it sensible and some of it not, and checks the laws of
// Decide and Apply after every action.
func TestLaws(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		w := newWorkspace(t)
		w.limits = plan.Limits{MaxSteps: 80, MaxReplans: 1}
		minted := map[string]plan.StepID{}
		var former plan.Event = plan.HistoryPurged{}
		for range rapid.IntRange(1, 40).Draw(t, "actions") {
			actor := rapid.SampledFrom([]plan.Actor{ann, ann, bob, person, person, client}).Draw(t, "actor")
			a := drawAction(t, w)
			w.now = w.now.Add(rapid.SampledFrom([]time.Duration{0, time.Millisecond, 20 * time.Minute}).Draw(t, "wait"))
			checkDecide(t, w, actor, a)
			events := act(t, w, actor, a)
			checkMinting(t, w, minted, events)
			if len(events) > 0 {
				checkBranches(t, w, former, events[0])
				former = events[len(events)-1]
			}
			checkInvariants(t, w)
		}
		checkReplay(t, w)
	})
}

// act is w.try with the laws of refusals and of Apply.
func act(t *rapid.T, w *workspace, actor plan.Actor, a plan.Action) []plan.Event {
	s := w.state
	before := observed(t, s)
	events, err := w.try(actor, a)
	if now := observed(t, s); now != before {
		t.Fatalf("%s %+v changed the state it was asked of:\n%s\n%s", plan.ActionWord(a), a, before, now)
	}
	if err == nil {
		return events
	}
	var refusal *plan.ValidationError
	if !errors.As(err, &refusal) || refusal.Problem == "" || refusal.Fix == "" || refusal.Kind == "" {
		t.Fatalf("%s %+v was refused with %#v", plan.ActionWord(a), a, err)
	}
	if now := observed(t, w.state); now != before || len(events) != 0 {
		t.Fatalf("the refused %s %+v changed the state:\n%s\n%s", plan.ActionWord(a), a, before, now)
	}
	return nil
}

// checkDecide: the same arguments give the same answer, whether the state was folded or read from a
// snapshot.
func checkDecide(t *rapid.T, w *workspace, actor plan.Actor, a plan.Action) {
	question := jsonOf(t, a)
	first, err1 := plan.Decide(w.state, a, w.facts(actor, a))
	second, err2 := plan.Decide(reread(t, w.state), a, w.facts(actor, a))
	if !reflect.DeepEqual(err1, err2) || jsonOf(t, first) != jsonOf(t, second) || !slices.Equal(kinds(first), kinds(second)) {
		t.Fatalf("%s %+v gives %s, %v and then %s, %v", plan.ActionWord(a), a, jsonOf(t, first), err1, jsonOf(t, second), err2)
	}
	if now := jsonOf(t, a); now != question {
		t.Fatalf("Decide changed the action %s to %s", question, now)
	}
}

// checkBranches applies two events to one state and checks that neither affects the other's result,
// or the state.
func checkBranches(t *rapid.T, w *workspace, one, two plan.Event) {
	s := w.state
	trunk := observed(t, s)
	left := plan.Apply(s, one)
	leftBefore := observed(t, left)
	right := plan.Apply(s, two)
	rightBefore := observed(t, right)
	for range 2 { // and their successors
		plan.Apply(left, two)
		plan.Apply(right, one)
	}
	for name, pair := range map[string][2]string{
		"the trunk": {trunk, observed(t, s)}, "the first branch": {leftBefore, observed(t, left)}, "the second branch": {rightBefore,
			observed(t, right)},
	} {
		if pair[0] != pair[1] {
			t.Fatalf("%s changed under %s and %s:\n%s\n%s", name, plan.EventKind(one), plan.EventKind(two), pair[0], pair[1])
		}
	}
}

// checkMinting: ids are neither reused nor skipped within a plan. minted has the highest id of each
// plan.
func checkMinting(t *rapid.T, w *workspace, minted map[string]plan.StepID, events []plan.Event) {
	for _, e := range events {
		switch e := e.(type) {
		case plan.PlanSetUp:
			mintedNext(t, minted, e.Plan.Build().Root(), e.Plan.Steps)
		case plan.DraftMade: // a former plan keeps its steps, in any order
			p := e.Plan.Build()
			minted[p.Root()] = max(minted[p.Root()], p.Steps.Highest())
		case plan.PlanSubmitted: // also of a plan with a waiting change
			mintedSince(t, minted, e.Plan)
		case plan.ChangeProposed:
			mintedSince(t, minted, e.Plan)
		case plan.StepsAdded:
			mintedNext(t, minted, w.state.Plan.Root(), e.Steps)
		}
	}
	if p := w.state.Plan; p != nil && p.Steps.Highest() != minted[p.Root()] {
		t.Fatalf("the highest id of %s is %s, minted was %s", p.ID, p.Steps.Highest(), minted[p.Root()])
	}
}

// mintedSince is mintedNext for a plan that may keep steps.
func mintedSince(t *rapid.T, minted map[string]plan.StepID, p plan.Body) {
	root := p.Build().Root()
	kept := func(step *plan.Step) bool { return step.ID <= minted[root] }
	mintedNext(t, minted, root, slices.DeleteFunc(slices.Clone(p.Steps), kept))
}

func mintedNext(t *rapid.T, minted map[string]plan.StepID, id string, steps []*plan.Step) {
	for _, step := range steps {
		if step.ID != minted[id]+1 {
			t.Fatalf("%s follows %s in %s", step.ID, minted[id], id)
		}
		minted[id] = step.ID
	}
}

// checkInvariants checks the invariants of every reachable state.
func checkInvariants(t *rapid.T, w *workspace) {
	if p := w.state.Plan; p != nil {
		checkCounts(t, p.Steps)
		checkStatus(t, p)
		checkSteps(t, p)
	}
	seen := map[string]bool{}
	for _, head := range w.state.Past {
		body := w.past(head.ID)
		status := head.Status
		if head.Reason == "cleared" && status == plan.StatusAbandoned && body != nil {
			status = body.Status // it was something else until then
		}
		if seen[head.ID] || body == nil || body.ID != head.ID || body.Steps.Len() != head.Steps ||
			body.Steps.Count(plan.Done) != head.Done || body.Status != status {
			t.Fatalf("the head %+v stands for %+v", head, body)
		}
		seen[head.ID] = true
	}
	if d := w.state.Draft; d != nil && w.state.Plan != nil && w.state.Plan.Root() == d.Root() && w.state.Plan.Approval == nil {
		t.Fatalf("the draft shares the id %s", d.ID)
	}
	others := slices.DeleteFunc(w.state.PlanIDs(), func(id string) bool { return w.state.Draft != nil && id == w.state.Draft.ID })
	slices.Sort(others)
	if len(slices.Compact(slices.Clone(others))) < len(others) {
		t.Fatalf("plans share an id: %q", others)
	}
	checkMode(t, w.state)
	checkComments(t, w)
}

// checkComments: every comment has an id of its own, in the order of creation, and names its
// subject.
func checkComments(t *rapid.T, w *workspace) {
	made := 0
	for _, record := range w.log {
		for _, e := range record.Events {
			c, is := e.(plan.CommentAdded)
			if made++; !is {
				made--
			} else if c.ID != fmt.Sprint("C", made) || c.Way == "" || (c.Step != 0) != (c.Title != "" && c.StepDigest != "" &&
				c.PlanID != "") {
				t.Fatalf("comment %d is %+v", made, c)
			}
		}
	}
	if w.state.CommentCount != made {
		t.Fatalf("%d comments are counted, %d were made", w.state.CommentCount, made)
	}
}

// checkMode: a request is open exactly while a plan is submitted or a change of an approved one is proposed, and it
// is for the draft.
func checkMode(t *rapid.T, s plan.State) {
	request, returned := s.ModeNow().Request, s.ModeNow().Returned
	if (s.PhaseNow() == plan.PhaseSubmitted || s.HasProposal() && returned == nil) != (request != nil) ||
		returned != nil && !s.HasProposal() {
		t.Fatalf("the phase is %s with the request %+v, returned %+v", s.PhaseNow(), request, returned)
	}
	if request != nil && (s.Draft == nil || request.Plan != s.Draft.ID) {
		t.Fatalf("the request %+v is about no draft", request)
	}
	if s.PhaseNow() == plan.PhaseExecuting && (s.Plan == nil || s.Plan.Approval == nil) {
		t.Fatal("a plan is carried out that nobody approved")
	}
}

// toldResults reports whether a plan differs only by results of steps that the actor was working
// on.
func toldResults(before, after *plan.Plan, actor plan.Actor) bool {
	if before.Steps.Len() != after.Steps.Len() || plan.Digest(before) != plan.Digest(after) {
		return false
	}
	for step := range after.Steps.All() {
		old, ok := before.Steps.Get(step.ID)
		if !ok || old != step && (old.Status != plan.InProgress || old.ClaimedBy != actor.Name) {
			return false
		}
	}
	return true
}

// TestNobodyButAPersonApproves lets agents, people without a terminal and CI do anything: no plan
// is approved, and nothing changes while the phase is read-only. Time-outs are off, since they end
// the mode.
func TestNobodyButAPersonApproves(t *testing.T) {
	rapidtest.Check(t, func(t *rapid.T) {
		w := newWorkspace(t)
		w.limits = plan.Limits{PersonOnly: true, ApprovalTimeout: -1, GatheringTimeout: -1}
		restricted := false
		for range rapid.IntRange(1, 60).Draw(t, "actions") {
			actor := rapid.SampledFrom([]plan.Actor{ann, bob, script, ci, client,
				{Kind: plan.Agent, Name: "sly", Channel: plan.ChannelTerminal}}).Draw(t, "actor")
			before := w.state
			act(t, w, actor, drawAction(t, w))
			if w.state.Plan != nil && w.state.Plan.Approval != nil || w.state.PhaseNow() == plan.PhaseExecuting {
				t.Fatal("a plan was approved")
			}
			if restricted && !w.state.PhaseNow().IsRestricted() && !before.ModeNow().IsAgentsOwn {
				t.Fatal("the mode was left")
			}
			if restricted && w.state.Plan != before.Plan && !toldResults(before.Plan, w.state.Plan, actor) {
				t.Fatal("the plan was changed in a read-only phase")
			}
			restricted = w.state.PhaseNow().IsRestricted()
		}
	})
}

func checkStatus(t *rapid.T, p *plan.Plan) {
	n, finished, done := p.Steps.Len(), p.Steps.FinishedCount(), p.Steps.Count(plan.Done)
	want := true
	switch p.Status {
	case plan.StatusActive:
		want = n == 0 || finished < n || naive(p.Steps.List()).count((*plan.Step).IsStale) > 0
	case plan.StatusCompleted:
		want = finished == n && done > 0
	case plan.StatusAbandoned:
		want = finished == n && done == 0
	case plan.StatusReplanning, plan.StatusFailed:
		want = naive(p.Steps.List()).count(func(s *plan.Step) bool { return s.Critical && s.Status == plan.Failed }) > 0
	default:
		want = false
	}
	if !want {
		t.Fatalf("the plan is %s with\n%s", p.Status, describe(p.Steps))
	}
}

func checkSteps(t *rapid.T, p *plan.Plan) {
	steps := p.Steps.List()
	var ids []plan.StepID
	for i, step := range steps {
		ids = append(ids, step.ID)
		if step.ID > p.Steps.Highest() || p.Steps.Position(step.ID) != i {
			t.Fatalf("%s stands at %d, not at %d", step.ID, i, p.Steps.Position(step.ID))
		}
		if step.ClaimedBy != "" && step.Status != plan.InProgress || (step.ClaimedBy == "") != step.LeaseUntil.IsZero() {
			t.Fatalf("%s %s is claimed by %q until %v", step.ID, step.Status, step.ClaimedBy, step.LeaseUntil)
		}
		if len(step.DependsOn) != len(naive(steps).distinct(step.DependsOn)) {
			t.Fatalf("%s depends on %v", step.ID, step.DependsOn)
		}
	}
	if p.Steps.Highest() < plan.StepID(len(steps)) { // above it after a change or a later version was given up
		t.Fatalf("the highest of %d steps is %s", len(steps), p.Steps.Highest())
	}
	if cycle := plan.Cycle(ids, func(id plan.StepID) []plan.StepID { return naive(steps).get(id).DependsOn }); cycle != nil {
		t.Fatalf("a cycle came in: %v", cycle)
	}
}

// distinct returns the ids that name a step, each once.
func (n naive) distinct(ids []plan.StepID) []plan.StepID {
	out := slices.Clone(ids)
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(id plan.StepID) bool { return n.get(id) == nil })
}

// checkReplay folds the log again, from the beginning and from a snapshot in between.
func checkReplay(t *rapid.T, w *workspace) {
	want := observed(t, w.state)
	if got := observed(t, foldAll(w.log)); got != want {
		t.Fatalf("folding again gives\n%s\nwant\n%s", got, want)
	}
	cut := rapid.IntRange(0, len(w.log)).Draw(t, "cut")
	s := reread(t, foldAll(w.log[:cut]))
	for _, r := range w.log[cut:] {
		s = plan.Fold(s, r)
	}
	if got := observed(t, s); got != want {
		t.Fatalf("a snapshot at %d and the rest give\n%s\nwant\n%s", cut, got, want)
	}
}

// observed returns everything visible of a state, as text.
func observed(t failer, s plan.State) string {
	text := written(t, s)
	for _, p := range []*plan.Plan{s.Plan, s.Draft} {
		if p != nil {
			text += fmt.Sprintf("\nhighest %s\n%s", p.Steps.Highest(), describe(p.Steps))
		}
	}
	return text
}

// reread writes a state as a snapshot and reads it back.
func reread(t failer, s plan.State) plan.State {
	t.Helper()
	var body plan.StateBody
	if err := json.Unmarshal([]byte(written(t, s)), &body); err != nil {
		t.Fatalf("read the state: %v", err)
	}
	return body.Build()
}

func jsonOf(t failer, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatalf("write %T: %v", v, err)
	}
	return string(data)
}

func drawAction(t *rapid.T, w *workspace) plan.Action {
	highest := 0
	if w.state.Plan != nil {
		highest = int(w.state.Plan.Steps.Highest())
	}
	step := func() plan.StepID {
		if highest > 0 && rapid.IntRange(0, 9).Draw(t, "known") > 0 {
			return plan.StepID(rapid.IntRange(1, highest).Draw(t, "step"))
		}
		return plan.StepID(rapid.IntRange(-1, highest+2).Draw(t, "any step"))
	}
	switch rapid.SampledFrom([]string{"set up", "add", "add", "update", "update", "move", "mark", "mark", "mark", "mark", "mark", "mark",
		"claim", "clear", "restore", "raise", "lower", "report", "context", "close", "judge", "batch", "batch",
		"mode", "mode", "mode", "run", "pause", "end", "answer step", "replan"}).Draw(t, "action") {
	case "run":
		return plan.BeginRun{}
	case "pause":
		return plan.PauseRun{}
	case "end":
		return plan.EndRun{}
	case "answer step":
		choice := rapid.SampledFrom([]plan.Choice{plan.Approve, plan.Deny, plan.Retry, plan.Skip, plan.Abort}).Draw(t, "choice")
		return plan.AnswerStep{Step: step(), Choice: choice, WithDependents: choice == plan.Retry && rapid.Bool().Draw(t, "dependents")}
	case "replan":
		return plan.Replan{Changes: "another way"}
	case "set up":
		size := rapid.SampledFrom([]int{0, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 63, 64, 65, 81}).Draw(t, "size")
		return plan.SetUp{Outline: plan.Outline{Objective: rapid.SampledFrom([]string{"Ship it", "Fix it"}).Draw(t, "objective")},
			Steps: drawSteps(t, size, 0), Draft: rapid.IntRange(0, 5).Draw(t, "draft") == 0}
	case "add":
		return plan.AddSteps{Steps: drawSteps(t, rapid.IntRange(0, 4).Draw(t, "size"), highest)}
	case "update":
		return plan.UpdateStep{Step: step(), Patch: drawPatch(t, step)}
	case "move":
		return plan.MoveStep{Step: step(), After: rapid.SampledFrom([]plan.StepID{0, step()}).Draw(t, "after")}
	case "claim":
		return plan.ClaimStep{Step: step(), Force: rapid.Bool().Draw(t, "force")}
	case "clear":
		return plan.Clear{}
	case "restore":
		return plan.Restore{PlanID: drawPlanID(t, w)}
	case "raise":
		return plan.RaiseSignal{ID: drawSignal(t), Level: plan.SignalLevel(rapid.SampledFrom(plan.Blocker.Values()).Draw(t, "level")),
			Message: "it broke", Step: rapid.SampledFrom([]plan.StepID{0, 0, step()}).Draw(t, "signal's step")}
	case "lower":
		return plan.ClearSignal{ID: drawSignal(t)}
	case "report":
		return plan.ReportStep{Step: step(), Note: rapid.SampledFrom([]string{"", "n"}).Draw(t, "note"),
			Output:        rapid.SampledFrom([]string{"", "o", "p"}).Draw(t, "output"),
			AffectedFiles: []string{rapid.SampledFrom([]string{"a", "b"}).Draw(t, "file")}, Evidence: []plan.Evidence{{Criterion: "c",
				Note: "n"}}}
	case "context":
		return plan.AddContext{Constraints: rapid.SampledFrom([][]string{nil, {"no downtime"}}).Draw(t, "constraints"),
			Findings: rapid.SampledFrom([]string{"", "it is slow", "it is slow\nby design"}).Draw(t, "findings")}
	case "close":
		return plan.Close{Summary: rapid.SampledFrom([]string{"done", "all done"}).Draw(t, "summary")}
	case "judge":
		return plan.Judge{Approved: rapid.Bool().Draw(t, "approved"), Way: plan.WayAgent}
	case "mode":
		return drawModeAction(t, w)
	case "batch":
		batch := plan.Batch{Word: "update"}
		for i := range rapid.IntRange(0, 3).Draw(t, "parts") {
			batch.Parts = append(batch.Parts, plan.Part{Field: fmt.Sprint("/", i), Action: drawAction(t, w)})
		}
		return batch
	}
	return plan.MarkStep{Step: step(), Status: plan.StepStatus(rapid.SampledFrom(plan.StepStatus("").Values()).Draw(t, "status")),
		Note: rapid.SampledFrom([]string{"", "", "note"}).Draw(t, "note"), Force: rapid.Bool().Draw(t, "force")}
}

func drawModeAction(t *rapid.T, w *workspace) plan.Action {
	answer := plan.DecideDraft{Comment: rapid.SampledFrom([]string{"", "like this"}).Draw(t, "comment")}
	if w.state.Draft != nil && rapid.IntRange(0, 4).Draw(t, "shown") > 0 {
		answer.Digest = plan.Digest(w.state.Draft)
	}
	if request := w.state.ModeNow().Request; request != nil && rapid.Bool().Draw(t, "request known") {
		answer.Request = request.ID
	}
	if open := w.state.DecisionQuestions(); len(open) > 0 && rapid.Bool().Draw(t, "answers") {
		answer.Answers = []plan.Answer{{Question: open[len(open)-1].Text, Text: "yes"}}
	}
	switch rapid.SampledFrom([]string{"enter", "submit", "submit", "accept undone", "edit draft", "approve", "approve", "reject",
		"return", "cancel", "end", "undecided", "ask", "answer", "comment", "withdraw", "leave"}).Draw(t, "mode action") {
	case "enter":
		return plan.EnterMode{Task: "plan it", Reason: "it is large"}
	case "submit":
		return plan.SubmitPlan{Outline: plan.Outline{Objective: "Ship it", Summary: "in parts",
			Questions: rapid.SampledFrom([][]string{nil, {"when?"}, {"when?", "where?"}}).Draw(t, "questions")},
			Steps: drawSteps(t, rapid.IntRange(0, 3).Draw(t, "size"), 0)}
	case "accept undone":
		return plan.AcceptUndone{Digest: answer.Digest, Keys: []string{"1/S001/title"}, Text: "the title"}
	case "edit draft":
		title := rapid.SampledFrom([]string{"Look", "Build it"}).Draw(t, "new title")
		return plan.EditDraft{Digest: answer.Digest, Change: plan.UpdateStep{Step: 1, Patch: plan.Patch{Title: &title}}}
	case "approve":
		return decided(plan.Approved, answer)
	case "reject":
		return decided(plan.Rejected, answer)
	case "return":
		return decided(plan.Returned, answer)
	case "cancel":
		return plan.CancelMode{}
	case "end":
		return plan.EndMode{}
	case "withdraw":
		return plan.WithdrawProposal{}
	case "leave":
		return plan.EndMode{Leaves: true}
	case "undecided":
		return plan.RecordNoDecision{Request: answer.Request, How: "declined"}
	case "ask":
		return plan.AskUser{Text: rapid.SampledFrom([]string{"when?", "where?"}).Draw(t, "question")}
	case "answer":
		return plan.AnswerQuestion{Answer: "now"}
	}
	return drawCommentAction(t, w)
}

func drawCommentAction(t *rapid.T, w *workspace) plan.Action {
	id := fmt.Sprint("C", rapid.IntRange(1, w.state.CommentCount+1).Draw(t, "comment's number"))
	switch rapid.SampledFrom([]string{"comment", "comment", "reply", "meet"}).Draw(t, "comment action") {
	case "reply":
		return plan.ReplyToComment{Comment: id, Text: rapid.SampledFrom([]string{"done", "why?"}).Draw(t, "reply")}
	case "meet":
		return plan.ResolveComment{ID: id, IsResolved: rapid.Bool().Draw(t, "met")}
	}
	of := ""
	if ids := w.state.PlanIDs(); len(ids) > 0 && rapid.IntRange(0, 3).Draw(t, "names the plan") == 0 {
		of = rapid.SampledFrom(ids).Draw(t, "of")
	}
	return plan.AddComment{Text: "mind the gap", PlanID: of, Step: plan.StepID(rapid.IntRange(0, 4).Draw(t, "commented step")),
		IsQuestion: rapid.Bool().Draw(t, "question")}
}

func drawSignal(t *rapid.T) string {
	return rapid.SampledFrom([]string{"tests", "lint", "build"}).Draw(t, "signal")
}

// drawSteps draws new steps; dependencies name older ones, later ones of the batch and, now and
// then, missing ones.
func drawSteps(t *rapid.T, size, highest int) []plan.NewStep {
	steps := make([]plan.NewStep, size)
	for i := range steps {
		steps[i].Title = fmt.Sprint("step ", i)
		steps[i].Critical = rapid.IntRange(0, 4).Draw(t, "critical") == 0
		steps[i].Always = rapid.IntRange(0, 6).Draw(t, "always") == 0
		if highest+i > 0 && rapid.IntRange(0, 4).Draw(t, "conditional") == 0 {
			steps[i].When = drawCondition(t, plan.StepID(rapid.IntRange(1, highest+i).Draw(t, "reads")))
		}
		if size > 5 && i%7 > 0 { // few arrows in a long plan, or it is one big circle
			continue
		}
		if rapid.IntRange(0, 9).Draw(t, "with progress") == 0 {
			steps[i].Status = plan.StepStatus(rapid.SampledFrom([]string{"done", "skipped", "failed", "in_progress"}).Draw(t, "status"))
		}
		for range rapid.IntRange(0, 2).Draw(t, "deps") {
			bound := highest + i // older ones
			if rapid.IntRange(0, 4).Draw(t, "forward") == 0 {
				bound = highest + size + rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "beyond")
			}
			if bound > 0 {
				steps[i].DependsOn = append(steps[i].DependsOn, plan.StepID(rapid.IntRange(1, bound).Draw(t, "dep")))
			}
		}
	}
	return steps
}

// drawCondition draws a condition that reads the end or the value of a step.
func drawCondition(t *rapid.T, id plan.StepID) string {
	conditions := []string{`steps.%s.ok`, `steps.%s.status == "failed"`, `steps.%s.value > 1`}
	return fmt.Sprintf(rapid.SampledFrom(conditions).Draw(t, "condition"), id)
}

func drawPatch(t *rapid.T, step func() plan.StepID) plan.Patch {
	var p plan.Patch
	if rapid.Bool().Draw(t, "patch title") {
		title := rapid.SampledFrom([]string{"one", "two"}).Draw(t, "title")
		p.Title = &title
	}
	if rapid.Bool().Draw(t, "patch critical") {
		critical := rapid.Bool().Draw(t, "critical")
		p.Critical = &critical
	}
	if rapid.IntRange(0, 5).Draw(t, "patch always") == 0 {
		always := rapid.Bool().Draw(t, "always")
		p.Always = &always
	}
	if rapid.IntRange(0, 3).Draw(t, "patch condition") == 0 {
		condition := drawCondition(t, max(1, step()))
		p.When = &condition
	}
	if rapid.IntRange(0, 3).Draw(t, "patch deps") > 0 {
		deps := make([]plan.StepID, rapid.IntRange(0, 3).Draw(t, "deps"))
		for i := range deps {
			deps[i] = step()
		}
		p.DependsOn = &deps
	}
	return p
}

func drawPlanID(t *rapid.T, w *workspace) string {
	ids := []string{"no-such-1"}
	if w.state.Plan != nil {
		ids = append(ids, w.state.Plan.ID)
	}
	for _, head := range w.state.Past {
		ids = append(ids, head.ID, head.ID)
	}
	return rapid.SampledFrom(ids).Draw(t, "plan")
}
