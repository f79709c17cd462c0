// Package cli is the command line: it parses arguments, wires the parts together, prints, and turns errors into exit codes. Each
// family of commands is in a file named after it. It decides nothing about plans.
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/internal/terminal"
)

// Main runs the program with the arguments of this process, and ends the process with the exit code.
func Main() {
	collectLater()
	process.Keep() // both return, unless this process was started to keep or confine a command
	shell.Confine()
	terminal.EnableColours(os.Stdout)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, processEnvironment(), os.Args[1:])
	stop()
	os.Exit(code)
}

// run executes a command line and returns the exit code.
func run(ctx context.Context, w environment, args []string) int {
	app := &app{environment: w}
	app.launch = sync.OnceValue(app.launcher)
	root := newRootCommand(app)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	if err != nil && !app.isParsed {
		// The command line is invalid, perhaps before --json was parsed.
		if !errors.As(err, new(usageError)) {
			text, _, _ := strings.Cut(err.Error(), "\n") // suggestions follow in a different form
			err = usageError{fmt.Errorf("%s; see `planloop --help`", text)}
		}
		app.flags.json = app.flags.json || asksForJSON(args)
	}
	code := app.report(ctx, err)
	if closed := app.close(); closed != nil && err == nil {
		return app.report(ctx, closed)
	}
	return code
}

func asksForJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json")
}

// collectLater saves a garbage collection at start-up. The imported packages, mostly mcp-go's schema compiler, leave over 2 MB of garbage
// before main begins. The first collection, due at 3 MB, would fall into the first answer of every server and take a fifth of its time.
// Most commands end before the second one.
func collectLater() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(200)
	}
}

// settle returns a server's start-up memory to the system after a short delay, and restores the normal garbage collection.
func settle() {
	time.AfterFunc(settleAfter, func() {
		if os.Getenv("GOGC") == "" {
			debug.SetGCPercent(100)
		}
		debug.FreeOSMemory()
	})
}

const settleAfter = time.Second

// environment is the part of the process that a command may use.
type environment struct {
	in            io.Reader
	out, err      io.Writer
	getenv        func(string) string
	home          func() (string, error)                             // of the user
	inIsTerminal  bool                                               // standard input is a terminal
	outIsTerminal bool                                               // standard output is a terminal
	errIsTerminal bool                                               // standard error is a terminal
	size          func() (width, rows int)                           // of standard output's terminal; zeros if unknown
	ancestors     func() []process.Ancestor                          // this process and its ancestors
	inherited     func(variables ...string) (variable, value string) // one of them in the nearest ancestor that has one; "" if none
}

func processEnvironment() environment {
	ancestors := sync.OnceValue(process.Ancestors)
	above := sync.OnceValue(func() []process.Variables { return process.VariablesOf(ancestors()) })
	return environment{
		in: os.Stdin, out: os.Stdout, err: os.Stderr, getenv: os.Getenv, home: os.UserHomeDir,
		inIsTerminal: term.IsTerminal(int(os.Stdin.Fd())), outIsTerminal: term.IsTerminal(int(os.Stdout.Fd())),
		errIsTerminal: term.IsTerminal(int(os.Stderr.Fd())),
		size:          terminalSize, ancestors: ancestors,
		inherited: func(variables ...string) (variable, value string) { return inheritedVariable(above(), variables...) },
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
