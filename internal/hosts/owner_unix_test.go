//go:build unix

package hosts_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/hosts"
)

// A file keeps its owner, where whoever may do anything writes it.
func TestOwnersStay(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("needs root")
	}
	m := machine(t)
	path := filepath.Join(m.Home, ".claude.json")
	put(t, path, "{}")
	if err := os.Chown(path, 65534, 65534); err != nil {
		t.Fatal(err)
	}
	write(t, m, "claude", hosts.Request{Scope: hosts.User})
	info, err := os.Stat(path)
	if err != nil || info.Sys().(*syscall.Stat_t).Uid != 65534 {
		t.Errorf("%v, %v", info, err)
	}
}
