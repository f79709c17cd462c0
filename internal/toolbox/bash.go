package toolbox

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/sandbox"
	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/plan"
)

// BashExecute is the input of Box.BashExecute.
type BashExecute struct {
	Command string `json:"command" text:"any"`
	Env     Env    `json:"env,omitempty" jsonschema:"description=values the command reads as variables\\, such as \"$FILE\""`
	Timeout int    `json:"timeout,omitempty" jsonschema:"minimum=1,maximum=600,description=seconds; 60 if not given"`
}

// BashExecuteReply is the result of a command.
type BashExecuteReply struct {
	ExitCode   int    `json:"exit_code"`
	Stdout     string `json:"stdout"`
	Stderr     string `json:"stderr,omitempty"`
	Truncated  bool   `json:"truncated,omitempty"` // the output holds only the end
	TimedOut   bool   `json:"timed_out,omitempty"` // stopped at the time-out, with everything it had started
	Stopped    string `json:"stopped,omitempty"`   // why it was stopped earlier, also with everything it had started
	Confined   bool   `json:"confined,omitempty"`  // its changes were dropped
	DurationMS int64  `json:"duration_ms"`

	whole *whole // standard output in full; only for a step
}

// BashExecute runs a command in the workspace. A failed command is not an error; see the exit code.
func (b *Box) BashExecute(ctx context.Context, in BashExecute) (BashExecuteReply, error) {
	return b.execute(ctx, in, Watch{})
}

// execute is BashExecute with a watcher.
func (b *Box) execute(ctx context.Context, in BashExecute, w Watch) (BashExecuteReply, error) {
	if _, err := in.check(b); err != nil {
		return BashExecuteReply{}, err
	}
	dir, err := b.commandDir(w.Dir)
	if err != nil {
		return BashExecuteReply{}, err
	}
	c := Command{Text: in.Command, Dir: dir, Env: in.Env.list(), Timeout: b.limits.Timeout, Started: w.Started}
	reply := BashExecuteReply{}
	if deadline, ok := ctx.Deadline(); ok && w.step {
		c.Timeout = time.Until(deadline)
	} else if w.step {
		c.Timeout = b.limits.StepTimeout
	}
	if in.Timeout > 0 {
		c.Timeout = time.Duration(in.Timeout) * time.Second
	}
	c.Stdout = w.log()
	c.Stderr = c.Stdout
	if w.step && !w.NoValue {
		reply.whole = &whole{max: maxValue}
		c.Stdout = io.MultiWriter(c.Stdout, reply.whole)
	}
	result, confined, err := b.run(ctx, c, !w.step)
	reply.Confined, reply.ExitCode, reply.Truncated, reply.TimedOut = confined, result.ExitCode, result.Truncated, result.TimedOut
	reply.DurationMS = result.Duration.Milliseconds()
	switch {
	case errors.Is(err, errEntered):
		reply.Stopped, err = errEntered.Error(), nil
	case err != nil && w.step && errors.Is(ctx.Err(), context.DeadlineExceeded):
		reply.TimedOut, err = true, nil
	case err != nil && w.step && errors.Is(context.Cause(ctx), process.ErrStopped):
		reply.Stopped, err = process.ErrStopped.Error(), nil
	}
	if err != nil {
		return BashExecuteReply{}, err
	}
	reply.Stdout = b.output(result.Stdout, &reply.Truncated)
	reply.Stderr = b.output(result.Stderr, &reply.Truncated)
	return reply, nil
}

// commandDir returns the absolute path of the directory that a step's command runs in. Links may lead to places in the
// workspace only.
func (b *Box) commandDir(name string) (string, error) {
	if name == "" {
		return b.path, nil
	}
	rel, err := b.place(name)
	if err == nil {
		err = b.directory(rel)
	}
	if refused, ok := errors.AsType[*plan.ValidationError](err); ok {
		refused.Field = "/cwd"
	}
	return filepath.Join(b.path, filepath.FromSlash(rel)), err
}

func (in BashExecute) check(b *Box) (rel string, err error) {
	limit := int(b.limits.MaxTimeout / time.Second)
	switch {
	case strings.TrimSpace(in.Command) == "":
		return "", invalid("/command", "is empty", "give a shell command")
	case len(in.Command) > maxCommand:
		return "", invalid("/command", "is too long", fmt.Sprintf("shorten it to at most %d bytes, or write a script with create_file",
			maxCommand))
	case strings.ContainsRune(in.Command, 0) || !utf8.ValidString(in.Command):
		return "", invalid("/command", "has a NUL or is not valid UTF-8", "send plain text")
	case in.Timeout < 0 || in.Timeout > limit:
		return "", invalid("/timeout", "is out of range", fmt.Sprintf("give 1 to %d seconds", limit))
	}
	return "", in.Env.check(runtime.GOOS)
}

