package toolbox

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/internal/tail"
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
// whatever exit code (128 and the signal if one ended it, as shells have it), or
// that was stopped at the time-out is a result. When ctx is done the command is
// stopped and the error wraps that of ctx. Nothing the command started in its
// process group is left running.
type Runner interface {
	Run(ctx context.Context, dir, command string, timeout time.Duration) (RunResult, error)
}

// RunResult is what came of a command. Of its output it has the end.
type RunResult = shell.Result

// run runs a command: any, or while only reading is allowed one that the policy of
// package shell lets pass, kept from writing by the system where it can.
func (b *Box) run(ctx context.Context, command string, timeout time.Duration) (RunResult, error) {
	restricted, err := b.restricted(ctx)
	if err != nil {
		return RunResult{}, err
	}
	if !restricted {
		return b.options.Runner.Run(ctx, b.path, command, timeout)
	}
	verdict := shell.Classify(command)
	if verdict.Allowed {
		return shell.Command(ctx, b.path, command, shell.RunOptions{Timeout: timeout, Launcher: b.options.Launcher})
	}
	fix := "use a command that only reads"
	if verdict.Instead != "" {
		fix = "instead: " + verdict.Instead
	}
	return RunResult{}, conflict("/command", "planning mode allows only commands that read: "+verdict.Reason, fix)
}

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
	stdout, err := newCapture(s.Output)
	if err != nil {
		return RunResult{}, err
	}
	stderr, err := newCapture(s.Output)
	if err != nil {
		stdout.finish(ctx)
		return RunResult{}, err
	}
	mark := "PLANLOOP_COMMAND=" + rand.Text() // in the environment of all that the command starts
	cmd := process.ShellCommand(command)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, stdout.write, stderr.write
	cmd.Env = append(s.environment(), mark, "PLANLOOP_AGENT=bash_execute") // it is no person who runs planloop from here
	begun := time.Now()
	timedOut, err := run(ctx, cmd, mark, timeout)
	result := RunResult{ExitCode: process.ExitCode(cmd.ProcessState), TimedOut: timedOut, Duration: time.Since(begun)}
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	var cutOut, cutErr bool
	result.Stdout, cutOut = stdout.finish(late)
	result.Stderr, cutErr = stderr.finish(late)
	result.Truncated = cutOut || cutErr
	return result, err
}

// run starts a command and waits for it, or ends it with all that it started. The
// goroutine ends with the command.
func run(ctx context.Context, cmd *exec.Cmd, mark string, timeout time.Duration) (timedOut bool, err error) {
	group, err := process.Start(cmd)
	if err != nil {
		return false, fmt.Errorf("start the shell: %w", err)
	}
	defer group.Close()
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	timer := time.NewTimer(timeout)
	defer timer.Stop()
	select {
	case err = <-exited:
		group.Kill()
		if _, ok := errors.AsType[*exec.ExitError](err); ok {
			return false, nil
		}
		return false, err
	case <-timer.C:
		timedOut = true
	case <-ctx.Done():
		err = fmt.Errorf("the command was stopped: %w", ctx.Err())
	}
	group.Kill()
	process.KillMarked(mark)
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

// newCapture begins to read, until the last writer is gone or finish is called, in
// a goroutine.
func newCapture(kept int) (*capture, error) {
	read, write, err := os.Pipe()
	if err != nil {
		return nil, fmt.Errorf("make a pipe: %w", err)
	}
	c := &capture{read: read, write: write, tail: &tail.Writer{Max: cmp.Or(kept, 64<<10)}, done: make(chan struct{})}
	go func() {
		defer close(c.done)
		_, _ = io.Copy(c.tail, c.read) // how it ends does not matter
	}()
	return c, nil
}

// finish returns the end of what was written until the last writer was gone, or
// it became late.
func (c *capture) finish(late context.Context) (text string, more bool) {
	_ = c.write.Close() // the command has its own
	select {
	case <-c.done:
	case <-late.Done():
	}
	_ = c.read.Close() // ends the goroutine
	end := c.tail.End()
	return end.Text, end.Left > 0
}

// passed are the variables that a command gets to see, in the third line what
// Windows and its programs do not run without.
const passed = `PATH HOME USER LOGNAME TMPDIR TZ LANG LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME
	XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME
	SystemRoot SystemDrive ComSpec PATHEXT TEMP TMP USERNAME USERPROFILE APPDATA LOCALAPPDATA ProgramData ProgramFiles`

// environment is what a command gets to see of ours: where things are and how
// text is written, by an allow list, so that no token or key is handed on. It has
// no terminal to draw on and nobody to ask.
func (s Shell) environment() []string {
	getenv := s.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	list := []string{"TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0"}
	for name := range strings.FieldsSeq(passed) {
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

// absolutePaths leaves out of a search path what the workspace could fill.
func absolutePaths(list string) string {
	dirs := slices.DeleteFunc(filepath.SplitList(list), func(dir string) bool { return !filepath.IsAbs(dir) })
	return strings.Join(dirs, string(os.PathListSeparator))
}
