package web

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/planloop/planloop/gates"
	"github.com/planloop/planloop/internal/review"
	states "github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// patience bounds every wait for an event; no test waits this long.
const patience = 2 * time.Minute

// workspaces has workspaces in memory. Values sent to changes are reported in addition to real changes.
type workspaces struct {
	sheets  map[string]*review.Workspace
	changes chan review.Change
	trouble error // of every call
	panics  bool
}

func (d *workspaces) Places(context.Context) ([]review.Place, error) {
	var places []review.Place
	for _, id := range slices.Sorted(maps.Keys(d.sheets)) {
		places = append(places, d.sheets[id].Place)
	}
	return places, d.trouble
}

func (d *workspaces) Open(_ context.Context, id string) (*review.Workspace, error) {
	if d.panics {
		panic("at the workspaces")
	}
	if workspace := d.sheets[id]; workspace != nil {
		return workspace, d.trouble
	}
	return nil, plan.Refuse(plan.NotFound, "/workspace", "there is no such workspace", "see the inbox")
}

func (d *workspaces) InInbox(ctx context.Context, place review.Place) (shown review.InboxPlace, waiting []review.Waiting, err error) {
	workspace, err := d.Open(ctx, place.ID)
	if err != nil {
		return shown, nil, err
	}
	return review.InInbox(ctx, workspace)
}

// Watch reports the changes of all workspaces, and has ended when its channel is closed.
func (d *workspaces) Watch(ctx context.Context) <-chan review.Change {
	out := make(chan review.Change)
	var running sync.WaitGroup
	tell := func(change review.Change) {
		select {
		case out <- change:
		case <-ctx.Done():
		}
	}
	for id, workspace := range d.sheets {
		changed, err := workspace.Service.Watch(ctx)
		if err != nil {
			panic(err)
		}
		running.Go(func() {
			for range changed {
				if state, err := workspace.Service.State(ctx); err == nil {
					tell(review.Change{Workspace: id, Revision: state.Revision})
				}
			}
		})
	}
	running.Go(func() {
		for {
			select {
			case change := <-d.changes:
				tell(change)
			case <-ctx.Done():
				return
			}
		}
	})
	go func() {
		running.Wait()
		close(out)
	}()
	return out
}

// clock is set by the test.
type clock struct {
	mu  sync.Mutex
	now time.Time
}

func (c *clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *clock) pass(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.now = c.now.Add(d)
}

// fixture is a served page with workspaces w1 and w2.
type fixture struct {
	*Server
	t          testing.TB
	base       string // http://127.0.0.1:port
	host       string
	workspaces *workspaces
	clock      *clock
	log        *logBuffer
	shown      chan string // codes, by the terminal
	stop       context.CancelFunc
	served     chan error
}

// secretText is in errors of the workspaces, and must not leave the server.
const secretText = "/home/alice/.secret"

func files(name string) ([]byte, string, bool) {
	kinds := map[string]string{"index.html": "text/html; charset=utf-8", "page.js": "text/javascript; charset=utf-8",
		"page.css": "text/css; charset=utf-8", "graph.js": "text/javascript; charset=utf-8", "icon.svg": "image/svg+xml"}
	return []byte(strings.Repeat(name+"\n", 100)), kinds[name], kinds[name] != ""
}

func open(t testing.TB, id string, edit ...func(*verbs.Options)) *review.Workspace {
	s := states.New(store.NewMemory(), states.Options{})
	t.Cleanup(func() { _ = s.Close() })
	options := verbs.Options{Gates: func(string) gates.Level { return gates.Off }}
	for _, change := range edit {
		change(&options)
	}
	return &review.Workspace{Place: review.Place{ID: id, Name: "shop " + id}, Service: verbs.New(s, options)}
}

