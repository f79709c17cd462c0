package presence_test

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/testenv"
)

// TestServerOfTheHost: a server vouches for planloop's name only in the host that started it.
func TestServerOfTheHost(t *testing.T) {
	made := func(pid int, name string) process.Ancestor {
		return process.Ancestor{PID: pid, Started: int64(pid), Name: name}
	}
	server, hook, shell := self(t), made(90, "planloop"), made(80, "sh")
	claude, codex, npx := made(70, "claude"), made(71, "codex"), made(72, "node")
	bash, tmux := made(60, "bash"), made(50, "tmux")
	code, extensions := made(40, "code"), made(41, "code")
	type chain = []process.Ancestor
	for name, test := range map[string]struct {
		hook, server chain
		http         string
		want         bool
	}{
		"of one host":                     {chain{hook, shell, claude, bash, tmux}, chain{server, claude, bash, tmux}, "", true},
		"by a wrapper":                    {chain{hook, claude, bash}, chain{server, npx, claude, bash}, "", true},
		"in process 1":                    {chain{hook, shell}, chain{server}, "", true},
		"of another host in the terminal": {chain{hook, claude, bash, tmux}, chain{server, codex, bash, tmux}, "", false},
		"of another terminal":             {chain{hook, claude, bash, tmux}, chain{server, codex, shell, tmux}, "", false},
		"of the host above":               {chain{hook, codex, shell, claude, bash}, chain{server, claude, bash}, "", false},
		"of an editor":                    {chain{hook, shell, extensions, code, bash}, chain{server, code, bash}, "", true},
		"in an editor's terminal":         {chain{hook, shell, extensions, code}, chain{server, claude, bash, code}, "", false},
		"beside an editor's own":          {chain{hook, claude, bash, code}, chain{server, code}, "", false},
		"in another process 1":            {chain{hook, claude}, chain{server, codex}, "", false},
		"over HTTP":                       {chain{hook, claude, bash}, chain{server, shell, tmux}, "app-1", true},
		"over HTTP for another workspace": {chain{hook, claude, bash}, chain{server, claude, bash}, "app-2", false},
		"ended":                           {chain{hook, claude, bash}, chain{made(server.PID, "planloop"), claude, bash}, "", false},
	} {
		home := filepath.Join(t.TempDir(), "planloop")
		if err := presence.AnnounceProgram(home, test.server, test.http); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: without a state home: %v", name, err)
		}
		testenv.Check(t, os.Mkdir(home, 0o700))
		testenv.Check(t, presence.AnnounceProgram(home, test.server, test.http))
		if got := presence.HasServer(filepath.Join(home, "app-1"), test.hook); got != test.want {
			t.Errorf("%s: %v", name, got)
		}
		testenv.Check(t, presence.AnnounceProgram(home, test.server, test.http)) // removes what has ended
		if left, err := filepath.Glob(filepath.Join(home, "programs", "*")); err != nil || len(left) != 1 {
			t.Errorf("%s: %q, %v", name, left, err)
		}
	}
	if presence.HasServer(t.TempDir(), []process.Ancestor{hook, claude}) {
		t.Error("without a server")
	}
}
