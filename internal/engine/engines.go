package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/plan"
)

// runningFolder is the folder for the files of engines and of the steps they carry out.
const runningFolder = "running"

const engineEnding = ".engine"

// announce creates the file that announces this engine, until withdraw is called.
func (r *run) announce() (withdraw func(), err error) {
	if r.opts.StateDir == "" {
		return func() {}, nil
	}
	folder := filepath.Join(r.opts.StateDir, runningFolder)
	for _, dir := range []string{r.opts.StateDir, folder} {
		if err := safefile.MakeFolder(dir); err != nil {
			return nil, err
		}
	}
	path := announcement(r.opts.StateDir, r.name)
	file, err := safefile.Open(path, os.O_CREATE|os.O_WRONLY)
	if err != nil {
		return nil, fmt.Errorf("announce the engine: %w", err)
	}
	return sync.OnceFunc(func() { _ = os.Remove(path) }), file.Close()
}

// announcement returns the path of the file that announces an engine.
func announcement(stateDir, name string) string {
	return filepath.Join(stateDir, runningFolder, fileName(name)+engineEnding)
}

// IsAnnounced reports whether an engine runs on a state folder of this machine, or has left something there.
func IsAnnounced(stateDir, name string) bool {
	_, err := os.Lstat(announcement(stateDir, name))
	return err == nil
}

// fileName returns an engine's name as part of a file's.
func fileName(engine string) string { return strings.ReplaceAll(engine, "#", "-") }

// announced returns the names of the announced engines, by the paths of their files.
func announced(stateDir string) map[string]string {
	names := map[string]string{}
	if stateDir == "" {
		return names
	}
	folder := filepath.Join(stateDir, runningFolder)
	entries, _ := os.ReadDir(folder) // missing before the first engine
	for _, entry := range entries {
		if name, ok := strings.CutSuffix(entry.Name(), engineEnding); ok {
			names[filepath.Join(folder, entry.Name())] = strings.Replace(name, "-", "#", 1)
		}
	}
	return names
}

// IsRunning reports whether an engine takes part in the run of the workspace with that state folder.
func IsRunning(stateDir string, presence Presence) bool {
	for _, name := range announced(stateDir) {
		if !presence.Seen(name).IsGone {
			return true
		}
	}
	return false
}

// isOnlyEngine reports whether no other live engine takes part. It ends and removes the leftovers of dead ones.
func (r *run) isOnlyEngine() bool {
	only := true
	for file, name := range announced(r.opts.StateDir) {
		if name == r.name {
			continue
		}
		if !r.presence.Seen(name).IsGone {
			only = false
		} else if err := r.endLeftovers(name); err == nil { // also leftovers of a former plan
			_ = os.Remove(file)
		}
	}
	return only
}

// errOtherEngines prevents a pause of the run, because other engines continue it.
var errOtherEngines = errors.New("other engines take part")

// errMoreToDo keeps the last engine from leaving: there is work again since it found none.
var errMoreToDo = errors.New("there is more to do")

// leave ends this engine's part. The last engine to leave pauses the run, unless the run has ended or has work again.
func (r *run) leave(ctx context.Context, over plan.StopReason) error {
	if r.isOnlyEngine(); !r.state.HasActiveRun() {
		return nil
	}
	pause := plan.PauseRun{Reason: over}
	if over == plan.StopPaused {
		switch pause.Note = r.exhausted; {
		case r.isLate():
			pause.Note = "--for " + r.For.String() + " is over"
		case len(r.Only) > 0:
			pause.Note = "only some steps were to run"
		}
	}
	outcome, err := r.session.Do(r.records, r.actor, pause, func(state plan.State, _ *plan.Facts) error {
		if !state.HasActiveRun() || !r.isOnlyEngine() {
			return errOtherEngines
		}
		r.state = state
		if _, isOver := r.isOver(ctx); !isOver {
			return errMoreToDo
		}
		return nil
	})
	if errors.Is(err, errOtherEngines) {
		return nil
	}
	if err == nil {
		r.state = outcome.After
		r.notice(outcome)
		r.notifyListener()
	}
	return err
}

// SettleLost settles the steps of dead engines without taking part in a run: it ends the processes they left, and records their attempts
// as lost. An error means that some processes could not be ended.
func (e *Engine) SettleLost(ctx context.Context) error {
	state, err := e.session.State(ctx)
	if err != nil {
		return err
	}
	r := &run{Engine: e, actor: e.actor(string(plan.Planloop)), state: state}
	lost := r.endLostAttempts()
	if len(lost) == 0 {
		return nil
	}
	_, err = e.session.Do(ctx, r.actor, plan.Schedule{Lost: lost}, nil)
	return err
}

// stepsOfOthers lists the steps that other engines carry out.
func (r *run) stepsOfOthers() []*plan.Step {
	if r.state.Plan == nil {
		return nil
	}
	return slices.DeleteFunc(slices.Collect(r.state.Plan.Steps.Running()), func(step *plan.Step) bool {
		return !step.IsRunning() || step.ClaimedBy == r.actor.Name
	})
}

// endLostAttempts ends the leftovers of dead engines, and returns the attempts for which that succeeded.
func (r *run) endLostAttempts() []plan.Attempt {
	var list []plan.Attempt
	for _, step := range r.stepsOfOthers() {
		if !r.presence.Seen(step.ClaimedBy).IsGone {
			continue
		}
		if err := r.endLeftovers(step.ClaimedBy[strings.LastIndex(step.ClaimedBy, "/")+1:]); err != nil {
			r.opts.Logger.Warn("could not end the processes of a dead engine", "step", step.ID.String(), "error", err)
			continue
		}
		list = append(list, attemptOf(r.state, step))
	}
	return list
}
