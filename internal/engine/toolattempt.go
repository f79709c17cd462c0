package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// job is the work of one attempt of a step.
type job struct {
	plan.Resolution
	tool    toolbox.Tool
	args    json.RawMessage
	step    *plan.Step
	before  plan.State // the state it was started in
	run     string
	attempt plan.Attempt
}

// carry runs the tool of a step and its verify command, and returns the result. It is called in a goroutine of its own.
func (r *run) carry(ctx context.Context, j job) plan.AttemptResult {
	begun := time.Now()
	if j.step.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(j.step.Timeout)*time.Second)
		defer cancel()
		ctx = limited
	}
	file := r.follow(j)
	defer file.remove()
	watch := toolbox.Watch{Log: file, Started: file.started, Progress: func(percent int, what string) {
		file.progressed(percent, what)
		select {
		case r.progress <- progress{j.step.ID, percent, what}:
		default: // dropped: the next one is newer
		}
	}}
	out, err := j.tool.Call(ctx, j.args, watch)
	if out.OK && err == nil && j.step.Verify != "" {
		out, err = r.verify(ctx, j.step.Verify, out, watch)
	}
	return r.finished(ctx, j, out, err, time.Since(begun))
}

// verifier is the tool that runs verify commands.
const verifier = "bash_execute"

// verify runs the command that verifies a step, and returns done if it succeeds.
func (r *run) verify(ctx context.Context, command string, done toolbox.Outcome, w toolbox.Watch) (toolbox.Outcome, error) {
	fail := func(why string) toolbox.Outcome { return toolbox.Outcome{Text: why, Error: why} }
	tool, ok := r.tools.Lookup(verifier)
	args, err := json.Marshal(map[string]string{"command": command})
	if !ok || err != nil {
		return fail("nothing here runs the command that verifies the step"), nil
	}
	out, err := tool.Call(ctx, args, w)
	if out.OK && err == nil {
		return done, nil
	}
	out.Value, out.Error = nil, "not verified by "+plan.Quote(command)+": "+out.Error
	return out, err
}

// Limits of the recorded texts of an attempt. A good result needs little output, because its value has the same text.
const (
	maxOutput     = plan.MaxOutput
	maxGoodOutput = 300
	maxError      = 2_000
)

// finished returns the result of an attempt, in a form that the log accepts.
func (r *run) finished(ctx context.Context, j job, out toolbox.Outcome, err error, took time.Duration) plan.AttemptResult {
	done := plan.AttemptResult{Attempt: j.attempt, IsTransient: out.Transient, IsInterrupted: err != nil || out.Cut || out.TimedOut}
	done.Result = plan.Result{OK: out.OK && err == nil, Error: out.Error, Duration: took.Milliseconds(), Timestamp: time.Now()}
	if err != nil && done.Result.Error == "" {
		done.Result.Error = err.Error()
	}
	done.Result.Error = safetext.Keepable(safetext.ExcerptOf(done.Result.Error, maxError), maxError)
	room := maxOutput
	if done.Result.OK {
		room = maxGoodOutput
		if err := r.keep(ctx, &done.Result, out.Value); err != nil {
			out.Text = strings.TrimSpace(out.Text + "\nIt has no value for other steps: " + err.Error() + ".")
		}
	} else if done.Result.Error == "" {
		done.Result.Error = "it failed and did not say why"
	}
	if value := done.Result.Value; len(value) == 0 || value[0] != '"' {
		done.Output = safetext.Keepable(safetext.ExcerptOf(out.Text, room), room)
	}
	return fitting(done)
}

// keep puts a value into the result, or into a file of its own if it is too large for the log. Once ctx has ended, it
// tries only once more.
func (r *run) keep(ctx context.Context, result *plan.Result, value json.RawMessage) error {
	if value = safetext.EscapeJSON(value); len(value) <= plan.MaxInlineValue {
		result.Value = value
		return nil
	}
	name, err := r.session.PutValue(r.records, value)
	for tries := 1; err != nil && tries < mostFaults; tries++ {
		select {
		case <-time.After(faultWait):
		case <-ctx.Done():
			tries = mostFaults
		}
		name, err = r.session.PutValue(r.records, value)
	}
	if err != nil {
		return fmt.Errorf("it could not be kept: %w", err)
	}
	result.StoredName = name
	return nil
}

// fitting makes a result acceptable for the log by removing the parts that the log would refuse.
func fitting(done plan.AttemptResult) plan.AttemptResult {
	if refused := plan.CleanAction(plan.Schedule{Results: []plan.AttemptResult{done}}); refused != nil {
		done.Result.Value = nil
		done.Output = safetext.Keepable(done.Output+"\nIts value cannot be kept: "+refused.Error(), maxOutput)
	}
	if refused := plan.CleanAction(plan.Schedule{Results: []plan.AttemptResult{done}}); refused != nil {
		done.Output, done.Result.Error, done.Note, done.AffectedFiles, done.OutOfScopeFiles = "", "", "", nil, nil
	}
	return done
}
