package e2e_test

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/planloop/planloop/internal/process/lineagetest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// terminal is a pseudo-terminal with planloop in it, used by a person.
type terminal struct {
	t    testing.TB
	keys *os.File // input goes in, the screen comes out
	cmd  *exec.Cmd

	mu    sync.Mutex
	shown bytes.Buffer
	grown chan struct{}
	ended chan struct{}
}

// person runs the program in a terminal.
func (p *place) person(args ...string) *terminal {
	p.t.Helper()
	control, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		p.t.Skipf("no pseudo-terminals here: %v", err)
	}
	p.t.Cleanup(func() { control.Close() })
	side := otherSide(p.t, control)
	defer side.Close()
	cmd := p.command(args...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = side, side, side
	lineagetest.Apart(cmd)
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	term := &terminal{t: p.t, keys: control, cmd: cmd, grown: make(chan struct{}, 1), ended: make(chan struct{})}
	go term.follow() // ends with the program: its terminal then returns an error
	return term
}

// otherSide opens the programs' end of a pseudo-terminal.
func otherSide(t testing.TB, control *os.File) *os.File {
	t.Helper()
	conn, err := control.SyscallConn()
	testenv.Check(t, err)
	number := 0
	var failed error
	err = conn.Control(func(fd uintptr) {
		if failed = unix.IoctlSetPointerInt(int(fd), unix.TIOCSPTLCK, 0); failed == nil {
			number, failed = unix.IoctlGetInt(int(fd), unix.TIOCGPTN)
		}
	})
	if err != nil || failed != nil {
		t.Fatal(err, failed)
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
	testenv.Check(t, err)
	return side
}

func (term *terminal) follow() {
	defer close(term.ended)
	part := make([]byte, 4096)
	for {
		n, err := term.keys.Read(part)
		term.mu.Lock()
		term.shown.Write(part[:n])
		term.mu.Unlock()
		select {
		case term.grown <- struct{}{}:
		default:
		}
		if err != nil {
			return
		}
	}
}

// text returns the screen so far, without colours.
func (term *terminal) text() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return regexp.MustCompile(`\x1b\[[0-9;]*m`).ReplaceAllString(term.shown.String(), "")
}

// waitFor returns a pattern's match on the screen, once there is one.
func (term *terminal) waitFor(pattern string) []string {
	term.t.Helper()
	late := time.NewTimer(patience)
	defer late.Stop()
	for {
		if found := regexp.MustCompile(pattern).FindStringSubmatch(term.text()); found != nil {
			return found
		}
		select {
		case <-term.grown:
		case <-term.ended:
			if found := regexp.MustCompile(pattern).FindStringSubmatch(term.text()); found != nil {
				return found
			}
			term.t.Fatalf("ended without %q:\n%s", pattern, term.text())
		case <-late.C:
			term.t.Fatalf("no %q in %v:\n%s", pattern, patience, term.text())
		}
	}
}

func (term *terminal) typeIn(text string) {
	term.t.Helper()
	if _, err := term.keys.WriteString(text); err != nil {
		term.t.Fatal(err)
	}
}

// ends waits for the program and returns its screen and exit code.
func (term *terminal) ends() (shown string, code int) {
	term.t.Helper()
	late := time.AfterFunc(patience, func() { _ = term.cmd.Process.Kill() })
	defer late.Stop()
	<-term.ended
	_ = term.cmd.Wait()
	return strings.ReplaceAll(term.text(), "\r\n", "\n"), term.cmd.ProcessState.ExitCode()
}

// succeeds waits for the program, which must have printed the words.
func (term *terminal) succeeds(words ...string) string {
	term.t.Helper()
	shown, code := term.ends()
	if code != 0 || !containsAll(shown, words) {
		term.t.Fatalf("exit code %d, want %q in\n%s", code, words, shown)
	}
	return shown
}

// codePattern finds the code below a plan.
const codePattern = `[Tt]ype (\d{6}) `

// approve shows the waiting plan in a terminal and types its code.
func (p *place) approve(args ...string) string {
	p.t.Helper()
	term := p.person(append([]string{"approve"}, args...)...)
	term.typeIn(term.waitFor(codePattern)[1] + "\n\n") // an open question is left unanswered
	shown := term.succeeds()
	if records := p.records(0); len(found[plan.PlanApproved](records)) == 0 {
		p.t.Fatalf("nothing was approved:\n%s", shown)
	}
	return shown
}
