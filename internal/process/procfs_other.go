//go:build !linux

package process

// Hide does nothing: this system has no such setting.
func Hide() error { return nil }

// variablesOf returns nothing: on this system a process cannot read other environments.
func variablesOf(int) Variables { return nil }
