package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/testenv"
)

// browser opens the review page.
type browser struct {
	t       *testing.T
	address string // http://127.0.0.1:PORT
	cookie  *http.Cookie
	key     string
	unlock  string
}

var launchLink = regexp.MustCompile(`(http://(?:127\.0\.0\.1|[a-z2-7]{16}\.localhost):\d+)/#enter=([\w-]+)`)

// opens signs in with the link in a text.
func opens(t *testing.T, text string) *browser {
	t.Helper()
	link := launchLink.FindStringSubmatch(text)
	if link == nil {
		t.Fatalf("no link in:\n%s", text)
	}
	b := &browser{t: t, address: link[1]}
	status, answer := b.enter(link[2])
	if status != http.StatusOK {
		t.Fatalf("entering: %d %v", status, answer)
	}
	b.key, _ = answer["key"].(string)
	return b
}

func (b *browser) enter(code string) (int, map[string]any) {
	return b.post("/api/enter", map[string]any{"code": code})
}

func (b *browser) post(path string, body any) (int, map[string]any) {
	b.t.Helper()
	data, err := json.Marshal(body)
	testenv.Check(b.t, err)
	return b.request(http.MethodPost, path, data)
}

func (b *browser) get(path string) map[string]any {
	b.t.Helper()
	status, answer := b.request(http.MethodGet, path, nil)
	if status != http.StatusOK {
		b.t.Fatalf("%s: %d %v", path, status, answer)
	}
	return answer
}

func (b *browser) request(method, path string, body []byte) (int, map[string]any) {
	b.t.Helper()
	req, err := http.NewRequestWithContext(b.t.Context(), method, b.address+path, bytes.NewReader(body))
	testenv.Check(b.t, err)
	req.Host, req.URL.Host = req.URL.Host, net.JoinHostPort("127.0.0.1", req.URL.Port()) // browsers resolve the name like this
	if method == http.MethodPost {
		req.Header.Set("Origin", b.address)
		req.Header.Set("Content-Type", "application/json")
	}
	if b.cookie != nil {
		req.AddCookie(b.cookie)
		req.Header.Set("Planloop-Key", b.key)
	}
	if b.unlock != "" {
		req.Header.Set("Planloop-Unlock", b.unlock)
	}
	res, err := http.DefaultClient.Do(req)
	testenv.Check(b.t, err)
	defer res.Body.Close()
	for _, cookie := range res.Cookies() {
		b.cookie = cookie
	}
	data, err := io.ReadAll(res.Body)
	testenv.Check(b.t, err)
	var answer map[string]any
	if err := json.Unmarshal(data, &answer); err != nil {
		b.t.Fatalf("%s %s: %v\n%s", method, path, err, data)
	}
	return res.StatusCode, answer
}

