package engine

import (
	"cmp"
	"errors"
	"fmt"
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

// Log is the output of an attempt at a step, in two files of limited size: when the newer one is full, it replaces the
// older one.
type Log struct{ base string }

// logEndings are the endings of the newer and of the older file.
func logEndings() []string { return []string{".log", ".log.old"} }

// logsFolder is the folder for the output of started agents, and of tools that lost their engine.
const logsFolder = "logs"

// AgentLog returns the log of an agent's attempt, which is kept after its end, or of a tool that lost its engine.
func AgentLog(stateDir string, a plan.Attempt) Log {
	return Log{filepath.Join(stateDir, logsFolder, attemptName(a.Plan, a))}
}

// RunningLog returns the log of a tool's attempt; its files are removed at the end of the attempt.
func RunningLog(stateDir, run string, a plan.Attempt) Log { return Log{stepFileBase(stateDir, run, a)} }

// Folder returns the folder of its files.
func (l Log) Folder() string { return filepath.Dir(l.base) }

// Exists reports whether there is any output.
func (l Log) Exists() bool {
	return slices.ContainsFunc(logEndings(), func(ending string) bool { _, err := os.Lstat(l.base + ending); return err == nil })
}

// End returns the last bytes of the output, at most limit, without secrets.
func (l Log) End(limit int) string {
	var text []byte
	for _, ending := range logEndings() { // the newer one is usually enough
		file, err := safefile.Open(l.base+ending, os.O_RDONLY)
		if err != nil {
			continue
		}
		size := int64(limit - len(text))
		_, _ = file.Seek(-size, io.SeekEnd) // fails for a shorter file, which is then read from the start
		part, _ := io.ReadAll(io.LimitReader(file, size))
		text = append(part, text...)
		_ = file.Close()
	}
	return safetext.Tail(plan.Mask(string(text)), limit)
}

// logWriter writes a Log. Write errors are ignored. A nil logWriter drops its input.
type logWriter struct {
	base string
	half int // size limit of each file in bytes
	file *os.File
	size int
}

// Write never fails.
func (w *logWriter) Write(data []byte) (int, error) {
	if w == nil {
		return len(data), nil
	}
	if w.file == nil || w.size+len(data) > w.half {
		w.rotate()
	}
	if w.file != nil {
		kept := data[max(0, len(data)-w.half):]
		w.size += len(kept)
		_, _ = w.file.Write(kept)
	}
	return len(data), nil
}

func (w *logWriter) rotate() {
	newer, older := w.base+logEndings()[0], w.base+logEndings()[1]
	if w.file != nil {
		w.close()
		_ = os.Rename(newer, older)
	}
	w.file, _ = safefile.Open(newer, os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
	w.size = 0
}

func (w *logWriter) close() {
	if w != nil && w.file != nil {
		_ = w.file.Close()
	}
}

const (
	halfAgentLog = 5 << 20 // bytes
	maxLogs      = 50      // attempts
)

// newAgentLog returns the writer of an agent's log; nil if it cannot be kept.
func (e *Engine) newAgentLog(a plan.Attempt) *logWriter {
	if e.opts.StateDir == "" || !e.makeRoomForLog() {
		return nil
	}
	return &logWriter{base: AgentLog(e.opts.StateDir, a).base, half: halfAgentLog}
}

// keepLog keeps the output of a tool after its engine died: it may show how far the tool came.
func (e *Engine) keepLog(log Log, a plan.Attempt) {
	if !log.Exists() || !e.makeRoomForLog() {
		return
	}
	for _, ending := range logEndings() {
		_ = os.Rename(log.base+ending, AgentLog(e.opts.StateDir, a).base+ending) // if this fails the log is lost
	}
}

// makeRoomForLog makes the folder for logs, and removes the oldest logs, so that there is room for one more; false if
// there is no folder.
func (e *Engine) makeRoomForLog() bool {
	folder := filepath.Join(e.opts.StateDir, logsFolder)
	if err := safefile.MakeFolder(folder); err != nil {
		e.opts.Logger.Warn("output is not kept", "error", err)
		return false
	}
	paths, _ := filepath.Glob(filepath.Join(folder, "*"+logEndings()[0])) // the pattern is valid
	changed := map[string]int64{}
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			changed[path] = info.ModTime().UnixNano()
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return cmp.Compare(changed[a], changed[b]) })
	for _, path := range paths[:max(0, len(paths)-maxLogs+1)] {
		for _, ending := range logEndings() {
			_ = os.Remove(strings.TrimSuffix(path, logEndings()[0]) + ending)
		}
	}
	return true
}

