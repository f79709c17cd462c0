package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os/signal"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/planloop/planloop/internal/history"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/terminal"
	"github.com/planloop/planloop/internal/web"
	"github.com/planloop/planloop/plan"
)

func newReviewCommand(a *app) *cobra.Command {
	var noOpen, background, detached, code, stop bool
	var port int
	cmd := newCommand("review", "", noArguments, func(cmd *cobra.Command, _ []string) error {
		switch {
		case port < 0 || port > 65535:
			return usageError{fmt.Errorf("--port is %d; give a number from 1 to 65535, or leave it out for a free one", port)}
		case a.flags.ephemeral:
			return usageError{errors.New("--ephemeral keeps no plan to review; leave it out")}
		case code:
			return a.printPageCode()
		case stop:
			return a.stopBackground()
		case background:
			return a.startBackground(port)
		}
		a.detached = detached
		return a.review(cmd.Context(), port, noOpen)
	})
	flags := cmd.Flags()
	flags.BoolVar(&background, "background", false, "keep the page open without a terminal")
	flags.BoolVar(&code, "code", false, "show the code or a link of the page in the background")
	flags.BoolVar(&stop, "stop", false, "stop the page in the background")
	flags.BoolVar(&detached, "detached", false, "be that page")
	_ = flags.MarkHidden("detached") // it exists
	flags.BoolVar(&noOpen, "no-open", false, "print a link instead of opening a browser")
	flags.IntVar(&port, "port", 0, "serve the page on port `N` (default: a free one)")
	cmd.MarkFlagsMutuallyExclusive("background", "code", "stop", "detached", "no-open")
	return cmd
}

// review serves the review page until interrupted, then waits for the runs started here.
func (a *app) review(ctx context.Context, port int, noOpen bool) (err error) {
	began := func() error { return nil }
	if a.detached {
		if began, err = a.detach(); err != nil {
			return err
		}
	}
	if err := process.Hide(); err != nil { // browsers' keys and the environment
		a.logger().Warn("other programs of this user can read this process's memory and environment", "error", err)
	}
	place, err := a.find(ctx, nil)
	if err != nil {
		return err
	}
	name, listeners, err := a.listenAsBefore(ctx, place.StateHome(), port)
	if err != nil {
		return usageError{err}
	}
	defer func() {
		for _, l := range listeners {
			_ = l.Close() // the server may have closed it
		}
	}()
	ctx, hangUp := signal.NotifyContext(ctx, syscall.SIGHUP)
	defer hangUp()
	working, kill := context.WithCancelCause(context.WithoutCancel(ctx))
	defer kill(nil)
	runs := pageRuns{working: working, drained: ctx.Done(), going: &sync.WaitGroup{}}
	d := a.newReviewWorkspaces(place, false, runs)
	defer func() { err = errors.Join(err, d.close()) }()
	page, err := a.newPage(d, web.ViewAccess{}, name)
	if err != nil {
		return err
	}
	defer func() { page.close() }()
	page.address = pageOrigin(name, listeners[0].Addr())
	if err := page.printWelcome(noOpen); err != nil {
		return err
	}
	settle()
	var telling sync.WaitGroup
	telling.Go(func() { page.printWaiting(ctx, d, d.changed.Listen(ctx), began) })
	page.listen(ctx)
	err = page.server.Serve(ctx, listeners...)
	hangUp()
	telling.Wait()
	a.drain(ctx, runs, kill)
	return err
}

// drain waits for the runs started here after the first interrupt; the second one ends them.
func (a *app) drain(ctx context.Context, runs pageRuns, kill context.CancelCauseFunc) {
	ended := make(chan struct{})
	go func() { // ends with the runs
		runs.going.Wait()
		close(ended)
	}()
	select {
	case <-ended:
		return
	case <-time.After(interruptWindow):
	}
	working, _, over := a.interrupts(ctx)
	defer over()
	defer context.AfterFunc(working, func() { kill(context.Cause(working)) })()
	<-ended
}

type reviewPage struct {
	*app
	workspaces *reviewWorkspaces
	server     *web.Server
	address    string        // http://HOST:PORT
	tty        io.ReadWriter // the deciding person's terminal; nil: the page is view only
	why        string        // why the page is view only
	close      func()

	printing sync.Mutex
	kept     atomic.Pointer[string] // the text with the last code, for a terminal that asks; nil: none, or it was shown
}

