//go:build unix && !linux && !darwin

package process

// members finds nothing: listing processes is not implemented for this system. The process group is still killed.
func members(int) []int { return nil }

// began is not implemented for this system.
func began(int) string { return "" }
