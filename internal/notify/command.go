package notify

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"time"

	"github.com/planloop/planloop/internal/process"
)

const commandTime = 10 * time.Second // for one run of the program

// command is a program that reads notices from standard input, one a run.
type command struct {
	argv     []string
	launcher *process.Launcher
}

func (c command) deliver(ctx context.Context, body []byte) error {
	home, err := os.UserHomeDir() // not the workspace: interpreters may load its files
	if err != nil {
		return fmt.Errorf("find the folder to run it in: %w", err)
	}
	cmd := exec.Command(c.argv[0], c.argv[1:]...)
	cmd.Dir, cmd.Stdin = home, bytes.NewReader(body)
	cmd.Env = process.Environment(os.Environ(), "DBUS_SESSION_BUS_ADDRESS", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY")
	result, err := c.launcher.Run(ctx, cmd, process.Options{Timeout: commandTime})
	switch {
	case err != nil:
		return err
	case result.TimedOut:
		return fmt.Errorf("it did not end within %s", commandTime)
	case result.ExitCode != 0:
		return fmt.Errorf("it exited with %d", result.ExitCode)
	}
	return nil
}
