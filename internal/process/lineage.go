package process

import (
	"slices"
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

// Opener returns the program that opened the terminal of this process, if people use it for that. A terminal within another one counts as
// that one. It returns ok also for the command of a container. A program that has left its ancestors and opens a terminal gives none.
func (l Lineage) Opener() (opener Ancestor, ok bool) {
	session := l.Leader
	for i, p := range l.Chain {
		if p.PID != session {
			continue
		}
		above := append(l.Chain[i+1:len(l.Chain):len(l.Chain)], Ancestor{}, Ancestor{})
		switch opener = above[0]; {
		case opener.PID == 0:
			return Ancestor{}, l.Top == 0 || p.isRelay()
		case opener.isRelay(), opener.isOneOf(openers, multiplexers) && !opener.claims, above[1].isOneOf(desktops):
			return opener, true
		}
		session = opener.Session
	}
	return Ancestor{}, l.Leader < 0 || l.Leader == 1
}

// isRelay reports whether p is the part of WSL that has a terminal of Windows.
func (p Ancestor) isRelay() bool { return p.Name == "init" && p.PID > 1 }

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
	return slices.ContainsFunc(l.Chain, func(p Ancestor) bool { return p.isOneOf(schedulers) })
}

// Multiplexer returns the name of the first ancestor whose terminals other programs can read, "" if none.
func (l Lineage) Multiplexer() string {
	for _, p := range l.Chain {
		if p.isOneOf(multiplexers, "nvim") || strings.HasPrefix(p.Name, "wezterm") {
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
