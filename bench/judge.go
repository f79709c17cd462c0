package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/shell"
	"github.com/planloop/planloop/plan"
)

const (
	gatesLimit    = 100 * time.Millisecond
	gatedTasks    = 500
	gatedPaths    = 2_000
	classifyLimit = 50 * time.Microsecond
	longestLimit  = 50 * time.Millisecond
	longCommand   = 100 << 10 // bytes
)

// measureGates times the gates on a plan of the largest size, with files on the disk.
func measureGates(ctx context.Context, b *bench) ([]figure, error) {
	dir, err := os.MkdirTemp(b.dir, "gates-")
	if err != nil {
		return nil, err
	}
	candidate, err := gated(dir)
	if err != nil {
		return nil, err
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	taken, err := inTurn(b.rounds(60), 2, func() (time.Duration, error) {
		begin := time.Now()
		report, err := gates.Check(ctx, candidate, gates.Options{Files: root.FS()})
		took := time.Since(begin)
		if err == nil && !report.OK() {
			err = fmt.Errorf("the plan is refused: %v", report.Details())
		}
		return took, err
	})
	if err := errors.Join(err, root.Close()); err != nil {
		return nil, err
	}
	return []figure{under(fmt.Sprintf("gates over %d tasks with %d paths", gatedTasks, gatedPaths), taken[0], gatesLimit)}, nil
}

// gated makes files, and tasks that name all of them.
func gated(dir string) (gates.Candidate, error) {
	c := gates.Candidate{Objective: "Measure the gates"}
	for n := range gatedTasks {
		task := gates.Task{ID: plan.StepID(n + 1), Spec: plan.Spec{
			Title: fmt.Sprintf("Change handler %d of the package", n), Type: plan.Feature, Verify: "go test ./..."}}
		if n > 0 {
			task.DependsOn = []plan.StepID{plan.StepID(n)}
		}
		for i := range gatedPaths / gatedTasks {
			path := fmt.Sprintf("src/package%d/file%d_%d.go", n%50, n, i)
			full := filepath.Join(dir, filepath.FromSlash(path))
			if err := os.MkdirAll(filepath.Dir(full), 0o700); err != nil {
				return c, err
			}
			if err := os.WriteFile(full, []byte("package p\n"), 0o600); err != nil {
				return c, err
			}
			task.RelevantFilePaths = append(task.RelevantFilePaths, path)
			task.ContextHints = append(task.ContextHints, "Read `"+path+"` to see the result of the handler.")
		}
		c.New = append(c.New, task)
	}
	return c, nil
}

// measureClassify times the classification of shell commands: those that agents run to
// look around, and one of the longest that planning mode accepts.
func measureClassify(_ context.Context, b *bench) ([]figure, error) {
	var figures []figure
	for _, c := range []struct {
		what, command string
		limit         time.Duration
		times         int
	}{
		{"judge `git log --oneline -10`", "git log --oneline -10", classifyLimit, 100},
		{"judge a pipeline of four commands",
			`find . -name '*.go' -not -path './vendor/*' | xargs grep -n "func main" | sort -u | head -20`, classifyLimit, 100},
		{"judge a command that writes", `find . -name '*.go' -delete`, classifyLimit, 100},
		{"judge 100 KiB of commands", strings.Repeat("grep -rn 'foo bar' --include=*.go src | head -5; ", longCommand/49), longestLimit, 1},
		{"judge a command of 100 KiB", "echo " + strings.Repeat("word ", longCommand/5), longestLimit, 1},
	} {
		taken, err := inTurn(b.rounds(300), 10, func() (time.Duration, error) {
			begin := time.Now()
			for range c.times {
				shell.Classify(c.command)
			}
			return time.Since(begin) / time.Duration(c.times), nil
		})
		if err != nil {
			return nil, err
		}
		figures = append(figures, under(c.what, taken[0], c.limit))
	}
	return figures, nil
}
