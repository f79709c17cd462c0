package cli

import (
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// backgroundPage is the review page of a state home that runs without a terminal, as its file there names it.
type backgroundPage struct {
	Address string           `json:"address"`
	Socket  string           `json:"socket"` // where a person's terminal asks for codes and links
	Process process.Ancestor `json:"process"`

	home string
}

const (
	backgroundName = "review.json"
	socketName     = "review-" // and something random
	maxMessage     = 4 << 10   // bytes
	askLasts       = 3 * time.Second
)

// background returns the page of this state home. It fails with plan.NotFound if none runs.
func (a *app) background() (b backgroundPage, err error) {
	if b.home, err = workspace.StateHome(a.getenv, ""); err != nil {
		return b, err
	}
	data, err := safefile.Read(filepath.Join(b.home, backgroundName), maxMessage)
	if err != nil || json.Unmarshal(data, &b) != nil || !b.Process.Runs() {
		return b, plan.Refuse(plan.NotFound, "", "no review page runs in the background",
			"start one with `planloop review --background`; any other shows its code in its own terminal")
	}
	return b, nil
}

// startBackground starts the page in a process of its own, unless one runs, and prints its address.
func (a *app) startBackground(port int) error {
	if err := a.requirePerson("starting the page"); err != nil {
		return err
	}
	b, err := a.background()
	if err != nil {
		if err := a.startPage(port); err != nil {
			return err
		}
		if b, err = a.background(); err != nil {
			return err
		}
	}
	forward := a.forwardCommand(b.Address)
	if a.flags.json {
		return a.printJSON(reviewJSON{Address: b.Address, Decides: true, Forward: forward, Process: b.Process.PID})
	}
	lines := []string{fmt.Sprintf("The review page runs in the background, as process %d: %s", b.Process.PID, b.Address),
		"Open it, and show its codes: planloop review --code. Stop it: planloop review --stop."}
	if forward != "" {
		lines = append(lines, "To reach the page from your own machine, run there:", "  "+forward)
	}
	return a.print(terminal.Joined(lines))
}

// startPage starts the page, and returns once it is served.
func (a *app) startPage(port int) error {
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		return plan.Refuse(plan.Conflict, "", "this system does not reveal which program asks for a code",
			"run `planloop review` in a terminal")
	}
	return a.startDetached(nil, "review", "--detached", "--port", strconv.Itoa(port), "--workspace", a.flags.workspace,
		"--track", a.flags.track)
}

// detach makes the page without a terminal judge presence by the command that started it, which waits: it may decide only if a person
// runs that. The command gets the errors until began is called.
func (a *app) detach() (began func() error, err error) {
	began = a.reportToStarter("review")
	a.environment = a.environment.of(os.Getppid())
	return began, a.requirePerson("starting the page")
}

// of returns the environment of another process, for judging presence: the variables are this process's, and what the system shows.
func (w environment) of(pid int) environment {
	chain := process.AncestorsOf(pid)
	lineage, variables := process.LineageOf(chain), process.VariablesOf(append([]process.Ancestor{{}}, chain...))
	w.ancestors = func() []process.Ancestor { return chain }
	w.lineage = func() process.Lineage { return lineage }
	w.inherited = func(names ...string) (string, string) { return inheritedVariable(variables, names...) }
	w.inIsTerminal = len(chain) > 0 && chain[0].Session != 0
	return w
}

// serveCodes names this page in the state home, and answers `planloop review --code` until it is closed.
func (p *reviewPage) serveCodes() error {
	b, err := p.background()
	if err == nil {
		return plan.Refuse(plan.Conflict, "", "a review page already runs in the background at "+b.Address, "use that one")
	}
	if err := safefile.MakeFolder(b.home); err != nil {
		return err
	}
	if name := filepath.Base(b.Socket); strings.HasPrefix(name, socketName) {
		_ = os.Remove(filepath.Join(b.home, name)) // left by a killed process, as the file was
	}
	l, err := listenPrivately(b.home)
	if err != nil {
		return err
	}
	path := filepath.Join(b.home, backgroundName)
	data, err := json.Marshal(backgroundPage{p.address, l.Addr().String(), process.Ancestors()[0], ""})
	if err := errors.Join(err, safefile.WriteFile(path, data, safefile.Options{Mode: safefile.FileMode})); err != nil {
		return errors.Join(err, l.Close())
	}
	go func() { // ends with the listener
		for conn, err := l.AcceptUnix(); err == nil; conn, err = l.AcceptUnix() {
			if err := p.serveAsker(conn, b.home); err != nil {
				send(conn, pageMessage{Refuse: err.Error()})
			}
			_ = conn.Close()
		}
	}()
	p.close = func() { _ = l.Close(); _ = os.Remove(path) }
	return nil
}

