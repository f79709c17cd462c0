package terminal

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// advance has an engine record results, and start ready steps except those with a problem.
func (s *story) advance(results []plan.AttemptResult, resolved map[plan.StepID]plan.Resolution) {
	s.t.Helper()
	facts := plan.Facts{Now: morning, Actor: plan.NewActor(plan.ChannelEngine, "engine#a"), Resolutions: resolved}
	events, err := plan.Decide(s.state, plan.Schedule{Results: results, MaxStarts: len(resolved)}, facts)
	testenv.Check(s.t, err)
	s.state = plan.Fold(s.state, plan.Record{Seq: s.state.Revision + 1, Time: morning, Events: events})
}

func (s *story) finished(id plan.StepID, problem string) plan.AttemptResult {
	step, _ := s.state.Plan.Steps.Get(id)
	return plan.AttemptResult{Attempt: plan.Attempt{Plan: s.state.Plan.Root(), Step: id, Attempt: step.Attempts},
		Result: plan.Result{OK: problem == "", Error: problem, Duration: 1_240, Timestamp: morning}}
}

// runSample has steps in every state of a run.
func runSample(t *testing.T) plan.State {
	s := &story{t: t, by: "alice"}
	tool := func(title string, deps ...plan.StepID) plan.NewStep {
		spec := plan.Spec{Title: title, DependsOn: deps, Tool: "bash_execute", Args: json.RawMessage(`{"command":"make"}`)}
		return plan.NewStep{Spec: spec}
	}
	ask, loop := tool("Delete the old build"), tool("Format each file")
	ask.Args = json.RawMessage(`{"command":"rm -rf build"}`)
	ask.RequiresApproval, loop.ForEach = true, `["a.go","b.go","c.go"]`
	s.do(plan.SetUp{Outline: plan.Outline{Objective: "Release version 2 of the library with all that its users have asked for"},
		Steps: []plan.NewStep{tool("Build"), tool("翻訳を更新する：ログイン画面のすべての文言を確認して"), ask,
			{Spec: plan.Spec{Title: "Choose a name", Pause: "What is the release called?"}}, loop, tool("Check the links"),
			tool("Publish", 2, 3), {Spec: plan.Spec{Title: "Write the announcement"}}}})
	s.do(plan.BeginRun{})
	go1 := plan.Resolution{Digest: "d", Args: json.RawMessage(`{"command":"rm -rf build"}`)}
	items := []json.RawMessage{[]byte(`"a.go"`), []byte(`"b.go"`), []byte(`"c.go"`)}
	s.advance(nil, map[plan.StepID]plan.Resolution{1: go1, 2: go1, 3: go1, 4: go1, 5: {Items: items}, 6: go1})
	s.advance([]plan.AttemptResult{s.finished(1, ""), s.finished(6, "3 links are broken\nhttps://example.com/")},
		map[plan.StepID]plan.Resolution{9: go1, 10: go1})
	s.advance([]plan.AttemptResult{s.finished(9, "")}, nil)
	return s.state
}

func sampleRun(t *testing.T, screen Screen) RunView {
	return RunView{PlanView: PlanView{Screen: screen, State: runSample(t), Now: morning.Add(72 * time.Second),
		StepProgress: map[plan.StepID]Progress{
			2: {Percent: 45, What: "translating", Log: "one\n\x1b[32mtwo of\tfive\x1b[0m pages of a very long text " +
				"that no terminal holds\r\n\n"},
			10: {What: "formatting"},
		}}, Turn: 3}
}

func TestRunView(t *testing.T) {
	plainly := map[string]string{"NO_COLOR": "1"}
	for name, screen := range map[string]Screen{
		"run40.txt": screenOf(40, plainly), "run80.txt": screenOf(80, plainly), "run120.txt": screenOf(120, plainly),
		"runcolour.txt": screenOf(80, nil), "runascii.txt": screenOf(80, map[string]string{"NO_COLOR": "1", "LANG": "C"}),
	} {
		golden(t, name, sampleRun(t, screen).Page())
	}
}

