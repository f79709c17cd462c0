package toolbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
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
	Command string `json:"command" text:"any"`
	Env     Env    `json:"env,omitempty" jsonschema:"description=values the command reads as variables\\, such as \"$FILE\""`
	Timeout int    `json:"timeout,omitempty" jsonschema:"minimum=1,maximum=600,description=seconds; 60 if not given"`
}

// BashExecuteReply is what came of a command.
type BashExecuteReply struct {
	ExitCode   int    `json:"exit_code"`
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr,omitempty"`
	Truncated  bool   `json:"truncated,omitempty"` // only the end of the output is given
	TimedOut   bool   `json:"timed_out,omitempty"` // it was stopped, with all it had started
	Stopped    string `json:"stopped,omitempty"`   // why it was stopped before that, in the same way
	DurationMS int64  `json:"duration_ms"`

	whole *whole // the standard output, of a step
}

// BashExecute runs a command in the workspace. A command that fails is no error:
// the exit code tells.
func (b *Box) BashExecute(ctx context.Context, in BashExecute) (BashExecuteReply, error) {
	return b.execute(ctx, in, Watch{})
}

// execute is BashExecute with somebody who watches.
func (b *Box) execute(ctx context.Context, in BashExecute, w Watch) (BashExecuteReply, error) {
	if _, err := in.judge(b); err != nil {
		return BashExecuteReply{}, err
	}
	c := Command{Text: in.Command, Dir: b.path, Env: in.Env.list(), Timeout: b.limits.Timeout, Started: w.Started}
	reply := BashExecuteReply{}
	if deadline, ok := ctx.Deadline(); ok && w.step {
		c.Timeout = time.Until(deadline)
	}
	if in.Timeout > 0 {
		c.Timeout = time.Duration(in.Timeout) * time.Second
	}
	c.Stdout, c.Stderr = w.streams()
	if w.step {
		reply.whole = &whole{max: maxValue}
		c.Stdout = io.MultiWriter(c.Stdout, reply.whole)
	}
	result, err := b.run(ctx, c)
	reply.ExitCode, reply.Truncated, reply.TimedOut = result.ExitCode, result.Truncated, result.TimedOut
	reply.DurationMS = result.Duration.Milliseconds()
	switch {
	case errors.Is(err, errEntered):
		reply.Stopped, err = errEntered.Error(), nil
	case err != nil && w.step && errors.Is(ctx.Err(), context.DeadlineExceeded):
		reply.TimedOut, err = true, nil
	}
	if err != nil {
		return BashExecuteReply{}, err
	}
	reply.Stdout = b.output(result.Stdout, &reply.Truncated)
	reply.Stderr = b.output(result.Stderr, &reply.Truncated)
	return reply, nil
}

func (in BashExecute) judge(b *Box) (rel string, err error) {
	most := int(b.limits.MaxTimeout / time.Second)
	switch {
	case strings.TrimSpace(in.Command) == "":
		return "", invalid("/command", "is empty", "give a shell command")
	case len(in.Command) > maxCommand:
		return "", invalid("/command", "is too long", fmt.Sprintf("shorten it to at most %d bytes, or write a script with create_file",
			maxCommand))
	case strings.ContainsRune(in.Command, 0) || !utf8.ValidString(in.Command):
		return "", invalid("/command", "has a NUL or is not valid UTF-8", "send plain text")
	case in.Timeout < 0 || in.Timeout > most:
		return "", invalid("/timeout", "is out of range", fmt.Sprintf("give 1 to %d seconds", most))
	}
	return "", in.Env.judge(runtime.GOOS)
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
	b.WriteString(r.headline())
	if r.Truncated {
		b.WriteString(" Only the end of the output is shown.")
	}
	stream(&b, "stdout", r.Stdout)
	stream(&b, "stderr", r.Stderr)
	return b.String()
}

func (r BashExecuteReply) headline() string {
	took := seconds(time.Duration(r.DurationMS) * time.Millisecond)
	switch {
	case r.Stopped != "":
		return fmt.Sprintf("Stopped after %s, with everything it had started: %s.", took, r.Stopped)
	case r.TimedOut:
		return fmt.Sprintf("Stopped after %s, the time-out, with everything it had started.", took)
	}
	return fmt.Sprintf("Exit code %d after %s.", r.ExitCode, took)
}

func stream(b *strings.Builder, name, text string) {
	if text = strings.TrimSuffix(text, "\n"); text != "" {
		b.WriteString("\n" + name + ":\n" + text)
	}
}

// Value is what a step that refers to this one gets: the standard output.
func (r BashExecuteReply) Value() any {
	if r.whole == nil {
		return r.Stdout
	}
	return r.whole.value()
}

