//go:build !linux

package lineagetest

// Run runs the tests. On this system a process cannot read other environments.
func (a Detached) Run() int { return a.Tests.Run() }
