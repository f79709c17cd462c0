package cli

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/presence"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/web"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// backgroundPage is the review page of a state home that runs without a terminal, as its file there names it.
type backgroundPage struct {
	Address string           `json:"address"`
	Socket  string           `json:"socket"` // where a person's terminal asks for codes and links
	Process process.Ancestor `json:"process"`
	Space   string           `json:"space,omitzero"` // where its pid is valid
}

const (
	backgroundName    = "review.json"
	maxBackgroundFile = 4 << 10 // bytes
	askLasts          = 3 * time.Second
)

func readBackground(home string) (b backgroundPage, runs bool) {
	data, err := safefile.Read(filepath.Join(home, backgroundName), maxBackgroundFile)
	if err != nil || json.Unmarshal(data, &b) != nil {
		return b, false
	}
	return b, b.Space == process.Space() && b.Process.Runs()
}

// claim writes the file of b. It replaces that of a page that has ended, and fails if one runs.
func (b backgroundPage) claim(home string) error {
	path := filepath.Join(home, backgroundName)
	if former, runs := readBackground(home); runs {
		return plan.Refuse(plan.Conflict, "", "a review page already runs in the background at "+former.Address, "use that one")
	} else if strings.HasPrefix(former.Socket, home) {
		_ = os.Remove(former.Socket) // left by a killed process
	}
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	data, err := json.Marshal(b)
	if err != nil {
		return err
	}
	return safefile.WriteFile(path, data, safefile.Options{Mode: safefile.FileMode, New: true})
}

// startBackground starts the page in a process of its own, unless it runs, and prints its address.
func (a *app) startBackground(port int) error {
	if err := a.requirePerson("starting the page"); err != nil {
		return err
	}
	if runtime.GOOS != "linux" && runtime.GOOS != "darwin" {
		return plan.Refuse(plan.Conflict, "", "this system does not reveal which program asks for a code",
			"run `planloop review` in a terminal")
	}
	home, err := workspace.StateHome(a.getenv, "")
	if err != nil {
		return err
	}
	b, runs := readBackground(home)
	if !runs {
		if err := a.runDetached(port); err != nil {
			return err
		}
		if b, runs = readBackground(home); !runs {
			return errors.New("the review page has ended")
		}
	}
	_, taken, _ := net.SplitHostPort(strings.TrimPrefix(b.Address, "http://"))
	forward := a.forwardCommand(taken)
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

// runDetached starts the page, and returns once it is served.
func (a *app) runDetached(port int) error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	args := []string{"review", "--detached", "--port", strconv.Itoa(port)}
	for flag, value := range map[string]string{"--workspace": a.flags.workspace, "--track": a.flags.track} {
		if value != "" {
			args = append(args, flag, value)
		}
	}
	started, reports, err := os.Pipe()
	if err != nil {
		return err
	}
	defer started.Close()
	cmd := exec.Command(program, args...)
	cmd.Args[0], cmd.ExtraFiles = os.Args[0], []*os.File{reports}
	process.Detach(cmd)
	err = errors.Join(cmd.Start(), reports.Close())
	if err != nil {
		return err
	}
	text, err := io.ReadAll(started)
	if err == nil && len(text) > 0 {
		err = errors.New(strings.TrimPrefix(strings.TrimSpace(string(text)), "planloop: "))
	}
	return err
}

// detach makes the page without a terminal judge presence by the command that started it, which waits: it may decide only if a person
// runs that. The command gets the errors until began is called.
func (a *app) detach() (began func(), err error) {
	a.recordErrors("review")
	reports := os.NewFile(3, "reports")
	a.err = reports
	a.environment = a.environment.of(os.Getppid())
	return func() { _ = reports.Close() }, a.requirePerson("starting the page")
}

// of returns the environment of another process, for judging the presence of a person: what a system shows of it, and the variables of
// this process.
func (w environment) of(pid int) environment {
	chain := process.AncestorsOf(pid)
	lineage := process.LineageOf(chain)
	variables := process.VariablesOf(append([]process.Ancestor{{}}, chain...))
	w.ancestors = func() []process.Ancestor { return chain }
	w.lineage = func() process.Lineage { return lineage }
	w.inherited = func(names ...string) (string, string) { return inheritedVariable(variables, names...) }
	w.inIsTerminal = len(chain) > 0 && chain[0].Session != 0
	return w
}

// serveCodes names this page in the state home, and answers `planloop review --code` until forget is called.
func (p *reviewPage) serveCodes() (forget func(), err error) {
	home, err := workspace.StateHome(p.getenv, "")
	if err == nil {
		err = safefile.MakeFolder(home)
	}
	if err != nil {
		return nil, err
	}
	l, err := listenPrivately(home)
	if err != nil {
		return nil, err
	}
	b := backgroundPage{Address: p.address, Socket: l.Addr().String(), Process: process.AncestorsOf(os.Getpid())[0], Space: process.Space()}
	if err := b.claim(home); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	go func() { // ends with the listener
		for {
			conn, err := l.AcceptUnix()
			if err != nil {
				return
			}
			p.serveAsker(conn, home)
		}
	}()
	return func() { _ = l.Close(); _ = os.Remove(filepath.Join(home, backgroundName)) }, nil
}

// listenPrivately listens on a new socket in a folder of the user's own.
func listenPrivately(home string) (*net.UnixListener, error) {
	l, err := net.ListenUnix("unix", &net.UnixAddr{Net: "unix", Name: filepath.Join(home, "review-"+rand.Text()[:8])})
	if err != nil {
		return nil, fmt.Errorf("%w; a socket's path has at most 100 characters: set XDG_STATE_HOME to a shorter one", err)
	}
	return l, nil
}

