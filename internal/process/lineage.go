package process

import (
	"strings"
	"time"
)

// Lineage is what a system tells about the origin of a process and of its terminal.
type Lineage struct {
	Chain      []Ancestor // the process, its parent and so on, without process 1; empty if the look-up failed
	NoTable    bool       // planloop cannot look up processes on this system
	Top        int        // the parent of the chain's last: 1, 0 at the edge of a container, -1 if it cannot be found
	Leader     int        // pid of the leader of its session, 0 outside its pid namespace; -1 if the system has no such leaders
	Hidden     Ancestor   // an ancestor of the same user that hides its environment; zero if none
	Space      string     // where its numbers are valid, as Space
	SeesAll    bool       // no process of the machine is outside its pid namespace
	InOwnSpace bool       // its user made the pid namespace without an administrator's help
}

// IsWhole reports whether the chain has all ancestors. Windows keeps no parents that have ended.
func (l Lineage) IsWhole() bool {
	last := len(l.Chain) - 1
	return last >= 0 && (l.Top >= 0 || l.Leader < 0 && !l.Chain[last].Shell() && l.Chain[last].Shared())
}

// Opener returns the program above the leader of the session that opens terminals for people. It returns ok also for
// the command of a container. A leader that is no ancestor, or has only unknown programs above, gives none: a program
// that has left its ancestors looks like that.
func (l Lineage) Opener() (opener Ancestor, ok bool) {
	if l.Leader < 0 || l.Leader == 1 {
		return Ancestor{}, true
	}
	found := false
	for _, p := range l.Chain {
		isRelay := p.Name == "init" && p.PID > 1 // of WSL
		if found && (p.isOneOf(openers, multiplexers) || isRelay) {
			return p, true
		}
		found = found || p.PID == l.Leader
	}
	return Ancestor{}, found && l.Top == 0
}

// Find returns the first ancestor that is not shared and for which is returns true.
func (l Lineage) Find(is func(Ancestor) bool) (Ancestor, bool) {
	for _, p := range l.Chain[min(1, len(l.Chain)):] {
		if !p.Shared() && is(p) {
			return p, true
		}
	}
	return Ancestor{}, false
}

// IsOurs reports whether p is a planloop.
func (p Ancestor) IsOurs() bool { return strings.HasPrefix(p.Name, "planloop") }

// IsAgent reports whether p is an agent's program.
func (p Ancestor) IsAgent() bool { return p.isOneOf(agents) }

// Scheduled reports whether a program such as cron started the process.
func (l Lineage) Scheduled() bool {
	for _, p := range l.Chain {
		if p.isOneOf(schedulers) {
			return true
		}
	}
	return false
}

// Multiplexer returns the name of the first ancestor whose terminals other programs can read, "" if none.
func (l Lineage) Multiplexer() string {
	for _, p := range l.Chain {
		if p.isOneOf(multiplexers) || strings.HasPrefix(p.Name, "wezterm") {
			return p.Name
		}
	}
	return ""
}

// accuracy is that of a start time compared with a file's time.
const accuracy = time.Second

// IsCopy reports whether the program of p was written after another process began: a copy under another name.
// Only Linux can tell.
func (p Ancestor) IsCopy(since Ancestor) bool {
	at, written := beganAt(since), writtenAt(p)
	return !at.IsZero() && p.Started > since.Started && written.After(at.Add(accuracy))
}
