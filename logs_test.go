package planloop_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/plan"
)

var newLog = flag.String("new-log", "", "write a log of the present format into testdata/logs under this name; never over an old one")

// TestReleasedLogs folds the logs of every released format and compares with the states at the time of writing: from the records, and from
// the database itself.
func TestReleasedLogs(t *testing.T) {
	if *newLog != "" {
		writeLog(t, filepath.Join("testdata", "logs", *newLog))
	}
	logs, err := filepath.Glob("testdata/logs/*")
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	for _, dir := range logs {
		t.Run(filepath.Base(dir), func(t *testing.T) {
			want, err := os.ReadFile(filepath.Join(dir, "state.json"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(decoded(t, want), decoded(t, foldRecords(t, filepath.Join(dir, "records.jsonl")))); diff != "" {
				t.Errorf("the records fold to something else (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(decoded(t, want), decoded(t, foldDatabase(t, filepath.Join(dir, "plan.db")))); diff != "" {
				t.Errorf("the database folds to something else (-want +got):\n%s", diff)
			}
		})
	}
}

// TestLogHasEveryEvent keeps the story for the next release's log complete.
func TestLogHasEveryEvent(t *testing.T) { writeLog(t, filepath.Join(t.TempDir(), "log")) }

// decoded is a state, independent of the order of its members.
func decoded(t *testing.T, data []byte) any {
	t.Helper()
	var state any
	if err := json.Unmarshal(data, &state); err != nil {
		t.Fatal(err)
	}
	return state
}

func foldRecords(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var state plan.State
	lines := bufio.NewScanner(bytes.NewReader(data))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		record, err := store.DecodeRecord(lines.Bytes())
		if err != nil {
			t.Fatal(err)
		}
		state = plan.Fold(state, record)
	}
	return encoded(t, state)
}

// foldDatabase opens a copy, so that the stored one stays unchanged.
func foldDatabase(t *testing.T, file string) []byte {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "plan.db"), data, 0o600); err != nil {
		t.Fatal(err)
	}
	s := session.New(sqlite.New(dir, sqlite.Options{}), session.Options{})
	defer s.Close()
	state, err := s.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return encoded(t, state)
}

