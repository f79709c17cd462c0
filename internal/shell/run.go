package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/planloop/planloop/internal/process"
)

const (
	defaultTimeout   = time.Minute
	defaultMaxOutput = 64 << 10
	graceAfterExit   = 2 * time.Second // for output of children that outlive a question to git
)

// ErrNoShell is returned when no bash is found where one is looked for.
var ErrNoShell = errors.New("bash was not found in /bin, /usr/bin or /usr/local/bin; install it to run commands")

// RunOptions are the limits of Command. The zero value has the usual ones.
type RunOptions struct {
	Timeout   time.Duration // a minute if 0
	MaxOutput int           // bytes kept of each stream, its end; 64 KB if 0
	// Launcher's program calls Confine in its main as well. With it, and where the
	// system can, the command is kept from writing files and from connecting. Without
	// it, nil, only the environment is narrow.
	Launcher *process.Launcher
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
	bash, err := lookProgram("bash")
	if err != nil {
		return Result{}, ErrNoShell
	}
	temp, err := os.MkdirTemp("", "planloop-")
	if err != nil {
		return Result{}, fmt.Errorf("make a folder for temporary files: %w", err)
	}
	defer func() { _ = os.RemoveAll(temp) }()

	if o.Launcher == nil {
		o.Launcher = &process.Launcher{}
	}
	limits := process.Limits{Timeout: cmp.Or(o.Timeout, defaultTimeout), Output: cmp.Or(o.MaxOutput, defaultMaxOutput)}
	environment := baseEnvironment(dir, temp)
	asking, cancel := context.WithTimeout(ctx, limits.Timeout)
	defer cancel()
	environment = append(environment, gitEnvironment(asking, dir, environment)...)
	cmd, confined := confinedCommand(o.Launcher.Program, temp, bash, "--noprofile", "--norc", "-c", command)
	cmd.Dir, cmd.Env = dir, append(environment, cmd.Env...)
	result, err := o.Launcher.Run(ctx, cmd, limits)
	return Result{result, confined}, err
}
