//go:build !linux || (!amd64 && !arm64)

package sandbox

// Has reports whether this system can build a wall.
func Has(Wall) bool { return false }

// RunOnly does nothing: this system has no such limit.
func RunOnly(...string) error { return nil }

func outside(job, []string) (int, error) { return Failed, ErrNoWall }

func inside(job, []string) (int, error) { return Failed, ErrNoWall }