// output returns the end of a stream for display. A lone CR, with which programs draw progress, starts a new line.
func (b *Box) output(text string, truncated *bool) string {
	shown := safetext.Escape(strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(safetext.Tail(text, b.limits.OutputBytes)))
	last := safetext.Tail(shown, b.limits.OutputBytes)
	*truncated = *truncated || len(text) > b.limits.OutputBytes || len(last) < len(shown)
	return last
}

// Text is the answer for a model.
func (r BashExecuteReply) Text() string {
	var b strings.Builder
	b.WriteString(r.headline())
	if r.Confined {
		b.WriteString(" Planning mode: its changes were dropped.")
	}
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

// Value is the standard output without newlines at its end, for steps that refer to this one.
func (r BashExecuteReply) Value() any {
	if r.whole == nil {
		return nil
	}
	return r.whole.value()
}

// maxError bounds the output that an error repeats, in bytes.
const maxError = 1_000

// tryAgain is the exit code of a command that may succeed later: EX_TEMPFAIL of sysexits.
const tryAgain = 75

// killed is the exit code of a command killed by SIGKILL.
const killed = 128 + 9

// end fills in the outcome of a command that did not succeed.
func (r BashExecuteReply) end(out *Outcome) {
	out.ExitCode, out.TimedOut, out.Cut = r.ExitCode, r.TimedOut, r.TimedOut || r.Stopped != "" || r.ExitCode == killed
	if out.OK = r.ExitCode == 0 && !out.Cut; out.OK {
		return
	}
	out.Value, out.Transient = nil, r.ExitCode == tryAgain && !out.Cut
	out.Error = r.headline()
	if said := strings.TrimSpace(cmp.Or(strings.TrimSpace(r.Stderr), r.Stdout)); said != "" {
		out.Error += " " + safetext.ExcerptOf(said, maxError)
	}
}

// Runner runs a command for BashExecute. A command that ran is a result, with any exit code (128 plus the signal if one
// ended it, as in shells), and so is one stopped at the time-out. When ctx is done, Run stops the command and returns
// an error that wraps the cause, with the result so far.
type Runner interface {
	Run(ctx context.Context, c Command) (RunResult, error)
}

// Command is one text in the language of a shell.
type Command struct {
	Text           string
	Dir            string   // the absolute path of the workspace
	Env            []string // variables added to those that every command gets, as NAME=value
	Timeout        time.Duration
	Stdout, Stderr io.Writer              // receive the output as it arrives; may be nil
	Started        func(process.Identity) // may be nil
}

// RunResult is the result of a command, with the end of its output.
type RunResult = process.Result

// errEntered is the cause when a command is ended because only reading is allowed from now on.
var errEntered = errors.New("planning mode was entered, in which commands may only read")

// run runs a command. While only reading is allowed, package shell must allow the command, and the system keeps it from writing if it can.
// An unknown command is confined, unless its effects count, as a step's do: then it is refused.
func (b *Box) run(ctx context.Context, c Command, mayConfine bool) (r RunResult, isConfined bool, err error) {
	free, hold, stop, err := b.wall(".").Free(ctx, errEntered)
	if err != nil {
		return RunResult{}, false, err
	}
	defer stop()
	if hold.By == "" {
		r, err = b.options.Runner.Run(free, c)
		return r, false, err
	}
	if len(c.Env) > 0 { // a command is classified by its text only
		return RunResult{}, false, hold.Refuse("/env", "a command gets no variables", "leave env out")
	}
	verdict := shell.Classify(c.Text, b.options.ReadOnlyCommands...)
	switch {
	case verdict.Allowed:
		r, err = b.read(free, c)
		return r, false, err
	case verdict.Changes || !mayConfine || b.options.Launcher == nil:
		return RunResult{}, false, hold.command(verdict)
	}
	if r, err = b.confine(free, c); errors.Is(err, sandbox.ErrNoWall) {
		err = hold.command(verdict)
	}
	return r, true, err
}

// read runs a command that only reads.
func (b *Box) read(ctx context.Context, c Command) (RunResult, error) {
	result, err := shell.Command(ctx, c.Dir, c.Text, shell.RunOptions{Timeout: c.Timeout, Launcher: b.options.Launcher,
		Stdout: c.Stdout, Stderr: c.Stderr, Started: c.Started})
	if errors.Is(err, shell.ErrNoShell) {
		err = conflict("/command", err.Error(), "look with view, glob and grep")
	}
	return result.Result, err
}

// confine runs a command and drops its changes to the workspace.
func (b *Box) confine(ctx context.Context, c Command) (RunResult, error) {
	cmd := process.ShellCommand(c.Text)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = c.Dir, Shell{}.environment(), c.Stdout, c.Stderr
	return sandbox.Run(ctx, b.options.Launcher, sandbox.Options{Dir: c.Dir, Dropped: []string{b.path}}, cmd,
		process.Options{Timeout: c.Timeout, Output: keptOutput, Started: c.Started})
}

// HostCommand refuses a shell command that may do more than read or submit a plan, for an agent's own shell: bash, or else any shell.
// confine is a planloop that runs commands in the sandbox, "" for none. own are the patterns of the user's read_only_commands.
func (h Hold) HostCommand(text string, bash bool, confine string, own ...string) error {
	if !bash {
		return h.command(shell.ClassifyForAnyShell(text))
	}
	return h.command(HostVerdict(text, confine, own...))
}

// HostVerdict classifies a command for an agent's own bash, see Hold.HostCommand.
func HostVerdict(text, confine string, own ...string) shell.Verdict {
	if confine == "" {
		return shell.ClassifyForHost(text, own...)
	}
	verdict := shell.ClassifyForHost(text, append(slices.Clip(own), shell.ConfinedPattern(confine))...)
	if !verdict.Allowed && !verdict.Changes {
		verdict.Instead = cmp.Or(verdict.Instead, shell.Confined(confine, text))
	}
	return verdict
}

func (h Hold) command(verdict shell.Verdict) error {
	if verdict.Allowed {
		return nil
	}
	return h.Refuse("/command", verdict.Reason, verdict.Instead)
}

// Shell is the Runner that runs any command with the user's rights, in bash or else sh; on Windows in cmd. The command
// gets no input, no terminal, and only a short list of our environment variables. Processes that it leaves running are
// killed.
type Shell struct {
	Getenv   func(string) string // nil: os.Getenv
	Launcher *process.Launcher   // nil: one without a program
}

// Run runs a command.
func (s Shell) Run(ctx context.Context, c Command) (RunResult, error) {
	cmd := process.ShellCommand(c.Text)
	cmd.Dir, cmd.Stdout, cmd.Stderr = c.Dir, c.Stdout, c.Stderr
	cmd.Env = slices.Concat(s.environment(), c.Env, []string{"PLANLOOP_AGENT=bash_execute"}) // a planloop it runs acts for an agent
	return cmp.Or(s.Launcher, &process.Launcher{}).Run(ctx, cmd,
		process.Options{Timeout: c.Timeout, Output: keptOutput, Started: c.Started})
}

// keptOutput is how many bytes of each stream are kept, from its end.
const keptOutput = 64 << 10

// passed are the variables that a command sees. Windows and its programs do not run without those in the third line.
const passed = `PATH HOME USER LOGNAME TMPDIR TZ LANG LC_ALL LC_CTYPE LC_COLLATE LC_MESSAGES LC_NUMERIC LC_TIME
	XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_STATE_HOME
	SystemRoot SystemDrive ComSpec PATHEXT TEMP TMP USERNAME USERPROFILE APPDATA LOCALAPPDATA ProgramData ProgramFiles`

// environment returns the part of our environment that a command sees: locations and text settings, by an allow list,
// so that no token or key is passed on. The added variables keep it from drawing on a terminal or asking questions.
func (s Shell) environment() []string {
	getenv := s.Getenv
	if getenv == nil {
		getenv = os.Getenv
	}
	list := []string{"TERM=dumb", "NO_COLOR=1", "PAGER=cat", "GIT_PAGER=cat", "GIT_TERMINAL_PROMPT=0"}
	for name := range strings.FieldsSeq(passed) {
		value := getenv(name)
		if name == "PATH" { // without relative folders, because the workspace could fill them
			dirs := slices.DeleteFunc(filepath.SplitList(value), func(dir string) bool { return !filepath.IsAbs(dir) })
			value = strings.Join(dirs, string(os.PathListSeparator))
		}
		if value != "" {
			list = append(list, name+"="+value)
		}
	}
	return list
}

// Env passes values to a command as variables, so that they do not become part of its text. A string is passed as it
// is, any other value as its JSON.
type Env map[string]json.RawMessage

const (
	maxVariables = 64
	maxEnv       = 96 << 10 // bytes of all of them; systems refuse a variable of 128 KB

	elsewhere = "write it to a file with create_file, and read it there"
)

// check refuses names that are not free for values, and values that cannot be passed.
func (e Env) check(system string) error {
	var all plan.Faults
	length := 0
	for _, name := range slices.Sorted(maps.Keys(e)) {
		value := e.text(name)
		length += len(name) + len(value) + 2
		field := "/env/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(plan.Shorten(name, 60))
		switch {
		case !free(name, system):
			all.Add(invalid(field, plan.Quote(name)+" cannot be the name of a value",
				"choose another, such as FILE or ITEM: letters, digits and _, and none that programs heed, as they do PATH"))
		case strings.ContainsRune(value, 0):
			all.Add(invalid(field, "has a NUL", elsewhere))
		case system == "windows" && strings.ContainsAny(value, "\"&|<>^%!()\r\n"): // cmd.exe expands variables before it parses the command
			all.Add(invalid(field, "has a character that cmd.exe takes for more than text", elsewhere))
		}
	}
	if len(e) > maxVariables || length > maxEnv {
		all.Add(invalid("/env", fmt.Sprintf("has %d variables of %s in all", len(e), size(int64(length))),
			fmt.Sprintf("give at most %d, of %s in all; or %s", maxVariables, size(maxEnv), elsewhere)))
	}
	return all.Err()
}

// free reports whether a variable of this name may have any value. Windows ignores case in names.
func free(name, system string) bool {
	ours := slices.ContainsFunc(strings.Fields(passed), func(other string) bool { return strings.EqualFold(name, other) })
	return shell.FreeName(name) && !ours && (system != "windows" || shell.FreeName(strings.ToUpper(name)))
}

// text is a value as the command reads it.
func (e Env) text(name string) string {
	var text string
	if json.Unmarshal(e[name], &text) == nil && !bytes.Equal(e[name], []byte("null")) {
		return text
	}
	var compact bytes.Buffer
	if json.Compact(&compact, e[name]) != nil {
		return string(e[name])
	}
	return compact.String()
}

func (e Env) list() []string {
	list := make([]string, 0, len(e))
	for _, name := range slices.Sorted(maps.Keys(e)) {
		list = append(list, name+"="+e.text(name))
	}
	return list
}

// log returns a writer for both streams of a command, which write to the log in turns.
func (w Watch) log() io.Writer {
	if w.Log == nil {
		return io.Discard
	}
	return &turns{to: w.Log}
}

// turns is a writer for several goroutines. It ignores errors of the underlying writer.
type turns struct {
	mu sync.Mutex
	to io.Writer
}

func (t *turns) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	_, _ = t.to.Write(data)
	return len(data), nil
}

// whole keeps all data written to it, or nothing once its JSON would be longer than max.
type whole struct {
	max int

	mu     sync.Mutex
	text   []byte
	length int // of its JSON
}

func (w *whole) Write(data []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range data {
		switch {
		case strings.IndexByte("\b\f\n\r\t\"\\", c) >= 0:
			w.length += 2
		case c < ' ':
			w.length += 6
		default:
			w.length++
		}
	}
	if w.length > w.max {
		w.text = nil
		return len(data), nil
	}
	if n := len(w.text) + len(data); n > cap(w.text) { // in few large steps, to leave little garbage
		w.text = append(make([]byte, 0, min(max(4*cap(w.text), n), w.max)), w.text...)
	}
	w.text = append(w.text, data...)
	return len(data), nil
}

// value returns the text as JSON, or the reason for not having it.
func (w *whole) value() any {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.length > w.max {
		return noValue{"its output is longer than " + size(int64(w.max)), true}
	}
	quoted, err := jsontext.AppendQuote(make([]byte, 0, w.length+len(`""`)), bytes.TrimRight(w.text, "\r\n"))
	if err != nil {
		return noValue{text: "its output is not UTF-8 text"}
	}
	return json.RawMessage(quoted)
}
