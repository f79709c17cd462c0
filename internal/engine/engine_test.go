package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// place is a workspace in memory, with tools made by tests.
type place struct {
	t       *testing.T
	session *session.Session
	seen    *crowd
	limits  plan.Limits
	tools   []toolbox.Tool
	options engine.Options
}

// crowd is the presence in tests: everyone who joined and has not left is alive.
type crowd struct {
	mu     sync.Mutex
	gone   []string
	looked func() // called on each look at the presence; may be nil
}

func (c *crowd) Join(string) func()      { return func() {} }
func (c *crowd) LastActivity() time.Time { return time.Time{} }
func (c *crowd) leave(name string)       { c.mu.Lock(); defer c.mu.Unlock(); c.gone = append(c.gone, name) }
func (c *crowd) Seen(name string) plan.Sighting {
	if c.looked != nil {
		c.looked()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return plan.Sighting{IsGone: slices.Contains(c.gone, name)}
}

func newPlace(t *testing.T, limits plan.Limits, tools ...toolbox.Tool) *place {
	seen := &crowd{}
	s := session.New(store.NewMemory(), session.Options{Limits: limits, Presence: seen})
	t.Cleanup(func() { _ = s.Close() })
	return &place{t: t, session: s, seen: seen, limits: limits, tools: tools}
}

func (p *place) do(by plan.Actor, a plan.Action) plan.State {
	p.t.Helper()
	outcome, err := p.session.Do(p.t.Context(), by, a, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return outcome.After
}

func person() plan.Actor { return plan.NewActor(plan.ChannelTerminal, "ann") }

func (p *place) setUp(specs ...plan.Spec) {
	p.t.Helper()
	steps := make([]plan.NewStep, len(specs))
	for i, spec := range specs {
		if spec.Title == "" {
			spec.Title = fmt.Sprintf("Step %d", i+1)
		}
		steps[i].Spec = spec
	}
	p.do(person(), plan.SetUp{Outline: plan.Outline{Objective: "Try it"}, Steps: steps})
}

// begin begins the run and takes part in it.
func (p *place) begin(ctx context.Context, o engine.RunOptions) (plan.StopReason, error) {
	tools, err := (&toolbox.Registry{}).With(p.tools...)
	if err != nil {
		return "", err
	}
	o.Begin = func(ctx context.Context) error {
		_, err := p.session.Do(ctx, person(), plan.BeginRun{}, nil)
		return err
	}
	return engine.New(p.session, tools, p.seen, p.options).Run(ctx, o)
}

func (p *place) run(want plan.StopReason) plan.State {
	p.t.Helper()
	over, err := p.begin(p.t.Context(), engine.RunOptions{})
	if err != nil || over != want {
		p.t.Fatalf("the run is over: %q, %v; want %q", over, err, want)
	}
	return p.state()
}

// TestStoppedStep: the tool of a stopped step is told that it was stopped on request, and other steps continue.
func TestStoppedStep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var cause error
		endless := tool("endless", func(ctx context.Context, _ json.RawMessage, _ toolbox.Watch) (toolbox.Outcome, error) {
			<-ctx.Done()
			cause = context.Cause(ctx)
			return toolbox.Outcome{}, cause
		})
		p := newPlace(t, plan.Limits{}, endless, echo())
		p.setUp(plan.Spec{Tool: "endless", Idempotent: true, Critical: true}, plan.Spec{Tool: "echo"})
		go func() {
			synctest.Wait()
			p.do(person(), plan.AnswerStep{Step: 1, Choice: plan.Stop})
		}()
		over, err := p.begin(t.Context(), engine.RunOptions{Parallel: 1})
		step := p.step(1)
		if err != nil || step.Status != plan.Failed || step.Error != "stopped by ann" || !errors.Is(cause, process.ErrStopped) {
			t.Errorf("%q, %v: %s, %q; the tool was told %v", over, err, step.Status, step.Error, cause)
		}
		if step := p.step(2); step.Status != plan.Done {
			t.Errorf("the other step is %s", step.Status)
		}
	})
}

func (p *place) state() plan.State {
	p.t.Helper()
	state, err := p.session.State(p.t.Context())
	if err != nil {
		p.t.Fatal(err)
	}
	return state
}

func (p *place) step(id plan.StepID) *plan.Step {
	p.t.Helper()
	step, ok := p.state().Plan.Steps.Get(id)
	if !ok {
		p.t.Fatal("there is no", id)
	}
	return step
}

// tool returns a tool that calls a function.
func tool(name string, f func(ctx context.Context, args json.RawMessage, w toolbox.Watch) (toolbox.Outcome, error)) toolbox.Tool {
	return toolbox.Tool{Spec: toolbox.Spec{Name: name}, Schema: json.RawMessage(`{"type":"object"}`), Run: f}
}

