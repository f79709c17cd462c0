//go:build !linux

package e2e_test

// driveIfAsked does nothing: the attacks run on Linux.
func driveIfAsked() {}
