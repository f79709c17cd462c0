package engine

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/private"
	"github.com/planloop/planloop/internal/tail"
	"github.com/planloop/planloop/plan"
)

// Log is what an attempt at a step prints, in two files that turn over while it grows.
type Log struct{ base string }

// AgentLog is the log of an attempt that an agent made, which is kept after it has ended, or of a tool that its engine left.
func AgentLog(stateDir string, a plan.Attempt) Log {
	return Log{filepath.Join(stateDir, logsName, attemptName(a.Plan, a))}
}

// RunningLog is the log of an attempt that a tool makes; it is gone from there when that has ended.
func RunningLog(stateDir, run string, a plan.Attempt) Log { return Log{runningBase(stateDir, run, a)} }

// Folder is where its files are.
func (l Log) Folder() string { return filepath.Dir(l.base) }

// Exists reports whether anything was printed.
func (l Log) Exists() bool {
	return slices.ContainsFunc(halves(), func(half string) bool { _, err := os.Lstat(l.base + half); return err == nil })
}

// End is the last of what was printed, in at most so many bytes.
func (l Log) End(most int) string {
	var text []byte
	for _, half := range halves() { // the newer one first, which mostly has enough
		if len(text) < most {
			text = append(end(l.base+half, most-len(text)), text...)
		}
	}
	return tail.Of(string(text), most)
}

// Open begins to read at the oldest part that is kept.
func (l Log) Open() *LogReader { return &LogReader{log: l} }

// KeptLogs lists the attempts at steps of a plan whose logs are kept, by the plan's root.
func KeptLogs(stateDir, root string) map[plan.StepID][]int {
	kept := map[plan.StepID][]int{}
	entries, _ := os.ReadDir(filepath.Join(stateDir, logsName)) // it is there once an agent was started
	for _, entry := range entries {
		name, is := strings.CutSuffix(entry.Name(), halves()[0])
		name, ours := strings.CutPrefix(name, root+"-")
		step, number, whole := strings.Cut(name, "-")
		id, err := plan.ParseStepID(step)
		attempt, wrong := strconv.Atoi(number)
		if is && ours && whole && err == nil && wrong == nil {
			kept[id] = append(kept[id], attempt)
		}
	}
	for _, attempts := range kept {
		slices.Sort(attempts)
	}
	return kept
}

// LogReader reads a log while it is written: at its end it returns io.EOF, and more when more was added.
// What was overwritten before it was read is passed over.
type LogReader struct {
	log  Log
	file *os.File // nil: none was read yet
}

// Read reads what is there, and on in the newer file where the one that was read has been put aside.
func (r *LogReader) Read(p []byte) (int, error) {
	for range 3 { // files at most: it may turn over meanwhile
		if r.file != nil {
			if n, err := r.file.Read(p); n > 0 || !errors.Is(err, io.EOF) {
				return n, err
			}
		}
		next, err := r.next()
		if next == nil {
			return 0, err
		}
		if r.file != nil { // what was added to it before it was put aside
			if n, err := r.file.Read(p); n > 0 {
				return n, errors.Join(err, next.Close())
			}
		}
		_ = r.Close()
		r.file = next
	}
	return 0, io.EOF
}

// next opens the file after the one that is read; io.EOF when there is none.
func (r *LogReader) next() (*os.File, error) {
	fresh, err := r.open(halves()[0])
	if err != nil {
		return nil, err
	}
	old, err := r.open(halves()[1])
	switch {
	case r.is(fresh): // a file is written to as long as it is the fresh one
		if err == nil {
			_ = old.Close()
		}
		_ = fresh.Close()
		return nil, io.EOF
	case err != nil:
		return fresh, nil
	case r.is(old), same(fresh, old):
		return fresh, old.Close()
	}
	return old, fresh.Close()
}

func (r *LogReader) open(half string) (*os.File, error) {
	file, err := private.Open(r.log.base+half, os.O_RDONLY)
	if errors.Is(err, os.ErrNotExist) {
		return nil, io.EOF
	}
	return file, err
}

func (r *LogReader) is(file *os.File) bool { return r.file != nil && same(r.file, file) }

func same(a, b *os.File) bool {
	one, err := a.Stat()
	other, wrong := b.Stat()
	return err == nil && wrong == nil && os.SameFile(one, other)
}

// Close ends the reading.
func (r *LogReader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
