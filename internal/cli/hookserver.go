package cli

import (
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/hook"
	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/workspace"
)

// servesHost reports whether this program is the server that a host calls planloop: the host says that it starts this program, or no file
// of the project gives the name to another one and the host has a living server of planloop.
func (a *app) servesHost(place workspace.Workspace, call hook.Call) bool {
	if call.Program != "" {
		program, err := exec.LookPath(call.Program) // a path of the workspace is an error, or not this program
		return err == nil && filepath.IsAbs(program) && sameFile(program, ownPath())
	}
	m, err := a.homeMachine()
	if err != nil {
		return false
	}
	for _, m.Project = range slices.Compact(append([]string{place.Path, call.Dir}, call.Roots...)) {
		if found, _ := m.Inspect(string(call.Host), hosts.Request{Scope: hosts.Project, NoHooks: true}); found.Server == hosts.Foreign {
			return false
		}
	}
	return presence.HasServer(place.SharedDir(), a.ancestors())
}

// shadowed reports whether the command names planloop while the PATH finds a program of that name in the workspace.
func shadowed(place workspace.Workspace, call hook.Call) bool {
	if !strings.Contains(call.Command, hook.OwnServer) {
		return false
	}
	program, err := exec.LookPath(hook.OwnServer)
	inside, wrong := filepath.Rel(place.Path, program)
	return program != "" && (err != nil || wrong == nil && filepath.IsLocal(inside) && !sameFile(program, ownPath()))
}