// gives returns a tool that returns a value.
func gives(name string, value func(args json.RawMessage) string) toolbox.Tool {
	return tool(name, func(_ context.Context, args json.RawMessage, _ toolbox.Watch) (toolbox.Outcome, error) {
		return toolbox.Outcome{OK: true, Value: json.RawMessage(value(args))}, nil
	})
}

func echo() toolbox.Tool {
	return gives("echo", func(args json.RawMessage) string { return string(args) })
}

// In a chain of steps the result of one and the start of the next are in the same record.
func TestChain(t *testing.T) {
	const steps = 300
	p := newPlace(t, plan.Limits{}, echo())
	specs := make([]plan.Spec, steps)
	for i := range specs {
		specs[i] = plan.Spec{Tool: "echo", Args: json.RawMessage(`{}`)}
		if i > 0 {
			specs[i].DependsOn = []plan.StepID{plan.StepID(i)}
			specs[i].Args = json.RawMessage(fmt.Sprintf(`{"before":"$S%03d"}`, max(1, i%3)))
		}
	}
	p.setUp(specs...)
	state := p.run(plan.StopCompleted)
	if records := float64(state.Revision); records > 1.2*steps {
		t.Errorf("%v records for %d steps", records, steps)
	}
	if state.Plan.Status != plan.StatusCompleted || state.OpenRun() != nil {
		t.Errorf("the plan %s, the run %+v", state.Plan.Status, state.Run)
	}
}

// At most the allowed number of steps run in parallel.
func TestParallel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var now, most atomic.Int32
		busy := tool("busy", func(context.Context, json.RawMessage, toolbox.Watch) (toolbox.Outcome, error) {
			defer now.Add(-1)
			for n := now.Add(1); n > most.Load(); {
				most.Store(n)
			}
			time.Sleep(time.Second) // of the bubble
			return toolbox.Outcome{OK: true}, nil
		})
		p := newPlace(t, plan.Limits{}, busy)
		p.setUp(slices.Repeat([]plan.Spec{{Tool: "busy"}}, 12)...)
		begun := time.Now()
		over, err := p.begin(t.Context(), engine.RunOptions{Parallel: 3})
		if took := time.Since(begun); over != plan.StopCompleted || err != nil || most.Load() != 3 || took != 4*time.Second {
			t.Errorf("%q, %v: %d at a time, in %s", over, err, most.Load(), took)
		}
		_ = p.session.Close()
	})
}

// A transient failure is tried three times, 1 and 2 seconds apart, while others run.
func TestRetries(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var at []time.Duration
		begun := time.Now()
		shaky := tool("shaky", func(context.Context, json.RawMessage, toolbox.Watch) (toolbox.Outcome, error) {
			at = append(at, time.Since(begun))
			return toolbox.Outcome{Error: "busy", Transient: true}, nil
		})
		p := newPlace(t, plan.Limits{}, shaky, echo())
		p.setUp(plan.Spec{Tool: "shaky"}, plan.Spec{Tool: "echo"})
		over, err := p.begin(t.Context(), engine.RunOptions{Parallel: 1})
		want := []time.Duration{0, time.Second, 3 * time.Second}
		if over != plan.StopFailed || err != nil || !slices.Equal(at, want) {
			t.Errorf("%q, %v: tried at %v", over, err, at)
		}
		if step := p.step(1); step.Status != plan.Failed || step.Attempts != 3 || p.step(2).Status != plan.Done {
			t.Errorf("%+v", step)
		}
		_ = p.session.Close()
	})
}

// The first interrupt lets running steps end, and starts nothing more; the end of the context ends them.
func TestInterrupts(t *testing.T) {
	for name, c := range map[string]struct {
		kill bool
		want plan.StepStatus
		ask  bool
	}{"drained": {false, plan.Done, false}, "killed": {true, plan.Blocked, true}} {
		t.Run(name, func(t *testing.T) {
			started, drain, finish := make(chan struct{}), make(chan struct{}), make(chan struct{})
			long := tool("long", func(ctx context.Context, _ json.RawMessage, _ toolbox.Watch) (toolbox.Outcome, error) {
				close(started)
				select {
				case <-finish:
					return toolbox.Outcome{OK: true}, nil
				case <-ctx.Done():
					return toolbox.Outcome{}, ctx.Err()
				}
			})
			p := newPlace(t, plan.Limits{}, long, echo())
			p.setUp(plan.Spec{Tool: "long"}, plan.Spec{Tool: "echo", DependsOn: []plan.StepID{1}})
			ctx, kill := context.WithCancel(t.Context())
			defer kill()
			go func() {
				<-started
				if c.kill {
					kill()
					return
				}
				close(drain)
				close(finish)
			}()
			over, err := p.begin(ctx, engine.RunOptions{Drain: drain})
			if err != nil || !c.kill && over != plan.StopPaused {
				t.Errorf("%q, %v", over, err)
			}
			if step := p.step(1); step.Status != c.want || step.IsUnknown() != c.ask {
				t.Errorf("S001 %s %+v", step.Status, step.Execution)
			}
			if step := p.step(2); step.Status != plan.Pending || p.state().HasActiveRun() {
				t.Errorf("S002 %s, and the run goes on: %v", step.Status, p.state().HasActiveRun())
			}
		})
	}
}

