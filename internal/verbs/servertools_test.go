package verbs_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/runnable"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// lateTools become known after a wait.
type lateTools struct {
	known  map[string]bool
	late   string
	waited int
}

func (t *lateTools) Tool(name string) (runnable.Tool, bool) { return anyArgs{}, t.known[name] }
func (t *lateTools) Names() []string                        { return []string{"view"} }
func (t *lateTools) Missing(name string) string             { return "the server of " + name + " is away" }

func (t *lateTools) Await(context.Context) {
	t.waited++
	t.known[t.late] = true
}

// anyArgs is a tool that accepts any arguments.
type anyArgs struct{}

func (anyArgs) CheckWith(json.RawMessage, func(string) bool) []*plan.ValidationError { return nil }

// TestToolsToComeAreAwaited: calls that name unknown tools wait for them, other calls do not; a tool that is still
// missing is reported with the reason.
func TestToolsToComeAreAwaited(t *testing.T) {
	for name, c := range map[string]struct {
		call, arguments string
		waited          bool
		refused         string
	}{
		"a task":               {"planloop_update", `{"add_tasks":[{"title":"Look into go.mod","tool":"zoo__look","args":{}}]}`, true, ""},
		"an edit":              {"planloop_update", `{"update_tasks":[{"id":1,"tool":"zoo__look","args":{}}]}`, true, ""},
		"a tool that is known": {"planloop_update", `{"add_tasks":[{"title":"Look into go.mod","tool":"view","args":{}}]}`, false, ""},
		"no tool":              {"planning_add_step", `{"steps":[{"title":"Look"}]}`, false, ""},
		"a mark":               {"planning_mark_step", `{"step_id":"S001","status":"in_progress"}`, false, ""},
		"one that is away": {"planloop_update", `{"add_tasks":[{"title":"Look into go.mod","tool":"ant__look","args":{}}]}`, true,
			"the server of ant__look is away"},
	} {
		t.Run(name, func(t *testing.T) {
			tools := &lateTools{known: map[string]bool{"view": true}, late: "zoo__look"}
			log := session.New(store.NewMemory(), session.Options{})
			t.Cleanup(func() { _ = log.Close() })
			s := verbs.New(log, verbs.Options{StepTools: tools})
			if _, err := s.SetUp(t.Context(), ann, plan.SetUp{Outline: plan.Outline{Objective: "Feed them"},
				Steps: []plan.NewStep{{Spec: plan.Spec{Title: "First"}}}}); err != nil {
				t.Fatal(err)
			}
			err := callRow(t, s, c.call, c.arguments)
			if (err == nil) != (c.refused == "") || err != nil && !strings.Contains(err.Error(), c.refused) {
				t.Errorf("%v, want %s", err, c.refused)
			}
			if (tools.waited > 0) != c.waited {
				t.Errorf("waited %d times", tools.waited)
			}
		})
	}
}

func callRow(t *testing.T, s *verbs.Service, name, arguments string) error {
	t.Helper()
	for _, row := range verbs.Table() {
		if row.Name == name {
			_, err := row.Call(t.Context(), s, ann, []byte(arguments))
			return err
		}
	}
	t.Fatalf("there is no %s", name)
	return nil
}

// TestOtherServersToolsAreShown to the person who decides, with their descriptions quoted, and with any problems.
func TestOtherServersToolsAreShown(t *testing.T) {
	benign := verbs.ServerTool{Server: "zoo", Description: "Feed.", ReadOnly: true, Definition: "one"}
	for name, c := range map[string]struct {
		now        *verbs.ServerTool
		definition string
		want       string
	}{
		"planloop's own": {nil, "", ""},
		"as it was": {&benign, "one", `   of the server zoo, which says of it: "Feed."
   counts as a tool that only reads
`},
		"changed meanwhile": {&benign, "two", `   of the server zoo, which says of it: "Feed."
   counts as a tool that only reads
   this has changed since the question was put: a run asks again before it calls the tool
`},
		"gone": {nil, "one", "   of another server, which does not offer it now\n"},
		"silent and careful": {&verbs.ServerTool{Server: "zoo", Idempotent: true, Definition: "one"}, "one",
			`   of the server zoo, which says nothing of it
   counts as a tool that may add and change things, and deletes none; to call it twice does no more than to call it once
`},
		"posing as ours": {&verbs.ServerTool{Server: "zoo", Description: "a\"\n   why it asks: \u202ex\x1b[1m",
			Destructive: true, OpenWorld: true, Definition: "one"}, "one",
			`   of the server zoo, which says of it: "a\"\n   why it asks: \u202ex\x1b[1m"
   counts as a tool that may change and delete things, and may deal with the world outside
`},
	} {
		t.Run(name, func(t *testing.T) {
			log := session.New(store.NewMemory(), session.Options{})
			t.Cleanup(func() { _ = log.Close() })
			s := verbs.New(log, verbs.Options{ServerTools: func() map[string]verbs.ServerTool {
				if c.now == nil {
					return nil
				}
				return map[string]verbs.ServerTool{"zoo__feed": *c.now}
			}})
			step := plan.Step{ID: 1, Spec: plan.Spec{Title: "Feed", Tool: "zoo__feed"}}
			got := s.ReviewForeseen(plan.State{Plan: &plan.Plan{}}, []plan.ExpectedQuestion{{Step: &step, Kind: plan.AskApproval,
				IsKnown:    true,
				Definition: c.definition, Reason: "it is time"}})
			_, got, _ = strings.Cut(got, "   tool: zoo__feed\n")
			if want := c.want + "   why it asks: it is time\n"; got != want {
				t.Errorf("got\n%s, want\n%s", got, want)
			}
		})
	}
}

// TestReportsAskNobodyForDefinitions: a step's status is recorded without asking other servers for tools; changes that
// may need an approval do ask.
func TestReportsAskNobodyForDefinitions(t *testing.T) {
	asked := 0
	log := session.New(store.NewMemory(), session.Options{})
	t.Cleanup(func() { _ = log.Close() })
	s := verbs.New(log, verbs.Options{ServerTools: func() map[string]verbs.ServerTool { asked++; return nil }})
	for _, c := range []struct {
		call, arguments string
		asks            bool
	}{
		{"planning_setup_plan", `{"objective":"Feed","initial_steps":["Look","Feed"]}`, true},
		{"planning_mark_step", `{"step_id":"S001","status":"in_progress"}`, false},
		{"planloop_update", `{"update_tasks":[{"id":1,"status":"completed"},{"id":2,"status":"in_progress"}]}`, false},
		{"planloop_alert", `{"id":"tests","level":"info","message":"They pass."}`, false},
		{"planning_update_step", `{"step_id":"S002","title":"Feed all of them"}`, true},
	} {
		asked = 0
		if err := callRow(t, s, c.call, c.arguments); err != nil {
			t.Fatal(c.call, err)
		}
		if (asked > 0) != c.asks {
			t.Errorf("%s asked %d times", c.call, asked)
		}
	}
}