// KeptLogs returns the numbers of the kept attempts at steps of a plan, by its root.
func KeptLogs(stateDir, root string) map[plan.StepID][]int {
	kept := map[plan.StepID][]int{}
	entries, _ := os.ReadDir(filepath.Join(stateDir, logsFolder)) // missing before the first agent
	for _, entry := range entries {
		name, isLog := strings.CutSuffix(entry.Name(), logEndings()[0])
		name, isOurs := strings.CutPrefix(name, root+"-")
		step, number, _ := strings.Cut(name, "-")
		id, err := plan.ParseStepID(step)
		attempt, wrong := strconv.Atoi(number)
		if isLog && isOurs && err == nil && wrong == nil {
			kept[id] = append(kept[id], attempt)
		}
	}
	for _, attempts := range kept {
		slices.Sort(attempts)
	}
	return kept
}

// RemoveLogs removes the output of agents.
func RemoveLogs(stateDir string) error { return os.RemoveAll(filepath.Join(stateDir, logsFolder)) }

// CheckLogs returns the logs that other users can access, with the reasons, by path.
func CheckLogs(stateDir string) map[string]error {
	wrong := map[string]error{}
	folder := filepath.Join(stateDir, logsFolder)
	err := safefile.CheckFolder(folder)
	if info, missing := os.Lstat(folder); missing == nil && err == nil && !safefile.UserOnly(info.Mode().Perm()) {
		err = fmt.Errorf("%s can be seen by others (mode %04o): run chmod 700 on it", logsFolder, info.Mode().Perm())
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		wrong[folder] = err
	}
	entries, _ := os.ReadDir(folder) // an unreadable folder was reported above
	for _, entry := range entries {
		path := filepath.Join(folder, entry.Name())
		if err := safefile.CheckUnread(path); err != nil {
			wrong[path] = err
		}
	}
	return wrong
}

// Open returns a reader that starts at the oldest kept part.
func (l Log) Open() *LogReader { return &LogReader{log: l} }

// LogReader reads a log while it grows: at the end it returns io.EOF, and more later. It skips parts that were
// overwritten before it read them.
type LogReader struct {
	log  Log
	file *os.File // nil: nothing read yet
}

// Read reads from the current file, and continues in the newer file once the current one has been rotated.
func (r *LogReader) Read(p []byte) (int, error) {
	for range 3 { // at most 3 files: it may rotate in between
		next, err := r.next() // before the current file is read: once it has a successor, nothing is added to it
		if err != nil {
			return 0, err
		}
		if r.file != nil {
			n, err := r.file.Read(p)
			if n > 0 || !errors.Is(err, io.EOF) {
				if next != nil {
					_ = next.Close()
				}
				return n, err
			}
		}
		if next == nil {
			return 0, io.EOF
		}
		_ = r.Close()
		r.file = next
	}
	return 0, io.EOF
}

// next opens the file after the current one; nil if the current one is the newest.
func (r *LogReader) next() (next *os.File, err error) {
	for _, ending := range logEndings() { // from the newest file back to the current one
		file, err := safefile.Open(r.log.base+ending, os.O_RDONLY)
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err == nil && r.isCurrent(file) {
			return next, file.Close()
		}
		if next != nil {
			_ = next.Close()
		}
		if err != nil {
			return nil, err
		}
		next = file
	}
	return next, nil
}

func (r *LogReader) isCurrent(file *os.File) bool {
	current, err := r.file.Stat() // an error without a file
	other, wrong := file.Stat()
	return err == nil && wrong == nil && os.SameFile(current, other)
}

// Close closes the current file.
func (r *LogReader) Close() error {
	if r.file == nil {
		return nil
	}
	return r.file.Close()
}
