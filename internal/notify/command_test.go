package notify_test

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/notify"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/testenv"
)

// scripted as its first argument makes the test binary a program that receives notices.
const scripted = "-scripted-program"

func TestMain(m *testing.M) {
	process.Keep()
	if len(os.Args) > 2 && os.Args[1] == scripted {
		os.Exit(takeNotice(os.Args[2]))
	}
	os.Exit(testenv.Fixed{Tests: m}.Run())
}

// taken is the input of a scripted program.
type taken struct {
	Input   []byte
	Dir     string
	Environ []string
}

// takeNotice sends its input to an address and waits for the other side to close.
func takeNotice(address string) (code int) {
	input, err := io.ReadAll(os.Stdin)
	dir, errDir := os.Getwd()
	conn, errDial := net.Dial("tcp", address)
	if err := errors.Join(err, errDir, errDial); err != nil {
		return 3
	}
	if err := json.NewEncoder(conn).Encode(taken{input, dir, os.Environ()}); err != nil {
		return 4
	}
	if _, err := io.Copy(io.Discard, conn); err != nil {
		return 5
	}
	return 7
}

// program returns a configuration that starts the test binary, and where it reports.
func program(t *testing.T) (notify.Config, net.Listener) {
	t.Helper()
	own, err := os.Executable()
	listener, errListen := net.Listen("tcp", "127.0.0.1:0")
	testenv.Check(t, errors.Join(err, errListen))
	t.Cleanup(func() { _ = listener.Close() })
	return notify.Config{Command: []string{own, scripted, listener.Addr().String()}}, listener
}

// started returns the program's input, and the connection that it holds while it runs.
func started(t *testing.T, listener net.Listener) (got taken, conn net.Conn) {
	t.Helper()
	conn = testenv.Must(listener.Accept())(t)
	t.Cleanup(func() { _ = conn.Close() })
	testenv.Check(t, json.NewDecoder(conn).Decode(&got))
	return got, conn
}

// TestCommand: the program gets the notice on standard input, in the home folder, without secrets in its
// environment. Its exit code is reported.
func TestCommand(t *testing.T) {
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("USERPROFILE", home)
	t.Setenv("DISPLAY", ":7")
	t.Setenv("OPENAI_API_KEY", "planted")
	config, listener := program(t)
	w := &world{t: t}
	n := testenv.Must(notify.New(config, notify.Options{Logger: w.logger()}))(t)
	n.Notify(aPlan())
	got, conn := started(t, listener)
	testenv.Check(t, conn.Close())
	closed(t, n)
	var body struct{ Event, Text, Title string }
	if err := json.Unmarshal(got.Input, &body); err != nil || body.Event != "plan_waits" || body.Title != aPlan().Title ||
		!strings.HasPrefix(body.Text, "A plan is waiting for you: ") {
		t.Errorf("%v: %s", err, got.Input)
	}
	where, err := os.Stat(got.Dir)
	want, errHome := os.Stat(home)
	if err := errors.Join(err, errHome); err != nil || !os.SameFile(where, want) {
		t.Errorf("it ran in %s, not %s: %v", got.Dir, home, err)
	}
	environ := strings.Join(got.Environ, "\n")
	if !strings.Contains(environ, "DISPLAY=:7") || strings.Contains(environ, "planted") {
		t.Error(environ)
	}
	if log := w.log.String(); !strings.Contains(log, "it exited with 7") || strings.Contains(log, aPlan().Title) ||
		strings.Contains(log, listener.Addr().String()) {
		t.Error(log)
	}
}

func TestCommandThatCannotStart(t *testing.T) {
	w := &world{t: t}
	n := testenv.Must(notify.New(notify.Config{Command: []string{"no-such-program"}}, notify.Options{Logger: w.logger()}))(t)
	n.Notify(aPlan())
	closed(t, n)
	if log := w.log.String(); !strings.Contains(log, "was not delivered") || !strings.Contains(log, "not found") {
		t.Error(log)
	}
}

// TestCommandThatHangs: Close ends the program.
func TestCommandThatHangs(t *testing.T) {
	config, listener := program(t)
	n := testenv.Must(notify.New(config, notify.Options{}))(t)
	n.Notify(aPlan())
	_, conn := started(t, listener)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := n.Close(ctx); !errors.Is(err, notify.ErrUndelivered) {
		t.Error(err)
	}
	_, _ = io.Copy(io.Discard, conn) // returns once the program is gone
}
