package gates_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/rapidtest"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// The payload of the specification's part 2 passes if its paths exist.
func TestContractPayload(t *testing.T) {
	_, root := workspace(t, "src/models/user.py")
	report := check(t, gates.Options{Files: root.FS()}, tasks(gates.Task{ID: 2, Spec: plan.Spec{
		Title: "Add `password_hash` to User model", Type: plan.Feature, DependsOn: []plan.StepID{},
		ContextHints:      []string{"Edit the User class in `src/models/user.py`."},
		RelevantFilePaths: []string{"src/models/user.py"},
	}}))
	want := []string{"verifiable: Task 'Add `password_hash` to User model' does not say how to verify the result."}
	if diff := cmp.Diff(want, messages(report.Findings)); diff != "" || !report.OK() || len(report.Details()) != 0 {
		t.Errorf("%s\n%+v", diff, report)
	}
}

// The payload of part 1 passes under Lenient as printed, here even without any of its files; under Default it does not.
func TestWorkflowPayload(t *testing.T) {
	_, root := workspace(t)
	c := gates.Candidate{Objective: "Implement the features described in spec.md", New: []gates.Task{
		{ID: 2, Spec: plan.Spec{Title: "Set up database schema", ContextHints: []string{
			"Read the 'Database Schema' section in `spec.md`.", "Review existing models in `src/models/` for conventions."}}},
		{ID: 3, Spec: plan.Spec{Title: "Create API endpoints for users", ContextHints: []string{
			"Endpoints should follow the pattern in `src/api/existing_routes.py`.",
			"Refer to the 'User API' section of `spec.md` for required fields."}}},
	}}
	if report := check(t, gates.Options{Files: root.FS(), Level: profile(gates.Lenient)}, c); !report.OK() {
		t.Error(report.Details())
	}
	want := []string{
		"Task 'Set up database schema' is missing the `type` field.",
		"Task 'Set up database schema' is missing the `relevant_file_paths` field.",
		"Task 'Set up database schema' has a hint pointing to a non-existent file: `spec.md`.",
		"Task 'Set up database schema' has a hint pointing to a non-existent file: `src/models/`.",
		"Task 'Create API endpoints for users' is missing the `type` field.",
		"Task 'Create API endpoints for users' is missing the `relevant_file_paths` field.",
		"Task 'Create API endpoints for users' has a hint pointing to a non-existent file: `src/api/existing_routes.py`.",
		"Task 'Create API endpoints for users' has a hint pointing to a non-existent file: `spec.md`.",
	}
	if diff := cmp.Diff(want, check(t, gates.Options{Files: root.FS()}, c).Details()); diff != "" {
		t.Error(diff)
	}
	if report := check(t, gates.Options{}, c); len(report.Errors()) != 4 {
		t.Errorf("without files: %v", messages(report.Errors()))
	}
}

// A step run by a tool needs no hints; the other gates apply.
func TestToolStepsNeedNoHints(t *testing.T) {
	step := gates.Task{ID: 2, Spec: plan.Spec{Title: "Write the new index", Tool: "write_file", Risk: plan.HighRisk}}
	want := []string{"reversible: Task 'Write the new index' has high risk, and no rollback is described."}
	if diff := cmp.Diff(want, messages(check(t, gates.Options{}, tasks(step)).Findings)); diff != "" {
		t.Error(diff)
	}
	step.Tool, step.Risk = "", plan.LowRisk
	if report := check(t, gates.Options{}, tasks(step)); len(report.Errors()) != 3 {
		t.Errorf("without a tool: %v", messages(report.Findings))
	}
}

func TestMetaTaskIsExempt(t *testing.T) {
	_, root := workspace(t)
	title := plan.MetaTitle("Implement user authentication")
	judge := &opinion{}
	c := gates.Candidate{Objective: "Implement user authentication", New: []gates.Task{{ID: 1, Spec: plan.Spec{Title: title}}}}
	report := check(t, gates.Options{Files: root.FS(), Level: profile(gates.Strict), Judge: judge}, c)
	if len(report.Findings) != 0 || report.Score != 100 || judge.asked != 0 {
		t.Errorf("%+v, the judge was asked %d times", report, judge.asked)
	}
}

