package toolbox

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"

	"github.com/planloop/planloop/internal/tree"
)

// Options configures a Box. The zero value is usable.
type Options struct {
	Runner Runner // runs commands; nil: Shell{}, which runs any
	Limits Limits
	Guard  Guard // nil: writing is always allowed

	// Launcher is a program that can confine a command which only reads; see
	// shell.RunOptions. Empty: such commands are run with a narrow environment alone.
	Launcher string
}

// Box is the tools on one workspace. All methods may be called from several
// goroutines.
type Box struct {
	root   *os.Root
	files  *tree.Tree // what root holds
	path   string     // where commands run: absolute, without links
	names  []string   // how an absolute path may begin to be taken as one inside
	runner Runner
	limits Limits

	guard    Guard
	launcher string

	writing sync.Mutex // held from reading a file to replacing it
}

// Open returns the tools on the directory root. Close frees it.
func Open(root string, opts Options) (*Box, error) {
	given, err := filepath.Abs(root)
	if err != nil {
		return nil, fmt.Errorf("find the workspace %s: %w", root, err)
	}
	real, err := filepath.EvalSymlinks(given)
	if err != nil {
		return nil, fmt.Errorf("find the workspace: %w", err)
	}
	dir, err := os.OpenRoot(real)
	if err != nil {
		return nil, fmt.Errorf("open the workspace: %w", err)
	}
	if opts.Runner == nil {
		opts.Runner = Shell{}
	}
	return &Box{root: dir, files: tree.In(dir), path: real, names: []string{real, given}, runner: opts.Runner, limits: opts.Limits.orDefault(),
		guard: opts.Guard, launcher: opts.Launcher}, nil
}

// Close frees the workspace. Calls that run end with an error.
func (b *Box) Close() error { return b.root.Close() }

// Path is the workspace's directory, absolute and without links.
func (b *Box) Path() string { return b.path }
