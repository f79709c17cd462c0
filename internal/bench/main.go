package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
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
	flags.StringVar(&o.only, "only", "", "measure only what has this in its name")
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

// measurement yields figures. Its name is what -only looks for.
type measurement struct {
	name string
	take func(context.Context, *bench) ([]figure, error)
}

func measurements() []measurement {
	return []measurement{
		{"start", measureStart},
		{"command", measureCommands},
		{"open", measureOpening},
		{"mark", measureMarks},
		{"together", measureTogether},
		{"notice", measureNotice},
		{"status", measureStatus},
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
