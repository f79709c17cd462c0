//go:build !linux

package origin

// ConnectionOwner is unknown on this system.
func ConnectionOwner(_, _ string) (uid int, known bool) { return 0, false }
