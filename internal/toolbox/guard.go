package toolbox

import (
	"context"
	"fmt"
	"time"

	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/plan"
)

// Guard says whether only reading is allowed now (chorus: Context Gathering Phase).
// An error means that it could not be told, which is no leave to write.
type Guard func(context.Context) (restricted bool, err error)

// restricted asks the guard, if there is one.
func (b *Box) restricted(ctx context.Context) (bool, error) {
	if b.guard == nil {
		return false, nil
	}
	restricted, err := b.guard(ctx)
	if err != nil {
		return true, fmt.Errorf("ask whether only reading is allowed: %w", err)
	}
	return restricted, nil
}

// mayWrite refuses a tool that writes while only reading is allowed.
func (b *Box) mayWrite(ctx context.Context) error {
	restricted, err := b.restricted(ctx)
	if err != nil || !restricted {
		return err
	}
	return &plan.ValidationError{Kind: plan.Conflict, Problem: "planning mode is on, and no file is changed until a plan is approved",
		Fix: "look and ask, then submit a plan"}
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
