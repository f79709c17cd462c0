package process

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/tail"
)

// Launcher runs commands so that nothing they start outlives them, as far as the
// system allows. Program is what starts them on Linux: one whose main calls Keep first,
// usually the running one. Without it what leaves the session of its command lives on.
// A process has one launcher with a program. All methods may be called from several
// goroutines.
type Launcher struct {
	Program string

	mu      sync.Mutex
	keepers map[int]bool // by pid: the children of this process that are no orphans of a command
}

// ErrGone is the error of a launcher whose program is not there any more: an update may
// take the file away under a process that runs. What would start the command, and be its
// git, is missing.
var ErrGone = errors.New("the program that runs was taken away, perhaps by an update: start planloop again")

func (l *Launcher) present() error {
	if _, err := os.Stat(l.Program); l.Program != "" && errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("%s: %w", l.Program, ErrGone)
	}
	return nil
}

// Options says how a command is run.
type Options struct {
	Timeout time.Duration
	Output  int            // bytes of each stream that are kept, its end
	Started func(Identity) // is told what to end, should this process not live to do so; may be nil
}

// Result is what a command did.
type Result struct {
	ExitCode       int    // that of the function ExitCode
	Stdout, Stderr string // their ends
	Truncated      bool   // a stream was longer
	TimedOut       bool
	Duration       time.Duration
}

// drain is how long the output of a command that ended is waited for, should a
// process that could not be ended hold on to it.
const drain = time.Second

// Run starts a command, waits for it, and ends what it left. One that fails, or is
// ended at its time-out, is a result. When ctx is done the command is ended too, and the
// error wraps the cause; the result is what it did until then. What it prints goes to the
// writers of cmd as well, as it comes; what they answer is not heeded.
func (l *Launcher) Run(ctx context.Context, cmd *exec.Cmd, o Options) (Result, error) {
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	if err := errors.Join(limited.Err(), l.present()); err != nil {
		return Result{}, fmt.Errorf("start the command: %w", err)
	}
	stdout, stderr := &tail.Writer{Max: o.Output}, &tail.Writer{Max: o.Output}
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = tee{stdout, cmd.Stdout}, tee{stderr, cmd.Stderr}, drain
	begun := time.Now()
	family, err := l.start(cmd)
	if err != nil {
		return Result{}, fmt.Errorf("start the command: %w", err)
	}
	if o.Started != nil {
		o.Started(family.identity())
	}
	killed := make(chan struct{})
	stop := context.AfterFunc(limited, func() { defer close(killed); family.kill() })
	err = cmd.Wait()
	stopped := !stop()
	if stopped {
		<-killed
	}
	family.end()
	out, errs := stdout.End(), stderr.End()
	result := Result{ExitCode: ExitCode(cmd.ProcessState), Stdout: out.Text, Stderr: errs.Text, Truncated: out.Left > 0 || errs.Left > 0,
		TimedOut: stopped && ctx.Err() == nil, Duration: time.Since(begun)}
	var exit *exec.ExitError
	switch {
	case stopped && ctx.Err() != nil:
		return result, fmt.Errorf("the command was stopped: %w", context.Cause(ctx))
	case err == nil, stopped, errors.As(err, &exit), errors.Is(err, exec.ErrWaitDelay):
		return result, nil
	}
	return result, fmt.Errorf("wait for the command: %w", err)
}

// tee is a writer that hands on what it is given, if there is somebody to take it.
type tee struct{ kept, also io.Writer }

func (t tee) Write(data []byte) (int, error) {
	if t.also != nil {
		_, _ = t.also.Write(data)
	}
	return t.kept.Write(data)
}
