package process

import (
	"slices"
	"strconv"
)

// Identity identifies a command and everything it starts, so that another process can find them after the one that
// started it is gone. Its JSON may be stored. It never matches another process that has since got the same number, even
// after a reboot.
//
// On Linux a process is recognized by the mark in its environment, its ancestors and its session: one that removed its
// mark is lost once it has left its session and its keeper is gone. On macOS the family is lost once the command itself
// is gone; on Windows a command ends with the process that started it. On other systems nothing is found.
type Identity struct {
	World string `json:"world,omitempty"` // the boot and PID namespace in which the numbers are valid
	Mark  string `json:"mark,omitempty"`  // the value in its environment
	Pid   int    `json:"pid"`             // of its keeper, or of the command if it has no keeper
	Start string `json:"start,omitempty"` // when that process began, in the system's format; "" if unknown
}

// Here reports whether its numbers are valid for this process. If not, its descendants cannot be recognized.
func (id Identity) Here() bool { return id.World == Space() }

// In reports whether a chain of processes contains the keeper or the command itself. A process that the command has
// started is found while the processes between them run; with a keeper, always.
func (id Identity) In(chain []Ancestor) bool {
	return id.Start != "" && id.World == Space() && slices.ContainsFunc(chain, func(p Ancestor) bool {
		return p.PID == id.Pid && strconv.FormatInt(p.Started, 10) == id.Start
	})
}
