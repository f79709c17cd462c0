//go:build !unix

package shell

import "os/exec"

// ownGroup does nothing where there are no groups of processes.
func ownGroup(*exec.Cmd) {}

// endGroup ends the command itself.
func endGroup(cmd *exec.Cmd) error { return cmd.Process.Kill() }

// lookProgram finds a program on the own PATH: there is no fixed one.
func lookProgram(name string) (string, error) { return exec.LookPath(name) }
