package downstream_test

import (
	"os"
	"strconv"
	"testing"
)

// runs reports whether a process is running.
func runs(t *testing.T, pid string) bool {
	t.Helper()
	n, err := strconv.Atoi(pid)
	if err != nil {
		t.Fatal(err)
	}
	process, err := os.FindProcess(n)
	if err == nil {
		_ = process.Release()
	}
	return err == nil
}
