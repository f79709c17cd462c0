package main

import "runtime"

// shellCommand returns the arguments that have the system's shell run a line.
func shellCommand(line string) []string {
	if runtime.GOOS == "windows" {
		return []string{"cmd", "/c", line}
	}
	return []string{"sh", "-c", line}
}
