// Package engine carries out the steps of a plan that planloop runs itself. It is thin: package plan decides which
// steps may start, how results change the plan, and why a run is over. An engine resolves the references of steps,
// starts their tools, waits, and records their results together with the next starts in one record.
//
// It must not know who asked for the run, how it is shown, or where the log is kept.
//
// A run has one goroutine, that of Run: it alone decides, records, and owns the state in memory. Each step has a
// goroutine of its own that ends with its tool and sends its result over a channel with room for all results. All of
// them end before Run returns.
//
// The log has every start, even if the process dies: a started attempt without a recorded result is unknown. Another
// engine, or the next run, ends the leftover processes and settles the step: it runs again if it is safe to repeat,
// else planloop asks a person or an agent.
package engine

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
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
	StateDir string       // folder for the files of running steps; "": none are kept
	Shared   string       // folder of the workspace's locks, of agents and of steps; "": StateDir
	Parallel int          // steps at a time; default 4
	Logger   *slog.Logger // nil: discards

	// Files returns the sorted files that a pattern matches, or an error if they are more than limit; nil: there are no
	// files.
	Files func(ctx context.Context, pattern string, limit int) ([]string, error)

	Actor func(plan.Actor) plan.Actor // names this engine as its team does; nil: by its own name

	Notice func(after plan.State, events []plan.Event) // gets the events that this engine records; may be nil

	Workspace string       // directory of the workspace; "" if there is none
	Track     string       // of the workspace
	Agents    AgentStarter // nil: agents are not started
	// Prompt returns the prompt for an agent that is started for a step of a state.
	Prompt func(context.Context, plan.State, plan.StepID, WorkOrder) string
}

const defaultParallel = 4

// Presence tracks which actors are alive: see presence.Registry.
type Presence interface {
	Join(name string) (leave func())
	Seen(name string) plan.Sighting
}

// Engine carries out steps of one workspace. Its methods may be called concurrently; each Run is an actor of its own.
type Engine struct {
	session  *session.Session
	tools    *toolbox.Registry
	presence Presence
	opts     Options
}

// New returns an engine on a session, with the tools for its steps.
func New(s *session.Session, tools *toolbox.Registry, presence Presence, opts Options) *Engine {
	opts.Parallel = cmp.Or(opts.Parallel, defaultParallel)
	opts.Logger = cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))
	return &Engine{session: s, tools: tools, presence: presence, opts: opts}
}

// RunOptions configure an engine's part in a run.
type RunOptions struct {
	Parallel int                         // steps at a time; 0: the engine's default
	Wait     bool                        // wait for people and agents instead of leaving
	Drain    <-chan struct{}             // closed: no new steps start, running ones end; may be nil
	Begin    func(context.Context) error // begins or resumes the run, called once the engine is announced
	Listener Listener                    // may be nil

	// OnWait is called whenever this engine runs nothing and is not done, at least once a minute: with the reason it waits for a person
	// or an agent, or "" if it waits for other engines or a retry. It may be nil.
	OnWait func(plan.State, plan.StopReason)

	Starts int           // most agent starts by this engine; 0: unlimited
	For    time.Duration // time after which no new steps start; 0: unlimited
	Only   []plan.StepID // steps to carry out, with the instances of loops; nil: all
}

// Listener receives the events of a run, from one goroutine, which waits for it.
type Listener interface {
	// Recorded reports a change by any process, and the state after it or a later one.
	Recorded(state plan.State, record plan.Record)
	// Progress reports the progress of a step of this engine.
	Progress(step plan.StepID, percent int, what string)
}

// Run takes part in the run until this engine has nothing left to do in it, and returns the reason. When ctx ends,
// running steps are ended, and recorded as interrupted.
func (e *Engine) Run(ctx context.Context, o RunOptions) (plan.StopReason, error) {
	name := plan.EnginePrefix + strings.ToLower(rand.Text()[:8])
	leave := e.presence.Join(name)
	defer leave()
	r := &run{
		Engine: e, RunOptions: o, name: name, actor: e.actor(name), records: context.WithoutCancel(ctx),
		running: map[plan.StepID]runningAttempt{}, retryAt: map[plan.Attempt]time.Time{},
		locks: map[string]stepLock{}, values: map[string]json.RawMessage{}, files: map[plan.StepID]fileList{},
		selected: map[plan.StepID]bool{},
	}
	for _, id := range o.Only {
		r.selected[id] = true
	}
	if o.For > 0 {
		r.deadline = time.Now().Add(o.For)
	}
	r.Parallel = cmp.Or(o.Parallel, e.opts.Parallel)
	r.results = make(chan plan.AttemptResult, r.Parallel)
	r.progress = make(chan progress, r.Parallel)
	for {
		if over, err := r.takePart(ctx); !errors.Is(err, errMoreToDo) {
			return over, err
		}
	}
}

// actor returns the actor of an engine with a name of this machine.
func (e *Engine) actor(name string) plan.Actor {
	actor := plan.NewActor(plan.ChannelEngine, name)
	if e.opts.Actor != nil {
		actor = e.opts.Actor(actor)
	}
	return actor
}

// takePart announces this engine, carries out steps, and leaves the run. Its error is errMoreToDo if there is new work.
func (r *run) takePart(ctx context.Context) (plan.StopReason, error) {
	withdraw, err := r.announce()
	if err != nil {
		return "", err
	}
	defer withdraw()
	if begin := r.Begin; begin != nil {
		if err := begin(ctx); err != nil {
			return "", err
		}
		r.Begin = nil
	}
	over, err := r.loop(ctx)
	if err != nil {
		return over, err
	}
	withdraw()
	return over, r.leave(ctx, over)
}