// Every possible flaw of a task, one at a time.
func TestFindings(t *testing.T) {
	_, root := workspace(t, "src/a.go", "docs/")
	have := plan.NewSteps([]*plan.Step{
		{ID: 1, Spec: plan.Spec{Title: "Write the parser"}, Progress: plan.Progress{Status: plan.InProgress}},
		{ID: 2, Spec: plan.Spec{Title: "Write the printer"}, Progress: plan.Progress{Status: plan.Done}},
	})
	set := func(change func(*gates.Task)) gates.Task { return whole(3, "Print the version", change) }
	titled := func(title string) gates.Task { return whole(3, title) }
	long := strings.Repeat("x", 100)
	for name, test := range map[string]struct {
		task gates.Task
		want []string
	}{
		"nothing":          {titled("Print the version"), nil},
		"no title":         {titled(" "), []string{"title: Task 1 is missing the `title` field."}},
		"stuff":            {titled("stuff"), []string{"title: Task 'stuff' has a title that names nothing to work on."}},
		"fix it":           {titled("Fix it!"), []string{"title: Task 'Fix it!' has a title that names nothing to work on."}},
		"do it":            {titled("do it"), []string{"title: Task 'do it' has a title that names nothing to work on."}},
		"misc":             {titled("Misc."), []string{"title: Task 'Misc.' has a title that names nothing to work on."}},
		"only signs":       {titled("#12 ..."), []string{"title: Task '#12 ...' has a title that names nothing to work on."}},
		"task 3":           {titled("Task 3"), []string{"title: Task 'Task 3' has a title that names nothing to work on."}},
		"a code":           {titled("Fix `it`"), nil},
		"another language": {titled("修复登录错误"), nil},
		"no type": {set(func(t *gates.Task) { t.Type = "" }),
			[]string{"type: Task 'Print the version' is missing the `type` field."}},
		"unknown type": {set(func(t *gates.Task) { t.Type = "epic\x1b" }),
			[]string{"type: Task 'Print the version' has an unknown `type`: `epic\\x1b`."}},
		"no hints": {set(hints()), []string{"context_hints: Task 'Print the version' is missing the `context_hints` field."}},
		"blank hints": {set(hints(" ", "")),
			[]string{"context_hints: Task 'Print the version' is missing the `context_hints` field."}},
		"no paths": {set(paths()),
			[]string{"relevant_file_paths: Task 'Print the version' is missing the `relevant_file_paths` field."}},
		"only new paths": {set(func(t *gates.Task) { t.RelevantFilePaths, t.Creates = nil, []string{"new.go"} }), nil},
		"no such path": {set(paths("main.go", "gone.go")),
			[]string{"paths_exist: Task 'Print the version' lists a non-existent path in `relevant_file_paths`: `gone.go`."}},
		"no such hint": {set(hints("Read `src/b.go:12` and `src/a.go#L3`.")),
			[]string{"hint_paths: Task 'Print the version' has a hint pointing to a non-existent file: `src/b.go`."}},
		"hint leads out": {set(hints("Read `../b.go`.")),
			[]string{"hint_paths: Task 'Print the version' has a hint pointing to a path outside the workspace: `../b.go`."}},
		"unknown ids": {set(func(t *gates.Task) { t.DependsOn, t.Unknown = []plan.StepID{2, 9}, []string{"parser"} }), []string{
			"dependencies_known: Task 'Print the version' depends on a task that does not exist: `parser`.",
			"dependencies_known: Task 'Print the version' depends on a task that does not exist: `S009`."}},
		"itself": {set(after(3)),
			[]string{"dependencies_acyclic: Task 'Print the version' is part of a circular dependency: S003 -> S003."}},
		"open twin": {titled("write the `Parser`."),
			[]string{"duplicate: Task 'write the `Parser`.' has the title of S001, which is open."}},
		"closed twin": {titled("Write the printer"), nil},
		"idle hint": {set(hints("database")),
			[]string{"hint_actionable: Task 'Print the version' has a hint without an action or a place: \"database\"."}},
		"two tasks": {titled("Implement user login and create database tables"),
			[]string{"single_responsibility: Task 'Implement user login and create database tables' asks for two things: \"create " +
				"database tables\" is a separate task."}},
		"vague": {whole(3, "Improve the API performance.", func(t *gates.Task) { t.AcceptanceCriteria, t.Type = nil, plan.Test }), []string{
			"vague_outcome: Task 'Improve the API performance.' does not name a result."}},
		"vague, with criteria": {titled("Improve the API performance."), nil},
		"sweeping": {titled("Rewrite the entire parser"),
			[]string{"oversize: Task 'Rewrite the entire parser' looks too large for one commit: the title says \"entire parser\"."}},
		"entire line": {titled("Return the entire line"), nil},
		"long details": {set(func(t *gates.Task) { t.Details = strings.Repeat("x", 3_001) }),
			[]string{"oversize: Task 'Print the version' looks too large for one commit: the details have 3001 characters."}},
		"many paths": {set(paths("main.go", "src", "docs", "src/a.go", "./main.go", "./src", "./docs", "./src/a.go", "*", "**", "s*",
			"d*", "m*", "*.go", "src/*", "src/**")), []string{
			"oversize: Task 'Print the version' looks too large for one commit: it names 16 paths."}},
		"unverifiable": {set(func(t *gates.Task) { t.AcceptanceCriteria = nil }),
			[]string{"verifiable: Task 'Print the version' does not say how to verify the result."}},
		"measurable": {set(func(t *gates.Task) { t.AcceptanceCriteria, t.Details = nil, "It answers in 100ms." }), nil},
		"a test":     {set(func(t *gates.Task) { t.AcceptanceCriteria, t.Type = nil, plan.Test }), nil},
		"a command":  {set(func(t *gates.Task) { t.AcceptanceCriteria, t.Verify = nil, "go test ./..." }), nil},
		"risky": {set(func(t *gates.Task) { t.Risk = plan.HighRisk }),
			[]string{"reversible: Task 'Print the version' has high risk, and no rollback is described."}},
		"risky, with a way back": {set(func(t *gates.Task) {
			t.Risk, t.Details = plan.HighRisk, "Take a backup first."
		}), nil},
		"a long title": {titled("Print " + long), nil},
		"no short title": {whole(3, "Print "+long, paths()), []string{
			"relevant_file_paths: Task 'Print " + long[:73] + "…' is missing the `relevant_file_paths` field."}},
		"a title with an escape": {whole(3, "Print \x1b[31m red \u202e", paths()), []string{
			`relevant_file_paths: Task 'Print \x1b[31m red \u202e' is missing the ` + "`relevant_file_paths` field."}},
	} {
		t.Run(name, func(t *testing.T) {
			c := gates.Candidate{Objective: "Ship it", Have: have, New: []gates.Task{test.task}}
			report := check(t, gates.Options{Files: root.FS()}, c)
			if diff := cmp.Diff(test.want, messages(report.Findings)); diff != "" {
				t.Error(diff)
			}
			for _, f := range report.Findings {
				if f.Level != gates.ByProfile(gates.Default, f.Gate) || f.Step != 3 {
					t.Errorf("%+v", f)
				}
			}
			if strict := check(t, gates.Options{Files: root.FS(), Level: profile(gates.Strict)},
				c); len(strict.Errors()) != len(test.want) || strict.OK() != (test.want == nil) {
				t.Errorf("strict: %+v", strict)
			}
		})
	}
}

