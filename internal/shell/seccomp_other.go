//go:build linux && !amd64 && !arm64

package shell

// refuseCalls refuses none: nobody has written the table of this architecture.
func refuseCalls() error { return nil }
