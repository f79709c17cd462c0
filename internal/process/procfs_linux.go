package process

import (
	"bytes"
	"maps"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// markName is the environment variable that holds a process's family.
const markName = "PLANLOOP_FAMILY"

func (f *family) identity() Identity {
	pid := f.cmd.Process.Pid
	return Identity{World: numberSpace(), Mark: f.mark, Pid: pid, Start: began(pid)}
}

// numberSpace identifies the boot and the PID namespace.
func numberSpace() string {
	boot, _ := os.ReadFile("/proc/sys/kernel/random/boot_id")
	space, _ := os.Readlink("/proc/self/ns/pid")
	return strings.TrimSpace(string(boot)) + " " + space
}

// members lists the family's processes, and when they began.
func (id Identity) members() map[int]string {
	if id.World != numberSpace() || id.Start == "" {
		return nil
	}
	all := processes()
	maps.DeleteFunc(all, func(pid int, s status) bool { return s.ended || pid == os.Getpid() })
	root, lives := all[id.Pid]
	lives = lives && root.start == id.Start
	found := map[int]string{}
	for pid, p := range all {
		_, mark := variablesOf(pid).First(markName)
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
	return status{parent, session, fields[19], fields[0] == "Z" || fields[0] == "X", name}, badParent == nil && badSession == nil
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
	return Ancestor{PID: pid, Started: started, Name: programName(filepath.Base(program))}, s.parent, true
}

// variablesOf returns the variables that a process was started with, each ended by a NUL.
func variablesOf(pid int) Variables {
	text, _ := os.ReadFile(procFile(pid, "environ")) // another user's cannot be read
	return text
}
