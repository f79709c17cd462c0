package verbs_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"github.com/tiktoken-go/tokenizer"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// fatal is a test or a property.
type fatal interface {
	Helper()
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

func must[T any](t fatal) func(T, error) T {
	return func(value T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatalf("%v", err)
		}
		return value
	}
}

// counted returns a function that counts the tokens of a reply's text and structured content.
func counted(t fatal) func(fatal, verbs.Reply) (text, structured int) {
	codec := must[tokenizer.Codec](t)(tokenizer.Get(tokenizer.O200kBase))
	return func(t fatal, reply verbs.Reply) (int, int) {
		t.Helper()
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(reply); err != nil {
			t.Fatalf("%v", err)
		}
		return must[int](t)(codec.Count(reply.Text())), must[int](t)(codec.Count(b.String()))
	}
}

// prose lists kinds of text that a plan may contain, from cheap to expensive for a model.
func prose() []string {
	return []string{
		"Read how the session of a user expires in the middleware, and mind the clock. ",
		"Keep `internal/session/expiry.go` as it is; call the new code from cmd/server/main.go.\n",
		"go test -run 'TestExpiry|TestRenew' ./internal/session/... ",
		"0xc00012e0b8(0x1, {0x5f4a20?, 0x7})\n",
		"9f86d081884c7d659a2feaa0c55ad015 ",
		"MAX_SESSION_AGE=3600 && <b>\"quoted\" \\ back</b> ",
		"Проверить, что сессия пользователя истекает вовремя. ",
		"检查登录页面的测试，并更新文档。",
		"ผู้ใช้ต้องเข้าสู่ระบบ ",
		"👩‍🚀🏳️‍🌈 ",
		"жщфкцшгнхъьыэюя ",
		"x9-Q_7(z)!#%&*+ ",
	}
}

// written draws a text of up to most characters.
func written(t *rapid.T, label string, most int) string {
	kinds := rapid.SliceOfN(rapid.SampledFrom(prose()), 1, 3).Draw(t, label)
	n := rapid.SampledFrom([]int{30, 90, 90, 160, most}).Draw(t, label+" length")
	text := strings.Join(kinds, "")
	runes := []rune(strings.Repeat(text, 1+n/utf8.RuneCountInString(text)))
	return strings.TrimSpace(strings.Trim(string(runes[:min(n, most)]), "\u200d\ufe0f🏳"))
}

func line(t *rapid.T, label string, most int) string {
	return strings.Join(strings.Fields(written(t, label, most)), " ")
}

func lines(t *rapid.T, label string, most int) []string {
	n := rapid.SampledFrom([]int{0, 1, 3, 3, 12, 60}).Draw(t, label+"s")
	out, texts := make([]string, n), []string{line(t, label, most-4), line(t, label, most-4)}
	for i := range out {
		out[i] = fmt.Sprintf("%d %s", i, texts[i%2])
	}
	return out
}

func files(t *rapid.T, label string) []string {
	n := rapid.SampledFrom([]int{0, 1, 3, 3, 12, 60}).Draw(t, label+"s")
	folder := rapid.SampledFrom([]string{"internal/session/", "docs/", "src/компоненты/", "app/[id]/(group)/", "测试/"}).Draw(t, label)
	out, long := make([]string, n), rapid.IntRange(0, 20).Draw(t, "length")
	for i := range out {
		out[i] = fmt.Sprintf("%sfile_%03d_%s.go", folder, i, strings.Repeat("long", long*(i%3)))
	}
	return out
}

// anyStep draws a step with random fields and a status.
func anyStep(t *rapid.T, i int, status plan.StepStatus) plan.NewStep {
	step := plan.NewStep{Spec: plan.Spec{
		Title: line(t, "title", 400), Details: written(t, "details", 6_000), Type: plan.Feature, Risk: plan.HighRisk,
		ContextHints: lines(t, "hint", plan.MaxHint), RelevantFilePaths: files(t, "path"), Creates: files(t, "new path"),
		AcceptanceCriteria: lines(t, "criterion", 300), Verify: line(t, "verify", 300), Tools: lines(t, "tool", 40),
		SuggestedAgent: line(t, "agent", 60), Timeout: 90, Pause: line(t, "pause", 200),
	}, Progress: plan.Progress{Status: status, Output: written(t, "output", 4_000), Notes: lines(t, "note", 2_000),
		AffectedFiles: files(t, "affected")}}
	for on := range i {
		if rapid.Bool().Draw(t, "depends") {
			step.DependsOn = append(step.DependsOn, plan.StepID(on+1))
		}
	}
	return step
}

