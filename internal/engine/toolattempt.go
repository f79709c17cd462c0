package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// runTool runs the tool of a step and its verify command, and returns the result. It is called in a goroutine of its own.
func (r *run) runTool(ctx context.Context, j job) plan.AttemptResult {
	begun := time.Now()
	if j.step.Timeout > 0 {
		limited, cancel := context.WithTimeout(ctx, time.Duration(j.step.Timeout)*time.Second)
		defer cancel()
		ctx = limited
	}
	file := r.newStepFile(j, "")
	defer file.remove()
	watch := toolbox.Watch{Log: file, Started: file.setProcess, Progress: r.progressOf(j, file), Dir: j.step.Cwd,
		NoValue: j.step.OutputFile != ""}
	out, err := j.tool.Call(ctx, j.args, watch)
	if out.OK && err == nil && j.step.Verify != "" {
		out, err = r.verify(ctx, j.step.Verify, out, watch)
	}
	if gone := WorkspaceGone(r.opts.Workspace); gone != "" && (!out.OK || err != nil) && ctx.Err() == nil {
		out.OK, out.Transient, out.Error, err = false, false, gone, nil
	} else if out.OK && err == nil {
		out, err = r.readOutputFile(ctx, j.step, out)
	}
	return r.result(ctx, j, out, err, time.Since(begun))
}

// WorkspaceGone says that the folder of a workspace no longer exists, "" if it does.
func WorkspaceGone(folder string) string {
	if _, err := os.Stat(folder); folder == "" || !errors.Is(err, fs.ErrNotExist) {
		return ""
	}
	return "the workspace " + folder + " is gone: its folder was removed or renamed"
}

// progressOf returns a function that reports the progress of a job to its file and to the listener.
func (r *run) progressOf(j job, file *stepFile) func(percent int, what string) {
	return func(percent int, what string) {
		what = plan.Mask(what)
		file.setProgress(percent, what)
		select {
		case r.progress <- progress{j.step.ID, percent, what}:
		default: // dropped: the next one is newer
		}
	}
}

// readOutputFile returns done with the text of the step's output file as its value.
func (r *run) readOutputFile(ctx context.Context, step *plan.Step, done toolbox.Outcome) (toolbox.Outcome, error) {
	if step.OutputFile == "" {
		return done, nil
	}
	out, err := callTool(ctx, r.tools, "read_file", map[string]string{"path": step.OutputFile}, toolbox.Watch{})
	if !out.OK || err != nil {
		out.Error = "its output file cannot be read: " + out.Error
		return out, err
	}
	done.Value = out.Value
	return done, nil
}

// verifier is the tool that runs verify commands.
const verifier = "bash_execute"

// verify runs the command that verifies a step, and returns done if it succeeds.
func (r *run) verify(ctx context.Context, command string, done toolbox.Outcome, w toolbox.Watch) (toolbox.Outcome, error) {
	out, err := runVerify(ctx, r.tools, command, w)
	if out.OK && err == nil {
		return done, nil
	}
	out.Value, out.Error = nil, "not verified by "+plan.Quote(command)+": "+out.Error
	return out, err
}

func runVerify(ctx context.Context, tools *toolbox.Registry, command string, w toolbox.Watch) (toolbox.Outcome, error) {
	w.NoValue = true
	return callTool(ctx, tools, verifier, map[string]string{"command": command}, w)
}

func callTool(ctx context.Context, tools *toolbox.Registry, name string, args map[string]string, w toolbox.Watch) (toolbox.Outcome,
	error) {
	tool, ok := tools.Lookup(name)
	input, err := json.Marshal(args)
	if !ok || err != nil {
		why := "there is no tool " + name
		return toolbox.Outcome{Text: why, Error: why}, nil
	}
	return tool.Call(ctx, input, w)
}

// exitTimedOut is the exit code recorded for a command that was ended at its time-out, as timeout(1) returns it.
const exitTimedOut = 124

