package main

import (
	"context"
	"os"

	"github.com/planloop/planloop/internal/toolbox"
	"github.com/planloop/planloop/plan"
)

// box opens the tools on the workspace's files, held to reading while planning mode
// asks for it.
func (a *app) box() (*toolbox.Box, error) {
	opened, err := a.open(context.Background(), nil)
	if err != nil {
		return nil, err
	}
	if opened.place.Default {
		return nil, &plan.ValidationError{Kind: plan.Conflict, Problem: "this is no project, so there are no files to work on", Fix: "start planloop in a project, or with --workspace DIR"}
	}
	launcher, err := os.Executable()
	if err != nil {
		launcher = "" // commands that only read are then run without the second wall
	}
	return toolbox.Open(opened.place.Path, toolbox.Options{Guard: opened.verbs.Restricted, Launcher: launcher})
}
