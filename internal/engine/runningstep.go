package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
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
	Percent int               `json:"percent,omitempty"` // 0 to 100
	What    string            `json:"what,omitempty"`    // current activity
	Since   time.Time         `json:"since"`
	Log     string            `json:"-"` // the end of its output
}

// The files of a running step: its facts, and its log in two halves; when the newer half is full, it replaces the older
// one.
const (
	factsEnding = ".json"
	halfLog     = 512 << 10
	mostFacts   = 64 << 10
	shownLog    = 16 << 10
)

// ReadRunningSteps lists the steps that engines carry out, according to the files in a state folder.
func ReadRunningSteps(stateDir string) []RunningStep {
	var list []RunningStep
	for _, path := range factsPaths(stateDir) {
		one, err := readFacts(path)
		if err != nil {
			continue // being written, or just ended
		}
		one.Log = Log{strings.TrimSuffix(path, factsEnding)}.End(shownLog)
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b RunningStep) int { return int(a.Step) - int(b.Step) })
	return list
}

func factsPaths(stateDir string) []string {
	if stateDir == "" {
		return nil
	}
	paths, _ := filepath.Glob(filepath.Join(stateDir, runningName, "*"+factsEnding)) // the pattern is valid
	return paths
}

// end reads the last bytes of a file; nil if it cannot be opened.
func end(path string, most int) []byte {
	file, err := safefile.Open(path, os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer file.Close()
	_, _ = file.Seek(-int64(most), io.SeekEnd) // fails for a shorter file, which is then read from the start
	data, _ := io.ReadAll(io.LimitReader(file, int64(most)))
	return data
}

func readFacts(path string) (one RunningStep, err error) {
	data, err := safefile.Read(path, mostFacts)
	if err != nil {
		return one, err
	}
	if err := json.Unmarshal(data, &one); err != nil {
		return RunningStep{}, fmt.Errorf("%w: %w", errGarbled, err)
	}
	return one, nil
}

// errGarbled is for a file that no engine wrote: engines replace it atomically.
var errGarbled = errors.New("holds no facts of a step")

func runningBase(stateDir, run string, a plan.Attempt) string {
	return filepath.Join(stateDir, runningName, attemptName(run, a))
}

func attemptName(of string, a plan.Attempt) string {
	return fmt.Sprintf("%s-%s-%d", of, a.Step, a.Attempt)
}

// endLeftovers ends the processes that a dead engine left running, and removes its files except for tools' output.
func (e *Engine) endLeftovers(gone string) error {
	var all error
	for _, path := range factsPaths(e.opts.StateDir) {
		one, err := readFacts(path)
		if errors.Is(err, errGarbled) { // written by another program: its engine and process are unknown
			removeRunning(strings.TrimSuffix(path, factsEnding))
		}
		if err != nil || one.Engine != gone {
			continue
		}
		if one.Process != nil {
			if err := one.Process.Kill(); err != nil {
				all = errors.Join(all, err)
				continue
			}
		}
		if one.Agent == "" {
			e.keepLog(one)
		}
		removeRunning(strings.TrimSuffix(path, factsEnding))
	}
	return all
}

func removeRunning(base string) {
	for _, ending := range append(halves(), factsEnding, factsEnding+".new") {
		_ = os.Remove(base + ending)
	}
}

// runningFile writes the files of one step. It writes nothing before there is something to report, and its errors do
// not affect the step.
type runningFile struct {
	base string // "": nowhere

	mu    sync.Mutex
	facts RunningStep
	told  time.Time
	log   halvedLog
	files bool // files were written
	done  bool
}

func (r *run) follow(j job) *runningFile {
	f := &runningFile{facts: RunningStep{Run: j.run, Step: j.step.ID, Attempt: j.attempt.Attempt, Plan: j.attempt.Plan,
		Engine: r.actor.Name, Since: time.Now()}}
	if r.opts.StateDir != "" {
		f.base = runningBase(r.opts.StateDir, j.run, j.attempt)
	}
	f.log = halvedLog{base: f.base, half: halfLog}
	return f
}

// assign records the step's agent before it starts, because its calls are recognized by that.
func (f *runningFile) assign(o WorkOrder) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.facts.Agent, f.facts.Nonce = o.Agent, o.Nonce
	f.write()
}

// Write appends to the log. It never fails.
func (f *runningFile) Write(data []byte) (int, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.base == "" || f.done {
		return len(data), nil
	}
	if !f.files {
		f.write()
	}
	f.log.write(data)
	return len(data), nil
}

// started records the process of a command, so that another engine can end it if this process dies.
func (f *runningFile) started(id process.Identity) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.facts.Process = &id
	f.write()
}

const tellEvery = 100 * time.Millisecond

func (f *runningFile) progressed(percent int, what string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.facts.Percent, f.facts.What = percent, plan.Shorten(what, plan.MaxHint)
	if now := time.Now(); now.Sub(f.told) >= tellEvery {
		f.told = now
		f.write()
	}
}

// write replaces the facts atomically. It does not sync: the process it names does not survive a system crash either.
// The caller holds f.mu.
func (f *runningFile) write() {
	if f.base == "" || f.done {
		return
	}
	f.files = true
	data, err := json.Marshal(f.facts)
	if err != nil {
		return
	}
	path := f.base + factsEnding
	file, err := safefile.Open(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
	if err != nil {
		return
	}
	_, err = file.Write(data)
	if errors.Join(err, file.Close()) == nil {
		_ = os.Rename(path+".new", path)
	}
}

// remove removes the files: the result of the step has everything worth keeping.
func (f *runningFile) remove() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = true
	f.log.close()
	if f.files {
		removeRunning(f.base)
	}
}
