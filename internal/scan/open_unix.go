//go:build unix

package scan

import "syscall"

// openFlag keeps an open from waiting for the writer of a pipe that has taken
// the place of a file.
const openFlag = syscall.O_NONBLOCK