// All findings are reported at once, task by task, and details contain no warnings.
func TestEverythingAtOnce(t *testing.T) {
	_, root := workspace(t)
	report := check(t, gates.Options{Files: root.FS()}, tasks(
		whole(1, "Add `password_hash` field to User model", paths(), after(2)),
		whole(2, "Create login endpoint", hints("Follow `src/api/utils.py`.", "soon"), after(3)),
		whole(3, "create  login endpoint", paths("a.go"), after(1), creates("../b")),
	))
	want := []string{
		"Task 'Add `password_hash` field to User model' is missing the `relevant_file_paths` field.",
		"Task 'Add `password_hash` field to User model' is part of a circular dependency: S001 -> S002 -> S003 -> S001. To fix it, " +
			"remove one of these dependencies.",
		"Task 'Create login endpoint' has a hint pointing to a non-existent file: `src/api/utils.py`.",
		"Task 'create  login endpoint' lists a non-existent path in `relevant_file_paths`: `a.go`. To fix it, correct the path, or " +
			"name it in `creates` of this task or of one it depends on.",
		"Task 'create  login endpoint' lists a path outside the workspace in `creates`: `../b`. To fix it, write paths relative to " +
			"the workspace, with slashes and without `..`.",
		"Task 'create  login endpoint' has the title of another new task, S002. To fix it, remove one of them, or use different " +
			"titles.",
	}
	if diff := cmp.Diff(want, report.Details()); diff != "" {
		t.Error(diff)
	}
	if len(report.Warnings()) != 1 || report.Score != 100*(0+4+0)/30 {
		t.Errorf("%v, score %d", messages(report.Warnings()), report.Score)
	}
}

