// Package engine carries out the steps of a plan that planloop runs itself. It is thin: what may
// be started, what a result leads to and why a run is over is decided by plan. An engine finds out
// what the steps refer to, starts their tools, waits, and records what came of them, together with
// what starts next, in one record.
//
// It must not know who asked for the run, how it is shown, or where the log is kept.
//
// A run has one goroutine, that of Run: it alone decides, records, and owns what is kept in memory.
// Each step that is carried out has a goroutine of its own, which ends with its tool, and tells its
// result over a channel that has room for all. Before Run returns, all of them have ended.
//
// Whatever happens to the process, the log tells what was started: a result that was not recorded is
// one that nobody knows. Another engine, or the next run, ends what was left running and takes the
// step up: it is run again if it is safe to be repeated, else somebody is asked.
package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// Options configures an Engine. The zero value of a field means its default.
type Options struct {
	StateDir string       // where files of running steps are kept; "": nowhere
	Parallel int          // steps at a time; default 4
	Logger   *slog.Logger // nil: discards

	// Files lists the files that a pattern matches, sorted, or says that they are more than so many;
	// nil: there are no files.
	Files func(ctx context.Context, pattern string, most int) ([]string, error)

	Workspace string // the directory of the workspace, which agents that are started are told
	Agents    Agents // nil: none is started
	// Prompt is what an agent is told that is started for a step of a state.
	Prompt func(context.Context, plan.State, plan.StepID, Order) string
}

const defaultParallel = 4

// Presence keeps signs of life: see presence.Book.
type Presence interface {
	Join(name string) (leave func())
	Seen(name string) plan.Sighting
}

// Engine carries out steps of one workspace. Its methods may be called from several goroutines;
// each Run is an actor of its own.
type Engine struct {
	session  *session.Session
	tools    *toolbox.Registry
	presence Presence
	opts     Options
}

// New returns an engine on a session, with the tools that its steps may name.
func New(s *session.Session, tools *toolbox.Registry, presence Presence, opts Options) *Engine {
	opts.Parallel = cmp.Or(opts.Parallel, defaultParallel)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	return &Engine{session: s, tools: tools, presence: presence, opts: opts}
}

// RunOptions say how an engine takes part in a run.
type RunOptions struct {
	Parallel int                         // steps at a time; 0: that of the engine
	Wait     bool                        // for people and agents, rather than leave
	Drain    <-chan struct{}             // closed: nothing new is started, and what runs ends; may be nil
	Begin    func(context.Context) error // has the run begin, or go on, once the engine is known to take part
	Listener Listener                    // may be nil

	Starts int           // of agents, that this engine may make; 0: any number
	For    time.Duration // after which it starts nothing more; 0: for ever
}

// Listener hears how a run goes, from one goroutine, which waits for it.
type Listener interface {
	// Recorded tells of a change, by whichever process, and of the state after it or a later one.
	Recorded(state plan.State, record plan.Record)
	// Progress tells how far a step of this engine has come.
	Progress(step plan.StepID, percent int, what string)
}

// Run takes part in the run until there is nothing more to do in it for this engine, and says why.
// When ctx ends, what it runs is ended too, and recorded as interrupted.
func (e *Engine) Run(ctx context.Context, o RunOptions) (plan.Over, error) {
	name := "engine#" + strings.ToLower(rand.Text()[:8])
	leave := e.presence.Join(name)
	defer leave()
	retire, err := e.enlist(name)
	if err != nil {
		return "", err
	}
	defer func() { retire() }()
	if o.Begin != nil {
		if err := o.Begin(ctx); err != nil {
			return "", err
		}
	}
	r := &run{
		RunOptions: o, actor: plan.NewActor(plan.ViaEngine, name), records: context.WithoutCancel(ctx),
		resolver: newResolver(e, o.Starts), carried: map[plan.StepID]plan.Attempt{}, waits: map[plan.Attempt]time.Time{},
		assigned: map[plan.StepID]assigned{},
	}
	if o.For > 0 {
		r.until = time.Now().Add(o.For)
	}
	r.Parallel = cmp.Or(o.Parallel, e.opts.Parallel)
	r.results = make(chan plan.Finished, r.Parallel)
	r.progress = make(chan progress, r.Parallel)
	for {
		over, err := r.loop(ctx)
		if err != nil {
			return over, err
		}
		if err := r.leave(ctx, retire, over); !errors.Is(err, errGoesOn) {
			return over, err
		}
		again, err := e.enlist(name)
		if err != nil {
			return over, err
		}
		retire = again
	}
}
