//go:build unix

package tree

import "syscall"

// withoutWaiting keeps an open from waiting for the writer of a pipe that has
// taken the place of a file.
const withoutWaiting = syscall.O_NONBLOCK
