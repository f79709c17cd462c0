package verbs_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/tiktoken-go/tokenizer"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

func resume(t fatal, s *verbs.Service, c verbs.Caller) string {
	t.Helper()
	return must[string](t)(s.Resume(context.Background(), must[plan.State](t)(s.State(context.Background())), c))
}

// TestResumeTellsEveryFact writes a plan with 40 facts and finds in the resume of a fresh agent each one that the goal
// and the current step need.
func TestResumeTellsEveryFact(t *testing.T) {
	s := service(time.Now, nil)
	facts, needed := 0, []string{}
	fact := func(what string) string { // a fact the agent does not need now
		facts++
		return fmt.Sprintf("%s-%02d", what, facts)
	}
	need := func(what string) string {
		f := fact(what)
		needed = append(needed, f)
		return f
	}
	list := func(of func(string) string, what string, n int) []string {
		var out []string
		for range n {
			out = append(out, of(what))
		}
		return out
	}
	step := func(of func(string) string, title string, deps ...plan.StepID) plan.NewStep {
		return plan.NewStep{Spec: plan.Spec{Title: title, Type: plan.Feature,
			Details:      "Mind the " + of("detail") + ".\nThen the " + of("detail") + ".",
			ContextHints: list(of, "Read `hint`", 2), AcceptanceCriteria: list(of, "criterion", 2),
			RelevantFilePaths: list(of, "internal/path", 2), Verify: "go test -run " + of("Test"), DependsOn: deps}}
	}
	first := step(fact, "Write a failing test")
	first.Status, first.Notes = plan.Done, []string{fact("first note"), need("last note of what came before")}
	first.Output, first.AffectedFiles = need("output of what came before"), list(need, "affected", 1)
	second := step(need, "Refuse expired sessions", 1)
	second.Creates, second.Notes = list(need, "internal/new", 1), list(need, "own note", 3)
	third := step(fact, "Renew what is about to expire", 2)
	outline := plan.Outline{Objective: "Sessions expire, as " + need("spec") + " asks for", Metadata: plan.Metadata{
		Constraints: list(need, "constraint", 3)}}
	must[verbs.SetupPlanReply](t)(s.SetUp(t.Context(), ann, plan.SetUp{Outline: outline, Steps: []plan.NewStep{first, second, third}}))
	must[verbs.MarkStepReply](t)(s.Mark(t.Context(), ann, plan.MarkStep{Step: 2, Status: plan.InProgress}))
	asked := must[verbs.AskUserReply](t)(s.AskUser(t.Context(), ann, verbs.AskUser{Question: need("Which region") + "?"}))
	must[verbs.AskUserReply](t)(s.Answer(t.Context(), person, asked.QuestionID, need("answer")))
	must[verbs.AskUserReply](t)(s.AskUser(t.Context(), ann, verbs.AskUser{Question: need("open question")}))
	must[verbs.CommentReply](t)(s.Comment(t.Context(), person, plan.AddComment{Text: need("comment")}))
	level := plan.Warning
	must[verbs.AlertReply](t)(s.Alert(t.Context(), ann, verbs.Alert{ID: need("lint"), Level: &level, Message: need("warning")}))
	if facts < 40 {
		t.Fatalf("%d facts, want 40", facts)
	}
	for name, c := range map[string]verbs.Caller{"MCP": ann, "command line": bob} {
		text := resume(t, s, c)
		for _, f := range append(needed, "Write a failing test", "Renew what is about to expire", "1/3 done") {
			if !strings.Contains(text, f) {
				t.Errorf("%s: %q is lost:\n%s", name, f, text)
			}
		}
	}
	t.Logf("%d facts, %d of them needed", facts, len(needed))
}

// TestResumeKeepsItsBudget: for any plan and comments, a resume costs at most 1,500 tokens and has the whole task, like
// a status.
func TestResumeKeepsItsBudget(t *testing.T) {
	codec := must[tokenizer.Codec](t)(tokenizer.Get(tokenizer.O200kBase))
	worst := 0
	rapidtest.Check(t, func(t *rapid.T) {
		s := anyWork(t)
		text := resume(t, s, ann)
		n := must[int](t)(codec.Count(text))
		if worst = max(worst, n); n > 1_500 {
			t.Fatalf("%d tokens:\n%s", n, text)
		}
		state := must[plan.State](t)(s.State(context.Background()))
		status := must[verbs.StatusReply](t)(s.StatusIn(context.Background(), state, ann))
		if !strings.HasSuffix(text, "\nNext action: "+status.NextAction) {
			t.Errorf("the status says what comes next otherwise: %s\n%s", status.NextAction, text)
		}
		if task := status.Now.CurrentTask; task != nil && !strings.Contains(text, "\n"+plan.StepID(task.ID).String()+" (") {
			t.Errorf("the status is about step %d:\n%s", task.ID, text)
		}
	})
	t.Logf("the dearest costs %d tokens", worst)
}

