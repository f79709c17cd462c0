package web

import (
	"bufio"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/plan"
)

// header sets a header to one or several values, and removes it without any.
func header(name string, values ...string) func(*http.Request) {
	return func(r *http.Request) { r.Header[name] = values }
}

// TestWhatComesFromElsewhereIsRefused sends requests with a single fault to every kind of path. None may take effect.
func TestWhatComesFromElsewhereIsRefused(t *testing.T) {
	f := serve(t, func(o *Options) { o.Name = "once.localhost" })
	f.workspaces.sheets["w1"].Unsent = t.TempDir()
	f.submit("w1")
	b := f.launch()
	b.typeCode()
	_, port, _ := net.SplitHostPort(f.host)
	host := func(name string) func(*http.Request) { return func(r *http.Request) { r.Host = name } }
	both := func(name string) func(*http.Request) {
		return func(r *http.Request) { r.Host, r.Header["Origin"] = name, []string{"http://" + name} }
	}
	bearer := func(r *http.Request) {
		r.Header = http.Header{"Authorization": {"Bearer " + b.key}, "Origin": {f.base}, "Content-Type": {"application/json"}}
	}
	for what, c := range map[string]struct {
		edit   func(*http.Request)
		posts  int // status of a POST
		gets   int
		static int
	}{
		"another origin":                  {header("Origin", "https://evil.example"), 403, 403, 403},
		"the origin null":                 {header("Origin", "null"), 403, 403, 403},
		"the origin of another port":      {header("Origin", "http://127.0.0.1:1"), 403, 403, 403},
		"the origin by https":             {header("Origin", "https://"+f.host), 403, 403, 403},
		"the origin with more behind it":  {header("Origin", f.base+".evil.example"), 403, 403, 403},
		"the origin with a user":          {header("Origin", "http://127.0.0.1@evil.example:"+port), 403, 403, 403},
		"the origin by another name":      {header("Origin", "http://localhost:"+port), 403, 403, 403},
		"an empty origin":                 {header("Origin", ""), 403, 403, 403},
		"two origins":                     {header("Origin", f.base, "https://evil.example"), 403, 403, 403},
		"no origin":                       {header("Origin"), 403, 200, 200},
		"another site":                    {header("Sec-Fetch-Site", "cross-site"), 403, 403, 403},
		"the same site":                   {header("Sec-Fetch-Site", "same-site"), 403, 403, 403},
		"no site":                         {header("Sec-Fetch-Site", "none"), 403, 403, 403},
		"two sites":                       {header("Sec-Fetch-Site", "same-origin", "cross-site"), 403, 403, 403},
		"a rebound name":                  {host("evil.example:" + port), 403, 403, 403},
		"a rebound name with its origin":  {both("evil.example:" + port), 403, 403, 403},
		"another name of this machine":    {both("other.localhost:" + port), 403, 403, 403},
		"more before its name":            {both("x.once.localhost:" + port), 403, 403, 403},
		"a dot behind its name":           {both("once.localhost.:" + port), 403, 403, 403},
		"its name at another port":        {both("once.localhost:1"), 403, 403, 403},
		"a script to answer for it":       {header("Service-Worker", "script"), 403, 403, 403},
		"another port":                    {both("127.0.0.1:1"), 403, 403, 403},
		"no port":                         {both("127.0.0.1"), 403, 403, 403},
		"another address of the loopback": {both("127.0.0.2:" + port), 403, 403, 403},
		"all addresses":                   {both("0.0.0.0:" + port), 403, 403, 403},
		"a name below one of ours":        {both("127.0.0.1.evil.example:" + port), 403, 403, 403},
		"a name in capitals":              {both("LOCALHOST:" + port), 403, 403, 403},
		"a form":                          {header("Content-Type", "application/x-www-form-urlencoded"), 415, 200, 200},
		"a form with files":               {header("Content-Type", "multipart/form-data; boundary=x"), 415, 200, 200},
		"plain text":                      {header("Content-Type", "text/plain"), 415, 200, 200},
		"plain text that names JSON":      {header("Content-Type", "text/plain; application/json"), 415, 200, 200},
		"no type":                         {header("Content-Type"), 415, 200, 200},
		"two types":                       {header("Content-Type", "application/json", "text/plain"), 415, 200, 200},
		"a packed body":                   {header("Content-Encoding", "gzip"), 415, 200, 200},
		"the cookie alone":                {header("Planloop-Key"), 401, 401, 200},
		"an empty key":                    {header("Planloop-Key", ""), 401, 401, 200},
		"another key":                     {header("Planloop-Key", rand.Text()), 401, 401, 200},
		"two keys":                        {header("Planloop-Key", b.key, b.key), 401, 401, 200},
		"the key alone":                   {header("Cookie"), 401, 401, 200},
		"another cookie":                  {header("Cookie", b.cookie.Name+"="+rand.Text()), 401, 401, 200},
		"the cookie of another port":      {header("Cookie", "planloop-1="+b.cookie.Value), 401, 401, 200},
		"the key as the cookie":           {header("Cookie", b.cookie.Name+"="+b.key), 401, 401, 200},
		"a bearer token and nothing else": {bearer, 401, 401, 200},
		"the cookie after many that others set": {header("Cookie", strings.Repeat(b.cookie.Name+"=x; ", 180)+b.cookie.Name+"="+
			b.cookie.Value), 200, 200, 200},
		"the cookie among those of others": {header("Cookie", b.cookie.Name+"=x; "+b.cookie.Name+"="+b.cookie.Value), 200, 200, 200},
	} {
		code, log := f.code(), b.view("w1").Log
		for path, posted := range map[string]string{
			"/api/act":    `{"workspace":"w1","log":"` + log + `","act":"comment","input":{"text":"x"}}`,
			"/api/enter":  `{"code":"` + code + `"}`,
			"/api/keep":   `{"workspace":"w1","texts":[]}`,
			"/api/unsent": "",
			"/api/view":   "",
			"/api/inbox":  "",
			"/api/events": "",
			"/":           "",
			"/page.js":    "",
		} {
			method, want := http.MethodPost, c.posts
			switch {
			case path == "/" || path == "/page.js":
				method, want = http.MethodGet, c.static
			case posted == "":
				method, want = http.MethodGet, c.gets
			case path == "/api/enter" && want == 401:
				want = 200 // entering needs neither
			}
			if path == "/api/events" && want == 200 {
				continue
			}
			at := path
			if path == "/api/view" || path == "/api/unsent" {
				at += "?workspace=w1"
			}
			answer := f.raw(method, at, posted, b.in, c.edit)
			if answer.status != want {
				t.Errorf("%s, %s %s: %d %s", what, method, path, answer.status, answer.body)
			}
			if want >= 400 {
				answer.refusal(t)
				if len(answer.header["Set-Cookie"]) > 0 {
					t.Errorf("%s, %s: a cookie is set", what, path)
				}
			}
		}
		if ok, _ := f.sessions.useLaunchCode(code); !ok && c.posts != 200 && c.posts != 401 {
			t.Errorf("%s: the code was used up", what)
		}
	}
	if comments := b.view("w1").Comments; len(comments) != 2 { // from those with more cookies
		t.Errorf("%d comments were made", len(comments))
	}
}

