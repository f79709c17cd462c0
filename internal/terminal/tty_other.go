//go:build !linux

package terminal

import "io"

// DropTyped does nothing here.
func DropTyped(io.ReadWriter) {}