func TestCycles(t *testing.T) {
	report := check(t, gates.Options{}, tasks(
		whole(1, "Print a", after(2)), whole(2, "Print b", after(1)),
		whole(3, "Print c", after(5)), whole(4, "Print d", after(3)), whole(5, "Print e", after(4)), whole(6, "Print f", after(1, 3))))
	want := []string{
		"dependencies_acyclic: Task 'Print a' is part of a circular dependency: S001 -> S002 -> S001.",
		"dependencies_acyclic: Task 'Print c' is part of a circular dependency: S003 -> S005 -> S004 -> S003.",
	}
	if diff := cmp.Diff(want, messages(report.Findings)); diff != "" {
		t.Error(diff)
	}
}

// A plan that is replaced leaves no open steps to duplicate.
func TestReplacing(t *testing.T) {
	have := plan.NewSteps([]*plan.Step{{ID: 1, Spec: plan.Spec{Title: "Write the parser"}, Progress: plan.Progress{Status: plan.Pending}}})
	c := gates.Candidate{Have: have, New: []gates.Task{whole(2, "Write the parser")}}
	if report := check(t, gates.Options{}, c); report.OK() {
		t.Error("the duplicate was not seen")
	}
	c.Replaces = true
	if report := check(t, gates.Options{}, c); !report.OK() {
		t.Error(report.Details())
	}
}

func TestLevels(t *testing.T) {
	c := tasks(whole(1, "Print the version", paths()))
	for level, want := range map[gates.Level]int{gates.Off: 100, gates.Warning: 90, gates.Error: 50, "": 50, "maybe": 50} {
		report := check(t, gates.Options{Level: func(string) gates.Level { return level }}, c)
		if report.Score != want || report.OK() == (want == 50) {
			t.Errorf("%q: %+v", level, report)
		}
	}
}

func TestProfiles(t *testing.T) {
	usual := strings.Repeat("error ", 9) + strings.Repeat("warning ", 5) + "error warning warning error"
	want := map[gates.Profile]string{
		gates.Default: usual,
		gates.Lenient: "error warning warning warning error error error warning error warning warning warning warning warning error " +
			"warning warning error",
		gates.Strict: strings.Repeat("error ", 17) + "error",
		"no such":    usual,
	}
	for p, levels := range want {
		var got []string
		for _, name := range gates.Names() {
			got = append(got, string(gates.ByProfile(p, name)))
			if gates.Purpose(name) == "" {
				t.Errorf("%s says nothing of its purpose", name)
			}
		}
		if strings.Join(got, " ") != levels {
			t.Errorf("%s: %v", p, got)
		}
	}
	if gates.ByProfile(gates.Strict, "no_such_gate") != gates.Off || gates.Purpose("no_such_gate") != "" {
		t.Error("a gate that does not exist has a level")
	}
	names := "title type context_hints relevant_file_paths dependencies_known dependencies_acyclic paths_exist hint_paths duplicate " +
		"hint_actionable single_responsibility vague_outcome oversize verifiable verify_command verify_installed reversible judge"
	if got := strings.Join(gates.Names(), " "); got != names {
		t.Errorf("names are keys of configurations and must not change: %s", got)
	}
}

func TestDigest(t *testing.T) {
	one := tasks(whole(1, "Print the version"))
	if one.Digest() != tasks(whole(1, "Print the version")).Digest() || len(one.Digest()) != 64 {
		t.Error("the same candidate has two digests")
	}
	for name, other := range map[string]gates.Candidate{
		"id":        tasks(whole(2, "Print the version")),
		"objective": {Objective: "Sink it", New: one.New},
		"replaces":  {Objective: "Ship it", New: one.New, Replaces: true},
		"args":      tasks(whole(1, "Print the version", func(t *gates.Task) { t.Args = []byte(`{not json`) })),
		"paths":     tasks(whole(1, "Print the version", paths("x.go"))),
		"unknown":   tasks(whole(1, "Print the version", func(t *gates.Task) { t.Unknown = []string{"x"} })),
		"empty":     {Objective: "Ship it"},
	} {
		if other.Digest() == one.Digest() {
			t.Errorf("%s does not change the digest", name)
		}
	}
}

