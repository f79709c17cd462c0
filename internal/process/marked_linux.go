package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// KillMarked kills the processes with a mark in their environment, until there
// are none: those that left the group of their command. One that also dropped its
// environment is not found.
func KillMarked(mark string) {
	for range 100 { // each round ends what the former saw being started
		found := marked(mark)
		if len(found) == 0 {
			return
		}
		for _, pid := range found {
			_ = syscall.Kill(pid, syscall.SIGKILL) // fails when it is gone
		}
	}
}

func marked(mark string) []int {
	folders, err := filepath.Glob("/proc/[0-9]*")
	if err != nil {
		return nil
	}
	var found []int
	for _, folder := range folders {
		pid, err := strconv.Atoi(filepath.Base(folder))
		if err != nil || pid == os.Getpid() {
			continue
		}
		variables, err := os.ReadFile(folder + "/environ") // that of a process which has ended is empty
		if err == nil && bytes.Contains(variables, []byte(mark)) {
			found = append(found, pid)
		}
	}
	return found
}
