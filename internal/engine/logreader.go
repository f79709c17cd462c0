package engine

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Log is the output of an attempt at a step, in two files that rotate while it grows.
type Log struct{ base string }

// AgentLog returns the log of an agent's attempt, which is kept after its end, or of a tool that lost its engine.
func AgentLog(stateDir string, a plan.Attempt) Log {
	return Log{filepath.Join(stateDir, logsName, attemptName(a.Plan, a))}
}

// RunningLog returns the log of a tool's attempt; its files are removed at the end of the attempt.
func RunningLog(stateDir, run string, a plan.Attempt) Log { return Log{runningBase(stateDir, run, a)} }

// Folder returns the folder of its files.
func (l Log) Folder() string { return filepath.Dir(l.base) }

// Exists reports whether there is any output.
func (l Log) Exists() bool {
	return slices.ContainsFunc(halves(), func(half string) bool { _, err := os.Lstat(l.base + half); return err == nil })
}

// End returns the last bytes of the output, at most most.
func (l Log) End(most int) string {
	var text []byte
	for _, half := range halves() { // newer one first, which is usually enough
		if len(text) < most {
			text = append(end(l.base+half, most-len(text)), text...)
		}
	}
	return safetext.Tail(string(text), most)
}

// Open returns a reader that starts at the oldest kept part.
func (l Log) Open() *LogReader { return &LogReader{log: l} }

// KeptLogs returns the numbers of the kept attempts at steps of a plan, by its root.
func KeptLogs(stateDir, root string) map[plan.StepID][]int {
	kept := map[plan.StepID][]int{}
	entries, _ := os.ReadDir(filepath.Join(stateDir, logsName)) // missing before the first agent
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

// LogReader reads a log while it grows: at the end it returns io.EOF, and more later. It skips parts that were
// overwritten before it read them.
type LogReader struct {
	log  Log
	file *os.File // nil: nothing read yet
}

// Read reads from the current file, and continues in the newer file once the current one has been rotated.
func (r *LogReader) Read(p []byte) (int, error) {
	for range 3 { // at most 3 files: it may rotate in between
		if r.file != nil {
			if n, err := r.file.Read(p); n > 0 || !errors.Is(err, io.EOF) {
				return n, err
			}
		}
		next, err := r.next()
		if next == nil {
			return 0, err
		}
		if r.file != nil { // the last bytes added before the rotation
			if n, err := r.file.Read(p); n > 0 {
				return n, errors.Join(err, next.Close())
			}
		}
		_ = r.Close()
		r.file = next
	}
	return 0, io.EOF
}

// next opens the file after the current one; io.EOF if the current one is the newest.
func (r *LogReader) next() (*os.File, error) {
	fresh, err := r.open(halves()[0])
	if err != nil {
		return nil, err
	}
	old, err := r.open(halves()[1])
	switch {
	case r.is(fresh): // the newest file is still being written
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
	file, err := safefile.Open(r.log.base+half, os.O_RDONLY)
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

// Close closes the current file.
func (r *LogReader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
