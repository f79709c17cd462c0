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

	"github.com/planloop/planloop/internal/private"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/plan"
)

// Running is what is known of a step while an engine carries it out. It is no part of the log.
type Running struct {
	Run     string            `json:"run"`
	Step    plan.StepID       `json:"step"`
	Attempt int               `json:"attempt"`
	Plan    string            `json:"plan"` // root of it
	Engine  string            `json:"engine"`
	Process *process.Identity `json:"process,omitempty"` // what its command runs as; nil: it runs none
	Agent   string            `json:"agent,omitempty"`   // that was started for it
	Nonce   string            `json:"nonce,omitempty"`   // by which the agent's report is known
	Percent int               `json:"percent,omitempty"` // 0 to 100
	What    string            `json:"what,omitempty"`    // it is doing
	Since   time.Time         `json:"since"`
	Log     string            `json:"-"` // the end of what it has printed
}

// The files of a step that is carried out: what is known of it, and its log in two halves, of which
// the older one is overwritten when the newer one is full.
const (
	factsEnding = ".json"
	halfLog     = 512 << 10
	mostFacts   = 64 << 10
	shownLog    = 16 << 10
)

// ReadRunning lists what engines carry out, as far as the files in a state folder tell.
func ReadRunning(stateDir string) []Running {
	var list []Running
	for _, path := range factsPaths(stateDir) {
		one, err := readFacts(path)
		if err != nil {
			continue // it is being written, or has just ended
		}
		one.Log = Log{strings.TrimSuffix(path, factsEnding)}.End(shownLog)
		list = append(list, one)
	}
	slices.SortFunc(list, func(a, b Running) int { return int(a.Step) - int(b.Step) })
	return list
}

func factsPaths(stateDir string) []string {
	if stateDir == "" {
		return nil
	}
	paths, _ := filepath.Glob(filepath.Join(stateDir, runningName, "*"+factsEnding)) // of a pattern that is well
	return paths
}

// end reads the last bytes of a file; none where there is no such file.
func end(path string, most int) []byte {
	file, err := private.Open(path, os.O_RDONLY)
	if err != nil {
		return nil
	}
	defer file.Close()
	_, _ = file.Seek(-int64(most), io.SeekEnd) // of a shorter one, all of it
	data, _ := io.ReadAll(io.LimitReader(file, int64(most)))
	return data
}

func readFacts(path string) (one Running, err error) {
	data, err := private.Read(path, mostFacts)
	if err != nil {
		return one, err
	}
	if err := json.Unmarshal(data, &one); err != nil {
		return Running{}, fmt.Errorf("%w: %w", errGarbled, err)
	}
	return one, nil
}

// errGarbled is about a file that no engine wrote: they replace it whole.
var errGarbled = errors.New("holds no facts of a step")

func runningBase(stateDir, run string, a plan.Attempt) string {
	return filepath.Join(stateDir, runningName, attemptName(run, a))
}

func attemptName(of string, a plan.Attempt) string {
	return fmt.Sprintf("%s-%s-%d", of, a.Step, a.Attempt)
}

// endLeftovers ends what an engine that is gone has left running, and removes its files but what was printed.
func (e *Engine) endLeftovers(gone string) error {
	var all error
	for _, path := range factsPaths(e.opts.StateDir) {
		one, err := readFacts(path)
		if errors.Is(err, errGarbled) { // by a stranger: whose it was cannot be told, nor what runs
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

// runningFile writes the files of one step. Nothing is written before there is something to tell,
// and nothing that fails holds up the step.
type runningFile struct {
	base string // "": nowhere

	mu    sync.Mutex
	facts Running
	told  time.Time
	log   halvedLog
	files bool // there are some
	done  bool
}

func (r *run) follow(j job) *runningFile {
	f := &runningFile{facts: Running{Run: j.run, Step: j.step.ID, Attempt: j.attempt.Attempt, Plan: j.attempt.Plan,
		Engine: r.actor.Name, Since: time.Now()}}
	if r.opts.StateDir != "" {
		f.base = runningBase(r.opts.StateDir, j.run, j.attempt)
	}
	f.log = halvedLog{base: f.base, half: halfLog}
	return f
}

// assign keeps which agent works on the step, before it does: its calls are known by that.
func (f *runningFile) assign(o Order) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.facts.Agent, f.facts.Nonce = o.Agent, o.Nonce
	f.write()
}

// Write takes a part of the log. It never fails.
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

// started keeps what a command runs as, for whoever has to end it when this process is gone.
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

// write writes what is known, so that another process sees all of it or what was there before. It
// need not survive the system: what it names does not. The caller holds f.mu.
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
	file, err := private.Open(path+".new", os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
	if err != nil {
		return
	}
	_, err = file.Write(data)
	if errors.Join(err, file.Close()) == nil {
		_ = os.Rename(path+".new", path)
	}
}

// remove ends the files: what is to stay of the step stands in its result.
func (f *runningFile) remove() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.done = true
	f.log.close()
	if f.files {
		removeRunning(f.base)
	}
}
