// Package process starts commands so that they can be ended together with all processes they start. It does not check
// commands, nor know why they run.
//
// The reach depends on the system. On Linux a keeper adopts a command's orphans, whatever session, parent or
// environment they chose; on Windows all its processes are in a job; on macOS the command's session is ended, and its
// descendants while it runs. On other systems only the process group is ended. Processes of other users, and those
// started on request by cron, a service manager or a container engine, always escape.
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
	"syscall"
	"time"

	"github.com/planloop/planloop/internal/safetext"
)

// Launcher runs commands so that no process they start outlives them, as far as the system allows. Program starts them
// on Linux; its main must call Keep first, and it is usually the running program. Without it, processes that leave
// their command's session live on. A process has at most one launcher with a program. All methods may be called from
// several goroutines.
type Launcher struct {
	Program string

	mu      sync.Mutex
	keepers map[int]bool // children of this process, by pid, that are not orphans of a command
}

// ErrGone means that the launcher's program no longer exists: an update may remove the file of a running program.
// Without it, commands cannot be started, nor get their git.
var ErrGone = errors.New("the program that runs was taken away, perhaps by an update: start planloop again")

// ErrStopped is wrapped by the cause of a context that ends a command gently: it gets SIGTERM, and a few seconds before it is killed.
// Windows has no such signal.
var ErrStopped = errors.New("stopped on request")

// gentle is how long a command has to end by itself after ErrStopped.
const gentle = 3 * time.Second

// Options are the settings of a command.
type Options struct {
	Timeout time.Duration
	Output  int            // bytes kept from the end of each stream
	Started func(Identity) // gets the identity to kill if this process dies first; may be nil
}

// Result is the outcome of a command.
type Result struct {
	ExitCode       int    // as returned by the function ExitCode
	Stdout, Stderr string // the ends of the output
	Truncated      bool   // a stream was longer
	TimedOut       bool
	Duration       time.Duration
}

// drain is how long Run waits for the output of an ended command, in case a process that could not be killed keeps it
// open.
const drain = time.Second

// Run starts a command, waits for it, and kills its leftover processes. A command that fails or times out is a result.
// When ctx is done, Run ends the command and returns an error that wraps the cause, with the result so far. Output also
// goes to the writers of cmd as it arrives; their errors are ignored.
func (l *Launcher) Run(ctx context.Context, cmd *exec.Cmd, o Options) (Result, error) {
	limited, cancel := context.WithTimeout(ctx, o.Timeout)
	defer cancel()
	err := limited.Err()
	if _, missing := os.Stat(l.Program); l.Program != "" && errors.Is(missing, fs.ErrNotExist) {
		err = errors.Join(err, fmt.Errorf("%s: %w", l.Program, ErrGone))
	}
	if err != nil {
		return Result{}, fmt.Errorf("start the command: %w", err)
	}
	stdout, stderr := &safetext.TailWriter{Max: o.Output}, &safetext.TailWriter{Max: o.Output}
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
	ended := make(chan struct{})
	stop := context.AfterFunc(limited, func() {
		defer close(killed)
		if errors.Is(context.Cause(ctx), ErrStopped) && family.terminate() {
			select {
			case <-ended:
			case <-time.After(gentle):
			}
		}
		family.kill()
	})
	err = cmd.Wait()
	close(ended)
	stopped := !stop()
	if stopped {
		<-killed
	}
	family.end()
	out, errs := stdout.End(), stderr.End()
	result := Result{ExitCode: ExitCode(cmd.ProcessState), Stdout: out.Text, Stderr: errs.Text, Truncated: out.Left > 0 || errs.Left > 0,
		TimedOut: stopped && ctx.Err() == nil, Duration: time.Since(begun)}
	switch {
	case stopped && ctx.Err() != nil:
		return result, fmt.Errorf("the command was stopped: %w", context.Cause(ctx))
	case err == nil, stopped, errors.As(err, new(*exec.ExitError)), errors.Is(err, exec.ErrWaitDelay):
		return result, nil
	}
	return result, fmt.Errorf("wait for the command: %w", err)
}

// tee is a writer that also copies to a second writer, which may be nil.
type tee struct{ kept, also io.Writer }

func (t tee) Write(data []byte) (int, error) {
	if t.also != nil {
		_, _ = t.also.Write(data)
	}
	return t.kept.Write(data)
}

// ExitCode returns a process's exit code as shells do: 128 plus the signal if a signal ended it, and -1 if it never
// ran.
func ExitCode(state *os.ProcessState) int {
	if state == nil {
		return -1
	}
	if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		return 128 + int(status.Signal())
	}
	return state.ExitCode()
}
