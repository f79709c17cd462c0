package process_test

import (
	"errors"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/process"
)

// A launcher whose program was removed starts nothing, because nothing would end it, and says so.
func TestProgramTakenAway(t *testing.T) {
	launcher := &process.Launcher{Program: filepath.Join(t.TempDir(), "planloop")}
	_, err := launcher.Run(t.Context(), exec.Command("echo", "started"), process.Options{Timeout: time.Minute, Output: 100})
	if !errors.Is(err, process.ErrGone) {
		t.Errorf("got %v", err)
	}
}