func encoded(t *testing.T, state plan.State) []byte {
	t.Helper()
	data, err := json.MarshalIndent(state.Body(), "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return append(data, '\n')
}

// writeLog records a story with every kind of event and every field.
func writeLog(t *testing.T, dir string) {
	t.Helper()
	if err := os.Mkdir(dir, 0o755); err != nil {
		t.Fatal(err) // an old one is never overwritten
	}
	now := time.Date(2026, 11, 21, 9, 0, 0, 0, time.UTC)
	place := t.TempDir()
	s := session.New(sqlite.New(place, sqlite.Options{}), session.Options{
		Now: func() time.Time { now = now.Add(time.Minute); return now },
	})
	ann := plan.Actor{Kind: plan.Agent, Name: "claude-code#1a2b3c"}
	bob := plan.NewActor(plan.ChannelTerminal, "bob")
	do := func(by plan.Actor, a plan.Action) plan.State {
		outcome, err := s.Do(t.Context(), by, a, nil)
		if err != nil {
			t.Fatalf("%+v: %v", a, err)
		}
		return outcome.After
	}
	if err := s.Purge(t.Context(), bob); err != nil {
		t.Fatal(err)
	}
	full := fullStep()
	first := do(ann, plan.SetUp{Outline: fullOutline(), Steps: []plan.NewStep{
		{Spec: plan.Spec{Title: "Look first"}}, full, {Spec: plan.Spec{Title: "Decide", DependsOn: []plan.StepID{1, 2}, Critical: true}},
		finishedStep(),
	}}).Plan.ID
	do(ann, plan.MarkStep{Step: 1, Status: plan.InProgress})
	do(bob, plan.ClaimStep{Step: 1, Force: true})
	do(bob, plan.MarkStep{Step: 1, Status: plan.Done, Note: "seen \"it\" & <that>"})
	do(ann, plan.MarkStep{Step: 2, Status: plan.Blocked, Note: "Zürich, 東京 \U0001f6d1"})
	do(bob, plan.UpdateStep{Step: 2, Patch: fullPatch()})
	do(bob, plan.MarkStep{Step: 2, Status: plan.Done})
	do(ann, plan.MarkStep{Step: 3, Status: plan.Failed, Note: "no quorum"})
	do(ann, plan.MarkStep{Step: 3, Status: plan.InProgress})
	do(ann, plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Later", DependsOn: []plan.StepID{6}}},
		{Spec: plan.Spec{Title: "Sooner"}}}})
	do(ann, plan.MoveStep{Step: 6, After: 4})
	do(ann, plan.MarkStep{Step: 3, Status: plan.Done})
	do(ann, plan.MarkStep{Step: 5, Status: plan.Skipped})
	do(ann, plan.MarkStep{Step: 6, Status: plan.Cancelled})
	do(ann, plan.MarkStep{Step: 6, Status: plan.Pending})
	do(bob, plan.SetUp{Outline: plan.Outline{Objective: "A draft"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Perhaps"}}},
		Draft: true})
	do(ann, plan.Clear{})
	do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Given up"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Never"}}}})
	do(ann, plan.MarkStep{Step: 1, Status: plan.Skipped})
	do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Lost"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Only chance",
		Critical: true}}}})
	s2 := session.New(sqlite.New(place, sqlite.Options{}), session.Options{Limits: plan.Limits{MaxReplans: -1},
		Now: func() time.Time { now = now.Add(time.Minute); return now }})
	if _, err := s2.Do(t.Context(), ann, plan.MarkStep{Step: 1, Status: plan.Failed}, nil); err != nil {
		t.Fatal(err)
	}
	if err := s2.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Restore(t.Context(), bob, first); err != nil {
		t.Fatal(err)
	}
	recordLoop(t, do)
	recordMode(t, do, &now)
	recordRun(t, s, do)
	recordAgents(t, s, do)
	recordChanges(t, s, do)
	recordReview(t, s, do)
	recordTeam(t, s)
	keep(t, dir, place, s)
}

// recordLoop records signals, reports, a verdict and the end of a plan.
func recordLoop(t *testing.T, do func(plan.Actor, plan.Action) plan.State) {
	ann, ci := plan.Actor{Kind: plan.Agent, Name: "claude-code#1a2b3c"}, plan.Actor{Kind: plan.CI, Name: "ci"}
	exit := 1
	do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Loop"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: plan.MetaTitle("Loop"),
		Type: plan.Chore}}}})
	do(ann, plan.Batch{Word: "update", Parts: []plan.Part{
		{Field: "/add_tasks", Action: plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Build", Verify: "make"}}}}},
		{Field: "/update_tasks/0", Action: plan.MarkStep{Step: 1, Status: plan.Done}},
	}})
	do(ci, plan.Batch{Word: "check", Parts: []plan.Part{
		{Action: plan.ReportStep{Step: 2, Evidence: []plan.Evidence{{Command: "make", ExitCode: &exit, Output: "no rule",
			Recorded: true}}}},
		{Action: plan.RaiseSignal{ID: "tests", Level: plan.Blocker, Message: "make exited with 1.", Step: 2, Output: "no rule"}},
	}})
	do(ci, plan.RaiseSignal{ID: "lint", Level: plan.Warning, Message: "3 findings"})
	do(ci, plan.ClearSignal{ID: "tests"})
	do(ann, plan.ReportStep{Step: 2, Note: "n", Output: "built", AffectedFiles: []string{"out"},
		Evidence: []plan.Evidence{{Criterion: "c", Note: "seen"}}})
	do(ann, plan.Judge{Approved: true, Feedback: "fine", Way: plan.WayAgent})
	do(ann, plan.MarkStep{Step: 2, Status: plan.Done})
	do(ann, plan.Close{Summary: "Built it."})
}