// newPage prepares the page of workspaces for the user of this process. name is the host name it is served under, "" if none.
func (a *app) newPage(d *reviewWorkspaces, looking web.ViewAccess, name string) (*reviewPage, error) {
	p := &reviewPage{app: a, workspaces: d, why: a.whyNoPerson(), close: func() {}}
	if p.why == "" && !a.detached {
		tty, err := terminal.OpenTTY()
		if err != nil {
			p.why = "no terminal can show a code"
		} else {
			p.tty, p.close = tty, func() { _ = tty.Close() }
		}
	}
	options := web.Options{Workspaces: d, Person: a.pageCaller().Actor, Refusal: p.why, ViewAccess: looking, Name: name,
		Logger: a.logger()}
	if a.detached || p.tty != nil {
		options.ShowCode = p.showCode
	}
	if p.tty != nil {
		options.OnReusedLink = func() {
			_ = p.printForPerson("A link was used twice, so its session was ended. Press Enter for a new link.")
		}
		options.OnWrongCode = func() {
			_ = p.printForPerson(`A wrong code was typed on the page. If that was not you, sign out all browsers: "` + signOutWord + `".`)
		}
	}
	var err error
	if p.server, err = web.New(options); err != nil {
		p.close()
	}
	return p, err
}

// announce prints the page's address for a server that agents use. It prints nothing else about that server.
func (p *reviewPage) announce(ctx context.Context, listening net.Addr) {
	switch p.address = localAddress(listening); {
	case p.address == "":
		fmt.Fprintln(p.err, "planloop: the review page needs a loopback address, so it is not served here")
	case p.why != "":
		fmt.Fprintf(p.err, "planloop: the review page is at %s, view only: %s\n", p.address, p.why)
	default:
		_ = p.printLink("The review page: ", p.link(), "One-time link, valid for 30 s. Enter: new link.")
		p.listen(ctx)
	}
}

func (p *reviewPage) link() string { return p.server.Link(p.address) }

type reviewJSON struct {
	Address string `json:"address"`
	Link    string `json:"link,omitempty"` // works once, for 30 seconds
	Decides bool   `json:"decides"`        // its user may decide
	WhyNot  string `json:"why_not,omitempty"`
	Forward string `json:"forward,omitempty"`
	Process int    `json:"process,omitempty"` // the pid of a page in the background
}

func (p *reviewPage) printWelcome(noOpen bool) error {
	if p.detached {
		return p.serveCodes()
	}
	forward := p.forwardCommand(p.address)
	if p.flags.json {
		answer := reviewJSON{Address: p.address, Decides: p.why == "", WhyNot: p.why, Forward: forward}
		if p.why != "" || p.outIsTerminal { // otherwise only the terminal may get it
			answer.Link = p.link()
		}
		return p.printJSON(answer)
	}
	enter := `Enter: new link. "` + signOutWord + `": sign out all browsers. Ctrl-C: stop.`
	if p.tty == nil {
		enter = "Ctrl-C: stop."
	}
	var text []string
	if p.why != "" {
		text = append(text, "View only: "+p.why+".", "To decide, run planloop review in your own terminal.")
	}
	if warning := p.sharedTerminal(); warning != "" && p.why == "" {
		text = append(text, warning)
	}
	if forward != "" {
		text = append(text, "To reach the page from your own machine, run there:", "  "+forward)
	}
	link := p.link()
	if !noOpen && p.tty != nil && p.openBrowser(link) {
		return p.printLines(append(text, "The page opens in your browser: "+p.address, enter)...)
	}
	if len(text) > 0 {
		if err := p.printLines(text...); err != nil {
			return err
		}
	}
	return p.printLink("Open the page: ", link, "One-time link, valid for 30 s. "+enter)
}

func (p *reviewPage) openBrowser(address string) bool {
	return p.app.openBrowser(address, func() {
		if p.tty != nil {
			_ = p.printLink("No browser could be opened. Open the page: ", p.link(), "One-time link, valid for 30 s.")
		}
	})
}

// openAt opens the page at a workspace. A browser that has the page open needs no link: with one it would need a new code, too.
func (p *reviewPage) openAt(workspace string) {
	at := p.address + "/#"
	if !p.server.IsWatched() {
		at = p.link() + "&"
	}
	p.openBrowser(at + "workspace=" + url.QueryEscape(workspace))
}

// printLink prints a link where only the deciding person can see it.
func (p *reviewPage) printLink(before, link, after string) error {
	if p.tty == nil || p.outIsTerminal && !p.serving {
		return p.printLines(before+link, after)
	}
	p.printing.Lock()
	defer p.printing.Unlock()
	_, err := fmt.Fprintf(p.tty, "%s\n%s\n", before+link, after)
	return err
}

func (p *reviewPage) printLines(lines ...string) error {
	p.printing.Lock()
	defer p.printing.Unlock()
	return p.print(terminal.Joined(lines))
}

