package presence_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/testenv"
)

// The test binary plays another process: it joins, reports that, and lives until its standard input ends or it is
// killed.
const (
	envState = "PRESENCE_TEST_STATE"
	envName  = "PRESENCE_TEST_NAME"
)

func TestMain(m *testing.M) {
	if state := os.Getenv(envState); state != "" {
		permissive()
		leave := presence.Open(state, presence.Options{}).Join(os.Getenv(envName))
		fmt.Println("joined")
		_, _ = io.Copy(io.Discard, os.Stdin)
		leave()
		return
	}
	os.Exit(testenv.Fixed{Tests: m}.Run())
}

// joined is a connection in another process.
type joined struct {
	cmd  *exec.Cmd
	stop io.Closer
}

func start(t *testing.T, state, name string) joined {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0])
	cmd.Env = append(os.Environ(), envState+"="+state, envName+"="+name)
	stop := testenv.Must(cmd.StdinPipe())(t)
	says := testenv.Must(cmd.StdoutPipe())(t)
	testenv.Check(t, cmd.Start())
	if line, err := bufio.NewReader(says).ReadString('\n'); err != nil || line != "joined\n" {
		t.Fatalf("the process says %q, %v", line, err)
	}
	return joined{cmd, stop}
}

func seen(state, name string) (gone, fresh bool) {
	got := presence.Open(state, presence.Options{}).Seen(name)
	return got.IsGone, time.Since(got.At) < time.Minute
}

func TestKilledProcessIsGoneAtOnce(t *testing.T) {
	state := t.TempDir()
	victim, other := start(t, state, "victim#1"), start(t, state, "other#1")
	for _, name := range []string{"victim#1", "other#1"} {
		if gone, fresh := seen(state, name); gone || !fresh {
			t.Errorf("%s: gone %v, fresh %v", name, gone, fresh)
		}
	}
	testenv.Check(t, victim.cmd.Process.Kill())
	_ = victim.cmd.Wait()
	if gone, fresh := seen(state, "victim#1"); !gone || !fresh {
		t.Errorf("victim: gone %v, fresh %v", gone, fresh)
	}
	if gone, _ := seen(state, "other#1"); gone {
		t.Error("the other is gone too")
	}
	// The connection name may live again after the dead process.
	again := start(t, state, "victim#1")
	if gone, _ := seen(state, "victim#1"); gone {
		t.Error("the second life is not seen")
	}
	for _, p := range []joined{again, other} {
		testenv.Check(t, p.stop.Close())
		if err := p.cmd.Wait(); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"victim#1", "other#1"} {
		if gone, _ := seen(state, name); !gone {
			t.Errorf("%s has left and is not gone", name)
		}
	}
	if left := files(t, state, "*.live"); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestChildrenDoNotKeepAConnectionAlive(t *testing.T) {
	state := t.TempDir()
	b := presence.Open(state, presence.Options{})
	leave := b.Join("parent#1")
	child := start(t, state, "child#1") // started while the lock is held
	leave()
	if gone, _ := seen(state, "parent#1"); !gone {
		t.Error("a child keeps the connection of its parent alive")
	}
	testenv.Check(t, child.stop.Close())
	if err := child.cmd.Wait(); err != nil {
		t.Error(err)
	}
}
