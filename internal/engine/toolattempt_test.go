package engine_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// A step is done only if its verify command succeeds, and the time-out covers both.
func TestVerifyAndTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		shell := tool("bash_execute", func(ctx context.Context, args json.RawMessage, _ toolbox.Watch) (toolbox.Outcome, error) {
			switch {
			case strings.Contains(string(args), "good"):
				return toolbox.Outcome{OK: true, Value: json.RawMessage(`"of the check"`)}, nil
			case strings.Contains(string(args), "bad"):
				return toolbox.Outcome{Error: "exit code 1: 2 tests failed"}, nil
			}
			<-ctx.Done()
			return toolbox.Outcome{}, ctx.Err()
		})
		p := newPlace(t, plan.Limits{NeverAsk: true}, echo(), shell)
		p.setUp(
			plan.Spec{Tool: "echo", Args: json.RawMessage(`{"a":1}`), Verify: "good"},
			plan.Spec{Tool: "echo", Verify: "bad"},
			plan.Spec{Tool: "echo", Verify: "slow", Timeout: 5},
		)
		begun := time.Now()
		p.run(plan.StopFailed)
		if took := time.Since(begun); took != 5*time.Second {
			t.Errorf("it took %s", took)
		}
		if step := p.step(1); step.Status != plan.Done || string(step.Result.Value) != `{"a":1}` {
			t.Errorf("%s, %+v", step.Status, step.Result)
		}
		if step := p.step(2); step.Status != plan.Failed || step.Error != `not verified by "bad": exit code 1: 2 tests failed` {
			t.Errorf("%s, %q", step.Status, step.Error)
		}
		if step := p.step(3); !step.IsUnknown() {
			t.Errorf("%s, %q", step.Status, step.Error)
		}
		_ = p.session.Close()
	})
}

// While a step runs, its files report on it and stay small; then they are removed.
func TestRunning(t *testing.T) {
	state := t.TempDir()
	testenv.Check(t, os.Chmod(state, 0o700))
	var during []engine.RunningStep
	var size int64
	loud := tool("loud", func(_ context.Context, _ json.RawMessage, w toolbox.Watch) (toolbox.Outcome, error) {
		w.Progress(40, "halfway, nearly")
		line := strings.Repeat("x", 1<<16-1) + "\n"
		for range 200 {
			_, _ = io.WriteString(w.Log, line)
		}
		_, _ = io.WriteString(w.Log, "the end\n")
		during = engine.ReadRunningSteps(state)
		_ = filepath.WalkDir(filepath.Join(state, "running"), func(_ string, e fs.DirEntry, _ error) error {
			if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
				if size += info.Size(); info.Mode().Perm() != 0o600 {
					t.Errorf("%s has the mode %s", e.Name(), info.Mode())
				}
			}
			return nil
		})
		return toolbox.Outcome{OK: true}, nil
	})
	p := newPlace(t, plan.Limits{}, loud)
	p.options.StateDir = state
	p.setUp(plan.Spec{Tool: "loud"})
	p.run(plan.StopCompleted)
	if len(during) != 1 || during[0].Step != 1 || during[0].Percent != 40 || !strings.HasSuffix(during[0].Log, "x\nthe end\n") {
		t.Errorf("%+v", during)
	}
	if size > 1<<20+1<<16 {
		t.Errorf("the files have %d bytes", size)
	}
	if left, err := os.ReadDir(filepath.Join(state, "running")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// brokenLog is a log that fails for the next fails appends.
type brokenLog struct {
	store.Log
	fails atomic.Int32
}

func (l *brokenLog) Append(ctx context.Context, r plan.Record) (store.Head, error) {
	if l.fails.Add(-1) >= 0 {
		return store.Head{}, errors.New("the disk is gone")
	}
	return l.Log.Append(ctx, r)
}

// Results are recorded once the log can be written again; if that takes too long, the unrecorded ones are named.
func TestLogThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		fails int32
		lost  bool
	}{"for a while": {3, false}, "for good": {1_000, true}} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				log := &brokenLog{Log: store.NewMemory()}
				seen := &crowd{}
				p := &place{t: t, seen: seen, session: session.New(log, session.Options{Presence: seen}), tools: []toolbox.Tool{
					tool("breaks", func(context.Context, json.RawMessage, toolbox.Watch) (toolbox.Outcome, error) {
						log.fails.Store(c.fails)
						return toolbox.Outcome{OK: true}, nil
					})}}
				p.setUp(plan.Spec{Tool: "breaks"})
				over, err := p.begin(t.Context(), engine.RunOptions{})
				if c.lost != (err != nil) || c.lost && !strings.Contains(err.Error(), "could not record the results of S001") {
					t.Errorf("%q, %v", over, err)
				}
				if step := p.step(1); c.lost != (step.Status != plan.Done) {
					t.Error(step.Status)
				}
				_ = p.session.Close()
			})
		})
	}
}