// pageMessage is what a terminal and the page tell each other.
type pageMessage struct {
	Socket string `json:"socket,omitzero"` // to be asked next
	Shared string `json:"shared,omitzero"` // why other programs can read the asking terminal, as far as the page cannot see it
	Text   string `json:"text,omitzero"`
	Refuse string `json:"refuse,omitzero"`
}

// serveAsker judges the process that asks, and answers it on a second socket, which is new: the number of a process that has connected
// and ended may belong to another one by now. A process that is found before the socket exists, connects it, and is found again, is the
// one that asks.
func (p *reviewPage) serveAsker(conn *net.UnixConn, home string) {
	defer conn.Close()
	end := time.Now().Add(askLasts)
	_ = conn.SetDeadline(end)
	asker, err := process.Peer(conn)
	if err != nil {
		send(conn, pageMessage{Refuse: "planloop cannot tell which program asks: " + err.Error() + "; run `planloop review` in a terminal"})
		return
	}
	second, err := listenPrivately(home)
	if err != nil {
		send(conn, pageMessage{Refuse: err.Error()})
		return
	}
	defer second.Close()
	send(conn, pageMessage{Socket: second.Addr().String()})
	_ = second.SetDeadline(end)
	again, err := second.AcceptUnix()
	if err != nil {
		return
	}
	defer again.Close()
	_ = again.SetDeadline(end)
	asked, err := receive(again)
	if err != nil {
		return
	}
	answer := pageMessage{Refuse: p.refuseAsker(asker, asked.Shared)}
	if connected, err := process.Peer(again); err != nil || !connected.Is(asker) {
		answer.Refuse = "the program that asks is not the one that began to"
	}
	if answer.Refuse == "" {
		answer.Text = p.takeCode()
	}
	send(again, answer)
}

// send sends to a program that may have gone.
func send(conn net.Conn, said pageMessage) { _ = json.NewEncoder(conn).Encode(said) }

func receive(conn net.Conn) (said pageMessage, err error) {
	err = json.NewDecoder(io.LimitReader(conn, maxBackgroundFile)).Decode(&said)
	if err == nil && said.Refuse != "" {
		err = plan.Refuse(plan.Conflict, "", said.Refuse, "")
	}
	return said, err
}

// refuseAsker returns why a process gets no code, "" if a person runs it.
func (p *reviewPage) refuseAsker(asker process.Ancestor, shared string) string {
	peer := &app{environment: p.environment.of(asker.PID)}
	found := peer.person()
	if found.Shared != "" {
		shared = found.Shared
	}
	switch {
	case found.Answer != presence.Yes:
		return "showing the code needs a person, and " + found.Why + "; " + found.Way
	case shared != "" && p.person().Shared == "": // decisions are recorded by the terminal that the page was started in
		return "other programs can read this terminal (" + shared + "), unlike the one that the page was started in; " + plan.OwnTerminal
	}
	return ""
}

// keepCode keeps a code until a person's terminal asks for it.
func (p *reviewPage) keepCode(place review.Place, code string) error {
	text := p.codeText(place, code)
	p.printing.Lock()
	defer p.printing.Unlock()
	p.kept, p.keptUntil = text, time.Now().Add(web.CodeLasts)
	return nil
}

// takeCode returns the last code that was requested and not shown yet, or else a new link.
func (p *reviewPage) takeCode() string {
	p.printing.Lock()
	defer p.printing.Unlock()
	text := p.kept
	if p.kept = ""; text == "" || time.Now().After(p.keptUntil) {
		text = "No page has requested a code. Open the page: " + p.link() + "\nOne-time link, valid for 30 s."
	}
	return text
}

func (a *app) background() (backgroundPage, error) {
	home, err := workspace.StateHome(a.getenv, "")
	if err != nil {
		return backgroundPage{}, err
	}
	b, runs := readBackground(home)
	if !runs {
		err = plan.Refuse(plan.NotFound, "", "no review page runs in the background",
			"start one with `planloop review --background`; any other shows its code in its own terminal")
	}
	return b, err
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
	answer, err := askPage(b.Socket, pageMessage{Shared: a.person().Shared})
	if err != nil {
		return err
	}
	for line := range strings.Lines(answer.Text) {
		fmt.Fprintln(tty, safetext.EscapeLine(strings.TrimSpace(line)))
	}
	return nil
}

func askPage(socket string, about pageMessage) (answer pageMessage, err error) {
	for _, first := range []bool{true, false} {
		conn, err := net.DialTimeout("unix", socket, askLasts)
		if err != nil {
			return answer, err
		}
		defer conn.Close()
		_ = conn.SetDeadline(time.Now().Add(2 * askLasts)) // others may be served first
		if !first {
			send(conn, about)
		}
		if answer, err = receive(conn); err != nil {
			return answer, err
		}
		socket = answer.Socket
	}
	return answer, nil
}

// stopBackground ends the page in the background as Ctrl-C would.
func (a *app) stopBackground() error {
	b, err := a.background()
	if err != nil {
		return err
	}
	running, err := os.FindProcess(b.Process.PID)
	if err == nil {
		err = running.Signal(os.Interrupt)
	}
	if err != nil {
		return err
	}
	return a.print(terminal.Joined([]string{"The review page is stopped, after its running steps."}))
}