// listenPrivately listens on a new socket in a folder of the user's own.
func listenPrivately(home string) (*net.UnixListener, error) {
	path := filepath.Join(home, socketName+rand.Text()[:8])
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: path})
	if err != nil {
		return nil, fmt.Errorf("%w; a socket's path has at most 100 characters: set XDG_STATE_HOME to a shorter one", err)
	}
	return l, os.Chmod(path, safefile.FileMode)
}

// pageMessage is what a terminal and the page tell each other.
type pageMessage struct {
	Socket string `json:"socket,omitzero"` // to be asked next
	Shared string `json:"shared,omitzero"` // why other programs can read the asking terminal, as far as the page cannot see it
	Text   string `json:"text,omitzero"`
	Refuse string `json:"refuse,omitzero"`
}

// send sends to a program that may have gone.
func send(conn net.Conn, m pageMessage) { _ = json.NewEncoder(conn).Encode(m) }

func receive(conn net.Conn) (m pageMessage, err error) {
	_ = conn.SetDeadline(time.Now().Add(2 * askLasts)) // another asker may be served first
	err = json.NewDecoder(io.LimitReader(conn, maxMessage)).Decode(&m)
	if m.Refuse != "" {
		err = plan.Refuse(plan.Conflict, "", m.Refuse, "")
	}
	return m, err
}

// serveAsker judges the process that asks, and answers it on a second socket, which is new: the number of a process that has connected
// and ended may belong to another one by now. A process that is found before the socket exists, connects it, and is found again, is the
// one that asks.
func (p *reviewPage) serveAsker(conn *net.UnixConn, home string) error {
	asker, known := process.Peer(conn)
	if !known {
		return errors.New("planloop cannot tell which program asks; run `planloop review` in a terminal")
	}
	second, err := listenPrivately(home)
	if err != nil {
		return err
	}
	defer second.Close()
	_ = second.SetDeadline(time.Now().Add(askLasts))
	send(conn, pageMessage{Socket: second.Addr().String()})
	again, err := second.AcceptUnix()
	if err != nil {
		return err
	}
	defer again.Close()
	asked, err := receive(again)
	if err == nil {
		err = p.checkAsker(asker, asked.Shared)
	}
	if connected, known := process.Peer(again); !known || !connected.Is(asker) {
		err = errors.New("the program that asks is not the one that began to")
	}
	if err != nil {
		send(again, pageMessage{Refuse: err.Error()})
		return nil
	}
	if text := p.kept.Swap(nil); text != nil {
		send(again, pageMessage{Text: *text})
	} else {
		send(again, pageMessage{Text: "No page has requested a code. Open the page: " + p.link() + "\nOne-time link, valid for 30 s."})
	}
	return nil
}

// checkAsker refuses a process that no person runs. Decisions are recorded by the terminal that the page was started in.
func (p *reviewPage) checkAsker(asker process.Ancestor, shared string) error {
	peer := &app{environment: p.environment.of(asker.PID)}
	if err := peer.requirePerson("showing the code"); err != nil {
		return err
	}
	if shared = cmp.Or(peer.person().Shared, shared); shared != "" && p.person().Shared == "" {
		return plan.Refuse(plan.Conflict, "", "other programs can read this terminal ("+shared+
			"), unlike the one that the page was started in", plan.OwnTerminal)
	}
	return nil
}

// printPageCode asks the page in the background for its code or a link, and shows it on the terminal only.
func (a *app) printPageCode() error {
	if err := a.requirePerson("showing the code"); err != nil {
		return err
	}
	b, err := a.background()
	if err != nil {
		return err
	}
	tty, err := terminal.OpenTTY()
	if err != nil {
		return plan.Refuse(plan.Conflict, "", "no terminal can show a code", plan.OwnTerminal)
	}
	defer tty.Close()
	answer, err := askPage(b.Socket, pageMessage{})
	if err == nil {
		answer, err = askPage(answer.Socket, pageMessage{Shared: a.person().Shared})
	}
	for line := range strings.Lines(answer.Text) {
		fmt.Fprintln(tty, safetext.EscapeLine(strings.TrimSpace(line)))
	}
	return err
}

func askPage(socket string, m pageMessage) (pageMessage, error) {
	conn, err := net.Dial("unix", socket)
	if err != nil {
		return m, err
	}
	defer conn.Close()
	send(conn, m)
	return receive(conn)
}

// stopBackground ends the page in the background as Ctrl-C would.
func (a *app) stopBackground() error {
	b, err := a.background()
	if err != nil {
		return err
	}
	if page, err := os.FindProcess(b.Process.PID); err != nil || page.Signal(os.Interrupt) != nil {
		return fmt.Errorf("the review page, process %d, cannot be stopped", b.Process.PID)
	}
	return a.print([]byte("The review page stops, after its running steps.\n"))
}
