package engine

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/plan"
)

// runningName is the folder for the files of engines and of the steps they carry out.
const runningName = "running"

const engineEnding = ".engine"

// enlist creates the file that announces this engine, until retire is called.
func (e *Engine) enlist(name string) (retire func(), err error) {
	if e.opts.StateDir == "" {
		return func() {}, nil
	}
	folder := filepath.Join(e.opts.StateDir, runningName)
	for _, dir := range []string{e.opts.StateDir, folder} {
		if err := safefile.MakeFolder(dir); err != nil {
			return nil, err
		}
	}
	path := filepath.Join(folder, strings.ReplaceAll(name, "#", "-")+engineEnding)
	file, err := safefile.Open(path, os.O_CREATE|os.O_WRONLY)
	if err != nil {
		return nil, fmt.Errorf("leave word that an engine runs: %w", err)
	}
	if err := file.Close(); err != nil {
		return nil, err
	}
	return sync.OnceFunc(func() { _ = os.Remove(path) }), nil
}

// alone reports whether no other live engine takes part. It ends and removes the leftovers of dead ones.
func (e *Engine) alone(name string) bool {
	alone := true
	for file, other := range crew(e.opts.StateDir) {
		if other == name {
			continue
		}
		if !e.presence.Seen(other).IsGone {
			alone = false
		} else if err := e.endLeftovers(other); err == nil { // also leftovers of a former plan
			_ = os.Remove(file)
		}
	}
	return alone
}

// IsRunning reports whether an engine takes part in the run of the workspace with that state folder.
func IsRunning(stateDir string, presence Presence) bool {
	for _, name := range crew(stateDir) {
		if !presence.Seen(name).IsGone {
			return true
		}
	}
	return false
}

// crew returns the names of the announced engines, by the paths of their files.
func crew(stateDir string) map[string]string {
	names := map[string]string{}
	if stateDir == "" {
		return names
	}
	folder := filepath.Join(stateDir, runningName)
	entries, _ := os.ReadDir(folder) // missing before the first engine
	for _, entry := range entries {
		if name, is := strings.CutSuffix(entry.Name(), engineEnding); is {
			names[filepath.Join(folder, entry.Name())] = strings.Replace(name, "-", "#", 1)
		}
	}
	return names
}

// errInCompany prevents a pause of the run, because other engines continue it.
var errInCompany = errors.New("other engines take part")

// errGoesOn keeps the last engine from leaving: there is work again since it found none.
var errGoesOn = errors.New("there is more to do")

// leave ends this engine's part. The last engine to leave pauses the run, unless the run has ended or has work again.
func (r *run) leave(ctx context.Context, retire func(), over plan.StopReason) error {
	retire()
	if r.alone(r.actor.Name); !r.state.HasActiveRun() {
		return nil
	}
	pause := plan.PauseRun{Reason: over, Note: r.whyLeft(over)}
	outcome, err := r.session.Do(r.records, r.actor, pause, func(state plan.State, _ *plan.Facts) error {
		if !state.HasActiveRun() || !r.alone(r.actor.Name) {
			return errInCompany
		}
		r.state = state
		if _, still := r.over(ctx); !still {
			return errGoesOn
		}
		return nil
	})
	if errors.Is(err, errInCompany) {
		return nil
	}
	if err == nil {
		r.state = outcome.After
		r.tell()
	}
	return err
}

// whyLeft returns this engine's own reason to leave, "" if it has none.
func (r *run) whyLeft(over plan.StopReason) string {
	switch {
	case over != plan.StopPaused:
		return ""
	case r.late():
		return "--for " + r.For.String() + " is over"
	}
	return r.spent
}

// others lists the steps that other engines carry out.
func (r *run) others() []*plan.Step {
	if r.state.Plan == nil {
		return nil
	}
	var list []*plan.Step
	for step := range r.state.Plan.Steps.Running() {
		if step.IsRunning() && step.ClaimedBy != r.actor.Name {
			list = append(list, step)
		}
	}
	return list
}

// lost ends the leftovers of dead engines, and returns the attempts for which that succeeded.
func (r *run) lost() []plan.Attempt {
	var list []plan.Attempt
	for _, step := range r.others() {
		if !r.presence.Seen(step.ClaimedBy).IsGone {
			continue
		}
		attempt := plan.Attempt{Plan: r.state.Plan.Root(), Step: step.ID, Attempt: step.Attempts}
		if err := r.endLeftovers(step.ClaimedBy); err != nil {
			r.opts.Logger.Warn("what an engine that is gone left running could not be ended", "step", step.ID.String(), "error", err)
			continue
		}
		list = append(list, attempt)
	}
	return list
}
