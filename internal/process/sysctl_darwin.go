package process

import (
	"maps"
	"os"
	"slices"
	"strconv"

	"golang.org/x/sys/unix"
)

const zombie = 5 // SZOMB

// members lists the processes in the session of a leader and their descendants, while their parents run. It misses
// processes that left the session and lost their parent.
func members(leader int) []int {
	all, err := unix.SysctlKinfoProcSlice("kern.proc.all")
	if err != nil {
		return nil
	}
	family := map[int]bool{leader: true}
	for grown := true; grown; {
		grown = false
		for _, info := range all {
			pid, parent := int(info.Proc.P_pid), int(info.Eproc.Ppid)
			if family[pid] || pid <= 1 || pid == os.Getpid() || info.Proc.P_stat == zombie {
				continue
			}
			if session, err := unix.Getsid(pid); family[parent] || err == nil && session == leader {
				family[pid], grown = true, true
			}
		}
	}
	delete(family, leader) // killed with its group
	return slices.Collect(maps.Keys(family))
}

// began returns when a process began, "" if it does not run.
func began(pid int) string {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || info.Proc.P_stat == zombie {
		return ""
	}
	return strconv.FormatInt(info.Proc.P_starttime.Nano(), 10)
}

func processFinder() look { return find }

func find(pid int) (Ancestor, int, bool) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil || int(info.Proc.P_pid) != pid || info.Proc.P_stat == zombie {
		return Ancestor{}, 0, false
	}
	p := Ancestor{PID: pid, Started: info.Proc.P_starttime.Nano(), Name: programName(unix.ByteSliceToString(info.Proc.P_comm[:]))}
	if session, err := unix.Getsid(pid); err == nil && info.Eproc.Tdev != -1 {
		p.Session = session
	}
	return p, int(info.Eproc.Ppid), true
}

// leader returns the leader of a process's session.
func leader(pid int) int {
	session, err := unix.Getsid(pid)
	if err != nil {
		return -1
	}
	return session
}

// peer returns the process that has connected a socket, 0 if unknown.
func peer(socket int) int {
	pid, _ := unix.GetsockoptInt(socket, unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	return pid
}
