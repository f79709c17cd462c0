// Package toolbox holds the tools a model needs to work in a workspace, for hosts without their own and for the steps
// of a plan that planloop runs itself: view, glob, grep, create_file, str_replace and bash_execute. Each is a method of
// a Box from one struct to another; the output's JSON and its Text are each the whole answer.
//
// Files are reached only through os.Root: no name, link or race leads out of the workspace. All output is bounded in
// lines and bytes, says so if it was cut, and has its control characters escaped. A Runner runs the commands; it is the
// place for a policy.
//
// The package must not know plans, phases, approval, protocols or hosts: its callers decide which calls are allowed,
// and when.
package toolbox

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/tree"
	"github.com/planloop/planloop/plan"
)

// Options configures a Box. The zero value is usable.
type Options struct {
	Runner Runner // runs commands; nil: Shell{}, which runs any
	Limits Limits
	Guard  Guard // nil: writing is allowed everywhere

	// ReadOnlyCommands are the user's patterns of commands that only read.
	ReadOnlyCommands []string

	// Changed returns a channel that receives, until ctx ends, whenever Guard's answer may have changed. A running
	// command that may not run any more is then ended. nil: commands run to their end.
	Changed func(ctx context.Context) (<-chan struct{}, error)

	// Others lists the current tools of other servers, which steps may name too; nil: no others. Names of the
	// workspace's own tools take precedence.
	Others func() []Tool

	// Launcher starts commands; its program must call shell.Confine in its main. nil: a launcher without a program.
	// Processes that leave their command's session then live on, and read-only commands cannot run.
	Launcher *process.Launcher
}

// Box holds the tools on one workspace. Its methods may be called from several goroutines.
type Box struct {
	root    *os.Root
	files   *tree.Tree // the files in root
	path    string     // where commands run: absolute, without links
	names   []string   // prefixes by which an absolute path is recognized as inside
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
	opts.Launcher = cmp.Or(opts.Launcher, &process.Launcher{})
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

// Close frees the workspace. Running calls end with an error.
func (b *Box) Close() error { return b.root.Close() }

// Path is the workspace's directory, absolute and without links.
func (b *Box) Path() string { return b.path }

// Limits bounds the input and output of calls. A zero field has its default, given here.
type Limits struct {
	PageLines int // lines or directory entries per page of view: 400
	PageBytes int // bytes per page of view, glob or grep: 32 KB
	LineBytes int // bytes shown of a line: 2,000 in view, a fifth of it in grep

	FileBytes   int64         // the largest file that is read whole or written: 2 MB
	Matches     int           // paths that glob lists, and the most lines that grep may be asked for: 1,000
	Entries     int           // files and directories that a search visits: 200,000
	SearchBytes int64         // bytes that grep reads: 512 MB
	SearchTime  time.Duration // time that view, glob and grep take: 15 s

	OutputBytes int           // bytes of each stream of a command, from its end: 16 KB
	Timeout     time.Duration // of a command without a time-out of its own: 1 min
	StepTimeout time.Duration // the same for a command of a step: 1 h
	MaxTimeout  time.Duration // the longest time-out of a command: 10 min
}

const (
	firstMatches = 100    // lines that grep lists by default
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
	l.StepTimeout = cmp.Or(l.StepTimeout, time.Hour)
	l.MaxTimeout = cmp.Or(l.MaxTimeout, 10*time.Minute)
	return l
}

// Guard returns the reason why only reading is allowed now at path, or anywhere below it. path is absolute (chorus:
// Context Gathering Phase). An error means that the answer is unknown, and does not permit writing.
type Guard func(ctx context.Context, path string) (Hold, error)

// PlanningMode is Hold.By for the workspace's own planning mode.
const PlanningMode = "planning mode"

// ServerAway is Hold.By for a track of a team with its server out of reach.
const ServerAway = "the team's server is out of reach"

// Hold is the reason why only reading is allowed. The zero value means that writing is allowed.
type Hold struct {
	By string // planning mode, and its owner
}

// Refuse returns the refusal of something under the hold: the reason, and a replacement that serves the same need, if there is one. Every
// refusal ends alike.
func (h Hold) Refuse(field, reason, instead string) error {
	if h.By == ServerAway {
		return plan.Refuse(plan.Conflict, field, h.By+", and the team allows no changes until it answers",
			"tell the user, and try again later")
	}
	if h.By != PlanningMode {
		reason += " (" + h.By + ")"
	}
	if instead != "" {
		reason += "; instead: " + instead
	}
	return plan.Refuse(plan.Conflict, field, reason, plan.ReadOnly)
}

// Wall enforces read-only access at a path and below it.
type Wall struct {
	Path  string
	Guard Guard // nil: writing is allowed everywhere

	// Changed sends after Guard's answer may have changed, until ctx ends; nil: it never changes.
	Changed func(ctx context.Context) (<-chan struct{}, error)
}

func (b *Box) wall(rel string) Wall {
	return Wall{filepath.Join(b.path, filepath.FromSlash(rel)), b.options.Guard, b.options.Changed}
}

func (w Wall) hold(ctx context.Context) (Hold, error) {
	if w.Guard == nil {
		return Hold{}, nil
	}
	hold, err := w.Guard(ctx, w.Path)
	if err != nil {
		return hold, fmt.Errorf("ask whether only reading is allowed: %w", err)
	}
	return hold, nil
}

// Free returns the reason why only reading is allowed now, if any. Otherwise the returned context ends with cause as
// soon as only reading is allowed. stop ends the goroutine that watches for this.
func (w Wall) Free(ctx context.Context, cause error) (free context.Context, hold Hold, stop func(), err error) {
	free, cancel := context.WithCancelCause(ctx)
	stop = func() { cancel(context.Canceled) }
	if w.Changed != nil {
		changes, err := w.Changed(free)
		if err != nil {
			stop()
			return nil, Hold{}, nil, fmt.Errorf("hear when only reading is allowed: %w", err)
		}
		go func() {
			for range changes {
				if hold, err := w.hold(free); hold.By != "" || err != nil {
					cancel(cause)
				}
			}
		}()
	}
	if hold, err = w.hold(ctx); err != nil { // after subscribing, so that no change is missed
		stop()
		return nil, Hold{}, nil, err
	}
	return free, hold, stop, nil
}

// Listed reports whether one of the names of another server's tool matches a list of reading tools, in which * matches
// any text.
func Listed(patterns []string, names ...string) bool {
	flat := strings.NewReplacer("/", "\x00") // path.Match treats / as a border
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		return slices.ContainsFunc(names, func(name string) bool {
			ok, err := path.Match(flat.Replace(pattern), flat.Replace(name))
			return err == nil && ok
		})
	})
}