// The steps of a dead engine are settled: run again if that is safe, else asked about.
func TestEngineThatIsGone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t, plan.Limits{}, echo())
		p.setUp(plan.Spec{Tool: "echo", Idempotent: true}, plan.Spec{Tool: "echo"})
		p.do(person(), plan.BeginRun{})
		other := plan.NewActor(plan.ChannelEngine, "engine#other")
		_, err := p.session.Do(t.Context(), other, plan.Schedule{MaxStarts: 2}, func(_ plan.State, f *plan.Facts) error {
			f.Resolutions = map[plan.StepID]plan.Resolution{1: {Digest: "a", IsRepeatable: true}, 2: {Digest: "b"}}
			return nil
		})
		if err != nil || !p.step(1).IsRunning() || !p.step(2).IsRunning() {
			t.Fatal("the other engine started nothing", err)
		}
		begun := time.Now()
		go func() {
			time.Sleep(10 * time.Second) // of the bubble
			p.seen.leave(other.Name)
		}()
		p.run(plan.StopWaitingForPerson)
		if took := time.Since(begun) - 10*time.Second; took > 2*time.Second {
			t.Errorf("they were taken up after %s", took)
		}
		if first, second := p.step(1), p.step(2); first.Status != plan.Done || first.Attempts != 2 || !second.IsUnknown() {
			t.Errorf("%+v, %+v", first, second)
		}
		_ = p.session.Close()
	})
}

// Values go from step to step, large ones in files of their own; a missing value fails the steps that refer to it.
func TestValues(t *testing.T) {
	large := `{"list":["` + strings.Repeat("x", 3*plan.MaxInlineValue) + `",{"to":7}]}`
	p := newPlace(t, plan.Limits{}, gives("large", func(json.RawMessage) string { return large }), echo())
	p.setUp(
		plan.Spec{Tool: "large"},
		plan.Spec{Tool: "echo", Args: json.RawMessage(`{"n":"$S001.list[1].to","text":"not $S001","dollar":"$$S001"}`)},
		plan.Spec{Tool: "echo", Args: json.RawMessage(`{"n":"$S001.list[2]"}`)},
		plan.Spec{Tool: "nothing"},
		plan.Spec{Tool: "echo", ForEach: `$S001.list`, Args: json.RawMessage(`{"got":"$item"}`)},
		plan.Spec{Tool: "echo", Args: json.RawMessage(`{"all":"$S005"}`)},
	)
	p.run(plan.StopFailed)
	if got := p.step(1).Result; got.StoredName == "" || len(got.Value) > 0 {
		t.Errorf("the large value: %+v", got)
	}
	if got, want := string(p.step(2).Result.Value), `{"n":7,"text":"not $S001","dollar":"$S001"}`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got := p.step(3).Error; !strings.HasPrefix(got, "Invalid args for echo in S003: ") ||
		!strings.Contains(got, "entry [2] does not exist") {
		t.Error(got)
	}
	if got := p.step(4).Error; !strings.HasPrefix(got, "Unknown tool: nothing in S004; use one of ") {
		t.Error(got)
	}
	kept, err := p.session.Value(t.Context(), p.step(6).Result.StoredName)
	if err != nil || !strings.Contains(string(kept), `{"got":{"to":7}}]`) {
		t.Errorf("the value of a loop: %d bytes, %v", len(kept), err)
	}
}

