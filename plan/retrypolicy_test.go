package plan_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/planloop/planloop/plan"
)

func TestParseRetry(t *testing.T) {
	for text, want := range map[string]plan.RetryPolicy{
		``:   {Attempts: 3, Wait: time.Second, Timeout: true},
		`{}`: {Attempts: 3, Wait: time.Second, Timeout: true, Any: true},
		`{"attempts":5,"wait":"5s","on":[75,"timeout",1]}`: {Attempts: 5, Wait: 5 * time.Second, On: []int64{75, 1}, Timeout: true},
		`{"wait":90,"on":[2]}`:                             {Attempts: 3, Wait: 90 * time.Second, On: []int64{2}},
		`{"wait":0,"on":["timeout"]}`:                      {Attempts: 3, Timeout: true},
		`{"attempts":100,"wait":"1h","on":[4294967295]}`:   {Attempts: 100, Wait: time.Hour, On: []int64{4294967295}},
	} {
		got, err := plan.ParseRetry(json.RawMessage(text))
		if diff := cmp.Diff(want, got); err != nil || diff != "" {
			t.Errorf("%s: %v (-want +got):\n%s", text, err, diff)
		}
	}
	for text, want := range map[string]string{
		`[]`:                                "retry: is not a JSON object",
		`{"attempt":3}`:                     `retry: is not a retry policy: json: unknown field "attempt"`,
		`{"attempts":0}`:                    "retry/attempts: 0 attempts are out of range",
		`{"attempts":101}`:                  "retry/attempts: 101 attempts are out of range",
		`{"attempts":"3"}`:                  "retry: is not a retry policy: json: cannot unmarshal string",
		`{"wait":"soon"}`:                   "retry/wait: ",
		`{"wait":"2h"}`:                     "retry/wait: ",
		`{"wait":1e300}`:                    "retry/wait: ",
		`{"wait":"-1s"}`:                    "retry/wait: ",
		`{"wait":null,"on":[0,"x",-1,1.5]}`: "retry/wait: ; retry/on/0: 0 is not an exit code; retry/on/1: ; retry/on/2: ; retry/on/3: ",
		`{"attempts":1,"attempts":2}`:       "retry/attempts: is a duplicate key",
	} {
		_, err := plan.CleanStep("", plan.NewStep{Spec: plan.Spec{Title: "t", Retry: json.RawMessage(text)}})
		if err == nil {
			t.Errorf("%s is accepted", text)
			continue
		}
		all := strings.ReplaceAll(err.Error(), `"`, "")
		for one := range strings.SplitSeq(want, "; ") {
			if !strings.Contains(all, strings.ReplaceAll(one, `"`, "")) {
				t.Errorf("%s: %s, want %s", text, all, one)
			}
		}
	}
}

func TestBackOff(t *testing.T) {
	for retry, want := range map[string][]time.Duration{
		``:               {time.Second, 2 * time.Second},
		`{"wait":"5s"}`:  {5 * time.Second, 10 * time.Second, 20 * time.Second, 40 * time.Second},
		`{"wait":"4m"}`:  {4 * time.Minute, 8 * time.Minute, 10 * time.Minute, 10 * time.Minute},
		`{"wait":"20m"}`: {20 * time.Minute, 20 * time.Minute},
		`{"wait":0}`:     {0, 0, 0},
	} {
		step := plan.Step{Spec: plan.Spec{Retry: json.RawMessage(retry)}}
		for i, wait := range want {
			if got := step.BackOff(i + 1); got != wait {
				t.Errorf("%s: %s after %d failures, want %s", retry, got, i+1, wait)
			}
		}
	}
}

// TestRetryPolicies: which failures of a step that is safe to repeat are tried again, and how often.
func TestRetryPolicies(t *testing.T) {
	code := func(n int) plan.AttemptResult { return plan.AttemptResult{ExitCode: n} }
	late := plan.AttemptResult{IsTimedOut: true, IsInterrupted: true}
	for name, c := range map[string]struct {
		retry string
		safe  bool
		ends  plan.AttemptResult
		tries int // 0: its outcome is unknown
	}{
		"a code without a policy":    {``, true, code(1), 1},
		"passing without a policy":   {``, false, plan.AttemptResult{IsTransient: true, ExitCode: 75}, 3},
		"a time-out without one":     {``, true, late, 3},
		"any failure":                {`{"attempts":4}`, true, code(1), 4},
		"a code that is listed":      {`{"attempts":2,"on":[7,9]}`, true, code(9), 2},
		"one that is not":            {`{"attempts":2,"on":[7,9]}`, true, code(1), 1},
		"no code":                    {`{"attempts":2,"on":[7,9]}`, true, code(0), 1},
		"a time-out that is listed":  {`{"attempts":5,"on":["timeout"]}`, true, late, 5},
		"one that is not listed":     {`{"attempts":5,"on":[1]}`, true, late, 1},
		"ended from outside":         {`{"attempts":2,"on":[1]}`, true, plan.AttemptResult{IsInterrupted: true, ExitCode: 137}, 2},
		"passing, whatever it lists": {`{"attempts":2,"on":[1]}`, true, plan.AttemptResult{IsTransient: true}, 2},
		"once":                       {`{"attempts":1}`, true, plan.AttemptResult{IsTransient: true}, 1},
		"not safe to repeat":         {`{"attempts":4}`, false, code(1), 1},
		"not safe, and late":         {`{"attempts":4}`, false, late, 0},
	} {
		step := tool("a")
		step.Retry = json.RawMessage(c.retry)
		w := run(t, step, titled("b"))
		w.found = func(_ *plan.Step, r *plan.Resolution) { r.IsRepeatable = c.safe }
		w.advance(1)
		for try := 1; ; try++ {
			done := w.finished(1, failed("no"))
			done.IsTransient, done.IsInterrupted, done.IsTimedOut, done.ExitCode = c.ends.IsTransient, c.ends.IsInterrupted,
				c.ends.IsTimedOut, c.ends.ExitCode
			want := "step_retried"
			if try == c.tries {
				want = "step_finished"
			} else if c.tries == 0 {
				want = "step_lost"
			}
			if got := w.advance(1, done); got[0] != want {
				t.Errorf("%s: try %d: %v, want %s", name, try, got, want)
			}
			if want != "step_retried" || try > c.tries {
				break
			}
		}
	}
}

