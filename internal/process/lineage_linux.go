package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

func processFinder() look { return find }

// find reads /proc/PID/stat: pid (name) state ppid …, and the start, in clock ticks since boot, in field 22. The name
// may contain blanks and brackets.
func find(pid int) (Ancestor, int, bool) {
	folder := "/proc/" + strconv.Itoa(pid)
	stat, err := os.ReadFile(folder + "/stat")
	end := bytes.LastIndexByte(stat, ')')
	fields := strings.Fields(string(stat[end+1:]))
	if err != nil || len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" { // it has ended
		return Ancestor{}, 0, false
	}
	parent, err := strconv.Atoi(fields[1])
	if err != nil {
		return Ancestor{}, 0, false
	}
	started, err := strconv.ParseInt(fields[19], 10, 64)
	if err != nil {
		return Ancestor{}, 0, false
	}
	program, err := os.Readlink(folder + "/exe")
	if err != nil { // it is another user's
		program = string(stat[bytes.IndexByte(stat, '(')+1 : end])
	}
	return Ancestor{PID: pid, Started: started, Name: programName(filepath.Base(program))}, parent, true
}

// environment returns the variables that a process was started with, each ended by a NUL.
func variablesOf(pid int) Variables {
	text, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if err != nil {
		return nil
	}
	return text
}
