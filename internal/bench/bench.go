package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/planloop/planloop/internal/workspace"
)

// bench holds what the measurements share: the programs and a folder for all
// that they write.
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
	builds := map[string]string{b.echo: "internal/bench/floor/echo", b.commit: "internal/bench/floor/commit"}
	if b.planloop == "" {
		b.planloop = filepath.Join(dir, "planloop")
		builds[b.planloop] = "cmd/planloop"
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

// build compiles a command of this module as it is released.
func build(ctx context.Context, program, folder string) error {
	found, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
	if err != nil {
		return fmt.Errorf("go env: %w", err)
	}
	module := strings.TrimSpace(string(found))
	if filepath.Base(module) != "go.mod" {
		return errors.New("this is not a Go module; run it in planloop's source tree")
	}
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", program, "./"+folder)
	cmd.Dir = filepath.Dir(module)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("build %s: %w\n%s", folder, err, out)
	}
	return nil
}

// rounds is how often something is repeated.
func (b *bench) rounds(n int) int {
	if b.quick {
		return max(n/10, 5)
	}
	return n
}

// place makes a directory to work in, and returns it with the folder in which
// planloop keeps its state.
func (b *bench) place(name string) (workspace.Workspace, error) {
	dir := filepath.Join(b.dir, "work", name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return workspace.Workspace{}, err
	}
	return workspace.Find(workspace.Lookup{Flag: dir, Getenv: b.getenv})
}

// environment keeps the user's own configuration and state out of it.
func (b *bench) environment() []string {
	return []string{"HOME=" + b.dir, "PATH=" + os.Getenv("PATH"),
		"XDG_STATE_HOME=" + filepath.Join(b.dir, "state"), "XDG_CONFIG_HOME=" + filepath.Join(b.dir, "config")}
}

func (b *bench) getenv(name string) string {
	for _, entry := range b.environment() {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// command prepares a process of one of the programs.
func (b *bench) command(ctx context.Context, program string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = b.dir, b.environment()
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
