//go:build !linux

package cli

import "github.com/rogpeppe/go-internal/testscript"

// atTerminal needs a pseudo-terminal, which other systems open differently: scripts that use it begin with [!linux] skip.
func atTerminal(ts *testscript.TestScript, _ bool, _ []string) {
	ts.Fatalf("terminal: only on Linux")
}