// maxError is how much of what a command printed an error repeats.
const maxError = 1_000

// tryAgain is the exit code by which a command says that it may succeed later:
// EX_TEMPFAIL of sysexits.
const tryAgain = 75

// killed is the exit code of a command that somebody, or the system, has killed.
const killed = 128 + 9

// end tells how a command that did not succeed ended.
func (r BashExecuteReply) end(out *Outcome) {
	out.TimedOut, out.Cut = r.TimedOut, r.TimedOut || r.Stopped != "" || r.ExitCode == killed
	if out.OK = r.ExitCode == 0 && !out.Cut; out.OK {
		return
	}
	out.Value, out.Transient = nil, r.ExitCode == tryAgain && !out.Cut
	out.Error = r.headline()
	if said := strings.TrimSpace(cmp.Or(strings.TrimSpace(r.Stderr), r.Stdout)); said != "" {
		out.Error += " " + tail.GistOf(said, maxError)
	}
}

// Runner runs a command for BashExecute. A command that ran, with
// whatever exit code (128 and the signal if one ended it, as shells have it), or
// that was stopped at the time-out is a result. When ctx is done the command is
// stopped and the error wraps the cause; the result is what it did until then.
type Runner interface {
	Run(ctx context.Context, c Command) (RunResult, error)
}

// Command is one text in the language of a shell.
type Command struct {
	Text           string
	Dir            string   // the absolute path of the workspace
	Env            []string // variables besides those that every command gets, as NAME=value
	Timeout        time.Duration
	Stdout, Stderr io.Writer              // get what it prints as it comes; may be nil
	Started        func(process.Identity) // may be nil
}

// RunResult is what came of a command. Of its output it has the end.
type RunResult = process.Result

// errEntered is why a command is ended when only reading is allowed any more.
var errEntered = errors.New("planning mode was entered, in which commands may only read")

// run runs a command: any, for as long as that is allowed, or while only reading is
// one that the policy of package shell lets pass, kept from writing by the system where
// it can.
func (b *Box) run(ctx context.Context, c Command) (RunResult, error) {
	free, hold, stop, err := b.wall(".").Free(ctx, errEntered)
	if err != nil {
		return RunResult{}, err
	}
	defer stop()
	if hold.By == "" {
		return b.options.Runner.Run(free, c)
	}
	if len(c.Env) > 0 { // a command is judged by its text alone
		return RunResult{}, conflict("/env", hold.By+" allows no variables for a command", "leave env out")
	}
	if err := hold.Command(c.Text); err != nil {
		return RunResult{}, err
	}
	result, err := shell.Command(ctx, c.Dir, c.Text, shell.RunOptions{Timeout: c.Timeout, Launcher: b.options.Launcher,
		Stdout: c.Stdout, Stderr: c.Stderr, Started: c.Started})
	if errors.Is(err, shell.ErrNoShell) {
		err = conflict("/command", err.Error(), "look with view, glob and grep")
	}
	return result.Result, err
}

// Command refuses a shell command that may do more than read.
func (h Hold) Command(text string) error { return h.command(shell.Classify(text)) }

// HostCommand refuses a command of an agent's own shell, which is bash or may be any, that may do more than read and
// submit a plan.
func (h Hold) HostCommand(text string, bash bool) error {
	if !bash {
		return h.command(shell.ClassifyForAnyShell(text))
	}
	return h.command(shell.ClassifyForHost(text))
}

func (h Hold) command(verdict shell.Verdict) error {
	if verdict.Allowed {
		return nil
	}
	fix := "use a command that only reads"
	if verdict.Instead != "" {
		fix = "instead: " + verdict.Instead
	}
	return conflict("/command", h.By+" allows only commands that read: "+verdict.Reason, fix)
}

// Shell is the Runner that runs any command, with the user's rights: bash, else
// sh; on Windows cmd. The command gets no input, no terminal, and of our
// environment only what is on a short list. What it leaves running is killed.
type Shell struct {
	Getenv   func(string) string // nil: os.Getenv
	Output   int                 // bytes of each stream that are kept, its end; 0: 64 KB
	Launcher *process.Launcher   // nil: one without a program
}

// Run runs a command.
func (s Shell) Run(ctx context.Context, c Command) (RunResult, error) {
	cmd := process.ShellCommand(c.Text)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Dir, c.Stdout, c.Stderr
	cmd.Env = slices.Concat(s.environment(), c.Env, []string{"PLANLOOP_AGENT=bash_execute"}) // it is no person who runs planloop from here
	return cmp.Or(s.Launcher, &process.Launcher{}).Run(ctx, cmd,
		process.Options{Timeout: c.Timeout, Output: cmp.Or(s.Output, 64<<10), Started: c.Started})
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
