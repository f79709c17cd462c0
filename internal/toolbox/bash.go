package toolbox

import (
	"context"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/internal/tail"
	"github.com/planloop/planloop/plan"
)

// BashExecute is the input of BashExecute.
type BashExecute struct {
	Command string `json:"command"`
	Timeout int    `json:"timeout,omitempty" jsonschema:"minimum=1,maximum=600,description=seconds; 60 if not given"`
}

// BashExecuteReply is what came of a command.
type BashExecuteReply struct {
	ExitCode   int    `json:"exit_code"`
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr,omitempty"`
	Truncated  bool   `json:"truncated,omitempty"` // only the end of the output is given
	TimedOut   bool   `json:"timed_out,omitempty"` // it was stopped, with all it had started
	DurationMS int64  `json:"duration_ms"`
}

// BashExecute runs a command in the workspace. A command that fails is no error:
// the exit code tells.
func (b *Box) BashExecute(ctx context.Context, in BashExecute) (BashExecuteReply, error) {
	if err := in.judge(b.limits); err != nil {
		return BashExecuteReply{}, err
	}
	timeout := b.limits.Timeout
	if in.Timeout > 0 {
		timeout = time.Duration(in.Timeout) * time.Second
	}
	result, err := b.run(ctx, in.Command, timeout)
	if err != nil {
		return BashExecuteReply{}, err
	}
	reply := BashExecuteReply{ExitCode: result.ExitCode, Truncated: result.Truncated, TimedOut: result.TimedOut,
		DurationMS: result.Duration.Milliseconds()}
	reply.Stdout = b.output(result.Stdout, &reply.Truncated)
	reply.Stderr = b.output(result.Stderr, &reply.Truncated)
	return reply, nil
}

func (in BashExecute) judge(l Limits) error {
	switch {
	case strings.TrimSpace(in.Command) == "":
		return invalid("/command", "is empty", "give a shell command")
	case len(in.Command) > maxCommand:
		return invalid("/command", "is too long", fmt.Sprintf("shorten it to at most %d bytes, or write a script with create_file",
			maxCommand))
	case strings.ContainsRune(in.Command, 0) || !utf8.ValidString(in.Command):
		return invalid("/command", "has a NUL or is not valid UTF-8", "send plain text")
	case in.Timeout < 0 || in.Timeout > int(l.MaxTimeout/time.Second):
		return invalid("/timeout", "is out of range", fmt.Sprintf("give 1 to %d seconds", int(l.MaxTimeout/time.Second)))
	}
	return nil
}

// output is a stream as it is shown: its end, in which a CR alone, with which
// progress is drawn, begins a line.
func (b *Box) output(text string, truncated *bool) string {
	shown := safetext.Escape(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(tail.Of(text, b.limits.OutputBytes)))
	last := tail.Of(shown, b.limits.OutputBytes)
	*truncated = *truncated || len(text) > b.limits.OutputBytes || len(last) < len(shown)
	return last
}

// Text is what a model reads.
func (r BashExecuteReply) Text() string {
	var b strings.Builder
	took := seconds(time.Duration(r.DurationMS) * time.Millisecond)
	if r.TimedOut {
		fmt.Fprintf(&b, "Stopped after %s, the time-out, with all it had started.", took)
	} else {
		fmt.Fprintf(&b, "Exit code %d after %s.", r.ExitCode, took)
	}
	if r.Truncated {
		b.WriteString(" Only the end of the output is shown.")
	}
	stream(&b, "stdout", r.Stdout)
	stream(&b, "stderr", r.Stderr)
	return b.String()
}

func stream(b *strings.Builder, name, text string) {
	if text = strings.TrimSuffix(text, "\n"); text != "" {
		b.WriteString("\n" + name + ":\n" + text)
	}
}

// Runner runs a command for BashExecute. The command is one text in the language
// of a shell; dir is the absolute path of the workspace. A command that ran, with
// whatever exit code, or that was stopped at the time-out is a result; a command
// that a policy does not let run is a *plan.ValidationError. When ctx is done the
// command is stopped and the error wraps that of ctx. Nothing the command started
// in its process group is left running.
type Runner interface {
	Run(ctx context.Context, dir, command string, timeout time.Duration) (RunResult, error)
}

// RunResult is what came of a command.
type RunResult struct {
	ExitCode  int    // 128 and the signal if one ended it, as shells have it
	Stdout    string // its end
	Stderr    string // its end
	Truncated bool   // there was more output
	Duration  time.Duration
	TimedOut  bool
}

// run runs a command: any, or while only reading is allowed one that the policy
// lets pass, behind a second wall.
func (b *Box) run(ctx context.Context, command string, timeout time.Duration) (RunResult, error) {
	restricted, err := b.restricted(ctx)
	if err != nil {
		return RunResult{}, err
	}
	if !restricted {
		return b.runner.Run(ctx, b.path, command, timeout)
	}
	return Reader{Launcher: b.launcher}.Run(ctx, b.path, command, timeout)
}

// Reader is the Runner that runs commands which only read, by the policy of package
// shell, kept from writing by the system where it can.
type Reader struct {
	Launcher string // see shell.RunOptions
}

// Run runs a command, or refuses it with a *plan.ValidationError.
func (r Reader) Run(ctx context.Context, dir, command string, timeout time.Duration) (RunResult, error) {
	if verdict := shell.Classify(command); !verdict.Allowed {
		fix := "use a command that only reads"
		if verdict.Instead != "" {
			fix = "instead: " + verdict.Instead
		}
		return RunResult{}, &plan.ValidationError{Kind: plan.Conflict, Field: "/command",
			Problem: "planning mode allows only commands that read: " + verdict.Reason, Fix: fix}
	}
	result, err := shell.Command(ctx, dir, command, shell.RunOptions{Timeout: timeout, Launcher: r.Launcher})
	return RunResult{ExitCode: result.ExitCode, Stdout: result.Stdout, Stderr: result.Stderr, Truncated: result.Truncated,
		Duration: result.Duration, TimedOut: result.TimedOut}, err
}
