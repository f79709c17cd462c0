package terminal

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

var updateGoldens = flag.Bool("update", false, "write the golden files anew")

var morning = time.Date(2026, 1, 23, 10, 0, 0, 0, time.UTC)

// story folds actions into a state.
type story struct {
	t     *testing.T
	state plan.State
	by    string
}

func (s *story) do(a plan.Action) {
	s.t.Helper()
	facts := plan.Facts{Now: morning, Actor: plan.Actor{Kind: plan.Agent, Name: s.by}}
	events, err := plan.Decide(s.state, a, facts)
	testenv.Check(s.t, err)
	s.state = plan.Fold(s.state, plan.Record{Seq: s.state.Revision + 1, Time: morning, Events: events})
}

// sample has a step of every status, long texts and wide characters.
func sample(t *testing.T) plan.State {
	s := &story{t: t, by: "codex"}
	step := func(title string, deps ...plan.StepID) plan.NewStep {
		return plan.NewStep{Spec: plan.Spec{Title: title, DependsOn: deps}}
	}
	long := step("Make the session cookie survive the way back from the identity provider, which opens in a browser view of its own")
	long.Details = "SameSite=None was missing.\n\n\tSecure is needed too: " +
		"https://example.com/a-very-long-address/that-cannot-be-broken/anywhere/at-all/really\nFourth line\nFifth line"
	critical := step("Deploy")
	critical.Critical = true
	s.do(plan.SetUp{
		Outline: plan.Outline{Objective: "Fix the login bug that users of the mobile app have seen since March",
			Summary: "Cookies get lost."},
		Steps: []plan.NewStep{step("Write a failing test"), long, step("翻訳を更新する：ログイン画面のすべての文言を確認して、足りないものを追加する"),
			step("Ask the vendor"), step("Measure"), step("Paint it"), step("Tag the release", 2, 3, 4), critical},
	})
	s.do(plan.MarkStep{Step: 1, Status: plan.Done, Note: "first note"})
	s.do(plan.MarkStep{Step: 1, Status: plan.Done, Note: "fails as expected"})
	s.do(plan.MarkStep{Step: 2, Status: plan.InProgress})
	s.do(plan.MarkStep{Step: 4, Status: plan.Blocked, Note: "They do not answer."})
	s.do(plan.MarkStep{Step: 5, Status: plan.Skipped})
	s.do(plan.MarkStep{Step: 6, Status: plan.Cancelled})
	s.do(plan.MarkStep{Step: 8, Status: plan.Failed, Note: "no space left on device\nwhile writing"})
	return s.state
}

// screenOf returns a screen of a width, with colour or without.
func screenOf(width int, environment map[string]string) Screen {
	return NewScreen(Options{Getenv: func(name string) string { return environment[name] }, IsTerminal: width > 0,
		Size: func() (int, int) { return width, 24 }})
}

func goldenView(t *testing.T, name string, v PlanView) {
	t.Helper()
	v.Now = morning.Add(time.Hour)
	golden(t, name, v.Page())
}

func golden(t *testing.T, name string, page Page) {
	t.Helper()
	got := strings.ReplaceAll(string(Joined(page.Lines())), "\x1b", "␛")
	path := filepath.Join("testdata", name)
	if *updateGoldens {
		testenv.Check(t, os.WriteFile(path, []byte(got), 0o600))
	}
	want, err := os.ReadFile(path)
	testenv.Check(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", path, diff)
	}
}

func TestPlanView(t *testing.T) {
	plainly := map[string]string{"NO_COLOR": "1"}
	state := sample(t)
	next := "Do S002; once verified: planloop step mark S002 done."
	goldenView(t, "pipe.txt", PlanView{Screen: screenOf(0, nil), State: state, Next: next})
	goldenView(t, "80.txt", PlanView{Screen: screenOf(80, plainly), State: state, Next: next})
	goldenView(t, "40.txt", PlanView{Screen: screenOf(40, plainly), State: state, Next: next})
	goldenView(t, "colour.txt", PlanView{Screen: screenOf(80, nil), State: state, Next: next})
	goldenView(t, "all.txt", PlanView{Screen: screenOf(80, plainly), State: state, Next: next, All: true})
	goldenView(t, "ascii.txt", PlanView{Screen: screenOf(80, map[string]string{"NO_COLOR": "1", "LANG": "C"}), State: state, Next: next})
}

// No line exceeds the width, and titles are complete.
func TestLinesFit(t *testing.T) {
	state := sample(t)
	for width := narrowest; width <= 130; width++ {
		for _, all := range []bool{false, true} {
			v := PlanView{Screen: screenOf(width, nil), State: state, Next: "Do S002.", All: all, Now: morning}
			text := string(Joined(v.Page().Lines()))
			for line := range strings.SplitSeq(text, "\n") {
				if w := ansi.StringWidth(line); w > width {
					t.Fatalf("in %d columns a line is %d wide: %q", width, w, ansi.Strip(line))
				}
			}
			together := strings.Join(strings.Fields(strings.ReplaceAll(ansi.Strip(text), bar, "")), "")
			for step := range state.Plan.Steps.All() {
				if !strings.Contains(together, strings.Join(strings.Fields(step.Title), "")) {
					t.Fatalf("in %d columns %q is not shown whole", width, step.Title)
				}
			}
		}
	}
}