// showCode writes a code to the terminal, or keeps it for one that asks.
func (p *reviewPage) showCode(place review.Place, code string) error {
	about := place.Name
	if shown, err := p.workspaces.Open(context.Background(), place.ID); err == nil {
		if state, err := shown.Service.State(context.Background()); err == nil && state.Draft != nil {
			about += ", where plan " + history.ShortDigest(plan.Digest(state.Draft)) + " waits"
		}
	}
	text := strings.TrimSpace(fmt.Sprintf("The code for the page that shows %s is %s. The page can then approve in every workspace "+
		"until it is idle for 8 hours (1 hour under approval: person). If you did not ask for the code, do nothing. %s",
		safetext.EscapeLine(about), code, p.sharedTerminal()))
	if p.detached {
		text = time.Now().Format(clock) + "  " + text
		p.kept.Store(&text)
		return nil
	}
	return p.printForPerson(text)
}

func (p *reviewPage) printForPerson(text string) error {
	p.printing.Lock()
	defer p.printing.Unlock()
	_, err := fmt.Fprintln(p.tty, time.Now().Format(clock)+"  "+text)
	return err
}

const clock = "15:04"

const signOutWord = "out"

// listen prints a new link at each Enter, and ends all sessions at signOutWord. Its goroutines end with ctx, or with the terminal.
func (p *reviewPage) listen(ctx context.Context) {
	if p.tty == nil {
		return
	}
	terminal.StayInBackground()
	keys := newKeyboard(p.tty)
	go func() {
		for {
			select {
			case <-ctx.Done():
				return
			case line, there := <-keys.lines:
				if !there {
					return
				}
				if strings.TrimSpace(line) == signOutWord {
					p.server.EndSessions()
					_ = p.printForPerson("All browsers are signed out. Press Enter for a new link.")
					continue
				}
			}
			if p.flags.json {
				_ = p.printWelcome(true)
				continue
			}
			_ = p.printLink("Open the page: ", p.link(), "One-time link, valid for 30 s.")
		}
	}()
}

// printWaiting prints new and settled items of the person's inbox, which it reads once for all changes since the last read. Without a
// terminal it opens the browser instead, once for each plan that is submitted after it calls began.
func (p *reviewPage) printWaiting(ctx context.Context, workspaces review.Workspaces, changed <-chan struct{}, began func() error) {
	if p.flags.json {
		return
	}
	printed, submitted := map[string]review.Waiting{}, map[string]bool{}
	for first := true; ; first = false {
		inbox, err := review.ReadInbox(ctx, workspaces)
		if first {
			_ = began()
		}
		if err != nil {
			return
		}
		var lines []string
		now := map[string]review.Waiting{}
		for i := range inbox.Waiting {
			w := inbox.Waiting[len(inbox.Waiting)-1-i] // newest last
			key := strings.Join([]string{w.Workspace, string(w.Kind), w.ID, w.Title}, "\n")
			if _, known := printed[key]; !known {
				lines = append(lines, p.line(w.Name+": "+waitingText(w)))
				if p.detached && !first && w.Kind != review.PlanWaits { // a plan opens the browser
					p.showNotice(w.Name + ": " + waitingText(w))
				}
			}
			now[key] = w
			if request := w.Workspace + "\n" + w.ID; w.Kind == review.PlanWaits && !submitted[request] {
				submitted[request] = true
				if p.detached && !first {
					p.openAt(w.Workspace)
				}
			}
		}
		for key, w := range printed {
			if _, waits := now[key]; !waits {
				lines = append(lines, p.line(w.Name+": settled: "+w.Title))
			}
		}
		if printed = now; first && len(lines) == 0 {
			lines = []string{"Nothing is waiting for you."}
		}
		if len(lines) > 0 && p.printLines(lines...) != nil {
			return
		}
		if _, open := <-changed; !open || !waitFor(ctx, changeWindow) {
			return
		}
	}
}

// showNotice shows a text on the user's desktop, if there is one.
func (p *reviewPage) showNotice(text string) {
	if command := desktopNotice(runtime.GOOS, p.getenv, plan.Shorten(safetext.Line(text), noticeShown)); command != nil {
		go runFirst([][]string{command}) // ends with the command
	}
}

const noticeShown = 200 // characters

func (p *reviewPage) line(text string) string {
	return p.screen().Fit(time.Now().Format(clock)+"  "+safetext.EscapeLine(text), 0)
}

func waitingText(w review.Waiting) string {
	by := cmp.Or(w.By, "an agent")
	return map[review.WaitingKind]string{
		review.PlanWaits:     "a plan is waiting for your decision: " + w.Title,
		review.QuestionWaits: by + " asks: " + w.Title,
		review.StepWaits:     w.ID + " is waiting for your answer: " + cmp.Or(w.Text, w.Title),
		review.BlockerWaits:  "blocked by " + w.ID + ": " + w.Title,
		review.ReplyWaits:    by + " has replied: " + cmp.Or(w.Text, w.Title),
	}[w.Kind]
}
