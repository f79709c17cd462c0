package presence

import (
	"cmp"
	"os"
	"path/filepath"
	"slices"

	"github.com/planloop/planloop/internal/process"
)

// Answer says whether a person is there.
type Answer int

// The answers. CannotTell counts as No.
const (
	Yes Answer = iota
	No
	CannotTell
)

// Evidence is all that shows whether a person sits at the terminal of this process.
type Evidence struct {
	Variable  string // of an agent's shell, set for this process; "" if none
	Inherited string // such a variable of an ancestor
	Started   bool   // planloop started this process, or the agent above it, for a step
	Named     bool   // --agent marks the caller as an agent
	CI        bool   // the environment is that of a CI job
	Terminal  bool   // standard input is a terminal

	Lineage func() process.Lineage
	Hosts   func() Hosts
	Shared  string // why programs of the same user can read this terminal, by its environment
}

// Finding is the answer to whether a person is there.
type Finding struct {
	Answer Answer
	Why    string // the reason, unless it is Yes
	Way    string // what to do then
	Shared string // why other programs of the user can read the terminal; "" if planloop knows of none
}

const ownTerminal = "run it in your own terminal" // the way of most refusals

func no(why string) Finding { return Finding{Answer: No, Why: why, Way: ownTerminal} }

func unknown(why, way string) Finding {
	return Finding{Answer: CannotTell, Why: "planloop cannot tell whether a person is here: " + why, Way: way}
}

// Present returns whether a person sits at the terminal. It cannot detect a program that takes over the user's own terminal.
func (e Evidence) Present() Finding {
	return first(e.sign, e.caller, e.origin, e.blindness, e.terminal)
}

// AgentShell returns whether this process is outside of agents' shells, at a terminal or not.
func (e Evidence) AgentShell() Finding { return first(e.sign, e.origin) }

// Client returns whether the user of this server's client may be a person: not if the server descends from an agent's shell.
func (e Evidence) Client() Finding { return first(e.sign, e.surroundings, e.blindness) }

func (e Evidence) caller() Finding {
	switch {
	case e.Named:
		return no("--agent marks this caller as an agent")
	case e.CI:
		return no("this is a CI job (CI is set)")
	case !e.Terminal:
		return no("standard input is not a terminal")
	}
	return Finding{}
}

// sign judges what costs little.
func (e Evidence) sign() Finding {
	switch {
	case e.Variable != "":
		return no("this shell belongs to an agent (" + e.Variable + " is set)")
	case e.Inherited != "":
		return no("this shell was started by an agent's shell (" + e.Inherited + " is set there)")
	case e.Started:
		return no("this shell belongs to an agent that planloop started")
	}
	return Finding{}
}

// terminal judges who opened the terminal, and who else can read it.
func (e Evidence) terminal() Finding {
	l := e.Lineage()
	opener, ok := l.Opener()
	if !l.NoTable && !ok {
		return unknown("no terminal program or login that it knows has opened this terminal",
			"run it in a terminal of your desktop, over ssh or in an editor")
	}
	for _, host := range e.Hosts().Here {
		if opener.IsCopy(host) {
			return unknown(opener.Name+", which opened this terminal, was written after an agent started", ownTerminal)
		}
	}
	return Finding{Shared: cmp.Or(l.Multiplexer(), e.Shared)}
}

// outside is the way if the processes of this container or sandbox tell too little.
const outside = "decide in a terminal outside the container: planloop approve"

// origin looks for an agent among the ancestors, and in places that cannot be seen from here.
func (e Evidence) origin() Finding {
	l, hosts := e.Lineage(), e.Hosts()
	if p, found := l.Find(process.Ancestor.IsAgent); found {
		return no("this shell was started by an agent's program (" + p.Name + ")")
	}
	if p, found := l.Find(func(p process.Ancestor) bool { return slices.ContainsFunc(hosts.Here, p.Is) }); found {
		return no("this shell was started by the program of an agent (" + p.Name + ")")
	}
	if l.Scheduled() {
		return no("a scheduler started this program")
	}
	return e.surroundings()
}

// surroundings judges what counts for servers, too: the host of a server is one of its ancestors.
func (e Evidence) surroundings() Finding {
	l := e.Lineage()
	if p, found := l.Find(process.Ancestor.IsOurs); found {
		return no("this shell belongs to a program that planloop started (" + p.Name + ")")
	}
	if e.Hosts().Elsewhere && !l.SeesAll && !l.NoTable {
		return unknown("an agent works outside this container, and its processes are not visible here", outside)
	}
	return Finding{}
}

// blindness judges whether all ancestors can be seen.
func (e Evidence) blindness() Finding {
	switch l := e.Lineage(); {
	case l.NoTable:
	case !l.IsWhole():
		return unknown("the processes above this one cannot be read", outside)
	case l.Hidden.PID != 0:
		return unknown(l.Hidden.Name+", which is above this shell, hides its environment", ownTerminal)
	case l.InOwnSpace:
		return unknown("this shell is in a sandbox of its user's own", outside)
	}
	return Finding{}
}

// first returns the first finding that is not Yes.
func first(all ...func() Finding) (found Finding) {
	for _, judge := range all {
		if found = judge(); found.Answer != Yes {
			break
		}
	}
	return found
}

// Hosts are the programs that started servers which run.
type Hosts struct {
	Here      []process.Ancestor
	Elsewhere bool // a server runs in another pid namespace
}

// FindHosts returns the hosts of all workspaces of a state home, and the programs whose hooks answered. A host that runs counts
// even if its server was killed.
func FindHosts(stateHome string) (found Hosts) {
	paths, _ := filepath.Glob(filepath.Join(stateHome, "*", serversName, "*.json")) // the pattern is valid
	programs, _ := os.ReadDir(filepath.Join(stateHome, hooksName))                  // missing without hooks
	for _, program := range programs {
		if p := processOf(program.Name()); p.Runs() {
			found.Here = append(found.Here, p)
		}
	}
	for _, path := range paths {
		var s Server
		dir := folder(filepath.Dir(path))
		switch {
		case !dir.get(filepath.Base(path), &s):
		case s.Space == "" || s.Space == process.Space():
			for _, p := range []process.Ancestor{s.Host, s.Starter} {
				if p.Runs() {
					found.Here = append(found.Here, p)
				}
			}
		default:
			found.Elsewhere = found.Elsewhere || s.runsElsewhere(subfolder(filepath.Dir(string(dir)), seenName))
		}
	}
	return found
}

// runsElsewhere reports whether a server in another pid namespace runs: it holds its client's lock in seen. Without one it may run.
func (s Server) runsElsewhere(seen folder) bool {
	locked, err := seen.isLocked(s.Client)
	return !isConnection(s.Client) || locked || err != nil
}

// SharedVariables lists variables of programs whose terminals other programs of the same user can read or type into.
func SharedVariables() []string {
	return []string{"TMUX", "STY", "ZELLIJ", "KITTY_LISTEN_ON", "WEZTERM_UNIX_SOCKET", "NVIM"}
}