func TestFolding(t *testing.T) {
	s := &story{t: t, by: "codex"}
	steps := make([]plan.NewStep, 30)
	for i := range steps {
		steps[i].Title = "Step"
	}
	s.do(plan.SetUp{Outline: plan.Outline{Objective: "Long"}, Steps: steps})
	for id := plan.StepID(1); id <= 25; id++ {
		if id != 10 && id != 13 {
			s.do(plan.MarkStep{Step: id, Status: plan.Done})
		}
	}
	v := PlanView{Screen: screenOf(0, nil), State: s.state, Now: morning}
	body, focus := v.steps()
	want := []string{
		"  ✓ S001-S009  9 steps done", "  ○ S010  Step", "  ✓ S011  Step", "  ✓ S012  Step", "  ○ S013  Step",
		"  ✓ S014-S025  12 steps done", "  ○ S026  Step", "  ○ S027  Step", "  ○ S028  Step", "  ○ S029  Step", "  ○ S030  Step",
	}
	if diff := cmp.Diff(want, body); diff != "" {
		t.Error(diff)
	}
	if focus != 1 {
		t.Errorf("the focus is on line %d", focus)
	}
	v.All = true
	if body, _ := v.steps(); len(body) != 30 {
		t.Errorf("all are %d lines", len(body))
	}
}

// The live view shows the step to work on in a terminal of any size.
func TestFrameFitsTheTerminal(t *testing.T) {
	state := sample(t)
	for rows := 4; rows < 40; rows++ {
		screen := NewScreen(Options{Getenv: func(string) string { return "" }, IsTerminal: true,
			Size: func() (int, int) { return 60, rows }})
		v := PlanView{Screen: screen, State: state, Next: "Do S002.", Now: morning}
		frame := string(screen.frame(v.Page(), 7, "to end"))
		text := strings.TrimSuffix(strings.TrimPrefix(frame, fromTop), clearBelow)
		lines := strings.Split(text, endOfLine)
		if len(lines) > rows {
			t.Errorf("%d lines in %d rows", len(lines), rows)
		}
		shown := ansi.Strip(text)
		if !strings.Contains(shown, "revision 7, Ctrl-C to end") {
			t.Errorf("%d rows: no way to end it:\n%s", rows, shown)
		}
		if rows >= 13 && !strings.Contains(shown, "▸ S002") {
			t.Errorf("%d rows: the step in progress is not shown:\n%s", rows, shown)
		}
	}
}

func TestColours(t *testing.T) {
	for _, c := range []struct {
		environment map[string]string
		terminal    bool
		want        bool
	}{
		{nil, true, true},
		{nil, false, false},
		{map[string]string{"NO_COLOR": "1"}, true, false},
		{map[string]string{"NO_COLOR": "1", "CLICOLOR_FORCE": "1"}, true, false},
		{map[string]string{"CLICOLOR": "0"}, true, false},
		{map[string]string{"CLICOLOR": "1"}, false, false},
		{map[string]string{"CLICOLOR_FORCE": "1"}, false, true},
		{map[string]string{"CLICOLOR_FORCE": "0"}, false, false},
		{map[string]string{"TERM": "dumb"}, true, false},
	} {
		o := Options{Getenv: func(name string) string { return c.environment[name] }, IsTerminal: c.terminal}
		if got := o.colours(); got != c.want {
			t.Errorf("%v in a terminal %t: %t", c.environment, c.terminal, got)
		}
	}
}

func TestLocale(t *testing.T) {
	for _, c := range []struct {
		environment map[string]string
		want        bool
	}{
		{nil, true},
		{map[string]string{"LANG": "de_DE.UTF-8"}, true},
		{map[string]string{"LANG": "de_DE.utf8"}, true},
		{map[string]string{"LANG": "C"}, false},
		{map[string]string{"LANG": "C", "LC_ALL": "C.UTF-8"}, true},
		{map[string]string{"LANG": "en_US.UTF-8", "LC_CTYPE": "POSIX"}, false},
	} {
		if got := inUTF8(func(name string) string { return c.environment[name] }); got != c.want {
			t.Errorf("%v: %t", c.environment, got)
		}
	}
}

// A cleared plan is listed as a former one.
func TestPlanRows(t *testing.T) {
	s := &story{t: t, by: "alice"}
	for _, objective := range []string{"Fix one", "Fix two", "Release"} {
		s.do(plan.SetUp{Outline: plan.Outline{Objective: objective}})
	}
	if rows := PlanRows(s.state); len(rows) != 3 || !rows[0].current || rows[0].status != "active" {
		t.Errorf("%+v", rows)
	}
	s.do(plan.Clear{})
	if rows := PlanRows(s.state); len(rows) != 3 || rows[0].current || rows[0].status != "abandoned" {
		t.Errorf("%+v", rows)
	}
}
