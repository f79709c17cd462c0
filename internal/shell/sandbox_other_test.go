//go:build !linux || !amd64

package shell_test

// sandboxed does nothing: on this system there is no sandbox.
func sandboxed() {}