func TestOwnNamesAreServed(t *testing.T) {
	f := serve(t, func(o *Options) { o.Name = "once.localhost" })
	_, port, _ := net.SplitHostPort(f.host)
	for _, name := range []string{"127.0.0.1:" + port, "localhost:" + port, "[::1]:" + port, "once.localhost:" + port} {
		own := func(r *http.Request) { r.Host, r.Header["Origin"] = name, []string{"http://" + name} }
		if answer := f.raw(http.MethodPost, "/api/enter", `{"code":"`+f.code()+`"}`, own); answer.status != http.StatusOK {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
		} else if cookie := answer.header.Get("Set-Cookie"); !strings.HasPrefix(cookie, "planloop-"+port+"=") {
			t.Errorf("%s: %s", name, cookie)
		}
	}
}

// TestPageIsOpenedByPeople: a link on another site may open the page, and nothing else.
func TestPageIsOpenedByPeople(t *testing.T) {
	f := serve(t, nil)
	for _, c := range []struct {
		path, site, mode, dest string
		want                   int
	}{
		{"/", "none", "navigate", "document", 200},
		{"/", "cross-site", "navigate", "document", 200},
		{"/", "cross-site", "navigate", "iframe", 403},
		{"/", "cross-site", "no-cors", "empty", 403},
		{"/", "cross-site", "cors", "empty", 403},
		{"/page.js", "cross-site", "no-cors", "script", 403},
		{"/page.js", "cross-site", "navigate", "document", 403},
		{"/api/inbox", "cross-site", "navigate", "document", 403},
		{"/api/inbox", "none", "navigate", "document", 403},
		{"/page.js", "same-origin", "no-cors", "script", 200},
	} {
		answer := f.raw(http.MethodGet, c.path, "", header("Sec-Fetch-Site", c.site), header("Sec-Fetch-Mode", c.mode),
			header("Sec-Fetch-Dest", c.dest))
		if answer.status != c.want {
			t.Errorf("%+v: %d", c, answer.status)
		}
	}
}

