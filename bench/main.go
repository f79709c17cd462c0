// Command bench prints planloop's costs, each with its floor. Both are measured in
// the same run and in turn, so that other load on the machine affects both. It exits
// with 1 if a limit is exceeded.
//
//	go -C bench run .                 # everything, about two minutes
//	go -C bench run . -quick          # fewer repetitions, a shorter log
//	go -C bench run . -only mark      # measurements with mark in their name
//	go -C bench run . -report-only    # exit 0 on a machine that is too noisy to judge
//	go -C bench run . -program PATH   # measure a program built before
//
// It builds planloop and the floor servers, and drives them like a host: as processes
// over stdio. It must not know planloop's internals.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"

	"github.com/planloop/planloop/internal/workspace"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

type options struct {
	only       string
	program    string
	quick      bool
	reportOnly bool
}

func parse(args []string, out io.Writer) (options, error) {
	var o options
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	flags.SetOutput(out)
	flags.StringVar(&o.only, "only", "", "measure only figures with this text in their names")
	flags.StringVar(&o.program, "program", "", "measure this planloop instead of building one")
	flags.BoolVar(&o.quick, "quick", false, "fewer repetitions and a log of 10,000 actions")
	flags.BoolVar(&o.reportOnly, "report-only", false, "exit with 0 even when a limit does not hold")
	return o, flags.Parse(args)
}

func run(ctx context.Context, args []string, out, log io.Writer) int {
	o, err := parse(args, log)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	figures, err := measure(ctx, o, log)
	if len(figures) > 0 {
		printTable(out, figures)
	}
	if err != nil {
		fmt.Fprintln(log, "bench:", err)
		return 1
	}
	if broken(figures) && !o.reportOnly {
		return 1
	}
	return 0
}

// measurement yields figures. -only selects it by name.
type measurement struct {
	name string
	take func(context.Context, *bench) ([]figure, error)
}

func measurements() []measurement {
	return []measurement{
		{"start", measureStart},
		{"command", measureCommands},
		{"hook", measureHooks},
		{"open", measureOpening},
		{"mark", measureMarks},
		{"together", measureTogether},
		{"notice", measureNotice},
		{"gates", measureGates},
		{"waiting", measureWaiting},
		{"decision", measureDecision},
		{"classify", measureClassify},
		{"memory", measureMemory},
	}
}

func measure(ctx context.Context, o options, log io.Writer) ([]figure, error) {
	chosen := slices.DeleteFunc(measurements(), func(m measurement) bool { return !strings.Contains(m.name, o.only) })
	if len(chosen) == 0 {
		return nil, fmt.Errorf("no measurement has %q in its name", o.only)
	}
	b, err := newBench(ctx, o)
	if err != nil {
		return nil, err
	}
	defer b.close()
	var figures []figure
	for _, m := range chosen {
		fmt.Fprintf(log, "measuring %s\n", m.name)
		taken, err := m.take(ctx, b)
		if err != nil {
			return figures, fmt.Errorf("%s: %w", m.name, err)
		}
		figures = append(figures, taken...)
	}
	return figures, nil
}

// bench holds the programs and the folder for all files, which the measurements
// share.
type bench struct {
	options
	dir      string
	planloop string
	echo     string
	commit   string
}

func newBench(ctx context.Context, o options) (*bench, error) {
	dir, err := os.MkdirTemp("", "planloop-bench-")
	if err != nil {
		return nil, err
	}
	b := &bench{options: o, dir: dir, planloop: o.program,
		echo: filepath.Join(dir, "echo"), commit: filepath.Join(dir, "commit")}
	builds := map[string]string{b.echo: "floor/echo", b.commit: "floor/commit"}
	if b.planloop == "" {
		b.planloop = filepath.Join(dir, "planloop")
		builds[b.planloop] = "../cmd/planloop"
	}
	for program, folder := range builds {
		if err := build(ctx, program, folder); err != nil {
			b.close()
			return nil, err
		}
	}
	return b, nil
}

func (b *bench) close() { _ = os.RemoveAll(b.dir) }

// build compiles the command in folder with the flags of a release.
func build(ctx context.Context, program, folder string) error {
	cmd := exec.CommandContext(ctx, "go", "-C", folder, "build", "-trimpath", "-ldflags=-s -w", "-o", program, ".")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s; run this in the folder bench: %w\n%s", folder, err, out)
	}
	return nil
}

// rounds returns the number of repetitions, which is smaller with -quick.
func (b *bench) rounds(n int) int {
	if b.quick {
		return max(n/10, 5)
	}
	return n
}

// place makes a workspace's directory, and returns it with the folder for
// planloop's state.
func (b *bench) place(name string) (workspace.Workspace, error) {
	dir := filepath.Join(b.dir, "work", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return workspace.Workspace{}, err
	}
	return workspace.Find(workspace.Lookup{Flag: dir, Getenv: func(name string) string { return b.environment()[name] }})
}

// environment returns variables that keep the user's own configuration and state out.
func (b *bench) environment() map[string]string {
	return map[string]string{"HOME": b.dir, "PATH": os.Getenv("PATH"),
		"XDG_STATE_HOME": filepath.Join(b.dir, "state"), "XDG_CONFIG_HOME": filepath.Join(b.dir, "config")}
}

// command prepares a process of one of the programs.
func (b *bench) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = b.dir, []string{}
	for name, value := range b.environment() {
		cmd.Env = append(cmd.Env, name+"="+value)
	}
	return cmd
}

// succeed runs a command to its end.
func succeed(cmd *exec.Cmd) error {
	var complaint bytes.Buffer
	cmd.Stderr = &complaint
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", cmd, errors.Join(err, errors.New(complaint.String())))
	}
	return nil
}