func TestEnding(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := gates.Check(ctx, tasks(whole(1, "Print")), gates.Options{}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// For any tasks, a report is printable, with its findings in the order of the tasks.
func TestReportProperties(t *testing.T) {
	_, root := workspace(t, "src/a.go")
	texts := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"Improve it and add `x`", "stuff", "Fix the parser", "`src/a.go`",
		"src/a.go", "..", "*", "{a,b}/**", "a`b", "\x1b[2J", "\xff", "and", "Add and", "x ;"}))
	rapidtest.Check(t, func(t *rapid.T) {
		c := gates.Candidate{Objective: "Ship it"}
		n := rapid.IntRange(0, 5).Draw(t, "n")
		for i := range n {
			c.New = append(c.New, gates.Task{ID: plan.StepID(i + 1), Unknown: rapid.SliceOfN(texts, 0, 1).Draw(t, "unknown"),
				Spec: plan.Spec{
					Title: texts.Draw(t, "title"), Details: texts.Draw(t, "details"), Type: plan.StepType(texts.Draw(t, "type")),
					ContextHints: rapid.SliceOfN(texts, 0, 3).Draw(t, "hints"), RelevantFilePaths: rapid.SliceOfN(texts, 0, 3).Draw(t,
						"paths"),
					Creates: rapid.SliceOfN(texts, 0, 2).Draw(t, "creates"), Risk: plan.HighRisk,
					DependsOn: rapid.SliceOfN(rapid.Custom(func(t *rapid.T) plan.StepID {
						return plan.StepID(rapid.IntRange(1, 7).Draw(t,
							"id"))
					}), 0, 2).Draw(t, "deps"),
				}})
		}
		report, err := gates.Check(context.Background(), c, gates.Options{Files: root.FS(), Level: profile(gates.Strict)})
		if err != nil {
			t.Fatal(err)
		}
		if report.Score < 0 || report.Score > 100 || (report.Score == 100) != (len(report.Findings) == 0) {
			t.Fatalf("score %d with %d findings", report.Score, len(report.Findings))
		}
		if !slices.IsSortedFunc(report.Findings, func(a, b gates.Finding) int { return int(a.Step - b.Step) }) {
			t.Fatal("out of order")
		}
		for _, detail := range report.Details() {
			if !safetext.PrintableLine(detail) || !strings.HasSuffix(detail, ".") {
				t.Fatalf("cannot be printed: %q", detail)
			}
		}
	})
}

// whole returns a task without flaws if main.go exists.
func whole(id plan.StepID, title string, change ...func(*gates.Task)) gates.Task {
	t := gates.Task{ID: id, Spec: plan.Spec{
		Title: title, Type: plan.Feature, ContextHints: []string{"Read `main.go`."},
		RelevantFilePaths: []string{"main.go"}, AcceptanceCriteria: []string{"The command prints it."},
	}}
	for _, c := range change {
		c(&t)
	}
	return t
}

func paths(list ...string) func(*gates.Task) {
	return func(t *gates.Task) { t.RelevantFilePaths = list }
}
func creates(list ...string) func(*gates.Task) { return func(t *gates.Task) { t.Creates = list } }
func hints(list ...string) func(*gates.Task)   { return func(t *gates.Task) { t.ContextHints = list } }
func after(list ...plan.StepID) func(*gates.Task) {
	return func(t *gates.Task) { t.DependsOn = list }
}