// at returns the value at a path of names in an answer; in a list, of its first entry.
func at(value any, names ...string) any {
	for _, name := range names {
		if list, is := value.([]any); is && len(list) > 0 {
			value = list[0]
		}
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

func text(value any, names ...string) string {
	text, _ := at(value, names...).(string)
	return text
}

// line reads the rest of a line of the terminal.
func (t *terminalSession) line() string {
	t.t.Helper()
	t.out.readOn("\n")
	line, _, _ := strings.Cut(t.out.seen.String(), "\n")
	return line
}

// unlocks makes the terminal show the code, and types it on the page.
func (t *terminalSession) unlocks(b *browser, workspace string) {
	t.t.Helper()
	if status, answer := b.post("/api/code", map[string]any{"workspace": workspace}); status != http.StatusOK {
		t.t.Fatalf("a code: %d %v", status, answer)
	}
	t.out.waitFor("The code for the page that shows ")
	code := regexp.MustCompile(` is (\d{6})\. The page can then approve`).FindStringSubmatch(t.line())
	if code == nil {
		t.t.Fatal("no code on the terminal")
	}
	status, unlocked := b.post("/api/unlock", map[string]any{"code": code[1]})
	if b.unlock = text(unlocked, "unlock"); status != http.StatusOK {
		t.t.Fatalf("unlocking: %d %v", status, unlocked)
	}
}

// isEnded ends the program in the terminal with Ctrl-C, which is not an error.
func (t *terminalSession) isEnded() {
	t.t.Helper()
	t.typeIn("\x03")
	if shown, exit := t.ends(); exit != 0 {
		t.t.Errorf("exit code %d:\n%s", exit, shown)
	}
}

// A person opens the page by the link on the terminal, enters the code shown there, and approves; the agent receives this as a person's
// decision. Used links and codes admit no one else.
func TestReviewDecides(t *testing.T) {
	h := planningHome(t)
	agent := h.serve()
	says(t, agent.call("planning_submit_plan", submission("medium")), "Plan submitted")
	page := h.terminal(160, 60, "review", "--no-open")
	page.out.waitFor("Open the page: ")
	link := page.line()
	b := opens(t, link)
	page.out.waitFor("app: a plan is waiting for your decision: Sessions move to Redis")
	if status, _ := (&browser{t: t, address: b.address}).enter(launchLink.FindStringSubmatch(link)[2]); status != http.StatusUnauthorized {
		t.Errorf("the link works twice: %d", status)
	}
	page.out.waitFor("A link was used twice, so its session was ended. Press Enter for a new link.")
	if status, _ := b.request(http.MethodGet, "/api/inbox", nil); status != http.StatusUnauthorized {
		t.Errorf("who came by a link that was used twice is in: %d", status)
	}
	page.typeIn("\n")
	page.out.waitFor("Open the page: ")
	b = opens(t, page.line())

	id := text(b.get("/api/inbox"), "workspaces", "id")
	view := b.get("/api/view?workspace=" + id)
	if at(view, "can", "decide") != true || at(view, "can", "code") != true {
		t.Errorf("can: %v", view["can"])
	}
	approve := map[string]any{"workspace": id, "log": text(view, "log"), "act": "approve", "input": map[string]any{
		"request": text(view, "draft", "request"), "digest": text(view, "draft", "plan", "digest")}}
	if status, answer := b.post("/api/act", approve); status != http.StatusForbidden {
		t.Errorf("approving without the code: %d %v", status, answer)
	}
	page.unlocks(b, id)
	if status, answer := b.post("/api/act", approve); status != http.StatusOK {
		t.Fatalf("approving: %d %v", status, answer)
	}
	page.out.waitFor("app: settled: Sessions move to Redis")
	says(t, agent.call("planloop_status", `{}`), "approved by alice", "<approved_plan>")
	says(t, h.run("log", "--audit"), "approved by alice (person)")

	page.typeIn("out\n")
	page.out.waitFor("All browsers are signed out. Press Enter for a new link.")
	if status, _ := b.request(http.MethodGet, "/api/inbox", nil); status != http.StatusUnauthorized {
		t.Errorf("a session is left: %d", status)
	}
	page.typeIn("\n")
	page.out.waitFor("Open the page: ")
	opens(t, page.line())
	page.isEnded()
}

// One inbox lists several workspaces, whichever process plans there and whenever it began; an unreadable one is reported and does not hide
// the others. Workspaces that merely wait are not kept open.
func TestReviewOfAllWorkspaces(t *testing.T) {
	t.Parallel()
	h := planningHome(t)
	elsewhere := func(name string) home {
		other := h
		other.dir = filepath.Join(filepath.Dir(h.dir), name)
		testenv.Check(t, os.Mkdir(other.dir, 0o755))
		return other
	}
	broken, shop := elsewhere("broken"), elsewhere("shop")
	broken.run("start", "Nobody reads this")
	states, err := filepath.Glob(filepath.Join(filepath.Dir(h.dir), "state", "planloop", "broken-*", "plan.db"))
	if err != nil || len(states) != 1 || os.WriteFile(states[0], []byte("no database"), 0o600) != nil {
		t.Fatal(states, err)
	}
	page := h.terminal(160, 60, "review", "--no-open")
	page.out.waitFor("Open the page: ")
	b := opens(t, page.line())
	page.out.waitFor("Nothing is waiting for you.")

	says(t, h.serve().call("planning_submit_plan", submission("medium")), "Plan submitted")
	page.out.waitFor("app: a plan is waiting for your decision: Sessions move to Redis")
	says(t, shop.serve().call("planning_ask_user", `{"question":"Which region?"}`), "Q1")
	page.out.waitFor("shop: codex asks: Which region?")
	shop.run("alert", "--id", "ci", "--level", "blocker", "--message", "the tests fail")
	page.out.waitFor("shop: blocked by ci: the tests fail")

	inbox := b.get("/api/inbox")
	var listed []string
	for _, place := range inbox["workspaces"].([]any) {
		listed = append(listed, fmt.Sprintf("%s %v", text(place, "name"), at(place, "waiting")))
		if text(place, "name") == "broken" {
			says(t, text(place, "headline"), "cannot be read")
		}
	}
	if !slices.Equal(listed, []string{"app 1", "broken 0", "shop 2"}) || len(inbox["waiting"].([]any)) != 3 {
		t.Errorf("%q\n%v", listed, inbox["waiting"])
	}
	if kind := text(inbox["waiting"], "kind"); kind != "blocker" {
		t.Errorf("the newest comes first, and that is no %s", kind)
	}
	for begun := time.Now(); ; { // it may be reading just now
		open := page.openFiles(filepath.Join(filepath.Dir(h.dir), "state"))
		if len(open) == 0 {
			break
		}
		if time.Since(begun) > patience {
			t.Fatalf("kept open: %q", open)
		}
	}

	shop.run("alert", "--id", "ci", "--clear")
	page.out.waitFor("shop: settled: the tests fail")
	second := shop.terminal(160, 60, "review", "--no-open")
	second.out.waitFor("Open the page: ")
	if first := text(opens(t, second.line()).get("/api/inbox"), "workspaces", "name"); first != "shop" {
		t.Errorf("the one it was started in comes first, and not %s", first)
	}
	second.isEnded()
	page.isEnded()
}

// openFiles lists the files below a folder that the program in the terminal has open, if the system shows them.
func (t *terminalSession) openFiles(folder string) []string {
	found, _ := filepath.Glob("/proc/*/fd/*")
	var open []string
	for _, fd := range found {
		command, _ := os.ReadFile(filepath.Join(filepath.Dir(filepath.Dir(fd)), "cmdline"))
		if path, err := os.Readlink(fd); err == nil && strings.HasPrefix(path, folder) &&
			bytes.Contains(command, []byte("\x00review\x00")) {
			open = append(open, path)
		}
	}
	return open
}

// The browser gets the link; if it cannot be opened, the person gets it.
func TestReviewOpensTheBrowser(t *testing.T) {
	h := newHome(t)
	pipe, script := filepath.Join(t.TempDir(), "pipe"), filepath.Join(t.TempDir(), "browser")
	if err := errors.Join(syscall.Mkfifo(pipe, 0o600),
		os.WriteFile(script, []byte("#!/bin/sh\necho \"$1\" >"+pipe+"\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	h.env = append(h.env, "BROWSER=/nowhere/browser:"+script)
	page := h.terminal(160, 60, "review")
	page.out.waitFor("The page opens in your browser: http://")
	link, err := os.ReadFile(pipe)
	testenv.Check(t, err)
	if view := opens(t, string(link)).get("/api/inbox"); text(view, "workspaces", "name") != "app" {
		t.Errorf("%v", view)
	}

	page.isEnded()

	h.env = append(h.env, "BROWSER=false")
	page = h.terminal(160, 60, "review")
	page.out.waitFor("No browser could be opened. Open the page: ")
	opens(t, page.line())
	page.isEnded()
}

// The page keeps its address, under which browsers keep unsent texts, unless it is taken or the file of the address is damaged.
func TestReviewKeepsItsAddress(t *testing.T) {
	h := newHome(t)
	begin := func() (*terminalSession, string) {
		page := h.terminal(160, 60, "review", "--no-open")
		page.out.waitFor("Open the page: ")
		return page, opens(t, page.line()).address
	}
	page, first := begin()
	other, second := begin()
	if first == second {
		t.Errorf("two pages have the address %s", first)
	}
	other.isEnded()
	page.isEnded()
	page, third := begin()
	if third != second {
		t.Errorf("the page moved from %s to %s", second, third)
	}
	page.isEnded()
	testenv.Check(t, os.WriteFile(filepath.Join(h.stateHome(), "page-address.json"), []byte(`{"name":"a.example","port":1}`), 0o600))
	page, fourth := begin()
	if !regexp.MustCompile(`^http://[a-z2-7]{16}\.localhost:\d+$`).MatchString(fourth) {
		t.Errorf("the page is at %s", fourth)
	}
	page.isEnded()
}

// Over SSH no browser is opened; the person gets the command to forward the port.
func TestReviewOverSSH(t *testing.T) {
	h := newHome(t)
	h.env = append(h.env, "BROWSER=false", "SSH_CONNECTION=192.0.2.7 50122 192.0.2.5 2222")
	page := h.terminal(160, 60, "review")
	page.out.waitFor("from your own machine, run there:")
	page.out.readOn("Enter: new link")
	shown := page.out.seen.String()
	port := regexp.MustCompile(`localhost:(\d+)/#`).FindStringSubmatch(shown)
	if port == nil {
		t.Fatalf("no link in:\n%s", shown)
	}
	says(t, shown, "ssh -L "+port[1]+":127.0.0.1:"+port[1]+" -p 2222 alice@192.0.2.5\r\n")
	opens(t, shown)
	page.isEnded()
}

// Without a terminal, and in an agent's shell, the page is view only, and says why.
func TestReviewThatOnlyShows(t *testing.T) {
	h := planningHome(t)
	says(t, h.serve().call("planning_submit_plan", submission("medium")), "Plan submitted")
	refused := func(b *browser, why string) {
		t.Helper()
		id := text(b.get("/api/inbox"), "workspaces", "id")
		view := b.get("/api/view?workspace=" + id)
		if at(view, "can", "decide") != false {
			t.Errorf("can: %v", view["can"])
		}
		says(t, text(view, "can", "why"), why)
		for act, input := range map[string]any{
			"reject":  map[string]any{"request": text(view, "draft", "request"), "digest": text(view, "draft", "plan", "digest")},
			"comment": map[string]any{"text": "Do it."}, "cancel_mode": map[string]any{}, "start_run": map[string]any{},
		} {
			status, answer := b.post("/api/act", map[string]any{"workspace": id, "log": text(view, "log"), "act": act, "input": input})
			if status != http.StatusForbidden {
				t.Errorf("%s: %d %v", act, status, answer)
			}
		}
		if status, answer := b.post("/api/code", map[string]any{"workspace": id}); status != http.StatusForbidden {
			t.Errorf("a code: %d %v", status, answer)
		}
	}
	cmd, out := h.start("review")
	out.waitFor("View only: standard input is not a terminal.")
	out.waitFor("Open the page: ")
	out.readOn("\n")
	refused(opens(t, out.seen.String()), "standard input is not a terminal")
	interrupt(t, cmd, out)

	agents := h
	agents.env = append(slices.Clone(h.env), "CLAUDECODE=1")
	page := agents.terminal(160, 60, "review", "--json")
	page.out.readOn("}\r\n")
	var told struct {
		Link    string
		Decides bool
	}
	if err := json.Unmarshal([]byte(page.out.seen.String()), &told); err != nil || told.Decides {
		t.Fatalf("%v: %+v", err, told)
	}
	refused(opens(t, told.Link), "this shell belongs to an agent (CLAUDECODE is set)")
	page.isEnded()
}

// The page of a server that agents use lets the person with the link from the terminal decide, and is view only for others.
func TestReviewBesideMCP(t *testing.T) {
	h := planningHome(t)
	says(t, h.serve().call("planning_submit_plan", submission("medium")), "Plan submitted")
	page := h.terminal(160, 60, "serve", "--http", "127.0.0.1:0")
	page.out.waitFor("The review page: ")
	b := opens(t, page.line())
	inbox := b.get("/api/inbox")
	view := b.get("/api/view?workspace=" + text(inbox, "workspaces", "id"))
	if at(view, "can", "decide") != true {
		t.Errorf("can: %v", view["can"])
	}
	other := &browser{t: t, address: b.address}
	_, entered := other.post("/api/enter", map[string]any{})
	other.key = text(entered, "key")
	view = other.get("/api/view?workspace=" + text(inbox, "workspaces", "id"))
	if at(view, "can", "decide") != false {
		t.Errorf("who came by no link can: %v", view["can"])
	}
	page.typeIn("\n")
	page.out.waitFor("Open the page: ")
	opens(t, page.line())
	page.isEnded()
}

// A run started on the page runs in this process, shows its steps' output, and is waited for.
func TestReviewRuns(t *testing.T) {
	h := newHome(t)
	pipe := filepath.Join(t.TempDir(), "pipe")
	testenv.Check(t, syscall.Mkfifo(pipe, 0o600))
	file := filepath.Join(t.TempDir(), "plan.json")
	plan := fmt.Appendf(nil, `{"objective":"Wait","initial_steps":[{"title":"Sleep","tool":"bash_execute",
		"args":{"command":"echo half way; cat %s"}},{"title":"Rest","tool":"bash_execute","args":{"command":"true"}}]}`, pipe)
	testenv.Check(t, os.WriteFile(file, plan, 0o600))
	h.run("start", "--file", file)
	page := h.terminal(160, 60, "review", "--no-open")
	page.out.waitFor("Open the page: ")
	b := opens(t, page.line())
	id := text(b.get("/api/inbox"), "workspaces", "id")
	act := func(name string, input any) {
		t.Helper()
		log := text(b.get("/api/view?workspace="+id), "log")
		status, answer := b.post("/api/act", map[string]any{"workspace": id, "log": log, "act": name, "input": input})
		if status != http.StatusOK {
			t.Fatalf("%s: %d %v", name, status, answer)
		}
	}
	page.unlocks(b, id)
	act("start_run", map[string]any{})
	page.out.waitFor("app: S001 is waiting for your answer: ")
	view := b.get("/api/view?workspace=" + id)
	act("approve_step", map[string]any{"step": 1, "digest": text(at(view, "plan", "steps"), "ask", "digest")})
	reader, err := os.OpenFile(pipe, os.O_WRONLY, 0) // waits until the step reads
	testenv.Check(t, err)
	for begun, tail := time.Now(), ""; tail != "half way\n"; { // the output may still be on its way
		if tail = text(b.get("/api/tail?workspace="+id+"&step=1"), "text"); time.Since(begun) > patience {
			t.Fatalf("the step has printed %q", tail)
		}
	}
	page.typeIn("\x03")
	page.out.waitFor("starting nothing new and waiting for running steps; interrupt again to end them")
	testenv.Check(t, reader.Close())
	if shown, exit := page.ends(); exit != 0 {
		t.Errorf("exit code %d:\n%s", exit, shown)
	}
	says(t, h.run("show"), "✓ S001", "○ S002")
	says(t, h.run("log"), "the run paused: waiting for person")
}