// recordMode records every course of planning mode.
func recordMode(t *testing.T, do func(plan.Actor, plan.Action) plan.State, now *time.Time) {
	ann, bob := plan.Actor{Kind: plan.Agent, Name: "claude-code#1a2b3c"}, plan.NewActor(plan.ChannelTerminal, "bob")
	submit := func(title string) plan.DecideDraft {
		state := do(ann, plan.SubmitPlan{Outline: plan.Outline{Objective: "Redis", Summary: "Move sessions."},
			Steps: []plan.NewStep{{Spec: plan.Spec{Title: title, Risk: plan.LowRisk, Tools: []string{"view"},
				AcceptanceCriteria: []string{"c"}}}}})
		return plan.DecideDraft{Request: state.ModeNow().Request.ID, Digest: plan.Digest(state.Draft)}
	}
	do(ann, plan.EnterMode{Reason: "it is large"})
	do(ann, plan.AskUser{Text: "Which region?"})
	do(bob, plan.AnswerQuestion{ID: "Q1", Answer: "EU"})
	do(bob, plan.AddComment{Text: "mind the cache"})
	answer := submit("Look")
	do(ann, plan.RecordNoDecision{Request: answer.Request, How: "declined"})
	answer.Comment = "split it"
	do(bob, decided(plan.Returned, answer))
	do(bob, decided(plan.Rejected, submit("Look again")))
	do(bob, plan.EnterMode{Task: "Redis"})
	do(bob, plan.CancelMode{})
	do(ann, plan.EnterMode{Reason: "once more"}) // ends by itself, because an agent entered
	*now = now.Add(2 * time.Hour)
	do(ann, plan.RaiseSignal{ID: "late", Level: plan.Info, Message: "after the time-out"})
	do(bob, decided(plan.Approved, submit("Connect")))
	do(ann, plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Test it"}, Splits: 1}}})
	state := do(ann, plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Drop the table", Risk: plan.HighRisk}}}})
	do(bob, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(state.Draft), Comment: "carefully"})
	do(ann, plan.EndMode{})
	do(bob, plan.Clear{}) // an agent may not, because the plan is approved
}

// recordRun records runs of plans: the engines' reports, the questions, and failures.
func recordRun(t *testing.T, s *session.Session, do func(plan.Actor, plan.Action) plan.State) {
	ann, bob := plan.Actor{Kind: plan.Agent, Name: "claude-code#1a2b3c"}, plan.NewActor(plan.ChannelTerminal, "bob")
	first, second := plan.NewActor(plan.ChannelEngine, "engine#1"), plan.NewActor(plan.ChannelEngine, "engine#2")
	advance := func(by plan.Actor, a plan.Schedule) plan.State {
		a.MaxStarts = 9
		outcome, err := s.Do(t.Context(), by, a, func(state plan.State, f *plan.Facts) error {
			f.Sightings, f.Resolutions = map[string]plan.Sighting{first.Name: {IsGone: true}}, map[plan.StepID]plan.Resolution{}
			for _, step := range plan.StartableSteps(a.ApplyResults(state, *f), a.MaxStarts) {
				f.Resolutions[step.ID] = plan.Resolution{Digest: plan.StartDigest(step, step.Args, ""), Args: step.Args,
					ConditionFalse: step.When == "false", Items: []json.RawMessage{json.RawMessage(`"a"`), json.RawMessage(`{"b":1}`)},
					LoopDigest: "list"}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return outcome.After
	}
	tool := func(title string, change func(*plan.Spec)) plan.NewStep {
		spec := plan.Spec{Title: title, Tool: "bash_execute", Args: json.RawMessage(`{"command":"true"}`)}
		change(&spec)
		return plan.NewStep{Spec: spec}
	}
	none := func(*plan.Spec) {}
	state := do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Run"}, Steps: []plan.NewStep{tool("one", none), tool("two", none),
		tool("loop", func(s *plan.Spec) { s.ForEach = "*.txt" }), tool("never", func(s *plan.Spec) { s.When = "false" }),
		tool("asks", func(s *plan.Spec) { s.RequiresApproval = true }),
		{Spec: plan.Spec{Title: "perhaps", When: "true"}}, {Spec: plan.Spec{Title: "Which?", Pause: "Which?"}},
		tool("critical", func(s *plan.Spec) { s.Critical = true })}})
	of := func(id plan.StepID, attempt int) plan.Attempt {
		return plan.Attempt{Plan: state.Plan.Root(), Step: id, Attempt: attempt}
	}
	do(bob, plan.BeginRun{})
	advance(first, plan.Schedule{})
	do(bob, plan.PauseRun{Note: "lunch"})
	do(bob, plan.BeginRun{})
	advance(first, plan.Schedule{Results: []plan.AttemptResult{
		{Attempt: of(1, 1), Result: plan.Result{OK: true, Value: json.RawMessage(`{"n":1.50}`), Duration: 12}, Output: "out"},
		{Attempt: of(2, 1), Result: plan.Result{Error: "closed"}, IsTransient: true},
		{Attempt: of(1, 7), Result: plan.Result{OK: true, StoredName: "0a1b"}}}})
	advance(second, plan.Schedule{Lost: []plan.Attempt{of(2, 2), of(9, 1), of(10, 1)}})
	do(bob, plan.AnswerStep{Step: 5, Choice: plan.Approve, Args: json.RawMessage(`{"command":"ls"}`), Text: "only look"})
	do(bob, plan.AnswerStep{Step: 7, Choice: plan.Reply, Text: "the first"})
	do(ann, plan.AnswerStep{Step: 9, Choice: plan.Happened})
	do(ann, plan.AnswerStep{Step: 10, Choice: plan.Skip, Text: "not needed"})
	advance(first, plan.Schedule{Results: []plan.AttemptResult{{Attempt: of(8, 1), Result: plan.Result{Error: "no quorum"}}}})
	do(bob, plan.Replan{Changes: "another way", Reasoning: "it failed", Discoveries: []string{"d"}, Constraints: []string{"c"}})
	do(ann, plan.Clear{})
}

// recordAgents records a host's list that became a plan, and agents started by a run.
func recordAgents(t *testing.T, s *session.Session, do func(plan.Actor, plan.Action) plan.State) {
	bob, engine := plan.NewActor(plan.ChannelTerminal, "bob"), plan.NewActor(plan.ChannelEngine, "engine#3")
	hook := plan.NewActor(plan.ChannelAgentShell, "claude")
	resolved := func(state plan.State, f *plan.Facts) error {
		f.Resolutions = map[plan.StepID]plan.Resolution{}
		for step := range state.Plan.Steps.All() {
			f.Resolutions[step.ID] = plan.Resolution{Digest: plan.StartDigest(step, nil, ""), Agent: "claude", IsRepeatable: true,
				WritesFiles: true}
		}
		return nil
	}
	state := do(hook, plan.AdoptHostPlan{Outline: plan.Outline{Objective: "A host's list"}, Host: "claude-code", Session: "s1",
		Steps: []plan.NewStep{{Name: "1", Spec: plan.Spec{Title: "Look"}}, {Name: "2", Spec: plan.Spec{Title: "Build"}}}})
	do(bob, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(state.Draft)})
	do(bob, plan.BeginRun{})
	advance := func(finished ...plan.AttemptResult) {
		outcome, err := s.Do(t.Context(), engine, plan.Schedule{Results: finished, MaxStarts: 1}, resolved)
		if err != nil {
			t.Fatal(err)
		}
		state = outcome.After
	}
	of := func(id plan.StepID, attempt int) plan.Attempt {
		return plan.Attempt{Plan: state.Plan.Root(), Step: id, Attempt: attempt}
	}
	advance()
	advance(plan.AttemptResult{Attempt: of(1, 1), Result: plan.Result{Error: "no quota"}, Output: "no quota", IsTransient: true,
		IsAgentUnavailable: true, AffectedFiles: []string{"a.md"}})
	worker := hook
	worker.Scope = of(1, 2)
	do(worker, plan.MarkStep{Step: 1, Status: plan.Done, Note: "looked"})
	advance(plan.AttemptResult{Attempt: of(1, 2), Result: plan.Result{OK: true, Duration: 3}, Note: "looked", Output: "log",
		AffectedFiles: []string{"b.md"}, OutOfScopeFiles: []string{"b.md"}, CommitMoved: true, ChangesUnknown: true})
	do(bob, plan.Clear{})
}