// workspace makes a directory with files and returns it with its os.Root. A name that ends with a slash is a directory.
func workspace(t testing.TB, names ...string) (string, *os.Root) {
	t.Helper()
	dir := filepath.Join(t.TempDir(), "workspace")
	for _, name := range append(names, "main.go") {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if strings.HasSuffix(name, "/") {
			must(t, os.MkdirAll(path, 0o755))
			continue
		}
		must(t, os.MkdirAll(filepath.Dir(path), 0o755))
		must(t, os.WriteFile(path, []byte("x"), 0o644))
	}
	root, err := os.OpenRoot(dir)
	must(t, err)
	t.Cleanup(func() { _ = root.Close() })
	return dir, root
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func check(t testing.TB, opts gates.Options, c gates.Candidate) gates.Report {
	t.Helper()
	report, err := gates.Check(context.Background(), c, opts)
	must(t, err)
	return report
}

func tasks(list ...gates.Task) gates.Candidate {
	return gates.Candidate{Objective: "Ship it", New: list}
}

func profile(p gates.Profile) func(string) gates.Level {
	return func(gate string) gates.Level { return gates.ByProfile(p, gate) }
}

// messages formats findings as "gate: message".
func messages(list []gates.Finding) []string {
	var written []string
	for _, f := range list {
		written = append(written, f.Gate+": "+f.Message)
	}
	return written
}

// opinion is a judge with a fixed opinion.
type opinion struct {
	verdict gates.Verdict
	err     error
	hangs   bool
	asked   int
	heard   []gates.Finding
}

func (o *opinion) Judge(ctx context.Context, _ gates.Candidate, findings []gates.Finding) (gates.Verdict, error) {
	o.asked++
	o.heard = findings
	if o.hangs {
		<-ctx.Done()
		return gates.Verdict{Approved: true}, ctx.Err()
	}
	return o.verdict, o.err
}

func TestJudge(t *testing.T) {
	for name, test := range map[string]struct {
		judge opinion
		want  []string
	}{
		"approves": {opinion{verdict: gates.Verdict{Approved: true, Feedback: "fine"}}, nil},
		"refuses": {opinion{verdict: gates.Verdict{Feedback: "split the\x1b first\ntask"}},
			[]string{`judge: The judge did not approve the plan: split the\x1b first task`}},
		"says nothing": {opinion{}, []string{"judge: The judge did not approve the plan and gave no reason."}},
		"fails": {opinion{err: errors.New("key sk-123 refused")},
			[]string{"judge: The judge did not answer, so the plan is not approved."}},
		"fails, approving": {opinion{verdict: gates.Verdict{Approved: true}, err: errors.New("cut off")},
			[]string{"judge: The judge did not answer, so the plan is not approved."}},
		"does not come back": {opinion{hangs: true}, []string{"judge: The judge did not answer in time, so the plan is not approved."}},
	} {
		t.Run(name, func(t *testing.T) {
			report := check(t, gates.Options{Judge: &test.judge, JudgeTimeout: time.Millisecond}, tasks(whole(1,
				"Improve the API and add tests", func(t *gates.Task) { t.AcceptanceCriteria = nil })))
			if diff := cmp.Diff(test.want, messages(report.Errors())); diff != "" {
				t.Error(diff)
			}
			if report.OK() != (test.want == nil) || len(test.judge.heard) != len(report.Warnings()) || len(test.judge.heard) == 0 {
				t.Errorf("the judge heard %v of %v", test.judge.heard, report.Findings)
			}
			failed := test.judge.err != nil || test.judge.hangs
			if (report.JudgeErr != nil) != failed || strings.Contains(strings.Join(report.Details(), " "), "sk-123") {
				t.Errorf("error %v, details %v", report.JudgeErr, report.Details())
			}
		})
	}
}

func TestJudgeIsNotAskedInVain(t *testing.T) {
	judge := &opinion{}
	off := func(gate string) gates.Level { return gates.Off }
	for name, report := range map[string]gates.Report{
		"refused already": check(t, gates.Options{Judge: judge}, tasks(whole(1, "stuff"))),
		"off":             check(t, gates.Options{Judge: judge, Level: off}, tasks(whole(1, "Print the version"))),
		"empty":           check(t, gates.Options{Judge: judge}, tasks()),
	} {
		if judge.asked != 0 {
			t.Errorf("%s: asked %d times, %v", name, judge.asked, report)
		}
	}
}

// A caller that cancels while the judge thinks gets no report.
func TestJudgeAndCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	_, err := gates.Check(ctx, tasks(whole(1, "Print the version")), gates.Options{Judge: leaving{cancel}})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

type leaving struct{ cancel context.CancelFunc }

func (l leaving) Judge(context.Context, gates.Candidate, []gates.Finding) (gates.Verdict, error) {
	l.cancel()
	return gates.Verdict{Approved: true}, nil
}