func TestPathsAndMethods(t *testing.T) {
	f := serve(t, nil)
	b := f.launch()
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/", 200, ""}, {"GET", "/?x=1", 200, ""}, {"GET", "/page.css", 200, ""}, {"GET", "/graph.js", 200, ""},
		{"GET", "/icon.svg", 200, ""},
		{"GET", "/index.html", 404, ""}, {"GET", "/app.html", 404, ""}, {"GET", "//", 404, ""}, {"GET", "/./", 404, ""},
		{"GET", "/x/../page.js", 404, ""}, {"GET", "/page%2ejs", 404, ""}, {"GET", "/%70age.js", 404, ""}, {"GET", "/page.js/", 404, ""},
		{"GET", "/debug/pprof", 404, ""}, {"GET", "/metrics", 404, ""}, {"GET", "/.git/config", 404, ""}, {"GET", "/mcp", 404, ""},
		{"GET", "/api", 404, ""}, {"GET", "/api/", 404, ""}, {"GET", "/api//inbox", 404, ""}, {"GET", "/api/%69nbox", 404, ""},
		{"GET", "/api/inbox/", 404, ""}, {"GET", "//evil.example/api/inbox", 404, ""},
		{"HEAD", "/", 405, "GET"}, {"POST", "/", 405, "GET"}, {"OPTIONS", "/", 405, "GET"}, {"TRACE", "/", 405, "GET"},
		{"PUT", "/page.js", 405, "GET"}, {"DELETE", "/page.js", 405, "GET"},
		{"GET", "/api/act", 405, "POST"}, {"HEAD", "/api/act", 405, "POST"}, {"OPTIONS", "/api/act", 405, "POST"},
		{"TRACE", "/api/act", 405, "POST"}, {"PUT", "/api/act", 405, "POST"}, {"GET", "/api/enter", 405, "POST"},
		{"POST", "/api/view", 405, "GET"}, {"HEAD", "/api/events", 405, "GET"}, {"OPTIONS", "/api/events", 405, "GET"},
		{"GET", "/api/inbox", 200, ""}, {"GET", "/api/view?workspace=w1", 200, ""},
		{"GET", "/api/view", 404, ""}, {"GET", "/api/view?workspace=w9", 404, ""}, {"GET", "/api/view?workspace=../w1", 404, ""},
		{"GET", "/api/view?workspace=w1&workspace=w2", 422, ""}, {"GET", "/api/view?workspace=w1&x=1", 422, ""},
		{"GET", "/api/view?workspace=w1;x=1", 422, ""}, {"GET", "/api/view?workspace=%zz", 422, ""},
		{"GET", "/api/inbox?x", 422, ""}, {"GET", "/api/log?workspace=w1&before=-1", 422, ""},
		{"GET", "/api/log?workspace=w1&before=9999999999999999999999", 422, ""}, {"GET", "/api/tail?workspace=w1&step=x", 422, ""},
	} {
		answer := f.raw(c.method, c.path, "", b.in)
		if answer.status != c.status || answer.header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d, Allow %q: %s", c.method, c.path, answer.status, answer.header.Get("Allow"), answer.body)
		}
		if c.status >= 400 && c.method != "HEAD" {
			answer.refusal(t)
		}
	}
	preflight := f.raw(http.MethodOptions, "/api/act", "", header("Origin", "https://evil.example"),
		header("Access-Control-Request-Method", "POST"), header("Access-Control-Request-Headers", "planloop-key"))
	if preflight.status != http.StatusForbidden {
		t.Errorf("a preflight: %d", preflight.status)
	}
	if answer := f.raw(http.MethodGet, "/api/inbox", "a body", b.in); answer.status != http.StatusBadRequest {
		t.Errorf("GET with a body: %d", answer.status)
	}
}

