package mcpserver_test

import (
	"testing"

	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/mcpserver"
)

// Every next action is an offered tool, or is described as the user's.
func TestEveryActHasWords(t *testing.T) {
	for _, toolsets := range [][]string{nil, {verbs.Planning}, {verbs.Loop}, {verbs.Mode}, {verbs.Execution}} {
		face := mcpserver.Tools{Toolsets: toolsets, User: terminal.CommandLine{}}
		for _, act := range testenv.Constants(t, "../internal/verbs/caller.go", "CallKind") {
			if text, _ := face.Word(verbs.Call{Kind: verbs.CallKind(act)}); text == "" {
				t.Errorf("%v: %s has no words", toolsets, act)
			}
		}
	}
}
