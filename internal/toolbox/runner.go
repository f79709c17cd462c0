package toolbox

import (
	"context"
	"time"
)

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