// A run fits into a terminal of any size, and running or asking steps are shown as long as there is room; output of
// tools reaches the terminal only as text.
func TestRunFits(t *testing.T) {
	for width := narrowest; width <= 130; width += 7 {
		for rows := 4; rows < 40; rows++ {
			screen := NewScreen(Options{Getenv: func(string) string { return "" }, IsTerminal: true,
				Size: func() (int, int) { return width, rows }})
			v := sampleRun(t, screen)
			text := strings.TrimSuffix(strings.TrimPrefix(string(screen.frame(v.Page(), 7, "")), fromTop), clearBelow)
			lines := strings.Split(text, endOfLine)
			if len(lines) > rows {
				t.Fatalf("%d lines in %d rows:\n%s", len(lines), rows, ansi.Strip(text))
			}
			for _, line := range lines {
				if w := ansi.StringWidth(line); w > width || strings.Contains(ansi.Strip(line), "\x1b") {
					t.Fatalf("in %d columns a line is %d wide, or not clean: %q", width, w, line)
				}
			}
			for _, want := range []string{"S002", "S003", "S004", "S010"} {
				if rows >= 24 && !strings.Contains(text, want) {
					t.Fatalf("in %d rows %s is not shown:\n%s", rows, want, ansi.Strip(text))
				}
			}
		}
	}
}

// In a long plan finished and waiting steps are shown as numbers.
func TestLongRun(t *testing.T) {
	s := &story{t: t, by: "alice"}
	steps := make([]plan.NewStep, 500)
	resolved := map[plan.StepID]plan.Resolution{}
	for i := range steps {
		steps[i].Spec = plan.Spec{Title: fmt.Sprint("Step ", i+1), Tool: "grep"}
		if i > 200 {
			steps[i].DependsOn = []plan.StepID{plan.StepID(200)}
		}
	}
	s.do(plan.SetUp{Outline: plan.Outline{Objective: "Long"}, Steps: steps})
	s.do(plan.BeginRun{})
	var over []plan.AttemptResult
	for id := plan.StepID(1); id <= 60; id++ {
		resolved[id] = plan.Resolution{Digest: "d"}
	}
	s.advance(nil, resolved)
	for id := plan.StepID(1); id <= 60; id++ {
		if id != 7 && id != 44 {
			over = append(over, s.finished(id, map[plan.StepID]string{20: "no space left"}[id]))
		}
	}
	s.advance(over, nil)
	golden(t, "runlong.txt", RunView{PlanView: PlanView{Screen: screenOf(80, map[string]string{"NO_COLOR": "1"}), State: s.state,
		Now: morning.Add(time.Hour)}}.Page())
}

// The last output of an agent is below its step, its name next to the step; changes beyond the files that the step
// names are a warning.
func TestAgentsAtWork(t *testing.T) {
	s := &story{t: t, by: "alice"}
	s.do(plan.SetUp{Outline: plan.Outline{Objective: "Release"}, Steps: []plan.NewStep{
		{Spec: plan.Spec{Title: "Fix the parser", RelevantFilePaths: []string{"parser"}}}, {Spec: plan.Spec{Title: "Write the notes"}},
		{Spec: plan.Spec{Title: "Publish", SuggestedAgent: "codex"}}}})
	s.do(plan.BeginRun{})
	by := func(agent string) plan.Resolution {
		return plan.Resolution{Digest: "d", IsRepeatable: true, Agent: agent}
	}
	s.advance(nil, map[plan.StepID]plan.Resolution{1: by("claude")})
	done := s.finished(1, "")
	done.OutOfScopeFiles = []string{"go.mod", "go.sum"}
	s.advance([]plan.AttemptResult{done}, map[plan.StepID]plan.Resolution{3: by("codex")})
	blocked := s.finished(3, "no credentials")
	blocked.IsBlocked, blocked.Note = true, "no credentials\nfor the registry"
	s.advance([]plan.AttemptResult{blocked}, map[plan.StepID]plan.Resolution{2: by("claude")})
	again := s.finished(2, "it ended")
	again.IsTransient = true
	s.advance([]plan.AttemptResult{again}, nil)
	s.advance(nil, map[plan.StepID]plan.Resolution{2: by("claude")})
	golden(t, "runagents.txt", RunView{PlanView: PlanView{Screen: screenOf(80, map[string]string{"NO_COLOR": "1"}), State: s.state,
		Now: morning.Add(12 * time.Second), StepProgress: map[plan.StepID]Progress{2: {What: "reading the changes", Log: "{...}\n"}}},
		Limits: RunLimits{Begun: morning.Add(-3 * time.Minute), Until: morning.Add(time.Hour), Before: 1, Starts: 5}}.Page())
}