// recordChanges records the changes around a plan: context, a value replaced later, a stopped step, the end of a run, a proposal withdrawn,
// an undone edit let go, and a host's own plan.
func recordChanges(t *testing.T, s *session.Session, do func(plan.Actor, plan.Action) plan.State) {
	ann, bob := plan.Actor{Kind: plan.Agent, Name: "claude-code#1a2b3c"}, plan.NewActor(plan.ChannelTerminal, "bob")
	engine := plan.NewActor(plan.ChannelEngine, "engine#4")
	hook := plan.NewActor(plan.ChannelAgentShell, "claude")
	step := func(title, args string, change func(*plan.Spec)) plan.NewStep {
		spec := plan.Spec{Title: title, Tool: "bash_execute", Args: json.RawMessage(args)}
		change(&spec)
		return plan.NewStep{Spec: spec}
	}
	none := func(*plan.Spec) {}
	do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Changes"}, Steps: []plan.NewStep{
		step("source", `{"command":"true"}`, none), step("user", `{"command":"cat","env":{"V":"$S001"}}`, none),
		step("slow", `{"command":"sleep 9"}`, none), step("clean up", `{"command":"true"}`, func(s *plan.Spec) { s.Always = true })}})
	do(ann, plan.AddContext{Constraints: []string{"no downtime"}, Findings: "the cache is cold"})
	do(ann, plan.MarkStep{Step: 1, Status: plan.Done})
	do(ann, plan.MarkStep{Step: 2, Status: plan.Done})
	do(bob, plan.MarkStep{Step: 1, Status: plan.Pending})
	do(ann, plan.MarkStep{Step: 1, Status: plan.Done})
	do(bob, plan.BeginRun{})
	if _, err := s.Do(t.Context(), engine, plan.Schedule{MaxStarts: 9}, func(state plan.State, f *plan.Facts) error {
		f.Resolutions = map[plan.StepID]plan.Resolution{}
		for step := range state.Plan.Steps.All() {
			f.Resolutions[step.ID] = plan.Resolution{Digest: plan.StartDigest(step, step.Args, ""), Args: step.Args}
		}
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	do(bob, plan.AnswerStep{Step: 3, Choice: plan.Stop})
	do(bob, plan.EndRun{})
	do(bob, plan.Clear{})

	submit := plan.SubmitPlan{Outline: plan.Outline{Objective: "Withdrawn", Summary: "Move it."},
		Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Move", Risk: plan.LowRisk}}}}
	state := do(ann, submit)
	do(bob, plan.AcceptUndone{Digest: plan.Digest(state.Draft), Keys: []string{"title:S001"}, Text: "the title of S001"})
	do(bob, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(state.Draft)})
	do(ann, plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Drop the table", Risk: plan.HighRisk}}}})
	do(ann, plan.WithdrawProposal{})
	do(bob, plan.Clear{})

	submit.Objective, submit.HostPlan = "Shown there", &plan.HostPlan{Host: "claude", Title: "Claude Code", Session: "s2", Text: "1. Move"}
	do(hook, submit)
	do(hook, plan.LeaveHostReview{Host: "claude", Session: "s2"})
	do(ann, plan.SetUp{Outline: plan.Outline{Objective: "Followed"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Look"}}}})
	do(hook, plan.AdoptHostPlan{Outline: plan.Outline{Objective: "A list"}, Host: "claude", Session: "s3",
		Task: &plan.TaskChange{Name: "1", Title: new("Look"), Status: plan.InProgress}})
	do(bob, plan.Clear{})
}

// recordReview records comments and changes by people on a waiting plan, and the replies; the last draft still waits.
func recordReview(t *testing.T, s *session.Session, do func(plan.Actor, plan.Action) plan.State) {
	ann, bob := plan.Actor{Kind: plan.Agent, Name: "claude-code#1a2b3c"}, plan.NewActor(plan.ChannelTerminal, "bob")
	known := func(_ plan.State, f *plan.Facts) error {
		f.Definitions = map[string]string{"github/issue_read": "d1", "github/issue_write": "d2"}
		return nil
	}
	var state plan.State
	as := func(by plan.Actor, a plan.Action) {
		outcome, err := s.Do(t.Context(), by, a, known)
		if err != nil {
			t.Fatalf("%+v: %v", a, err)
		}
		state = outcome.After
	}
	submit := func(titles ...string) {
		a := plan.SubmitPlan{Outline: plan.Outline{Objective: "Reviewed", Summary: "Read the issue, then build."}}
		for i, title := range titles {
			step := plan.NewStep{Spec: plan.Spec{Title: title, Risk: plan.LowRisk, Tools: []string{"view"}}}
			if i == 0 {
				step.Tool, step.Args = "github/issue_read", json.RawMessage(`{"n":1}`)
			} else {
				step.DependsOn = []plan.StepID{plan.StepID(i)}
			}
			a.Steps = append(a.Steps, step)
		}
		as(ann, a)
	}
	edit := func(e plan.EditDraft) {
		e.Digest = plan.Digest(state.Draft)
		as(bob, e)
	}
	do(bob, plan.EnterMode{Task: "Reviewed"})
	do(bob, plan.AddComment{Text: "keep it small"}) // about a plan still to come
	submit("Read", "Build", "Check")
	as(bob, plan.AddComment{Text: "why this one?", Step: 2, IsQuestion: true})
	as(ann, plan.ReplyToComment{Comment: "C3", Text: "it is the smallest"})
	as(bob, plan.DecideDraft{Outcome: plan.Returned, Digest: plan.Digest(state.Draft), Comments: []plan.AddComment{
		{Text: "more of it", Step: 1}, {Text: "which region?", IsQuestion: true}}})
	submit("Read all", "Build", "Check", "Tell")
	edit(plan.EditDraft{Change: plan.UpdateStep{Step: 1, Patch: plan.Patch{Args: new(json.RawMessage(`{"n":2}`))}}})
	edit(plan.EditDraft{Change: plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Write", Tool: "github/issue_write",
		Args: json.RawMessage(`{}`), Risk: plan.HighRisk}}}}, After: new(plan.StepID(1))})
	edit(plan.EditDraft{Change: plan.MoveStep{Step: 5, After: 3}})
	edit(plan.EditDraft{Remove: 2})
	as(bob, plan.ResolveComment{ID: "C3", IsResolved: true})
	as(bob, plan.ResolveComment{ID: "C4", IsResolved: true})
	as(bob, plan.ResolveComment{ID: "C4"})
	as(bob, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(state.Draft), Comment: "go", Comments: []plan.AddComment{
		{Text: "mind the limits", Step: 5}}})
	drop := plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Drop the table", Risk: plan.HighRisk}}}}
	as(ann, drop)
	as(bob, plan.DecideDraft{Outcome: plan.Rejected, Digest: plan.Digest(state.Draft), Comment: "never", Comments: []plan.AddComment{
		{Text: "what holds it back?"}}})
	as(ann, drop)
	edit(plan.EditDraft{Change: plan.UpdateStep{Step: 7, Patch: plan.Patch{Title: new("Empty the table")}}})
	as(bob, plan.AddComment{Text: "is there a copy?", Step: 7, IsQuestion: true})
}

