//go:build !linux

package lineagetest

// Run runs the tests. On this system a process does not see with what others were started.
func (a Apart) Run() int { return a.Tests.Run() }
