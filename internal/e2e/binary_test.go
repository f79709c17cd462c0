package e2e_test

import (
	"flag"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/engine"
	"github.com/planloop/planloop/internal/hosts"
	"github.com/planloop/planloop/internal/model"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/process/lineagetest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/internal/workspace"
)

// binaryVariable passes the path of the program from TestMain to the tests.
const binaryVariable = "PLANLOOP_E2E_BINARY"

// TestMain builds the program once, in a place where every user of the machine can run it, unless the variable gives a path.
func TestMain(m *testing.M) {
	lineagetest.Relay()
	driveIfAsked()
	agents := append(hosts.ShellVariables(), engine.EnvRun, model.EnvInside, workspace.EnvAgent, process.EnvFamily)
	os.Exit(buildAndRun(lineagetest.Detached{Tests: testenv.Fixed{Tests: m}, Without: agents}))
}

// noticeSources reads every source, so that `go test` does not use a cached result after the program has changed.
func noticeSources() {
	_ = filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") {
			_, err = os.Stat(path)
		}
		return err
	})
}

func buildAndRun(m lineagetest.Tests) int {
	flag.Parse()
	if os.Getenv(binaryVariable) != "" || testing.Short() {
		return m.Run()
	}
	dir, err := os.MkdirTemp("", "planloop-e2e-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "planloop")
	if runtime.GOOS == "windows" {
		path += ".exe"
	}
	noticeSources()
	build := exec.Command("go", "build", "-o", path, "github.com/planloop/planloop/cmd/planloop")
	build.Stdout, build.Stderr = os.Stderr, os.Stderr
	if err := build.Run(); err != nil {
		fmt.Fprintln(os.Stderr, "build the program:", err)
		return 1
	}
	if err := os.Chmod(dir, 0o755); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err := os.Setenv(binaryVariable, path); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return m.Run()
}
