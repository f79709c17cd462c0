//go:build !linux

package lineage

// environment returns nothing: on this system a process cannot read other environments.
func environment(int) Environment { return nil }
