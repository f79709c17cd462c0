package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/planloop/planloop/internal/process"
)

const (
	defaultTimeout   = time.Minute
	defaultMaxOutput = 64 << 10

	tempFolder, programFolder = "tmp", "bin" // inside the command's own folder; it may write into the first
)

// ErrNoShell is returned if bash is not found.
var ErrNoShell = errors.New("bash was not found, which runs commands that only read: searched in /bin, /usr/bin " +
	"or /usr/local/bin, nor, on Windows, beside git")

// RunOptions are the limits and the launcher of a Command. Zero limits mean the defaults.
type RunOptions struct {
	Timeout   time.Duration // 0 means a minute
	MaxOutput int           // bytes kept from the end of each stream; 0 means 64 KB
	// Launcher's program must call Confine in its main: it keeps git from running programs that a repository names and,
	// if the system can, the command from writing files and from connecting.
	Launcher *process.Launcher

	Stdout, Stderr io.Writer              // receive the output as it arrives; may be nil
	Started        func(process.Identity) // may be nil
}

// Result is the outcome of a command.
type Result struct {
	process.Result
	Confined bool // the system kept it from writing
}

// Command runs a text with bash in dir: with a fixed PATH, a narrow environment, no input and bounded output, and ends
// its children with it. It does not judge the text: callers ask Classify first. The error reports why the command could
// not run, or that ctx was cancelled; a failed command is reported in the result.
func Command(ctx context.Context, dir, command string, o RunOptions) (Result, error) {
	bash, err := process.Look("bash")
	if err != nil {
		return Result{}, ErrNoShell
	}
	if o.Launcher == nil || o.Launcher.Program == "" {
		return Result{}, errors.New("no program is set to confine commands that only read")
	}
	own, err := os.MkdirTemp("", "planloop-")
	if err != nil {
		return Result{}, fmt.Errorf("make a folder for temporary files: %w", err)
	}
	defer func() { _ = os.RemoveAll(own) }()
	environment, err := surroundings(dir, own, o.Launcher.Program)
	if err != nil {
		return Result{}, fmt.Errorf("make a folder for temporary files: %w", err)
	}
	limits := process.Options{Timeout: cmp.Or(o.Timeout, defaultTimeout), Output: cmp.Or(o.MaxOutput, defaultMaxOutput), Started: o.Started}
	cmd, confined := confinedCommand(o.Launcher.Program, filepath.Join(own, tempFolder), bash, "--noprofile", "--norc", "-c", command)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, environment, o.Stdout, o.Stderr
	result, err := o.Launcher.Run(ctx, cmd, limits)
	return Result{result, confined}, err
}
