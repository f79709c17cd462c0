//go:build !linux

package process

// environment returns nothing: on this system a process cannot read other environments.
func variablesOf(int) Variables { return nil }