// TestResumeOfMeaninglessText keeps the budget for random text, which costs a model much more than it seems. (Random
// syllables of Korean or rare Chinese characters cost even more: room for them would leave too little room for tasks in
// these scripts.)
func TestResumeOfMeaninglessText(t *testing.T) {
	codec := must[tokenizer.Codec](t)(tokenizer.Get(tokenizer.O200kBase))
	for name, text := range noise() {
		spec := plan.Spec{Title: text, Details: text, ContextHints: []string{text, text, text}, Verify: text,
			AcceptanceCriteria: []string{text}}
		steps := []*plan.Step{{ID: 1, Spec: spec, Progress: plan.Progress{Status: plan.Done, Output: text, Notes: []string{text, text}}}}
		for id := plan.StepID(2); id < 9; id++ {
			steps = append(steps, &plan.Step{ID: id, Spec: spec, Progress: plan.Progress{Status: plan.Pending}})
			steps[id-1].DependsOn = []plan.StepID{1}
		}
		p := &plan.Plan{ID: "p-1", Status: plan.StatusActive, Steps: plan.NewSteps(steps), Outline: plan.Outline{Objective: text,
			ContextNotes: text, Metadata: plan.Metadata{Constraints: []string{text, text}}}}
		state := plan.State{Plan: p, Comments: []plan.Comment{{Text: text, By: text, Revision: 1}, {Text: text, By: text, Revision: 2}},
			Questions: []plan.Question{{ID: "Q1", Text: text}}}
		s := service(time.Now, nil)
		got := must[string](t)(s.Resume(context.Background(), state, ann))
		status := must[verbs.StatusReply](t)(s.StatusIn(context.Background(), state, ann))
		var structured strings.Builder
		e := json.NewEncoder(&structured)
		e.SetEscapeHTML(false)
		if err := e.Encode(status); err != nil {
			t.Fatal(err)
		}
		for what, shown := range map[string]string{"resume": got, "status": status.Text(), "structured status": structured.String()} {
			n := must[int](t)(codec.Count(shown))
			t.Logf("%s of %s: %d tokens", what, name, n)
			if n > 1_500 {
				t.Errorf("%s of %s: %d tokens, want at most 1,500:\n%s", what, name, n, shown)
			}
		}
	}
}

// noise lists meaningless texts.
func noise() map[string]string {
	of := func(from, to rune, space int) string {
		var b strings.Builder
		random := rand.New(rand.NewPCG(uint64(from), uint64(space)))
		for i := range 1500 {
			if space > 0 && i%space == space-1 {
				b.WriteByte(' ')
			}
			b.WriteRune(from + random.Int32N(to-from+1))
		}
		return b.String()
	}
	texts := map[string]string{"backquotes": strings.Repeat("`", 1500), "quotes": strings.Repeat(`"\`, 1500)}
	for name, span := range map[string][2]rune{"letters": {'a', 'z'}, "capitals": {'A', 'Z'}, "printable": {'!', '~'}, "digits": {'0', '9'},
		"Greek": {0x3B1, 0x3C9}, "Cyrillic": {0x430, 0x44F}, "emoji": {0x1F300, 0x1F5FF}, "Ethiopic": {0x1200, 0x1248}} {
		texts[name], texts[name+" in words"] = of(span[0], span[1], 0), of(span[0], span[1], 6)
	}
	return texts
}

// TestResumeOfOrdinaryPlan pins the resume of a plan of seven tasks; it costs less than 800 tokens.
func TestResumeOfOrdinaryPlan(t *testing.T) {
	s := service(time.Now, nil)
	titles := []string{"Write a failing test for expired sessions", "Refuse expired sessions in the middleware", "Renew sessions in use",
		"Log why a session was refused", "Document the setting `max_age`", "Remove the old cookie", "Measure what a lookup costs"}
	var steps []plan.NewStep
	for i, title := range titles {
		step := plan.NewStep{Spec: plan.Spec{Title: title, Type: plan.Feature,
			Details:      "Compare with the injected clock.\nKeep the grace period.",
			ContextHints: []string{"Read `internal/session/expiry.go`", "Mind the clock skew"}, RelevantFilePaths: []string{
				"internal/session/expiry.go", "internal/session/middleware.go"}, AcceptanceCriteria: []string{"expired sessions get a 401"},
			Verify: "go test ./internal/session/..."}}
		if i < 3 {
			step.Status, step.Notes = plan.Done, []string{"done as planned; all tests pass"}
		}
		if i > 0 {
			step.DependsOn = []plan.StepID{plan.StepID(i)}
		}
		steps = append(steps, step)
	}
	outline := plan.Outline{Objective: "Expire sessions as docs/spec.md asks for",
		Metadata: plan.Metadata{Constraints: []string{"no new dependencies", "the API stays as it is"}}}
	must[verbs.SetupPlanReply](t)(s.SetUp(t.Context(), ann, plan.SetUp{Outline: outline, Steps: steps}))
	must[verbs.MarkStepReply](t)(s.Mark(t.Context(), ann, plan.MarkStep{Step: 4, Status: plan.InProgress}))
	must[verbs.CommentReply](t)(s.Comment(t.Context(), person, plan.AddComment{Text: "Please keep the log lines short."}))
	text := resume(t, s, ann)
	codec := must[tokenizer.Codec](t)(tokenizer.Get(tokenizer.O200kBase))
	if n := must[int](t)(codec.Count(text)); n > 800 {
		t.Errorf("%d tokens, want at most 800", n)
	} else {
		t.Logf("%d tokens", n)
	}
	golden(t, "resume.txt", text+"\n")
}

// TestResumeWithoutPlan says so, with the next action.
func TestResumeWithoutPlan(t *testing.T) {
	text := resume(t, service(time.Now, nil), ann)
	if !strings.Contains(text, "no plan") || !strings.Contains(text, "planning_setup_plan") {
		t.Error(text)
	}
}
