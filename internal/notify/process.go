package notify

import (
	"context"
	"os/exec"
	"time"
)

// process runs a programme as a process, without a window. Its input is empty
// and its output goes nowhere: that of planloop may be a protocol.
func process(ctx context.Context, argv, env []string) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	cmd.WaitDelay = time.Second
	hideWindow(cmd)
	return cmd.Run()
}