// Verify runs the command that verifies a step which an agent or a person did, as a run does, and returns the evidence. An error means
// that the command did not run to its end.
func Verify(ctx context.Context, tools *toolbox.Registry, step *plan.Step) (plan.Evidence, error) {
	limited, cancel := context.WithTimeout(ctx, cmp.Or(time.Duration(step.Timeout)*time.Second, maxVerifying))
	defer cancel()
	out, err := runVerify(limited, tools, step.Verify, toolbox.Watch{Dir: step.Cwd})
	code := out.ExitCode
	switch {
	case err != nil:
		return plan.Evidence{}, err
	case out.TimedOut:
		code = exitTimedOut
	case !out.OK && (out.Cut || code == 0):
		return plan.Evidence{}, plan.Refuse(plan.Conflict, "", step.ID.String()+" could not be verified: "+recordable(out.Error, maxError),
			"try again")
	}
	room := maxOutput
	if out.OK {
		room = maxGoodOutput
	}
	return plan.Evidence{Command: plan.Mask(step.Verify), ExitCode: &code, Output: recordable(out.Text, room), Recorded: true}, nil
}

// Limits of the recorded texts of an attempt. A good result needs little output, because its value has the same text.
const (
	maxOutput     = plan.MaxOutput
	maxGoodOutput = 300
	maxError      = 2_000
)

// result returns the result of an attempt, in a form that the log accepts.
func (r *run) result(ctx context.Context, j job, out toolbox.Outcome, err error, took time.Duration) plan.AttemptResult {
	done := plan.AttemptResult{Attempt: j.attempt, IsTransient: out.Transient, IsInterrupted: err != nil || out.Cut || out.TimedOut,
		IsTimedOut: out.TimedOut, ExitCode: out.ExitCode}
	done.Result = plan.Result{OK: out.OK && err == nil, Error: out.Error, Duration: took.Milliseconds(), Timestamp: time.Now()}
	if err != nil && done.Result.Error == "" {
		done.Result.Error = err.Error()
	}
	done.Result.Error = recordable(done.Result.Error, maxError)
	room := maxOutput
	if done.Result.OK {
		room = maxGoodOutput
		if err := r.setValue(ctx, &done.Result, out.Value); err != nil {
			out.Text = strings.TrimSpace(out.Text + "\nThe value is not available to other steps: " + err.Error() + ".")
		}
	} else if done.Result.Error == "" {
		done.Result.Error = "it failed without a reason"
	}
	if value := done.Result.Value; len(value) == 0 || value[0] != '"' {
		done.Output = recordable(out.Text, room)
	}
	return acceptable(done)
}

// recordable returns an excerpt of a program's text that the log accepts.
func recordable(text string, limit int) string {
	return safetext.Keepable(safetext.ExcerptOf(plan.Mask(text), limit), limit)
}

// setValue puts a value into the result, or into a file of its own if it is too large for the log or has a secret, which
// later steps get whole. Once ctx has ended, it tries only once more.
func (r *run) setValue(ctx context.Context, result *plan.Result, value json.RawMessage) error {
	if value = safetext.EscapeJSON(value); len(value) <= plan.MaxInlineValue && plan.Mask(string(value)) == string(value) {
		result.Value = value
		return nil
	}
	name, err := r.session.PutValue(r.records, value)
	for tries := 1; err != nil && tries < maxFaults; tries++ {
		select {
		case <-time.After(faultWait):
		case <-ctx.Done():
			tries = maxFaults
		}
		name, err = r.session.PutValue(r.records, value)
	}
	if err != nil {
		return fmt.Errorf("could not store it: %w", err)
	}
	result.StoredName = name
	return nil
}

// acceptable removes the parts of a result that the log would refuse.
func acceptable(done plan.AttemptResult) plan.AttemptResult {
	refusal := func() error { return plan.CleanAction(plan.Schedule{Results: []plan.AttemptResult{done}}) }
	if err := refusal(); err != nil {
		done.Result.Value = nil
		done.Output = safetext.Keepable(done.Output+"\nThe value cannot be recorded: "+err.Error(), maxOutput)
	}
	if refusal() != nil {
		done.Output, done.Result.Error, done.Note, done.AffectedFiles, done.OutOfScopeFiles = "", "", "", nil, nil
	}
	return done
}
