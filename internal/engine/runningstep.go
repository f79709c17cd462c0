package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/plan"
)

// RunningStep is the progress of a step while an engine carries it out. It is not part of the log.
type RunningStep struct {
	Run     string            `json:"run"`
	Step    plan.StepID       `json:"step"`
	Attempt int               `json:"attempt"`
	Plan    string            `json:"plan"` // root of the plan
	Engine  string            `json:"engine"`
	Process *process.Identity `json:"process,omitempty"` // of its command; nil: no command runs
	Agent   string            `json:"agent,omitempty"`   // started for it
	Nonce   string            `json:"nonce,omitempty"`   // identifies the agent's report
	Lock    string            `json:"lock,omitempty"`    // that it holds
	Percent int               `json:"percent,omitempty"` // 0 to 100
	What    string            `json:"what,omitempty"`    // current activity
	Since   time.Time         `json:"since"`
	Log     string            `json:"-"` // the end of its output
}

func (s RunningStep) attempt() plan.Attempt {
	return plan.Attempt{Plan: s.Plan, Step: s.Step, Attempt: s.Attempt}
}

// A running step has a file with its RunningStep, and a log of its output.
const (
	stepEnding  = ".json"
	maxStepFile = 64 << 10
	halfStepLog = 512 << 10
	maxShownLog = 16 << 10
)

// ReadRunningSteps lists the steps that engines carry out, according to the files in a state folder.
func ReadRunningSteps(stateDir string) []RunningStep {
	var list []RunningStep
	for base, step := range runningSteps(stateDir) {
		if step.Run != "" {
			step.Log = Log{base}.End(maxShownLog)
			list = append(list, step)
		}
	}
	slices.SortFunc(list, func(a, b RunningStep) int { return int(a.Step) - int(b.Step) })
	return list
}

// runningStepsIn yields the running steps of several tracks.
func runningStepsIn(stateDirs []string) iter.Seq[RunningStep] {
	return func(yield func(RunningStep) bool) {
		for _, stateDir := range stateDirs {
			for _, step := range runningSteps(stateDir) {
				if !yield(step) {
					return
				}
			}
		}
	}
}

// runningSteps yields the running steps, by their paths without ending. A file that no engine wrote gives a zero
// RunningStep: engines replace theirs atomically.
func runningSteps(stateDir string) iter.Seq2[string, RunningStep] {
	return func(yield func(string, RunningStep) bool) {
		if stateDir == "" {
			return
		}
		paths, _ := filepath.Glob(filepath.Join(stateDir, runningFolder, "*"+stepEnding)) // the pattern is valid
		for _, path := range paths {
			data, err := safefile.Read(path, maxStepFile)
			if err != nil {
				continue // just ended
			}
			var step RunningStep
			if json.Unmarshal(data, &step) != nil || step.Run == "" {
				step = RunningStep{}
			}
			if !yield(strings.TrimSuffix(path, stepEnding), step) {
				return
			}
		}
	}
}

// endLeftovers ends the processes that a dead engine left running, and removes its files except for tools' output.
func (e *Engine) endLeftovers(engine string) error {
	var all error
	for base, step := range runningSteps(e.opts.StateDir) {
		if step.Run != "" && step.Engine != engine {
			continue
		}
		if step.Process != nil {
			if err := step.Process.Kill(); err != nil {
				all = errors.Join(all, err)
				continue
			}
		}
		if step.Run != "" && step.Agent == "" {
			e.keepLog(Log{base}, step.attempt())
		}
		removeStepFiles(base)
	}
	if e.opts.StateDir != "" {
		half, _ := filepath.Glob(filepath.Join(e.opts.StateDir, runningFolder, "*"+halfStepFile(engine))) // the pattern is valid
		for _, path := range half {
			_ = os.Remove(path)
		}
	}
	return all
}

// halfStepFile is the ending of a step's file while an engine writes it. It names the engine, since the text does not yet.
func halfStepFile(engine string) string { return "." + fileName(engine) + ".new" }

func removeStepFiles(base string) {
	for _, ending := range append(logEndings(), stepEnding) {
		_ = os.Remove(base + ending)
	}
}

func stepFileBase(stateDir, run string, a plan.Attempt) string {
	return filepath.Join(stateDir, runningFolder, attemptName(run, a))
}

func attemptName(of string, a plan.Attempt) string {
	return fmt.Sprintf("%s-%s-%d", of, a.Step, a.Attempt)
}

