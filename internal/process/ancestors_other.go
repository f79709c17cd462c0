//go:build !linux && !darwin && !windows

package process

// processFinder finds nothing: it is not implemented for this system.
func processFinder() look {
	return func(int) (Ancestor, int, bool) { return Ancestor{}, 0, false }
}

// members finds nothing: listing processes is not implemented for this system. The process group is still killed.
func members(int) []int { return nil }

// began is not implemented for this system.
func began(int) string { return "" }

// leader is not implemented for this system.
func leader(int) int { return -1 }

// peer is not implemented for this system.
func peer(int) int { return 0 }
