// Package cli is the command line: it parses arguments, wires the parts together, prints, and turns errors into exit codes. Each
// family of commands is in a file named after it. It decides nothing about plans.
package cli

import (
	"context"
	"os"
	"os/signal"
	"runtime/debug"
	"slices"
	"sync"
	"syscall"
	"time"

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
		err = usageFrom(err)
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
