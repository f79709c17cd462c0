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

	tempFolder, programFolder = "tmp", "bin" // of the folder that is a command's own; it may write into the first
)

// ErrNoShell is returned when no bash is found where one is looked for.
var ErrNoShell = errors.New("no bash was found, which runs commands that only read: there is none in /bin, /usr/bin " +
	"or /usr/local/bin, nor, on Windows, beside git")

// RunOptions are the limits of Command, of which zero is the usual one, and what starts it.
type RunOptions struct {
	Timeout   time.Duration // a minute if 0
	MaxOutput int           // bytes kept of each stream, its end; 64 KB if 0
	// Launcher's program calls Confine in its main as well: it keeps git from running
	// what a repository names, and, where the system can, the command from writing files
	// and from connecting.
	Launcher *process.Launcher

	Stdout, Stderr io.Writer              // get what the command prints as it comes; may be nil
	Started        func(process.Identity) // may be nil
}

// Result is what a command did.
type Result struct {
	process.Result
	Confined bool // the system kept it from writing
}

// Command runs a text with bash in dir: with a fixed PATH, a narrow environment,
// no input, bounded output, and its children ended with it. It does not judge the
// text: whoever calls asks Classify first. The error is about what kept the
// command from running or the context that was cancelled; that it failed is in
// the result.
func Command(ctx context.Context, dir, command string, o RunOptions) (Result, error) {
	bash, err := process.Look("bash")
	if err != nil {
		return Result{}, ErrNoShell
	}
	if o.Launcher == nil || o.Launcher.Program == "" {
		return Result{}, errors.New("a command that only reads is started by a program that confines it, and there is none")
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
