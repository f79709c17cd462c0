package process

import (
	"bytes"
	"maps"
	"os"
	"strconv"
	"strings"
)

// markName is the environment variable that holds a process's family.
const markName = "PLANLOOP_FAMILY"

func (f *family) identity() Identity {
	pid := f.cmd.Process.Pid
	return Identity{World: world(), Mark: f.mark, Pid: pid, Start: began(pid)}
}

// world identifies the boot and the PID namespace.
func world() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(boot)) + " " + space
}

// members lists the family's processes, and when they began.
func (id Identity) members() map[int]string {
	if id.World != world() || id.Start == "" {
		return nil
	}
	all := processes()
	maps.DeleteFunc(all, func(pid int, s status) bool { return s.ended || pid == os.Getpid() })
	root, lives := all[id.Pid]
	lives = lives && root.start == id.Start
	found := map[int]string{}
	for pid, p := range all {
		if lives && (pid == id.Pid || p.session == id.Pid) || marked(pid, id.Mark) {
			found[pid] = p.start
		}
	}
	for grown := true; grown; {
		grown = false
		for pid, p := range all {
			if _, in := found[pid]; in {
				continue
			}
			if _, of := found[p.parent]; of {
				found[pid], grown = p.start, true
			}
		}
	}
	return found
}

// marked reports whether a process has the mark in its environment. Another user's environment cannot be read.
func marked(pid int, mark string) bool {
	_, value := variablesOf(pid).First(markName)
	return mark != "" && value == mark
}

// status is a process's entry in /proc.
type status struct {
	parent, session int
	start           string // in ticks since boot
	ended           bool   // a zombie, until its parent waits for it
}

func processes() map[int]status {
	entries, err := os.ReadDir("/proc")
	if err != nil {
		return nil
	}
	all := map[int]status{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if err != nil {
			continue
		}
		if s, ok := statusOf(pid); ok {
			all[pid] = s
		}
	}
	return all
}

// began returns when a process began, "" if it does not run.
func began(pid int) string {
	s, _ := statusOf(pid)
	return s.start
}

func statusOf(pid int) (s status, ok bool) {
	stat, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return s, false
	}
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // a name may contain blanks and brackets
	if len(fields) < 20 {
		return s, false
	}
	parent, badParent := strconv.Atoi(fields[1])
	session, badSession := strconv.Atoi(fields[3])
	return status{parent, session, fields[19], fields[0] == "Z" || fields[0] == "X"}, badParent == nil && badSession == nil
}