// stepFile writes the files of one running step. It writes nothing before there is something to report, and its errors
// do not affect the step.
type stepFile struct {
	base string // "": nowhere

	mu      sync.Mutex
	step    RunningStep
	written time.Time // of the last progress
	log     logWriter
	exists  bool
	removed bool
}

// newStepFile returns the file of a job. If an agent is started for it, nonce identifies its report, and the file is
// written at once, because the agent's calls are recognized by it.
func (r *run) newStepFile(j job, nonce string) *stepFile {
	f := &stepFile{step: RunningStep{Run: j.run, Step: j.step.ID, Attempt: j.attempt.Attempt, Plan: j.attempt.Plan,
		Engine: r.name, Since: time.Now(), Agent: j.Agent, Nonce: nonce, Lock: j.step.Lock}}
	if r.opts.StateDir != "" {
		f.base = stepFileBase(r.opts.StateDir, j.run, j.attempt)
	}
	f.log = logWriter{base: f.base, half: halfStepLog}
	if nonce != "" {
		f.write()
	}
	return f
}

// Write appends to the log. It never fails.
func (f *stepFile) Write(data []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.base == "" || f.removed {
		return len(data), nil
	}
	if !f.exists {
		f.write()
	}
	return f.log.Write(data)
}

// setProcess records the process of a command, so that another engine can end it if this process dies.
func (f *stepFile) setProcess(id process.Identity) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step.Process = &id
	f.write()
}

const progressEvery = 100 * time.Millisecond

func (f *stepFile) setProgress(percent int, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.step.Percent, f.step.What = percent, plan.Shorten(what, plan.MaxHint)
	if now := time.Now(); now.Sub(f.written) >= progressEvery {
		f.written = now
		f.write()
	}
}

// write replaces the step's file atomically. It does not sync: the process it names does not survive a system crash
// either. The caller holds f.mu.
func (f *stepFile) write() {
	if f.base == "" || f.removed {
		return
	}
	f.exists = true
	data, err := json.Marshal(f.step)
	if err != nil {
		return
	}
	half := f.base + halfStepFile(f.step.Engine)
	file, err := safefile.Open(half, os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
	if err != nil {
		return
	}
	_, err = file.Write(data)
	if errors.Join(err, file.Close()) == nil {
		_ = os.Rename(half, f.base+stepEnding)
	}
}

// remove removes the files: the result of the step has everything worth keeping.
func (f *stepFile) remove() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.removed = true
	f.log.close()
	if f.exists {
		_ = os.Remove(f.base + halfStepFile(f.step.Engine)) // left if the rename failed
		removeStepFiles(f.base)
	}
}

// EnvRun is the environment variable that identifies a started agent and its child processes. Its value is
// run/step/attempt/nonce.
const EnvRun = "PLANLOOP_RUN"

func environmentOf(run string, a plan.Attempt, nonce string) string {
	return fmt.Sprintf("%s/%s/%d/%s", run, a.Step, a.Attempt, nonce)
}

// Worker is an agent that an engine started: its configured name, and its attempt.
type Worker struct {
	Agent string
	Scope plan.Attempt
}

// FindWorker reports whether a process belongs to an agent that an engine started: by its environment, or by its
// ancestors. chain returns the process and its ancestors; it is only called if an agent runs. An environment with an
// attempt that is not running belongs to an attempt that is over.
func FindWorker(stateDirs []string, environment string, chain func() []process.Ancestor) (w Worker, ok bool) {
	for step := range runningStepsIn(stateDirs) {
		if step.Agent != "" && (environment == environmentOf(step.Run, step.attempt(), step.Nonce) ||
			step.Process != nil && step.Process.In(chain())) {
			return Worker{step.Agent, step.attempt()}, true
		}
	}
	if environment == "" {
		return Worker{}, false
	}
	ended := Worker{Agent: "agent", Scope: plan.Attempt{Attempt: 1}} // no plan
	if parts := strings.Split(environment, "/"); len(parts) == 4 {
		ended.Scope.Step, _ = plan.ParseStepID(parts[1])
		if n, err := strconv.Atoi(parts[2]); err == nil {
			ended.Scope.Attempt = max(1, n)
		}
	}
	return ended, true
}

// AgentRunsElsewhere reports whether an agent runs in a different process namespace, so that this process cannot tell
// whether it descends from that agent.
func AgentRunsElsewhere(stateDirs []string) bool {
	for step := range runningStepsIn(stateDirs) {
		if step.Agent != "" && step.Process != nil && !step.Process.Here() {
			return true
		}
	}
	return false
}