// TestWhatNetHTTPRefusesCarriesThePolicy sends raw bytes: some are refused before any handler runs.
func TestWhatNetHTTPRefusesCarriesThePolicy(t *testing.T) {
	t.Parallel()
	f := serve(t, nil)
	b := f.launch()
	session := "Cookie: " + b.cookie.Name + "=" + b.cookie.Value + "\r\nPlanloop-Key: " + b.key + "\r\n"
	host := "Host: " + f.host + "\r\n"
	for what, c := range map[string]struct {
		send string
		want int
	}{
		"no request":         {"nonsense\r\n\r\n", 400},
		"no host":            {"GET / HTTP/1.1\r\n\r\n", 400},
		"two hosts":          {"GET / HTTP/1.1\r\n" + host + host + "\r\n", 400},
		"a host of spaces":   {"GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400},
		"a header too long":  {"GET / HTTP/1.1\r\n" + host + "X: " + strings.Repeat("x", 17<<10) + "\r\n\r\n", 431},
		"a path too long":    {"GET /?" + strings.Repeat("x", 17<<10) + " HTTP/1.1\r\n" + host + "\r\n", 431},
		"another version":    {"GET / HTTP/3.0\r\n" + host + "\r\n", 505},
		"another encoding":   {"POST /api/act HTTP/1.1\r\n" + host + "Transfer-Encoding: gzip\r\n\r\n", 501},
		"expectations":       {"GET / HTTP/1.1\r\n" + host + "Expect: cake\r\n\r\n", 417},
		"an absolute form":   {"GET http://" + f.host + "/ HTTP/1.1\r\n" + host + "\r\n", 400},
		"another's absolute": {"GET http://evil.example/ HTTP/1.1\r\n" + host + "\r\n", 400},
		"an absolute act":    {"GET http://" + f.host + "/api/inbox HTTP/1.1\r\n" + host + session + "\r\n", 400},
		"all options":        {"OPTIONS * HTTP/1.1\r\n" + host + "\r\n", 400},
		"a tunnel":           {"CONNECT evil.example:80 HTTP/1.1\r\nHost: evil.example:80\r\n\r\n", 400},
		"an older version":   {"GET / HTTP/1.0\r\n" + host + "\r\n", 200},
		"a web socket": {"GET /api/inbox HTTP/1.1\r\n" + host + session + "Connection: Upgrade\r\nUpgrade: websocket\r\n" +
			"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n", 200}, // without becoming one
		"a bare HTTP/2": {"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 400},
	} {
		f.answersRaw(what, c.send, c.want)
	}
	hasty := serve(t, func(o *Options) { o.BodyTimeout = 500 * time.Millisecond })
	for _, path := range []string{"/api/act", "/api/enter"} {
		hasty.answersRaw("a slow one to "+path, hasty.launch().head(path, "Content-Length: 20\r\n")+"{", 408)
	}
}

// head is the head of a page's request, with more headers.
func (b *browser) head(path, more string) string {
	return "POST " + path + " HTTP/1.1\r\nHost: " + b.f.host + "\r\nOrigin: " + b.f.base + "\r\nContent-Type: application/json\r\n" +
		"Cookie: " + b.cookie.Name + "=" + b.cookie.Value + "\r\nPlanloop-Key: " + b.key + "\r\n" + more + "\r\n"
}

func (f *fixture) answersRaw(what, send string, status int) {
	t := f.t.(*testing.T)
	t.Helper()
	resp := sendRaw(t, f.host, send)
	if resp.StatusCode != status {
		t.Errorf("%s: %s", what, resp.Status)
	}
	carriesPolicy(t, what, resp.Header)
}

// sendRaw sends bytes and reads the answer.
func sendRaw(t *testing.T, host, send string) *http.Response {
	t.Helper()
	conn, err := net.Dial("tcp", host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(patience))
	go func() { _, _ = io.WriteString(conn, send) }() // a refusal breaks it off
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%.80q: %v", send, err)
	}
	if _, err := io.ReadAll(resp.Body); err != nil {
		t.Errorf("%.80q: %v", send, err)
	}
	return resp
}

func TestBodiesAreBounded(t *testing.T) {
	f := serve(t, nil)
	head := f.launch().head
	for what, c := range map[string]struct {
		send string
		want int
	}{
		"10 MB":         {head("/api/act", "Content-Length: 10485760\r\n") + strings.Repeat("x", 10<<20), 413},
		"10 MB to come": {head("/api/act", "Content-Length: 10485760\r\n"), 413},
		"10 MB in chunks": {head("/api/act", "Transfer-Encoding: chunked\r\n") +
			strings.Repeat(fmt.Sprintf("100000\r\n%s\r\n", strings.Repeat("x", 1<<20)), 2) + "0\r\n\r\n", 413},
		"a small one in chunks": {head("/api/act", "Transfer-Encoding: chunked\r\n") + "2\r\n{}\r\n0\r\n\r\n", 422},
		"a broken chunk":        {head("/api/act", "Transfer-Encoding: chunked\r\n") + "zz\r\n", 400},
		"none":                  {head("/api/act", ""), 422},
		"two lengths":           {head("/api/act", "Content-Length: 2\r\nContent-Length: 3\r\n") + "{}", 400},
		"length and chunks":     {head("/api/act", "Content-Length: 2\r\nTransfer-Encoding: chunked\r\n") + "2\r\n{}\r\n0\r\n\r\n", 422},
	} {
		resp := sendRaw(t, f.host, c.send)
		if resp.StatusCode != c.want {
			t.Errorf("%s: %s", what, resp.Status)
		}
		carriesPolicy(t, what, resp.Header)
	}
}

// TestPeersOfThisMachineAlone simulates a remote peer, with a listener that others can reach.
func TestPeersOfThisMachineAlone(t *testing.T) {
	f := prepare(t, nil)
	for _, c := range []struct {
		peer, local, host string
		want              int
	}{
		{"127.0.0.1:1", "127.0.0.1:80", "127.0.0.1:80", 200},
		{"127.0.0.1:1", "127.0.0.1:80", "localhost", 200},
		{"[::1]:1", "[::1]:8137", "[::1]:8137", 200},
		{"[::ffff:127.0.0.1]:1", "[::ffff:127.0.0.1]:8137", "127.0.0.1:8137", 200},
		{"192.168.0.9:1", "192.168.0.7:8137", "192.168.0.7:8137", 403},
		{"192.168.0.9:1", "192.168.0.7:8137", "127.0.0.1:8137", 403},
		{"192.168.0.7:1", "192.168.0.7:8137", "192.168.0.7:8137", 403},
		{"[fe80::1%eth0]:1", "[fe80::2%eth0]:8137", "[fe80::2]:8137", 403},
		{"@", "127.0.0.1:8137", "127.0.0.1:8137", 403},
		{"", "127.0.0.1:8137", "127.0.0.1:8137", 403},
		{"127.0.0.1:1", "", "127.0.0.1:8137", 403},
		{"127.0.0.1:1", "127.0.0.1:8137", "", 403},
	} {
		for _, path := range []string{"/", "/page.js"} {
			w := httptest.NewRecorder()
			f.ServeHTTP(w, here(t, c.peer, c.local, c.host, http.MethodGet, path, ""))
			if w.Code != c.want {
				t.Errorf("%+v %s: %d %s", c, path, w.Code, w.Body)
			}
			carriesPolicy(t, c.peer, w.Header())
		}
	}
}

// here is a request as a server receives it.
func here(t *testing.T, peer, local, host, method, path, body string) *http.Request {
	ctx := context.Background()
	if addr, err := net.ResolveTCPAddr("tcp", local); err == nil && local != "" {
		ctx = context.WithValue(ctx, http.LocalAddrContextKey, net.Addr(addr))
	}
	r := httptest.NewRequestWithContext(ctx, method, path, strings.NewReader(body))
	r.RemoteAddr, r.Host = peer, host
	if body == "" {
		r.Body, r.ContentLength = http.NoBody, 0
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/json")
		r.Header.Set("Origin", "http://"+host)
	}
	return r
}

func TestFaultsTellNothing(t *testing.T) {
	f := serve(t, nil)
	b := f.launch()
	f.workspaces.trouble = fmt.Errorf("open %s: input/output error", secretText)
	for name, answer := range map[string]reply{
		"view": b.get("/api/view?workspace=w1"), "act": b.act("w1", "comment", nil), "inbox": b.get("/api/inbox"),
		"log": b.get("/api/log?workspace=w1"), "code": b.post("/api/code", map[string]any{"workspace": "w1"}),
	} {
		told := answer.refusal(t)
		if answer.status != http.StatusInternalServerError || told.Kind != fault || strings.Contains(answer.body, secretText) {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
		}
	}
	if !strings.Contains(f.log.String(), secretText) {
		t.Error("whoever runs the server is told nothing")
	}
	f.workspaces.trouble, f.workspaces.panics = nil, true
	answer := b.get("/api/view?workspace=w1")
	if answer.status != http.StatusInternalServerError || strings.Contains(answer.body, "at the workspaces") {
		t.Errorf("a panic: %d %s", answer.status, answer.body)
	}
	if log := f.log.String(); !strings.Contains(log, "at the workspaces") || !strings.Contains(log, "api.go") {
		t.Errorf("a panic is logged so: %s", log)
	}
}

// TestNoSecretIsLogged sends every secret to every path, in every place, with every error.
func TestNoSecretIsLogged(t *testing.T) {
	t.Parallel()
	const token = "the-token-of-the-server"
	f := serve(t, func(o *Options) { o.ViewAccess.Token = token })
	b := f.launch()
	b.typeCode()
	code := f.code()
	b.post("/api/code", map[string]any{"workspace": "w1"})
	digits := next(t, f.shown)
	secrets := []string{b.key, b.cookie.Value, b.unlock, code, digits, token}
	for _, broken := range []func(){
		func() {}, func() { f.workspaces.trouble = fmt.Errorf("trouble") },
		func() { f.workspaces.trouble, f.workspaces.panics = nil, true },
	} {
		broken()
		for path, route := range f.routes {
			if path == "/api/events" {
				continue
			}
			for _, secret := range secrets {
				for _, body := range []string{`{"code":"` + secret + `"}`, `{"token":"` + secret + `"}`, `{"` + secret + `":1}`, secret,
					`{"workspace":"w1","act":"` + secret + `"}`, `{"workspace":"w1","act":"comment","input":{"text":"` + secret + `"}}`} {
					f.raw(http.MethodPost, path, body, b.in)
				}
				f.raw(route.method, path+"?workspace="+secret, "", b.in)
				f.raw(route.method, path+"/"+secret, "", b.in, header("Authorization", "Bearer "+secret), header("X-Any", secret))
			}
		}
	}
	sendRaw(t, f.host, "GET /"+code+" HTTP/9\r\n\r\n")
	for _, secret := range secrets {
		if strings.Contains(f.log.String(), secret) {
			t.Errorf("%s is in the log", secret)
		}
	}
	if !strings.Contains(f.log.String(), "panic") || !strings.Contains(f.log.String(), "trouble") {
		t.Error("nothing went wrong")
	}
}

func TestFiles(t *testing.T) {
	f := serve(t, nil)
	plain := f.raw(http.MethodGet, "/page.js", "")
	zipped := f.raw(http.MethodGet, "/page.js", "", header("Accept-Encoding", "br, gzip"))
	if !strings.HasPrefix(plain.body, "page.js") || plain.header.Get("Content-Type") != "text/javascript; charset=utf-8" {
		t.Errorf("%v %.20q", plain.header, plain.body)
	}
	if zipped.header.Get("Content-Encoding") != "gzip" || len(zipped.body) >= len(plain.body)/4 {
		t.Errorf("zipped: %v, %d bytes", zipped.header, len(zipped.body))
	}
	if _, err := New(Options{Workspaces: f.workspaces, Person: plan.NewActor(plan.ChannelPage, "alice"),
		File: func(string) ([]byte, string, bool) { return nil, "", false }}); err == nil {
		t.Error("a page without files is served")
	}
	own, err := New(Options{Workspaces: f.workspaces, Person: plan.NewActor(plan.ChannelPage, "alice")}) // with the built-in page
	if err != nil {
		t.Fatal(err)
	}
	own.Close()
	for _, opts := range []Options{{Person: plan.NewActor(plan.ChannelPage, "alice")}, {Workspaces: f.workspaces}} {
		if _, err := New(opts); err == nil {
			t.Errorf("served: %+v", opts)
		}
	}
}
