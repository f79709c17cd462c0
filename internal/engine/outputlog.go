package engine

import (
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

// halvedLog is a log of limited size in two files: when the newer file is full, it replaces the older one. Write errors
// are ignored. Its methods must not be called concurrently.
type halvedLog struct {
	base string
	half int // bytes
	file *os.File
	size int
}

func halves() []string { return []string{".log", ".log.old"} }

func (l *halvedLog) write(data []byte) {
	if l.file == nil || l.size+len(data) > l.half {
		l.turn()
	}
	if l.file != nil {
		kept := data[max(0, len(data)-l.half):]
		l.size += len(kept)
		_, _ = l.file.Write(kept)
	}
}

// turn begins a new file.
func (l *halvedLog) turn() {
	fresh, old := l.base+halves()[0], l.base+halves()[1]
	if l.file != nil {
		_ = l.file.Close()
		_ = os.Rename(fresh, old)
	}
	l.file, _ = safefile.Open(fresh, os.O_CREATE|os.O_TRUNC|os.O_WRONLY)
	l.size = 0
}

func (l *halvedLog) close() {
	if l.file != nil {
		_ = l.file.Close()
	}
}

// logsName is the folder for the output of started agents, and of tools that lost their engine.
const logsName = "logs"

// Limits of logs: bytes per half, and number of attempts.
const (
	halfAgentLog = 5 << 20
	mostLogs     = 50
)

// agentLog is the log of an agent's output in one attempt. It is safe for concurrent use.
type agentLog struct {
	mu  sync.Mutex
	log halvedLog
}

// newAgentLog makes room for the log of an attempt; nil if it cannot be kept.
func (e *Engine) newAgentLog(a plan.Attempt) *agentLog {
	if e.opts.StateDir == "" {
		return nil
	}
	if !e.roomForLog() {
		return nil
	}
	return &agentLog{log: halvedLog{base: AgentLog(e.opts.StateDir, a).base, half: halfAgentLog}}
}

// roomForLog makes the folder for logs, and room for one more; false if that fails.
func (e *Engine) roomForLog() bool {
	folder := filepath.Join(e.opts.StateDir, logsName)
	if err := safefile.MakeFolder(folder); err != nil {
		e.opts.Logger.Warn("what is printed is not kept", "error", err)
		return false
	}
	removeOldLogs(folder)
	return true
}

// keepLog keeps the output of a tool after its engine died: it may show how far the tool came.
func (e *Engine) keepLog(left RunningStep) {
	a := plan.Attempt{Plan: left.Plan, Step: left.Step, Attempt: left.Attempt}
	from, to := RunningLog(e.opts.StateDir, left.Run, a), AgentLog(e.opts.StateDir, a)
	if !from.Exists() || !e.roomForLog() {
		return
	}
	for _, half := range halves() {
		_ = os.Rename(from.base+half, to.base+half) // if this fails the log is lost
	}
}

// Write appends to the log. It never fails.
func (l *agentLog) Write(data []byte) (int, error) {
	if l == nil {
		return len(data), nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.log.write(data)
	return len(data), nil
}

func (l *agentLog) close() {
	if l != nil {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.log.close()
	}
}

// removeOldLogs removes the oldest logs to make room for one more.
func removeOldLogs(folder string) {
	paths, _ := filepath.Glob(filepath.Join(folder, "*"+halves()[0])) // the pattern is valid
	if len(paths) < mostLogs {
		return
	}
	age := func(path string) int64 {
		info, err := os.Stat(path)
		if err != nil {
			return 0
		}
		return info.ModTime().UnixNano()
	}
	slices.SortFunc(paths, func(a, b string) int { return int(min(1, max(-1, age(a)-age(b)))) })
	for _, path := range paths[:len(paths)-mostLogs+1] {
		for _, half := range halves() {
			_ = os.Remove(strings.TrimSuffix(path, halves()[0]) + half)
		}
	}
}

// RemoveLogs removes the output of agents.
func RemoveLogs(stateDir string) error { return os.RemoveAll(filepath.Join(stateDir, logsName)) }

// CheckLogs returns the logs that other users can access, with the reasons, by path.
func CheckLogs(stateDir string) map[string]error {
	wrong := map[string]error{}
	folder := filepath.Join(stateDir, logsName)
	info, err := os.Lstat(folder)
	if errors.Is(err, os.ErrNotExist) {
		return wrong
	}
	if err == nil {
		err = safefile.CheckFolder(folder)
	}
	if err == nil && !safefile.UserOnly(info.Mode().Perm()) {
		err = fmt.Errorf("%s can be seen by others (mode %04o): run chmod 700 on it", logsName, info.Mode().Perm())
	}
	if err != nil {
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
