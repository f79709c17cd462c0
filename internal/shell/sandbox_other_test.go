//go:build !linux || !amd64

package shell_test

// sandboxed does nothing: this system has no sandbox.
func sandboxed() {}