// recordTeam records the sharing of a track, and approvals under a policy; the last plan waits for one more.
func recordTeam(t *testing.T, s *session.Session) {
	var state plan.State
	as := func(by plan.Actor, a plan.Action) {
		outcome, err := s.Do(t.Context(), by, a, func(_ plan.State, f *plan.Facts) error {
			f.Policy = &plan.Policy{Approvals: 2, Approvers: []string{"bob", "eve", "kim"}, HighRisk: 1, Proof: plan.ProofPasskey}
			f.Members = plan.Members{"ann": {}, "bob": {}, "eve": {}, "kim": {}}
			return nil
		})
		if err != nil {
			t.Fatalf("%+v: %v", a, err)
		}
		state = outcome.After
	}
	approve := func(name, comment string) {
		by := plan.NewActor(plan.ChannelPage, name)
		by.Proof = plan.ProofPasskey
		as(by, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(state.Draft), Comment: comment})
	}
	as(plan.NewActor(plan.ChannelEngine, "ann"), plan.ShareTrack{From: "ann's laptop"})
	approve("bob", "mind the cache")
	approve("eve", "go")
	approve("kim", "")
	as(plan.NewActor(plan.ChannelMCP, "ann/codex"), plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "More"}}}})
	as(plan.NewActor(plan.ChannelMCP, "kim/codex"), plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Even more"}}}})
	approve("bob", "")
}