// doubt is a longest possible reason to doubt the workspace.
const doubt = "--workspace is ${workspaceFolder}, which the host did not replace, so it was ignored; started in /, which is not a " +
	"project: using the workspace named default, which all sessions without a project share; if that is wrong, ask the user to name the " +
	"directory: `planloop serve --workspace DIR`, or PLANLOOP_WORKSPACE"

// anyWork returns a service with a plan, its first steps done, and with random comments and command results.
func anyWork(t *rapid.T) *verbs.Service {
	s := verbs.New(session.New(store.NewMemory(), session.Options{}), verbs.Options{Workspace: "/home/ann/code", Doubt: doubt})
	ctx := context.Background()
	done, n := rapid.IntRange(0, 4).Draw(t, "done"), rapid.IntRange(1, 4).Draw(t, "open")
	var steps []plan.NewStep
	for i := range done + n {
		status := plan.Pending
		if i < done {
			status = plan.Done
		}
		steps = append(steps, anyStep(t, min(i, done), status))
	}
	for i := range rapid.SampledFrom([]int{0, 0, 0, 200}).Draw(t, "further") {
		steps = append(steps, plan.NewStep{Spec: plan.Spec{Title: fmt.Sprintf("Further step %d", i)}})
	}
	steps[done].Pause = "" // nothing answers here
	outline := plan.Outline{Objective: line(t, "goal", plan.MaxLongLine), ContextNotes: written(t, "findings", 3_000),
		Metadata: plan.Metadata{Constraints: lines(t, "constraint", 300)}}
	must[verbs.SetupPlanReply](t)(s.SetUp(ctx, ann, plan.SetUp{Outline: outline, Steps: steps}))
	if rapid.Bool().Draw(t, "begun") {
		must[verbs.MarkStepReply](t)(s.Mark(ctx, ann, plan.MarkStep{Step: plan.StepID(done + 1), Status: plan.InProgress}))
	}
	for i := range rapid.IntRange(0, 5).Draw(t, "signals") {
		level := rapid.SampledFrom([]plan.SignalLevel{plan.Blocker, plan.Warning, plan.Info}).Draw(t, "level")
		must[verbs.AlertReply](t)(s.Alert(ctx, ann, verbs.Alert{ID: fmt.Sprint("signal ", i), Level: &level,
			Message: written(t, "message", plan.MaxMessage)}))
	}
	if rapid.Bool().Draw(t, "checked") {
		must[verbs.AlertReply](t)(s.RecordCheck(ctx, ann, verbs.CheckRun{Signal: "tests", Level: plan.Blocker, Task: plan.StepID(done + 1),
			Command: line(t, "command", 300), ExitCode: 1, Output: written(t, "printed", 5_000)}))
	}
	for range rapid.IntRange(0, 5).Draw(t, "questions") {
		question := must[verbs.AskUserReply](t)(s.AskUser(ctx, ann, verbs.AskUser{Question: line(t, "question", 1_000)}))
		if rapid.Bool().Draw(t, "answered") && question.QuestionID != "" {
			must[verbs.AskUserReply](t)(s.Answer(ctx, person, question.QuestionID, written(t, "answer", 4_000)))
		}
	}
	for range rapid.IntRange(0, 5).Draw(t, "comments") {
		must[verbs.CommentReply](t)(s.Comment(ctx, person, plan.AddComment{Text: written(t, "comment", 4_000)}))
	}
	if rapid.Bool().Draw(t, "planning") {
		must[verbs.ModeReply](t)(s.EnterPlanModeFor(ctx, person, verbs.PlanFor{Task: line(t, "task", 1_000)}))
	}
	return s
}

// TestStatusKeepsItsBudget: for any plan and comments, a status costs at most 1,500 tokens, and no path, command, hint
// or criterion in it is cut.
func TestStatusKeepsItsBudget(t *testing.T) {
	worst, count := 0, counted(t)
	rapidtest.Check(t, func(t *rapid.T) {
		s := anyWork(t)
		reply := must[verbs.StatusReply](t)(s.Status(context.Background(), ann, verbs.Status{}))
		text, structured := count(t, reply)
		if worst = max(worst, text, structured); text > 1_500 || structured > 1_500 {
			t.Fatalf("%d tokens of text and %d of structured content:\n%s", text, structured, reply.Text())
		}
		if reply.Now.CurrentTask == nil {
			return
		}
		state := must[plan.State](t)(s.State(context.Background()))
		step, _ := state.Plan.Steps.Get(plan.StepID(reply.Now.CurrentTask.ID))
		requireWholeEntries(t, *reply.Now.CurrentTask, step)
		requireInText(t, reply.Text(), *reply.Now.CurrentTask)
	})
	t.Logf("the dearest costs %d tokens", worst)
}

