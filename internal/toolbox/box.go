// Package toolbox holds the tools that a model needs to work in a workspace, for
// hosts that have none of their own and for the steps of a plan that planloop
// runs itself: view, glob, grep, create_file, str_replace and bash_execute. Each
// is a method of a Box from one struct to another; the output's JSON and its Text
// each are the whole answer.
//
// Files are reached through os.Root alone: no name, link or race leads out of the
// workspace. Whatever is shown is bounded in lines and bytes and says so when it
// was cut, and its control characters are escaped. Commands are run by a Runner,
// which is where a policy has its place.
//
// The package must not know plans, phases, approval, protocols or hosts: who may
// call what, and when, is decided by those who call it.
package toolbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/tree"
)

// Options configures a Box. The zero value is usable.
type Options struct {
	Runner Runner // runs commands; nil: Shell{}, which runs any
	Limits Limits
	Guard  Guard // nil: writing is allowed everywhere

	// Changed receives after what Guard says may have changed, until ctx ends: a command
	// that is not to go on is ended then. nil: commands run to their end.
	Changed func(ctx context.Context) (<-chan struct{}, error)

	// Others lists the tools of other servers, as they are now, which steps may name as well; nil:
	// none. A name that is taken here is not theirs.
	Others func() []Tool

	// Launcher is what starts commands; its program calls shell.Confine in its main as well.
	// nil: one without a program. What leaves the session of its command then lives on, and
	// commands that only read are run with a narrow environment alone.
	Launcher *process.Launcher
}

// Box is the tools on one workspace. All methods may be called from several
// goroutines.
type Box struct {
	root    *os.Root
	files   *tree.Tree // what root holds
	path    string     // where commands run: absolute, without links
	names   []string   // how an absolute path may begin to be taken as one inside
	options Options
	limits  Limits
	tools   *Registry
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
	if opts.Launcher == nil {
		opts.Launcher = &process.Launcher{}
	}
	if opts.Runner == nil {
		opts.Runner = Shell{Launcher: opts.Launcher}
	}
	b := &Box{root: dir, files: tree.In(dir), path: real, names: []string{real, given}, options: opts,
		limits: opts.Limits.orDefault()}
	if b.tools, err = b.registry(); err != nil {
		return nil, errors.Join(err, dir.Close())
	}
	return b, nil
}

// Close frees the workspace. Calls that run end with an error.
func (b *Box) Close() error { return b.root.Close() }

// Path is the workspace's directory, absolute and without links.
func (b *Box) Path() string { return b.path }

// Limits bounds what a call takes and gives. A field that is zero has its default.
type Limits struct {
	PageLines int // lines or directory entries that view shows at once: 400
	PageBytes int // bytes that view, glob or grep shows at once: 32 KB
	LineBytes int // bytes of a line that view or grep shows: 2,000 and a fifth of it

	FileBytes   int64         // the largest file that is read whole or written: 2 MB
	Matches     int           // paths of glob, and lines of grep that asks for more: 1,000
	Entries     int           // files and directories that a search looks at: 200,000
	SearchBytes int64         // bytes that grep reads: 512 MB
	SearchTime  time.Duration // time that view, glob and grep take: 15 s

	OutputBytes int           // bytes of each stream of a command, its end: 16 KB
	Timeout     time.Duration // of a command that asks for none: 1 min
	MaxTimeout  time.Duration // that a command may ask for: 10 min
}

const (
	firstMatches = 100    // lines that grep gives when not asked for more
	maxPattern   = 1_000  // bytes of a pattern
	maxCommand   = 32_000 // bytes of a command; systems refuse arguments of 128 KB
)

func (l Limits) orDefault() Limits {
	l.PageLines = cmp.Or(l.PageLines, 400)
	l.PageBytes = cmp.Or(l.PageBytes, 32<<10)
	l.LineBytes = cmp.Or(l.LineBytes, 2_000)
	l.FileBytes = cmp.Or(l.FileBytes, 2<<20)
	l.Matches = cmp.Or(l.Matches, 1_000)
	l.Entries = cmp.Or(l.Entries, 200_000)
	l.SearchBytes = cmp.Or(l.SearchBytes, 512<<20)
	l.SearchTime = cmp.Or(l.SearchTime, 15*time.Second)
	l.OutputBytes = cmp.Or(l.OutputBytes, 16<<10)
	l.Timeout = cmp.Or(l.Timeout, time.Minute)
	l.MaxTimeout = cmp.Or(l.MaxTimeout, 10*time.Minute)
	return l
}

// mayWrite refuses to change a file where only reading is allowed.
func (b *Box) mayWrite(ctx context.Context, rel string) error {
	hold, err := b.wall(rel).held(ctx)
	if err != nil || hold.By == "" {
		return err
	}
	return conflict("", hold.By+" is on, and no file is changed until a plan is approved", hold.Fix)
}
