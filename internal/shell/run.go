package shell

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/sandbox"
	"github.com/planloop/planloop/internal/worktree"
)

// tempFolder is inside the command's own folder; it is the only one that the command may write into.
const tempFolder = "tmp"

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
// its children with it. It does not classify the text: callers ask Classify first. The error reports why the command could
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
	limits := process.Options{Timeout: cmp.Or(o.Timeout, time.Minute), Output: cmp.Or(o.MaxOutput, 64<<10), Started: o.Started}
	arguments := []string{"--noprofile", "--norc", "-c", command}
	cmd := exec.Command(bash, arguments...)
	confined := sandbox.Has(sandbox.Landlock) // starts faster than namespaces, and a reading command needs no more
	if confined {
		places := sandbox.Options{Dir: dir, Private: filepath.Join(own, tempFolder), Walls: []sandbox.Wall{sandbox.Landlock}}
		if cmd, err = sandbox.Command(o.Launcher.Program, places, bash, arguments...); err != nil {
			return Result{}, err
		}
	}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, environment, o.Stdout, o.Stderr
	result, err := o.Launcher.Run(ctx, cmd, limits)
	return Result{result, confined}, err
}

// surroundings sets up the command's own folder and returns its environment, a short list: paths, home and language, no
// secrets.
func surroundings(dir, own, launcher string) ([]string, error) {
	temp, programs := filepath.Join(own, tempFolder), filepath.Join(own, "bin")
	if err := errors.Join(os.Mkdir(temp, 0o700), installGit(programs, launcher)); err != nil {
		return nil, err
	}
	list := []string{
		"PATH=" + programs + string(os.PathListSeparator) + process.SearchPath, "PWD=" + dir, "TMPDIR=" + temp,
		"TERM=dumb", "PAGER=cat", "MANPAGER=cat", "LESSSECURE=1", "NO_COLOR=1",
		"GOFLAGS=-mod=readonly -buildvcs=false", "GOTOOLCHAIN=local", "GOPROXY=off", "GOVCS=*:off", "GOENV=off",
		"GOCACHE=" + filepath.Join(temp, "go-build"), "GOWORK=", "CGO_ENABLED=0",
		"XDG_CONFIG_HOME=" + ownConfiguration(own),
	}
	for _, name := range []string{"HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "SYSTEMROOT"} {
		value, ok := os.LookupEnv(name)
		if locale := name == "LANG" || strings.HasPrefix(name, "LC_"); ok && (!locale || knownLocale().MatchString(value)) {
			list = append(list, name+"="+value)
		}
	}
	return slices.Concat(list, worktree.SafeEnvironment(), process.NotFromHere(), []string{"GIT_EXEC_PATH=" + programs}), nil
}

// ownConfiguration creates a configuration folder that holds only git's configuration of the user. Its telemetry file
// makes Go record and start nothing: no environment variable does that.
func ownConfiguration(own string) string {
	folder := filepath.Join(own, "config")
	telemetry := filepath.Join(folder, "go", "telemetry")
	if user, err := os.UserConfigDir(); err == nil && os.MkdirAll(telemetry, 0o700) == nil {
		_ = os.Symlink(filepath.Join(user, "git"), filepath.Join(folder, "git"))
		_ = os.WriteFile(filepath.Join(telemetry, "mode"), []byte("off\n"), 0o600)
	}
	return folder
}

// gitName is the value of argv[0] that makes the launcher the git that a confined command calls.
const gitName = "git"

// Confine runs the process as a part of the sandbox, or as the git within, if a command of this package started it as such; it does not
// return then. A program that serves as launcher calls it first in main.
func Confine() {
	sandbox.Main()
	if strings.TrimSuffix(filepath.Base(os.Args[0]), ".exe") == gitName {
		code, err := runGit(os.Args[1:])
		if err != nil {
			fmt.Fprintf(os.Stderr, "planloop: git: %v\n", err)
		}
		os.Exit(code)
	}
}
