package main

import (
	"context"
	"io"
	"os"

	"golang.org/x/term"
)

// world is what a command may touch of the process it runs in.
type world struct {
	in         io.Reader
	out, err   io.Writer
	getenv     func(string) string
	inTerminal bool // standard input is a terminal
	outIsTerm  bool // standard output is one
}

func environment() world {
	return world{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv,
		inTerminal: term.IsTerminal(int(os.Stdin.Fd())), outIsTerm: term.IsTerminal(int(os.Stdout.Fd())),
	}
}

// run carries out one command line and returns the exit code.
func run(ctx context.Context, w world, args []string) int {
	app := &app{world: w}
	root := newRootCommand(app)
	root.SetArgs(args)
	root.SetIn(w.in)
	root.SetOut(w.out)
	root.SetErr(w.err)
	err := root.ExecuteContext(ctx)
	if closed := app.close(); err == nil {
		err = closed
	}
	return app.report(err)
}
