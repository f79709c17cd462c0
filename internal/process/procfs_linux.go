package process

import (
	"bytes"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

func (f *family) identity() Identity {
	pid := f.cmd.Process.Pid
	return Identity{World: Space(), Mark: f.mark, Pid: pid, Start: began(pid)}
}

// Space identifies the boot and the PID namespace.
func Space() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(boot)) + " " + space
}

// members lists the family's processes, and when they began.
func (id Identity) members() map[int]string {
	if id.World != Space() || id.Start == "" {
		return nil
	}
	all := processes()
	maps.DeleteFunc(all, func(pid int, s status) bool { return s.ended || pid == os.Getpid() })
	root, lives := all[id.Pid]
	lives = lives && root.start == id.Start
	found := map[int]string{}
	for pid, p := range all {
		_, mark := variablesOf(pid).First(EnvFamily)
		if lives && (pid == id.Pid || p.session == id.Pid) || mark == id.Mark && mark != "" {
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

// status is a process's entry in /proc.
type status struct {
	parent, session int
	terminal        bool   // it has a controlling terminal
	start           string // in ticks since boot
	ended           bool   // a zombie, until its parent waits for it
	name            string // of its program, at most 15 characters
}

func processes() map[int]status {
	entries, _ := os.ReadDir("/proc")
	all := map[int]status{}
	for _, entry := range entries {
		pid, err := strconv.Atoi(entry.Name())
		if s, ok := statusOf(pid); ok && err == nil {
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

// statusOf reads /proc/PID/stat: pid (name) state ppid pgrp session …, and the start in field 22. The name may contain
// blanks and brackets.
func statusOf(pid int) (s status, ok bool) {
	stat, err := os.ReadFile(procFile(pid, "stat"))
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	if err != nil || len(fields) < 20 {
		return s, false
	}
	parent, badParent := strconv.Atoi(fields[1])
	session, badSession := strconv.Atoi(fields[3])
	name := string(stat[bytes.IndexByte(stat, '(')+1 : end])
	ended := fields[0] == "Z" || fields[0] == "X"
	return status{parent, session, fields[4] != "0", fields[19], ended, name}, badParent == nil && badSession == nil
}

func procFile(pid int, name string) string { return "/proc/" + strconv.Itoa(pid) + "/" + name }

func processFinder() look { return find }

// find finds a running process and its parent's pid.
func find(pid int) (Ancestor, int, bool) {
	s, ok := statusOf(pid)
	started, err := strconv.ParseInt(s.start, 10, 64)
	if !ok || s.ended || err != nil {
		return Ancestor{}, 0, false
	}
	program, err := os.Readlink(procFile(pid, "exe"))
	if err != nil { // it is another user's
		program = s.name
	}
	name := programName(filepath.Base(program))
	if name == "node" && (strings.Contains(program, "-server/") || strings.Contains(program, "/.vscode/")) {
		name = "code-server" // an editor's part on another machine
	}
	if name == "java" && strings.Contains(program, "/jbr/") {
		name = "idea" // an IDE of JetBrains brings its own
	}
	p := Ancestor{PID: pid, Started: started, Name: name}
	if s.terminal {
		p.Session = s.session
	}
	return p, s.parent, true
}

// variablesOf returns the variables that a process was started with, each ended by a NUL.
func variablesOf(pid int) Variables {
	text, _ := os.ReadFile(procFile(pid, "environ")) // another user's cannot be read
	return text
}

// rootSpace is the number of the first pid namespace of a machine.
const rootSpace = "pid:[4026531836]"

// LineageOf returns the lineage of the process at the beginning of a chain. It is empty for one in another pid namespace.
func LineageOf(chain []Ancestor) Lineage {
	l := Lineage{Top: -1}
	own, err := os.Readlink("/proc/self")
	var system unix.Statfs_t
	if errors.Join(err, unix.Statfs("/proc", &system)) != nil || own != strconv.Itoa(os.Getpid()) ||
		system.Type != unix.PROC_SUPER_MAGIC || len(chain) == 0 {
		return l // another file system is mounted there, or another namespace's
	}
	l.Space = Space()
	if space, _ := os.Readlink(procFile(chain[0].PID, "ns/pid")); !strings.HasSuffix(l.Space, " "+space) {
		return l
	}
	l.Chain = slices.Clone(chain)
	l.SeesAll = strings.HasSuffix(l.Space, rootSpace)
	l.Leader, _ = unix.Getsid(chain[0].PID)
	if s, ok := statusOf(chain[len(chain)-1].PID); ok && s.parent <= 1 {
		l.Top = s.parent
	}
	users, _ := os.ReadFile(procFile(chain[0].PID, "uid_map"))
	fields := strings.Fields(string(users))
	l.InOwnSpace = !l.SeesAll && len(fields) == 3 && fields[2] == "1" // a user may map only itself
	for i, p := range chain[1:] {
		if _, err := os.ReadFile(procFile(p.PID, "environ")); !errors.Is(err, fs.ErrPermission) || !isOwn(p.PID) {
			continue
		}
		if !p.Shared() && l.Hidden.PID == 0 {
			l.Hidden = p
		}
		isLast := i+2 == len(chain)
		l.Chain[i+1].claims = isLast || isOwn(chain[i+2].PID) // what an administrator's sshd starts is one
	}
	return l
}

// isOwn reports whether a process has this process's user, whoever its files in /proc belong to.
func isOwn(pid int) bool {
	text, _ := os.ReadFile(procFile(pid, "status"))
	_, after, _ := strings.Cut(string(text), "\nUid:")
	users := strings.Fields(after)
	return len(users) > 0 && users[0] == strconv.Itoa(os.Getuid())
}

// beganAt returns when a process began, zero if unknown.
func beganAt(p Ancestor) time.Time {
	var now unix.Timespec
	if p.Started == 0 || unix.ClockGettime(unix.CLOCK_BOOTTIME, &now) != nil {
		return time.Time{}
	}
	const tick = 10 * time.Millisecond
	return time.Now().Add(time.Duration(p.Started)*tick - time.Duration(now.Nano()))
}

// writtenAt returns when the program of a process was written; now, if its file is gone.
func writtenAt(p Ancestor) time.Time {
	path, err := os.Readlink(procFile(p.PID, "exe"))
	if err != nil {
		return time.Time{} // another user's
	}
	var info unix.Stat_t
	if unix.Stat(path, &info) != nil {
		return time.Now()
	}
	return time.Unix(info.Ctim.Unix())
}

// peer returns the process that has connected a socket, 0 if it cannot be seen from here.
func peer(socket int) int {
	user, err := unix.GetsockoptUcred(socket, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return 0
	}
	return int(user.Pid)
}