// requireWholeEntries checks that the list entries shown are uncut.
func requireWholeEntries(t fatal, task verbs.Task, step *plan.Step) {
	t.Helper()
	for name, lists := range map[string][2][]string{
		"hint": {task.ContextHints, step.ContextHints}, "path": {task.RelevantFilePaths, step.RelevantFilePaths},
		"new path": {task.Creates, step.Creates}, "criterion": {task.AcceptanceCriteria, step.AcceptanceCriteria},
		"tool": {task.Tools, step.Tools}, "affected file": {task.AffectedFiles, step.AffectedFiles},
		"command": {{task.Verify}, {step.Verify, ""}},
	} {
		for _, shown := range lists[0] {
			if !slices.Contains(lists[1], shown) {
				t.Errorf("the %s %q was not written so", name, shown)
			}
		}
	}
}

// requireInText checks that the text has everything in the structured content.
func requireInText(t fatal, text string, task verbs.Task) {
	t.Helper()
	said := slices.Concat(task.ContextHints, task.RelevantFilePaths, task.Creates, task.AcceptanceCriteria, task.Tools, task.Other,
		task.AffectedFiles, task.Notes, []string{task.Title, task.Details, task.Verify, task.Output, task.More})
	for _, o := range task.Outcomes {
		said = append(said, o.Title, o.Note, o.Output)
	}
	unindented := func(text string) string { return regexp.MustCompile(`\n *`).ReplaceAllString(text, "\n") }
	for _, fact := range said {
		if !strings.Contains(unindented(text), unindented(safetext.AfterLabel(fact))) {
			t.Errorf("the text lacks %q:\n%s", fact, text)
		}
	}
}

// TestTaskIsShownWhole: a task asked for by id is shown whole, in pages if it is long, and each page keeps its budget.
func TestTaskIsShownWhole(t *testing.T) {
	count := counted(t)
	rapidtest.Check(t, func(t *rapid.T) {
		s := anyWork(t)
		state := must[plan.State](t)(s.State(context.Background()))
		step := state.Plan.Steps.At(rapid.IntRange(0, min(5, state.Plan.Steps.Len())-1).Draw(t, "which"))
		id := verbs.TaskID(step.ID)
		var got verbs.Task
		for page := 1; ; page++ {
			reply := must[verbs.StatusReply](t)(s.Status(context.Background(), ann, verbs.Status{Task: &id, Page: page}))
			if text, structured := count(t, reply); text > 4_600 || structured > 4_600 {
				t.Fatalf("page %d: %d tokens of text and %d of structured content:\n%s", page, text, structured, reply.Text())
			}
			task := *reply.Task
			requireInText(t, reply.Text(), task)
			for _, pair := range [][2]*[]string{{&got.ContextHints, &task.ContextHints}, {&got.Creates, &task.Creates},
				{&got.RelevantFilePaths, &task.RelevantFilePaths}, {&got.AcceptanceCriteria, &task.AcceptanceCriteria},
				{&got.AffectedFiles, &task.AffectedFiles}} {
				*pair[0] = append(*pair[0], *pair[1]...)
			}
			got.Verify += task.Verify
			got.Details += task.Details
			if next := fmt.Sprintf(`planloop_status {"task":%d,"page":%d}`, id, page+1); !strings.Contains(task.More, next) {
				break
			}
		}
		for name, lists := range map[string][2][]string{
			"hints": {got.ContextHints, step.ContextHints}, "paths": {got.RelevantFilePaths, step.RelevantFilePaths},
			"new paths": {got.Creates, step.Creates}, "criteria": {got.AcceptanceCriteria, step.AcceptanceCriteria},
			"affected files": {got.AffectedFiles, step.AffectedFiles}, "verify": {{got.Verify}, {step.Verify}},
		} {
			slices.Sort(lists[0])
			want := strings.Join(slices.Sorted(slices.Values(lists[1])), "\n")
			if diff := cmp.Diff(want, strings.Join(lists[0], "\n")); diff != "" {
				t.Errorf("%s differ (-want +got):\n%s", name, diff)
			}
		}
	})
}

