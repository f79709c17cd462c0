package process

import "golang.org/x/sys/unix"

// Hide keeps the memory, the environment and the open files of this process from others of
// the same user, and writes no core of it. Root sees them all the same.
func Hide() error { return unix.Prctl(unix.PR_SET_DUMPABLE, 0, 0, 0, 0) }
