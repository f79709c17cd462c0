package toolbox

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/tail"
)

// Shell is the Runner that runs any command, with the user's rights: bash, else
// sh; on Windows cmd. The command gets no input, no terminal, and of our
// environment only what is on a short list.
type Shell struct {
	Getenv func(string) string // nil: os.Getenv
	Output int                 // bytes of each stream that are kept, its end; 0: 64 KB
}

// drain is how long the output of a command that ended is waited for, should a
// process that left its group hold on to it.
const drain = time.Second

// Run runs a command. The processes it leaves behind in its group are killed when
// it ends; at the time-out or the end of ctx so are, on Linux, those that left
// the group but kept their environment. A daemon that a command started and that
// left the group outlives a command which ends by itself, and is not waited for.
func (s Shell) Run(ctx context.Context, dir, command string, timeout time.Duration) (RunResult, error) {
	if err := ctx.Err(); err != nil {
		return RunResult{}, fmt.Errorf("run the command: %w", err)
	}
	out, err := newCapture(s.Output)
	if err != nil {
		return RunResult{}, err
	}
	errs, err := newCapture(s.Output)
	if err != nil {
		out.abandon()
		return RunResult{}, err
	}
	run := s.command(dir, command)
	run.cmd.Stdout, run.cmd.Stderr = out.write, errs.write
	begun := time.Now()
	err = run.start()
	out.begin()
	errs.begin()
	if err != nil {
		out.finish(ctx)
		errs.finish(ctx)
		return RunResult{}, fmt.Errorf("start the shell: %w", err)
	}
	timedOut, err := run.wait(ctx, timeout)
	result := RunResult{ExitCode: process.ExitCode(run.cmd.ProcessState), TimedOut: timedOut, Duration: time.Since(begun)}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	var cutOut, cutErrs bool
	result.Stdout, cutOut = out.finish(late)
	result.Stderr, cutErrs = errs.finish(late)
	result.Truncated = cutOut || cutErrs
	return result, err
}

// running is a command with the processes it starts.
type running struct {
	cmd   *exec.Cmd
	mark  string // in the environment of each of them
	group process.Group
}

func (s Shell) command(dir, command string) *running {
	getenv := s.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	mark := "PLANLOOP_COMMAND=" + rand.Text()
	cmd := process.ShellCommand(command)
	cmd.Dir = dir
	cmd.Env = append(environment(getenv), mark, "PLANLOOP_AGENT=bash_execute") // it is no person who runs planloop from here
	return &running{cmd: cmd, mark: mark}
}

func (r *running) start() (err error) {
	r.group, err = process.Start(r.cmd)
	return err
}

// wait waits for the command, or ends it with all that it started. The goroutine
// ends with the command.
func (r *running) wait(ctx context.Context, timeout time.Duration) (timedOut bool, err error) {
	exited := make(chan error, 1)
	go func() { exited <- r.cmd.Wait() }()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	defer r.group.Close()
	select {
	case err = <-exited:
		r.group.Kill()
		var code *exec.ExitError
		if errors.As(err, &code) {
			return false, nil
		}
		return false, err
	case <-timer.C:
		timedOut = true
	case <-ctx.Done():
		err = fmt.Errorf("the command was stopped: %w", ctx.Err())
	}
	r.group.Kill()
	process.KillMarked(r.mark)
	<-exited
	return timedOut, err
}

// capture takes what a command writes to a pipe. It is a pipe of ours, and not
// of exec.Cmd, so that a process which outlives the command cannot hold up its end.
type capture struct {
	read, write *os.File
	tail        *tail.Writer
	done        chan struct{}
}

func newCapture(max int) (*capture, error) {
	defaultTo(&max, 64<<10)
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	return &capture{read: read, write: write, tail: &tail.Writer{Max: max}, done: make(chan struct{})}, nil
}

func (c *capture) abandon() { _, _ = c.read.Close(), c.write.Close() }

// begin reads, until the last writer is gone or finish is called, in a goroutine.
func (c *capture) begin() {
	_ = c.write.Close() // the command has its own
	go func() {
		defer close(c.done)
		_, _ = io.Copy(c.tail, c.read) // how it ends does not matter
	}()
}

// finish returns the end of what was written until the last writer was gone, or
// it became late.
func (c *capture) finish(late context.Context) (text string, more bool) {
	select {
	case <-c.done:
	case <-late.Done():
	}
	_ = c.read.Close() // ends the goroutine
	end := c.tail.End()
	return end.Text, end.Left > 0
}

// environment is what a command gets to see of ours: where things are and how
// text is written, by an allow list, so that no token or key is handed on. It has
// no terminal to draw on and nobody to ask.
func environment(getenv func(string) string) []string {
	list := []string{"TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0"}
	for _, name := range passed() {
		value := getenv(name)
		if name == "PATH" {
			value = absolutePaths(value)
		}
		if value != "" {
			list = append(list, name+"="+value)
		}
	}
	return list
}

func passed() []string {
	return []string{
		"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "TZ",
		"LANG", "LC_ALL", "LC_CTYPE", "LC_COLLATE", "LC_MESSAGES", "LC_NUMERIC", "LC_TIME",
		"XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_STATE_HOME",
		// What Windows and its programs do not run without.
		"SystemRoot", "SystemDrive", "ComSpec", "PATHEXT", "TEMP", "TMP", "USERNAME", "USERPROFILE",
		"APPDATA", "LOCALAPPDATA", "ProgramData", "ProgramFiles",
	}
}

// absolutePaths leaves out of a search path what the workspace could fill.
func absolutePaths(list string) string {
	var kept []string
	for _, dir := range filepath.SplitList(list) {
		if filepath.IsAbs(dir) {
			kept = append(kept, dir)
		}
	}
	return strings.Join(kept, string(os.PathListSeparator))
}
