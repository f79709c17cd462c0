package process

import (
	"slices"
	"strconv"

	"github.com/planloop/planloop/internal/lineage"
)

// Identity is a command and all that it starts, as another process finds it when the one
// that started it is gone. Its JSON may be kept. A number that another process has got
// since, or got after the system was started anew, is never taken for it.
//
// On Linux a process is known by the mark in its environment, by its ancestors and by its
// session: one that took the mark from itself is lost once it has left its session and
// its keeper is gone. On macOS all is lost once the command itself is gone; on Windows a
// command ends with the process that started it. Elsewhere nothing is found.
type Identity struct {
	World string `json:"world,omitempty"` // the start of the system, and the name space, in which the numbers count
	Mark  string `json:"mark,omitempty"`  // what its environment says
	Pid   int    `json:"pid"`             // of its keeper, or of the command where there is none
	Start string `json:"start,omitempty"` // when that began, in the words of the system; "" where it does not tell
}

// Here reports whether its numbers count where this process is: else whoever descends from it cannot be told.
func (id Identity) Here() bool { return id.World == world() }

// In reports whether a chain of processes leads to what was started: the keeper, or the command itself. What the
// command has started is found as long as those between them run; with a keeper, in any case.
func (id Identity) In(chain []lineage.Process) bool {
	return id.Start != "" && id.World == world() && slices.ContainsFunc(chain, func(p lineage.Process) bool {
		return p.PID == id.Pid && strconv.FormatInt(p.Started, 10) == id.Start
	})
}
