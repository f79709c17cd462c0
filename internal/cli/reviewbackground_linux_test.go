package cli

import (
	"encoding/json"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// inBackground starts the page without a terminal, which ends with the test.
func (h home) inBackground() backgroundPage {
	h.t.Helper()
	shown, code := h.terminal(160, 60, "review", "--background").ends()
	if code != 0 {
		h.t.Fatalf("exit code %d:\n%s", code, shown)
	}
	data, err := os.ReadFile(filepath.Join(h.stateHome(), backgroundName))
	testenv.Check(h.t, err)
	var b backgroundPage
	testenv.Check(h.t, json.Unmarshal(data, &b))
	h.t.Cleanup(func() { _ = syscall.Kill(b.Process.PID, syscall.SIGKILL) })
	says(h.t, shown, "The review page runs in the background, as process ", b.Address)
	return b
}

func (h home) stateHome() string { return filepath.Join(filepath.Dir(h.dir), "state", "planloop") }

// pageCode runs the command that shows the code or a link, and returns the screen.
func (h home) pageCode(exit int) string {
	h.t.Helper()
	shown, code := h.terminal(300, 60, "review", "--code").ends()
	if code != exit {
		h.t.Errorf("exit code %d:\n%s", code, shown)
	}
	return shown
}

// A page in the background outlives its terminal. A person opens it and gets its code in any terminal of theirs, and stops it.
func TestReviewInTheBackground(t *testing.T) {
	h := planningHome(t)
	first := h.inBackground()
	if second := h.inBackground(); second != first {
		t.Errorf("a second page: %+v, %+v", first, second)
	}
	info, err := os.Stat(filepath.Join(h.stateHome(), backgroundName))
	testenv.Check(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("the file's mode is %v", info.Mode())
	}
	agent := h.serve()
	says(t, agent.call("planning_submit_plan", submission("medium")), "Plan submitted")
	link := h.pageCode(0)
	says(t, link, "No page has requested a code. Open the page: ")
	b := opens(t, link)
	id := text(b.get("/api/inbox"), "workspaces", "id")
	if status, answer := b.post("/api/code", map[string]any{"workspace": id}); status != http.StatusOK {
		t.Fatalf("a code: %d %v", status, answer)
	}
	code := regexp.MustCompile(`The code for the page that shows app, where plan \w+ waits is (\d{6})\. The page can then approve`).
		FindStringSubmatch(h.pageCode(0))
	if code == nil {
		t.Fatal("no code on the terminal")
	}
	says(t, h.pageCode(0), "No page has requested a code.") // it is shown once
	status, unlocked := b.post("/api/unlock", map[string]any{"code": code[1]})
	if b.unlock = text(unlocked, "unlock"); status != http.StatusOK {
		t.Fatalf("unlocking: %d %v", status, unlocked)
	}
	view := b.get("/api/view?workspace=" + id)
	approve := map[string]any{"workspace": id, "log": text(view, "log"), "act": "approve", "input": map[string]any{
		"request": text(view, "draft", "request"), "digest": text(view, "draft", "plan", "digest")}}
	if status, answer := b.post("/api/act", approve); status != http.StatusOK {
		t.Fatalf("approving: %d %v", status, answer)
	}
	says(t, h.run("log", "--audit"), "approved by alice (person)")

	testenv.Check(t, syscall.Kill(first.Process.PID, syscall.SIGKILL))
	for first.Process.Runs() { // the signal may arrive later
	}
	again := h.inBackground()
	if again == first {
		t.Errorf("a killed page is taken for one that runs: %+v", again)
	}
	says(t, h.run("review", "--stop"), "The review page stops")
	for again.Process.Runs() { // it answers what it has begun
	}
	says(t, h.pageCode(2), "no review page runs in the background")
	if left, _ := filepath.Glob(filepath.Join(h.stateHome(), "review*")); len(left) > 0 {
		t.Errorf("left: %q", left)
	}
}

// An agent's descendant gets neither code nor link, by the command or by a program of its own, whatever it takes away from its environment.
func TestReviewCodeForAgents(t *testing.T) {
	h := planningHome(t)
	agents := h
	agents.env = append(slices.Clone(h.env), "CLAUDECODE=1")
	if shown, code := agents.terminal(200, 60, "review", "--background").ends(); code != 2 ||
		!strings.Contains(shown, "starting the page needs a person, and this shell belongs to an agent (CLAUDECODE is set)") {
		t.Errorf("an agent's shell starts the page: exit code %d:\n%s", code, shown)
	}
	if shown, code := agents.terminal(200, 60, "review", "--detached").ends(); code == 0 || strings.Contains(shown, "http") {
		t.Errorf("it starts as the page itself: exit code %d:\n%s", code, shown)
	}
	b := h.inBackground()
	if shown, code := agents.terminal(200, 60, "review", "--code").ends(); code != 2 || strings.Contains(shown, "http") {
		t.Errorf("an agent's shell: exit code %d:\n%s", code, shown)
	}
	claude := filepath.Join(t.TempDir(), "claude") // any program that waits for another one
	if out, err := exec.Command("sh", "-c", `cp "$(command -v timeout)" "$0" && "$0" 9 true`, claude).CombinedOutput(); err != nil {
		t.Skipf("no program can stand for an agent's: %v\n%s", err, out)
	}
	shared := h
	shared.env = append(slices.Clone(h.env), "TMUX=/tmp/tmux-1000/default,1,0") // unlike where the page was started
	says(t, shared.pageCode(2), "other programs can read this terminal (TMUX is set), unlike the one that the page was started in")
	h.env = append(h.env, "SOCKET="+b.Socket, "AGENT="+claude)
	ask := func(line string) string {
		t.Helper()
		shown, _ := h.terminalOf(300, 60, "sh", "-c", line).ends()
		return shown
	}
	says(t, ask(`askpage "$SOCKET"`), "answer: No page has requested a code. Open the page: http://") // a person's
	for name, line := range map[string]string{
		"a variable above":             `CLAUDECODE=1 sh -c 'env -u CLAUDECODE askpage "$SOCKET"; true'`,
		"its own variable":             `CLAUDECODE=1 askpage "$SOCKET"`,
		"below an agent's program":     `"$AGENT" 60 askpage "$SOCKET"; true`,
		"an agent's empty variables":   `env -i "$AGENT" 60 "$(command -v askpage)" "$SOCKET"; true`,
		"without a terminal":           `setsid -w askpage "$SOCKET"; true`,
		"detached, without a parent":   `(setsid -f askpage "$SOCKET" | cat); true`,
		"detached, below an orphan":    `(setsid -f sh -c 'askpage "$SOCKET"; true' | cat); true`,
		"the command below an agent":   `"$AGENT" 60 planloop review --code; true`,
		"the command without a parent": `(setsid -f planloop review --code 2>&1 | cat); true`,
		"in a terminal of its own":     `(setsid -f script -qc 'askpage "$SOCKET"' /dev/null </dev/null | cat); true`,
	} {
		if _, err := exec.LookPath("script"); err != nil && strings.Contains(line, "script ") {
			continue
		}
		if shown := ask(line); strings.Contains(shown, "http") || !strings.Contains(shown, "needs a person, and ") {
			t.Errorf("%s:\n%s", name, shown)
		}
	}
	conn, err := net.Dial("unix", b.Socket)
	testenv.Check(t, err)
	defer conn.Close()
	begun, err := receive(conn)
	testenv.Check(t, err)
	h.env = append(h.env, "AGAIN="+begun.Socket)
	says(t, ask(`askpage "$AGAIN" again`), "the program that asks is not the one that began to")
}

// A page in the background opens the browser once for each submission: at its workspace, by a link unless the page is open already. What
// waited before opens nothing.
func TestReviewOpensTheBrowserForPlans(t *testing.T) {
	h := planningHome(t)
	elsewhere := func(name string) *host {
		other := h
		other.dir = filepath.Join(filepath.Dir(h.dir), name)
		testenv.Check(t, os.Mkdir(other.dir, 0o755))
		testenv.Check(t, os.WriteFile(filepath.Join(other.dir, "login.go"), []byte("package login\n"), 0o600))
		return other.serve()
	}
	says(t, h.serve().call("planning_submit_plan", submission("medium")), "Plan submitted")
	pipe, script := filepath.Join(t.TempDir(), "pipe"), filepath.Join(t.TempDir(), "browser")
	testenv.Check(t, syscall.Mkfifo(pipe, 0o600))
	testenv.Check(t, os.WriteFile(script, []byte("#!/bin/sh\necho \"$1\" >"+pipe+"\n"), 0o700))
	notifier := filepath.Join(filepath.Dir(script), "notify-send")
	testenv.Check(t, os.WriteFile(notifier, []byte("#!/bin/sh\necho \"$4\" >"+pipe+"\n"), 0o700))
	h.env = append(h.env, "BROWSER="+script, "DISPLAY=:0", "PATH="+filepath.Dir(script)+":"+os.Getenv("PATH"))
	h.inBackground()
	opened := func() string {
		t.Helper()
		address, err := os.ReadFile(pipe)
		testenv.Check(t, err)
		return string(address)
	}
	shop := elsewhere("shop")
	says(t, shop.call("planning_submit_plan", submission("medium")), "Plan submitted")
	link := opened()
	says(t, link, "&workspace=shop-")
	b := opens(t, link)
	defer b.streams()()
	says(t, elsewhere("mall").call("planning_submit_plan", submission("medium")), "Plan submitted")
	if address := opened(); !strings.Contains(address, "/#workspace=mall-") {
		t.Errorf("a browser that has the page open gets %s", address)
	}
	shop.call("planning_submit_plan", submission("high")) // the next version
	says(t, opened(), "/#workspace=shop-")
	kiosk := elsewhere("kiosk") // all else is a notice
	kiosk.call("planning_enter_plan_mode", `{}`)
	says(t, kiosk.call("planning_ask_user", `{"question":"Which till?"}`), "Q1")
	says(t, opened(), "kiosk: ")
}

// streams opens the page's stream of changes until stop is called.
func (b *browser) streams() (stop func()) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, b.address+"/api/events", nil)
	testenv.Check(b.t, err)
	req.Host, req.URL.Host = req.URL.Host, net.JoinHostPort("127.0.0.1", req.URL.Port())
	req.AddCookie(b.cookie)
	req.Header.Set("Planloop-Key", b.key)
	res, err := http.DefaultClient.Do(req)
	testenv.Check(b.t, err)
	return func() { _ = res.Body.Close() }
}