// TestListKeepsItsBudget: all tasks are listed, page by page.
func TestListKeepsItsBudget(t *testing.T) {
	count := counted(t)
	for _, text := range prose() {
		s := service(time.Now, nil)
		steps := make([]plan.NewStep, 300)
		for i := range steps {
			steps[i].Title = strings.Join(strings.Fields(strings.Repeat(text, 6)), " ")
		}
		must[verbs.SetupPlanReply](t)(s.SetUp(t.Context(), ann, plan.SetUp{Outline: plan.Outline{Objective: "o"}, Steps: steps}))
		listed := 0
		for page := 1; ; page++ {
			reply := must[verbs.StatusReply](t)(s.Status(t.Context(), ann, verbs.Status{Full: true, Page: page}))
			if text, structured := count(t, reply); text > 4_500 || structured > 4_500 {
				t.Fatalf("page %d: %d tokens of text and %d of structured content:\n%s", page, text, structured, reply.Text())
			}
			if listed += len(reply.Plan.Tasks); reply.Plan.More == "" {
				break
			}
		}
		if listed != len(steps) {
			t.Errorf("%d tasks are listed, want %d", listed, len(steps))
		}
		last := must[verbs.StatusReply](t)(s.Status(t.Context(), ann, verbs.Status{Full: true, Page: math.MaxInt}))
		if len(last.Plan.Tasks) > 0 || last.Plan.More != "" {
			t.Errorf("a page far behind the last: %+v", last.Plan)
		}
	}
}

// TestOrdinaryTaskIsShownWhole pins a status with a well-described task and the outcomes of its dependencies.
func TestOrdinaryTaskIsShownWhole(t *testing.T) {
	s := service(time.Now, nil)
	steps := []plan.NewStep{
		{Spec: plan.Spec{Title: "Write a failing test for expired sessions", Type: plan.Test},
			Progress: plan.Progress{Status: plan.Done, Notes: []string{"first try hung", "fails with 200 instead of 401"},
				Output: "--- FAIL: TestExpired (0.00s)", AffectedFiles: []string{"internal/session/expiry_test.go"}}},
		{Spec: plan.Spec{Title: "Refuse expired sessions in the middleware", Type: plan.Bugfix, Risk: plan.LowRisk,
			Details:      "Compare with the injected clock.\nKeep the grace period of 30 s.",
			ContextHints: []string{"Read `internal/session/expiry.go`", "Mind the clock skew", "Look at how renew does it"},
			RelevantFilePaths: []string{"internal/session/expiry.go", "internal/session/middleware.go",
				"bench/before_the_change_of_the_session_middleware.txt"},
			Creates: []string{"internal/session/clock.go"}, DependsOn: []plan.StepID{1}, Tools: []string{"bash", "edit"},
			AcceptanceCriteria: []string{"expired sessions get a 401", "the grace period holds"},
			Verify:             "go test -run 'TestExpired|TestGrace' ./internal/session/..."},
			Progress: plan.Progress{Notes: []string{"n1", "n2", "n3", "n4", "n5"}}},
	}
	must[verbs.SetupPlanReply](t)(s.SetUp(t.Context(), ann, plan.SetUp{Outline: plan.Outline{Objective: "Expire sessions"}, Steps: steps}))
	reply := must[verbs.StatusReply](t)(s.Status(t.Context(), ann, verbs.Status{}))
	first := verbs.TaskID(1)
	finished := must[verbs.StatusReply](t)(s.Status(t.Context(), ann, verbs.Status{Task: &first}))
	structured := must[[]byte](t)(json.MarshalIndent(reply.Now.CurrentTask, "", "  "))
	shown := fmt.Sprintf("%s\n\n%s\n\n%s\n", reply.Text(), structured, finished.Text())
	golden(t, "task.txt", strings.ReplaceAll(shown, reply.Session.ID, "expire-sessions-UNIX"))
}

// TestTaskThatIsNotThere is refused with a next action.
func TestTaskThatIsNotThere(t *testing.T) {
	s := service(time.Now, nil)
	one, nine := verbs.TaskID(1), verbs.TaskID(9)
	for _, in := range []verbs.Status{{Task: &one}, {Task: &nine}, {Task: &one, Page: 2}, {Task: &one, Page: math.MaxInt}} {
		_, err := s.Status(t.Context(), ann, in)
		var refused *plan.ValidationError
		if !errors.As(err, &refused) || refused.Kind != plan.NotFound || refused.Fix == "" {
			t.Errorf("%+v: %v", in, err)
		}
		if *in.Task == one && in.Page == 0 {
			must[verbs.SetupPlanReply](t)(s.SetUp(t.Context(), ann, plan.SetUp{Outline: plan.Outline{Objective: "o"},
				Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Only"}}}}))
		}
	}
}