// TestRetriesCountAcrossEngines: a death of the engine neither resets the count nor adds to it.
func TestRetriesCountAcrossEngines(t *testing.T) {
	step := tool("a")
	step.Retry = json.RawMessage(`{"attempts":2}`)
	w := run(t, step, titled("b"))
	w.found = func(_ *plan.Step, r *plan.Resolution) { r.IsRepeatable = true }
	w.advance(1)
	w.wantAdvance(1, []string{"step_retried", "step_started"}, w.finished(1, failed("no")))
	lost := plan.Schedule{Lost: []plan.Attempt{w.finished(1, plan.Result{}).Attempt}}
	w.seen[engine.Name] = plan.Sighting{IsGone: true}
	w.do(plan.NewActor(plan.ChannelEngine, "engine#2"), lost)
	w.wantAdvance(1, []string{"step_started"})
	w.wantAdvance(1, []string{"step_finished"}, w.finished(1, failed("no")))
}

// TestLocks: steps with the same lock run one after another, and take no room from others.
func TestLocks(t *testing.T) {
	locked := func(title, name string) plan.NewStep {
		step := tool(title)
		step.Lock = name
		return step
	}
	w := run(t, locked("a", "db"), locked("b", "DB"), tool("c"), locked("d", "other"))
	w.wantAdvance(3, []string{"step_started", "step_started"}) // one place went to b, which may not start
	if w.step(2).Status != plan.Pending || w.step(2).Lock != "db" {
		t.Errorf("%+v", w.step(2))
	}
	w.wantAdvance(1, []string{"step_started"})
	w.refused(ann, plan.MarkStep{Step: 2, Status: plan.InProgress})
	if got := w.state.LockHolder(w.step(2)); got != 1 {
		t.Errorf("the lock is held by %s", got)
	}
	if got := plan.FindStopReason(w.state); got != "" {
		t.Errorf("over: %q", got)
	}
	w.wantAdvance(1, []string{"step_finished", "step_started"}, w.finished(1, plan.Result{OK: true}))
}

// TestApprovalCoversWhereItRuns: a grant is for one directory and output file.
func TestApprovalCoversWhereItRuns(t *testing.T) {
	step := plan.Step{Spec: tool("a").Spec}
	before := plan.StartDigest(&step, step.Args, "")
	for _, change := range []func(*plan.Spec){func(s *plan.Spec) { s.Cwd = "x" }, func(s *plan.Spec) { s.OutputFile = "x" }} {
		changed := step
		change(&changed.Spec)
		if plan.StartDigest(&changed, step.Args, "") == before {
			t.Errorf("%+v has the same digest", changed.Spec)
		}
	}
	changed := step
	changed.Retry, changed.Lock, changed.Timeout = json.RawMessage(`{}`), "l", 5
	if plan.StartDigest(&changed, step.Args, "") != before {
		t.Error("retry, lock or timeout changes the digest")
	}
}

// TestPartsKeepDirectoryAndLock: a part split off an approved step keeps them unless it says otherwise.
func TestPartsKeepDirectoryAndLock(t *testing.T) {
	whole := titled("Build")
	whole.Cwd, whole.Lock, whole.OutputFile = "web", "db", "out.txt"
	for name, c := range map[string]struct {
		part func(*plan.NewStep)
		goes string // the event that tells of it
		lock string
	}{
		"nothing":       {func(*plan.NewStep) {}, "plan_deviated", "db"},
		"another lock":  {func(s *plan.NewStep) { s.Lock = "other" }, "plan_deviated", "other"},
		"a retry":       {func(s *plan.NewStep) { s.Retry = json.RawMessage(`{}`) }, "plan_deviated", "db"},
		"its own file":  {func(s *plan.NewStep) { s.OutputFile = "out.txt" }, "plan_deviated", "db"},
		"another place": {func(s *plan.NewStep) { s.Cwd = "api" }, "change_proposed", ""},
		"another file":  {func(s *plan.NewStep) { s.OutputFile = "x.txt" }, "change_proposed", ""},
	} {
		w := gatheringWithin(t, halfAnHour())
		a := submission("Build")
		a.Steps[0].Spec = whole.Spec
		w.do(ann, a)
		w.do(person, decided(plan.Approved, w.answer("")))
		part := titled("Build a half")
		part.Splits = 1
		c.part(&part)
		got := kinds(w.do(ann, plan.AddSteps{Steps: []plan.NewStep{part}}))
		if !slices.Contains(got, c.goes) {
			t.Errorf("%s: %v", name, got)
		}
		if c.lock == "" {
			continue
		}
		if step := w.step(2); step.Lock != c.lock || step.Cwd != "web" {
			t.Errorf("%s: %+v", name, step.Spec)
		}
	}
}
