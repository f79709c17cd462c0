//go:build unix

package downstream_test

import (
	"strconv"
	"syscall"
	"testing"
)

// runs reports whether a process is running.
func runs(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	return syscall.Kill(n, 0) == nil
}
