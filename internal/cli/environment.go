package cli

import (
	"io"
	"os"
	"sync"

	"golang.org/x/term"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/terminal"
)

// environment is the part of the process that a command may use.
type environment struct {
	in            io.Reader
	out, err      io.Writer
	getenv        func(string) string
	home          func() (string, error)    // of the user
	inIsTerminal  bool                      // standard input is a terminal
	outIsTerminal bool                      // standard output is a terminal
	errIsTerminal bool                      // standard error is a terminal
	size          func() (width, rows int)  // of standard output's terminal; zeros if unknown
	ancestors     func() []process.Ancestor // this process and its ancestors
	agentVariable func() string             // the variable of an agent's host in an ancestor's environment; "" if none
	inherited     func(string) string       // the value of a variable in an ancestor's environment; "" if none
}

func processEnvironment() environment {
	ancestors := sync.OnceValue(process.Ancestors)
	above := sync.OnceValue(func() []process.Variables { return process.VariablesOf(ancestors()) })
	return environment{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv, home: os.UserHomeDir,
		inIsTerminal: term.IsTerminal(int(os.Stdin.Fd())), outIsTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		errIsTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		size:          terminalSize, ancestors: ancestors, agentVariable: sync.OnceValue(func() string { return agentVariable(above()) }),
		inherited: func(variable string) string { return inheritedValue(above(), variable) },
	}
}

func terminalSize() (width, rows int) {
	width, rows, err := term.GetSize(int(os.Stdout.Fd()))
	if err != nil {
		return 0, 0
	}
	return width, rows
}

// screen describes standard output to the text renderer.
func (w environment) screen() terminal.Screen {
	return terminal.NewScreen(terminal.Options{Getenv: w.getenv, IsTerminal: w.outIsTerminal, Size: w.size})
}
