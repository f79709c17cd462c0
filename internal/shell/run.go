package shell

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/tail"
)

const (
	defaultTimeout   = time.Minute
	defaultMaxOutput = 64 << 10
	graceAfterExit   = 2 * time.Second // for output of children that outlive the command
)

// ErrNoShell is returned when no bash is found where one is looked for.
var ErrNoShell = errors.New("bash was not found in /bin, /usr/bin or /usr/local/bin; install it to run commands")

// RunOptions are the limits of Command. The zero value has the usual ones.
type RunOptions struct {
	Timeout   time.Duration // a minute if 0
	MaxOutput int           // bytes kept of each stream, its tail; 64 KB if 0
	// Launcher is a program whose main calls Confine first; usually the running
	// one. With it, and where the system can, the command is kept from writing
	// files and from connecting. Without it only the environment is narrow.
	Launcher string
}

// Result is what a command did.
type Result struct {
	ExitCode       int // -1 if it was ended
	Stdout, Stderr string
	Truncated      bool // a stream was longer; its tail is kept, and its first line says so
	Duration       time.Duration
	TimedOut       bool
	Confined       bool // the system kept it from writing
}

// Command runs a text with bash in dir: with a fixed PATH, a narrow environment,
// no input, bounded output, and its children ended with it. It does not judge the
// text: whoever calls asks Classify first. The error is about what kept the
// command from running or the context that was cancelled; that it failed is in
// the result.
func Command(ctx context.Context, dir, command string, o RunOptions) (Result, error) {
	bash, err := lookProgram("bash")
	if err != nil {
		return Result{}, ErrNoShell
	}
	temp, err := os.MkdirTemp("", "planloop-")
	if err != nil {
		return Result{}, fmt.Errorf("make a folder for temporary files: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }()

	timeout := o.Timeout
	if timeout <= 0 {
		timeout = defaultTimeout
	}
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	environment := baseEnvironment(dir, temp)
	environment = append(environment, gitEnvironment(limited, dir, environment)...)
	cmd, confined := confinedCommand(o.Launcher, temp, bash, "--noprofile", "--norc", "-c", command)
	cmd.Dir, cmd.Env = dir, append(environment, cmd.Env...)
	return run(ctx, limited, cmd, o.MaxOutput, confined)
}

// run starts a command, waits for it, and ends what it left.
func run(ctx, limited context.Context, cmd *exec.Cmd, maxOutput int, confined bool) (Result, error) {
	if maxOutput <= 0 {
		maxOutput = defaultMaxOutput
	}
	if err := limited.Err(); err != nil {
		return Result{}, fmt.Errorf("start the command: %w", err)
	}
	stdout, stderr := &tail.Writer{Max: maxOutput}, &tail.Writer{Max: maxOutput}
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.WaitDelay = graceAfterExit

	start := time.Now()
	group, err := process.Start(cmd)
	if err != nil {
		return Result{}, fmt.Errorf("start the command: %w", err)
	}
	defer group.Close()
	stop := context.AfterFunc(limited, group.Kill)
	err = cmd.Wait()
	stop()
	group.Kill()
	result := Result{
		ExitCode: cmd.ProcessState.ExitCode(), Duration: time.Since(start), Confined: confined,
		TimedOut: errors.Is(limited.Err(), context.DeadlineExceeded) && ctx.Err() == nil && cmd.ProcessState.ExitCode() < 0,
	}
	result.Stdout = result.end(stdout)
	result.Stderr = result.end(stderr)
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil && result.ExitCode < 0:
		return result, fmt.Errorf("the command was ended: %w", context.Cause(ctx))
	case err == nil, errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay), result.TimedOut:
		return result, nil
	}
	return result, fmt.Errorf("wait for the command: %w", err)
}

// end returns the end of a stream, after a line that says what is left out.
func (r *Result) end(stream *tail.Writer) string {
	end := stream.End()
	if end.Left == 0 {
		return end.Text
	}
	r.Truncated = true
	return fmt.Sprintf("[%d bytes left out; the end follows]\n%s", end.Left, end.Text)
}
