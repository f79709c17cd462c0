package cli

import (
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// reportsFile is the file to which a detached process writes why it cannot begin.
const reportsFile = 3

// startDetached starts planloop in a process that outlives this one, and returns once that process closes its reports. Its error is the
// text of the reports.
func (a *app) startDetached(environment []string, args ...string) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	reads, reports, err := os.Pipe()
	if err != nil {
		return err
	}
	defer reads.Close()
	cmd := exec.Command(program, args...)
	cmd.Args[0], cmd.ExtraFiles = os.Args[0], []*os.File{reports}
	cmd.Env = append(cmd.Environ(), environment...)
	process.Detach(cmd)
	if err := errors.Join(cmd.Start(), reports.Close()); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // ends with either process; a zombie would count as an engine that lives
	text, err := io.ReadAll(reads)
	if text := strings.TrimSpace(string(text)); text != "" {
		err = errors.New(strings.TrimPrefix(text, "planloop: "))
	}
	return err
}

// reportToStarter makes a detached process write its errors to the one that started it, until began is called, and to the error log.
func (a *app) reportToStarter(who string) (began func() error) {
	a.recordErrors(who)
	reports := os.NewFile(reportsFile, "reports")
	a.err = reports
	return reports.Close
}

// detachEngine starts an engine for the open run in a process that outlives this one. It starts tools and no agents, and no process below
// it counts as a person's.
func (a *app) detachEngine(ctx context.Context, o verbs.EngineOptions) error {
	if runtime.GOOS == "windows" {
		return plan.Refuse(plan.Conflict, "", "on Windows a run ends with its terminal or host", "leave out --detach")
	}
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	environment := []string{process.EnvFamily + "=" + rand.Text()}
	for key, value := range a.settings {
		environment = append(environment, workspace.Variable(key)+"="+value)
	}
	args := []string{"run", "--detached", "--parallel", strconv.Itoa(o.Parallel), "--workspace", ws.place.Path, "--track", ws.place.TrackName()}
	if o.For > 0 {
		args = append(args, "--for", o.For.String())
	}
	if o.From != 0 {
		args = append(args, "--from", o.From.String())
	}
	for _, step := range o.Only {
		args = append(args, step.String())
	}
	return a.startDetached(environment, args...)
}

// runDetached is the engine that detachEngine starts.
func (a *app) runDetached(ctx context.Context, o verbs.EngineOptions) error {
	began := a.reportToStarter("run")
	ws, err := a.open(ctx, nil)
	if err != nil {
		return err
	}
	ctx, drain, over := a.interrupts(ctx)
	defer over()
	o.Joins, o.Drain, o.Begin = true, drain, func(context.Context) error { return began() }
	_, err = ws.verbs.Run(ctx, a.caller(), o)
	return err
}