// keep writes the content of the log, and the state that it folds to.
func keep(t *testing.T, dir, place string, s *session.Session) {
	t.Helper()
	var records bytes.Buffer
	kinds := map[string]bool{}
	for record, err := range s.Records(t.Context(), 0) {
		if err != nil {
			t.Fatal(err)
		}
		line, err := store.EncodeRecord(record)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(&records, "%s\n", line)
		for _, e := range record.Events {
			kinds[plan.EventKind(e)] = true
		}
	}
	for _, e := range plan.Events() {
		if _, repair := e.(plan.ModeRestored); !kinds[plan.EventKind(e)] && !repair { // only a repair writes it
			t.Errorf("the log has no %s", plan.EventKind(e))
		}
	}
	state, err := s.State(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	database, err := os.ReadFile(filepath.Join(place, "plan.db"))
	if err != nil {
		t.Fatal(err)
	}
	for name, data := range map[string][]byte{"records.jsonl": records.Bytes(), "state.json": encoded(t, state), "plan.db": database} {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

func fullOutline() plan.Outline {
	return plan.Outline{Objective: "Move the service", Summary: "In three parts", ContextNotes: "Two regions\nOne week",
		Questions: []string{"When?"}, Reasoning: "Cheapest first", EstimatedDuration: 3600,
		Metadata: plan.Metadata{Complexity: 7, Tags: []string{"ops"}, Constraints: []string{"no downtime"}, InformedBy: []string{"m1"}}}
}

func fullStep() plan.NewStep {
	return plan.NewStep{Spec: plan.Spec{
		Title: "Copy the data", Details: "first\tthen\nlast", Type: plan.Chore, DependsOn: []plan.StepID{1},
		ContextHints: []string{"Read `a.md`"}, RelevantFilePaths: []string{"a.md"}, Creates: []string{"b.md"},
		AcceptanceCriteria: []string{"counts agree"}, SuggestedAgent: "developer", Risk: plan.HighRisk, Tools: []string{"view"},
		Tool: "view", Args: json.RawMessage(`{"path":"a.md","n":1.50}`), Idempotent: true, RequiresApproval: true, Timeout: 60,
		Pause: "Look?", When: "true", ForEach: "files", Verify: "make check",
	}}
}

func finishedStep() plan.NewStep {
	at := time.Date(2026, 11, 20, 8, 0, 0, 0, time.UTC)
	exit := 0
	return plan.NewStep{Spec: plan.Spec{Title: "Imported"}, Progress: plan.Progress{
		Status: plan.Done, Notes: []string{"n1", "n2"}, Output: "ok", AffectedFiles: []string{"b.md"}, Attempts: 2, ExecutedBy: "carol",
		Evidence:  []plan.Evidence{{Criterion: "c", Command: "make", ExitCode: &exit, Output: "tail", Note: "n", By: "ci", At: at}},
		Result:    &plan.Result{OK: true, Value: json.RawMessage(`[1]`), Duration: 12, Timestamp: at},
		StartedAt: at, CompletedAt: at,
	}}
}

func fullPatch() plan.Patch {
	return plan.Patch{Title: new("Copy all data"), Details: new(""), Type: new(plan.Feature), DependsOn: new([]plan.StepID{1, 4}),
		ContextHints: new([]string{}), RelevantFilePaths: new([]string{"c.md"}), Creates: new([]string{"d.md"}),
		AcceptanceCriteria: new(slices.Clone([]string{"x", "y"})), SuggestedAgent: new("tester"), Risk: new(plan.LowRisk),
		Tools: new([]string{
			"grep"}),
		Tool: new("grep"), Args: new(json.RawMessage(`{}`)), Critical: new(false), Idempotent: new(false), RequiresApproval: new(false),
		Timeout: new(5), Pause: new(""), When: new("false"), ForEach: new(""), Verify: new("make test")}
}

// decided returns an answer with an outcome.
func decided(outcome plan.Outcome, a plan.DecideDraft) plan.DecideDraft {
	a.Outcome = outcome
	return a
}