// prepare makes a server that is not served yet.
func prepare(t testing.TB, edit func(*Options)) *fixture {
	t.Helper()
	f := &fixture{t: t, shown: make(chan string, 100), clock: &clock{now: time.Now()}, log: &logBuffer{},
		workspaces: &workspaces{changes: make(chan review.Change)}}
	f.workspaces.sheets = map[string]*review.Workspace{"w1": open(t, "w1"), "w2": open(t, "w2")}
	opts := Options{Workspaces: f.workspaces, Person: plan.NewActor(plan.ChannelPage, "alice"), File: files, Now: f.clock.Now,
		Logger: slog.New(slog.NewTextHandler(f.log, nil)),
		ShowCode: func(_ review.Place, code string) error {
			f.shown <- code
			return nil
		}}
	if edit != nil {
		edit(&opts)
	}
	var err error
	if f.Server, err = New(opts); err != nil {
		t.Fatal(err)
	}
	f.codes.SetLimit(1e9) // except where it is tested
	return f
}

// serve serves a page on loopback.
func serve(t testing.TB, edit func(*Options)) *fixture {
	t.Helper()
	f := prepare(t, edit)
	f.serve()
	return f
}

func (f *fixture) serve() {
	t := f.t
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(context.Background(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	f.host = l.Addr().String()
	f.base = "http://" + f.host
	ctx, stop := context.WithCancel(context.Background())
	f.stop, f.served = stop, make(chan error, 1)
	finished := make(chan struct{})
	go func() {
		defer close(finished)
		f.served <- f.Serve(ctx, l)
	}()
	t.Cleanup(func() {
		stop()
		<-finished
	})
}

// reply is an answer, read to its end.
type reply struct {
	status int
	header http.Header
	body   string
}

// refusal reads the refusal in an answer.
func (r reply) refusal(t testing.TB) (told refusal) {
	t.Helper()
	var answer struct{ Error *refusal }
	if err := json.Unmarshal([]byte(r.body), &answer); err != nil || answer.Error == nil || answer.Error.Problem == "" {
		t.Fatalf("%d %q is no refusal (%v)", r.status, r.body, err)
	}
	return *answer.Error
}

// into decodes an answer.
func (r reply) into(t testing.TB, value any) {
	t.Helper()
	if r.status != http.StatusOK {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if err := json.Unmarshal([]byte(r.body), value); err != nil {
		t.Fatal(err)
	}
}

// open makes a request as the page would; edit changes it. Every answer carries the policy.
func (f *fixture) open(method, path, body string, edit ...func(*http.Request)) *http.Response {
	f.t.Helper()
	req, err := http.NewRequestWithContext(context.Background(), method, f.base+path, strings.NewReader(body))
	if err != nil {
		f.t.Fatal(err)
	}
	if body == "" {
		req.Body, req.ContentLength = http.NoBody, 0
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Origin", f.base)
	}
	req.Header.Set("Sec-Fetch-Site", "same-origin")
	for _, change := range edit {
		if change != nil {
			change(req)
		}
	}
	transport := &http.Transport{DisableCompression: true}
	f.t.Cleanup(transport.CloseIdleConnections)
	resp, err := transport.RoundTrip(req) // no redirect is followed
	if err != nil {
		f.t.Fatalf("%s %s: %v", method, path, err)
	}
	carriesPolicy(f.t, method+" "+path, resp.Header)
	return resp
}

func (f *fixture) raw(method, path, body string, edit ...func(*http.Request)) reply {
	f.t.Helper()
	resp := f.open(method, path, body, edit...)
	defer func() { _ = resp.Body.Close() }()
	all, err := io.ReadAll(resp.Body)
	if err != nil {
		f.t.Fatal(err)
	}
	return reply{resp.StatusCode, resp.Header, string(all)}
}

func carriesPolicy(t testing.TB, what string, h http.Header) {
	t.Helper()
	for _, header := range Policy() {
		if got := h.Values(header[0]); len(got) != 1 || got[0] != header[1] {
			t.Errorf("%s: %s is %q", what, header[0], got)
		}
	}
	for name := range h {
		if strings.HasPrefix(name, "Access-Control-") || name == "Location" {
			t.Errorf("%s: %s is sent", what, name)
		}
	}
}

// browser is a session as its page has it.
type browser struct {
	f      *fixture
	cookie *http.Cookie
	key    string
	unlock string
}

// enter opens a session with a body of /api/enter.
func (f *fixture) enter(body string) *browser {
	f.t.Helper()
	answer := f.raw(http.MethodPost, "/api/enter", body)
	var told struct{ Key string }
	answer.into(f.t, &told)
	cookies := (&http.Response{Header: answer.header}).Cookies()
	if len(cookies) != 1 || told.Key == "" {
		f.t.Fatalf("entered: %v %s", answer.header, answer.body)
	}
	return &browser{f: f, cookie: cookies[0], key: told.Key}
}

// launch opens a session that decides.
func (f *fixture) launch() *browser {
	f.t.Helper()
	return f.enter(`{"code":"` + f.code() + `"}`)
}

func (f *fixture) code() string {
	_, code, _ := strings.Cut(f.Link(f.base), "#enter=")
	return code
}

func (b *browser) in(r *http.Request) {
	r.AddCookie(b.cookie)
	r.Header.Set("Planloop-Key", b.key)
	if b.unlock != "" {
		r.Header.Set("Planloop-Unlock", b.unlock)
	}
}

func (b *browser) get(path string) reply {
	b.f.t.Helper()
	return b.f.raw(http.MethodGet, path, "", b.in)
}

func (b *browser) post(path string, body any) reply {
	b.f.t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		b.f.t.Fatal(err)
	}
	return b.f.raw(http.MethodPost, path, string(text), b.in)
}

func (b *browser) act(workspace, act string, input map[string]any) reply {
	b.f.t.Helper()
	log := ""
	if shown := b.f.workspaces.sheets[workspace]; shown != nil {
		log, _ = shown.Service.LogID(b.f.t.Context())
	}
	return b.post("/api/act", map[string]any{"workspace": workspace, "log": log, "act": act, "input": input})
}

func (b *browser) view(workspace string) (v review.View) {
	b.f.t.Helper()
	b.get("/api/view?workspace="+workspace).into(b.f.t, &v)
	return v
}

// typeCode types the code of the terminal.
func (b *browser) typeCode() {
	b.f.t.Helper()
	if answer := b.post("/api/code", map[string]any{"workspace": "w1"}); answer.status != http.StatusOK {
		b.f.t.Fatal(answer.body)
	}
	var told struct{ Unlock string }
	b.post("/api/unlock", map[string]any{"code": next(b.f.t, b.f.shown)}).into(b.f.t, &told)
	b.unlock = told.Unlock
}

// submit submits a plan to the person.
func (f *fixture) submit(workspace string) {
	f.t.Helper()
	title := "Move the sessions"
	ann := verbs.Caller{Actor: plan.NewActor(plan.ChannelMCP, "ann")}
	_, err := f.workspaces.sheets[workspace].Service.SubmitPlan(context.Background(), ann, verbs.SubmitPlan{Summary: "Move them.",
		Steps: []verbs.SubmittedStep{{TaskFields: verbs.TaskFields{Title: &title}}}})
	if err != nil {
		f.t.Fatal(err)
	}
}

// decision is the input that decides the draft in a view.
func decision(v review.View) map[string]any {
	return map[string]any{"request": v.Draft.Request, "digest": v.Draft.Plan.Digest}
}

// stream opens a stream and returns its events and comments. It ends with the connection.
func (b *browser) stream() (lines <-chan string, hangUp func()) {
	b.f.t.Helper()
	resp := b.f.open(http.MethodGet, "/api/events", "", b.in)
	if resp.StatusCode != http.StatusOK {
		all, _ := io.ReadAll(resp.Body)
		b.f.t.Fatalf("events: %d %s", resp.StatusCode, all)
	}
	out := make(chan string, 1000)
	go func() {
		defer close(out)
		scanner := bufio.NewScanner(resp.Body)
		for scanner.Scan() {
			if line := scanner.Text(); line != "" {
				out <- line
			}
		}
	}()
	b.f.t.Cleanup(func() { _ = resp.Body.Close() })
	if got := next(b.f.t, out); got != ": watching" {
		b.f.t.Fatalf("the stream begins with %q", got)
	}
	return out, func() { _ = resp.Body.Close() }
}

// next waits for a value; that of a closed channel is zero.
func next[T any](t testing.TB, ch <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-ch:
	case <-time.After(patience):
		t.Fatal("nothing came")
	}
	return value
}

// logBuffer is a log that can be read while it is written.
type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.Write(p)
}

func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.buf.String()
}
