// Package sandbox runs a command so that nothing it does lasts: it may read every file, but its changes are dropped, it reaches no network,
// gains no privileges and cannot signal other processes. It knows two walls of the Linux kernel, and does not classify commands. The
// Launcher of package process starts it, and ends what it leaves running.
package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"

	"github.com/planloop/planloop/internal/process"
)

// Wall is the part of the system that confines a command.
type Wall string

// The walls, best first.
const (
	// Namespaces: everything is read-only, changes below Options.Dropped go to memory, and /tmp and the loopback network are private.
	Namespaces Wall = "namespaces"
	// Landlock: only Options.Private can be written, and sockets are refused.
	Landlock Wall = "landlock"
)

// Walls lists all walls, best first.
func Walls() []Wall { return []Wall{Namespaces, Landlock} }

// ErrNoWall is returned where this system can build no wall.
var ErrNoWall = errors.New("this system has nothing to confine a command with: it needs Linux with user namespaces or Landlock")

// Options are the places of a confined command. All paths are absolute and clean.
type Options struct {
	Dir     string   // working directory
	Private string   // an empty folder that the command may write into
	Dropped []string // existing folders in which the command may write, if the wall can drop its changes
	Walls   []Wall   // the walls to try, in order; nil means all
}

// job is the first argument of the sandbox's processes, as JSON.
type job struct {
	Options
	Port int // of the launcher's machine; a connection to it must fail
}

// Names of the sandbox's processes, as argv[0].
const (
	outsideName = "planloop-confine"  // builds the wall and waits for the command
	insideName  = "planloop-confined" // the first process within the wall
)

// Failed is the exit code if the wall could not be built. The reason is on standard error, and the command was not started.
const Failed = 126

// Command returns a command that runs program inside a wall. Launcher is a program that calls Main first in its main.
func Command(launcher string, o Options, program string, args ...string) (*exec.Cmd, error) {
	if o.Walls == nil {
		o.Walls = Walls()
	}
	for _, path := range slices.Concat([]string{o.Dir, o.Private}, o.Dropped) {
		if info, err := os.Stat(path); err != nil || !info.IsDir() {
			return nil, fmt.Errorf("confine %s: %s is not a folder", program, path)
		}
	}
	text, err := json.Marshal(job{Options: o})
	if err != nil {
		return nil, fmt.Errorf("confine %s: %w", program, err)
	}
	cmd := exec.Command(launcher)
	cmd.Args = append([]string{outsideName, string(text), program}, args...)
	cmd.Dir = o.Dir
	return cmd, nil
}

// Main acts as a process of the sandbox, if this process was started as one, and does not return then.
func Main() {
	if len(os.Args) < 3 || os.Args[0] != outsideName && os.Args[0] != insideName {
		return
	}
	var j job
	err := json.Unmarshal([]byte(os.Args[1]), &j)
	code := Failed
	if err == nil && os.Args[0] == outsideName {
		code, err = outside(j, os.Args[2:])
	} else if err == nil {
		code, err = inside(j, os.Args[2:])
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "planloop confine: %v\n", err)
	}
	os.Exit(code)
}

// Run runs a command in the options' folder, within a wall, until it and all that it started have ended. Its folder for temporary files is
// a new one, and the changes to the user's caches are dropped, too. The error wraps ErrNoWall, or says why the command was stopped. A wall
// that cannot be built after all is a result with the exit code Failed.
func Run(ctx context.Context, launcher *process.Launcher, o Options, command *exec.Cmd, limits process.Options) (process.Result, error) {
	if !slices.ContainsFunc(Walls(), Has) {
		return process.Result{}, ErrNoWall
	}
	own, err := os.MkdirTemp("", "planloop-")
	if err != nil {
		return process.Result{}, fmt.Errorf("make a folder for temporary files: %w", err)
	}
	defer remove(own)
	if o.Private, err = filepath.EvalSymlinks(own); err != nil {
		return process.Result{}, err
	}
	if cache, err := os.UserCacheDir(); err == nil {
		if cache, err = filepath.EvalSymlinks(cache); err == nil {
			o.Dropped = append(o.Dropped, cache)
		}
	}
	confined, err := Command(launcher.Program, o, command.Args[0], command.Args[1:]...)
	if err != nil {
		return process.Result{}, err
	}
	confined.Env = append(command.Environ(), "TMPDIR="+o.Private)
	confined.Stdout, confined.Stderr = command.Stdout, command.Stderr
	return launcher.Run(ctx, confined, limits)
}

// remove removes a folder in which a command may have left folders that cannot be read or written.
func remove(folder string) {
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, _ error) error {
		if entry != nil && entry.IsDir() {
			_ = os.Chmod(path, 0o700) // before its entries are read
		}
		return nil
	})
	_ = os.RemoveAll(folder)
}