// A person is asked once for a whole loop, and the arguments shown, or their replacement, are run.
func TestApprovals(t *testing.T) {
	var mu sync.Mutex
	var ran []string
	danger := tool("danger", func(_ context.Context, args json.RawMessage, _ toolbox.Watch) (toolbox.Outcome, error) {
		mu.Lock()
		defer mu.Unlock()
		ran = append(ran, string(args))
		return toolbox.Outcome{OK: true}, nil
	})
	danger.Destructive = true
	p := newPlace(t, plan.Limits{}, danger, echo())
	p.setUp(
		plan.Spec{Tool: "echo", Args: json.RawMessage(`{"a":1}`)},
		plan.Spec{Tool: "danger", Args: json.RawMessage(`{"what":"$S001.a"}`)},
		plan.Spec{Tool: "danger", Args: json.RawMessage(`{"what":"$item"}`), ForEach: `["x","y","z"]`, DependsOn: []plan.StepID{2}},
		plan.Spec{Tool: "danger", Args: json.RawMessage(`{"what":4}`), DependsOn: []plan.StepID{3}},
	)
	p.run(plan.StopWaitingForPerson)
	if ask := p.step(2).OpenQuestion(); ask == nil || string(ask.Args) != `{"what":1}` {
		t.Fatalf("asked %+v", ask)
	}
	p.do(person(), plan.AnswerStep{Step: 2, Choice: plan.Approve})
	p.run(plan.StopWaitingForPerson)
	if ask := p.step(3).OpenQuestion(); ask == nil || ask.Text != `for 3 entries: "x", "y", "z"` {
		t.Fatalf("asked %+v", ask)
	}
	p.do(person(), plan.AnswerStep{Step: 3, Choice: plan.Approve})
	p.run(plan.StopWaitingForPerson)
	p.do(person(), plan.AnswerStep{Step: 4, Choice: plan.Approve, Args: json.RawMessage(`{"what":"$S001"}`)})
	p.run(plan.StopCompleted)
	slices.Sort(ran)
	if want := []string{`{"what":"$S001"}`, `{"what":"x"}`, `{"what":"y"}`, `{"what":"z"}`, `{"what":1}`}; !slices.Equal(ran, want) {
		t.Errorf("ran %q", ran)
	}
}

// An engine about to leave stays if the answer it waited for arrives at that moment.
func TestWhatIsSaidAsTheEngineLeaves(t *testing.T) {
	p := newPlace(t, plan.Limits{}, echo())
	p.setUp(plan.Spec{Tool: "echo", Args: json.RawMessage(`{}`), RequiresApproval: true})
	p.options.StateDir = t.TempDir()
	other := filepath.Join(p.options.StateDir, "running", "engine-other.engine")
	p.seen.looked = sync.OnceFunc(func() { // the last look before it leaves
		p.do(person(), plan.AnswerStep{Step: 1, Choice: plan.Approve})
	})
	testenv.Check(t, errors.Join(os.MkdirAll(filepath.Dir(other), 0o700), os.WriteFile(other, nil, 0o600)))
	p.seen.leave("engine#other")
	state := p.run(plan.StopCompleted)
	if state.Run.Reason != plan.StopCompleted || p.step(1).Attempts != 1 {
		t.Errorf("the run ended as %q after %d attempts", state.Run.Reason, p.step(1).Attempts)
	}
}

// A result that the log would refuse is kept without the refused parts.
func TestResultsThatCannotBeKept(t *testing.T) {
	deep := strings.Repeat("[", 200) + strings.Repeat("]", 200)
	p := newPlace(t, plan.Limits{}, gives("deep", func(json.RawMessage) string { return deep }),
		tool("ugly", func(context.Context, json.RawMessage, toolbox.Watch) (toolbox.Outcome, error) {
			return toolbox.Outcome{Error: "\x1b[31mno\u202e\x00\xff" + strings.Repeat("é", 100_000), Text: "\x07"}, nil
		}),
		gives("hiding", func(json.RawMessage) string { return "\"a\u202e\x7fb\"" }),
		tool("silent", func(context.Context, json.RawMessage, toolbox.Watch) (toolbox.Outcome, error) {
			return toolbox.Outcome{}, errors.New("the tool broke")
		}))
	p.setUp(plan.Spec{Tool: "deep"}, plan.Spec{Tool: "ugly"}, plan.Spec{Tool: "silent"}, plan.Spec{Tool: "hiding"})
	p.run(plan.StopFailed)
	if step := p.step(1); step.Status != plan.Done || len(step.Result.Value) > 0 || !strings.Contains(step.Output, "cannot be recorded") {
		t.Errorf("%s, %+v, %q", step.Status, step.Result, step.Output)
	}
	if got := string(p.step(4).Result.Value); got != `"a\u202e\u007fb"` {
		t.Errorf("what hides: %s", got)
	}
	for id, want := range map[plan.StepID]string{2: "é", 3: "the tool broke"} {
		step := p.step(id)
		if step.Status != plan.Failed || !strings.Contains(step.Error, want) || strings.ContainsAny(step.Error, "\x1b\x00") {
			t.Errorf("%s: %s, %q", id, step.Status, plan.Shorten(step.Error, 200))
		}
	}
}
