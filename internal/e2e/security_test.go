package e2e_test

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

const token = "correct-horse-battery-staple-4711"

// tokenFile writes the token as a person would, with a line end.
func tokenFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "token")
	testenv.Check(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// TestStrangersOverHTTP sends requests like those of a page in a browser, or of a name bound to this address: none has an effect.
func TestStrangersOverHTTP(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 1)
	s := p.serveHTTP()
	port := s.base[strings.LastIndexByte(s.base, ':')+1:]
	const mark = `{"step_id":"S001","status":"done"}`
	for _, c := range []struct {
		headers []string
		status  int
	}{
		{[]string{"Origin", "https://evil.example"}, 403},
		{[]string{"Origin", "null"}, 403},
		{[]string{"Origin", "http://127.0.0.1:" + port + ".evil.example"}, 403},
		{[]string{"Origin", "http://127.0.0.1:1"}, 403},
		{[]string{"Origin", "https://127.0.0.1:" + port}, 403},
		{[]string{"Origin", "http://user@127.0.0.1:" + port}, 403},
		{[]string{"Sec-Fetch-Site", "cross-site"}, 403},
		{[]string{"Host", "evil.example"}, 403},
		{[]string{"Host", "evil.example:" + port}, 403},
		{[]string{"Host", "127.0.0.1:1"}, 403},
		{[]string{"Content-Type", "text/plain"}, 415},
		{[]string{"Content-Type", "application/x-www-form-urlencoded"}, 415},
		{[]string{"Content-Type", "multipart/form-data; boundary=x"}, 415},
		{[]string{"Mcp-Name", "planning_read_plan"}, 400}, // the header names a harmless tool
		{[]string{"Mcp-Method", "tools/list"}, 400},
		{[]string{"MCP-Protocol-Version", "2031-01-01"}, 400},
	} {
		got := s.callTool("planning_mark_step", mark, c.headers...)
		if got.status != c.status || got.header.Get("Access-Control-Allow-Origin") != "" || got.contains("completed") {
			t.Errorf("%q: status %d, want %d: %s", c.headers, got.status, c.status, got.body)
		}
		if secret := c.headers[1]; len(secret) > 8 && !strings.Contains("127.0.0.1:"+port, secret) && strings.HasPrefix(c.headers[0],
			"Origin") && got.contains(secret) {
			t.Errorf("%q is repeated: %s", c.headers, got.body)
		}
	}
	for _, path := range []string{"/sse", "/message?sessionId=x", "/", "/debug/pprof/", "/metrics", "/mcp/../mcp"} {
		if got := s.send(http.MethodGet, path, "", "Origin", "https://evil.example"); got.status != 403 {
			t.Errorf("GET %s of a foreign origin: %d %s", path, got.status, got.body)
		}
	}
	for _, path := range []string{"/debug/pprof/", "/metrics", "/review", "/approve"} {
		if got := s.send(http.MethodGet, path, ""); got.status != 404 {
			t.Errorf("GET %s: %d %s", path, got.status, got.body)
		}
	}
	if got := s.send(http.MethodOptions, "/mcp", "", "Origin", "https://evil.example", "Access-Control-Request-Method",
		"POST"); got.status != 403 {
		t.Errorf("a foreign preflight: %d", got.status)
	}
	unchanged(t, p, 1)
	if got := s.callTool("planning_mark_step", mark, "Origin", s.base); got.status != 200 || !got.contains("completed") {
		t.Errorf("its own origin: %d %s", got.status, got.body)
	}
	unchanged(t, p, 2)
}

// TestAllowedOrigin is a web page that the user admits.
func TestAllowedOrigin(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	s := p.serveHTTP("--allow-origin", "https://good.example")
	got := s.callTool("planning_setup_plan", `{"objective":"x"}`, "Origin", "https://good.example")
	if got.status != 200 || got.header.Get("Access-Control-Allow-Origin") != "https://good.example" {
		t.Errorf("%d %v", got.status, got.header)
	}
	if got := s.callTool("planning_clear_plan", `{}`, "Origin", "https://good.example.evil.example"); got.status != 403 {
		t.Errorf("an origin that begins like it: %d", got.status)
	}
	for _, origin := range []string{"*", "null", "https://*.example", "good.example"} {
		if got := p.run("serve", "--http", "127.0.0.1:0", "--allow-origin", origin); got.code != 2 {
			t.Errorf("--allow-origin %s: exit code %d", origin, got.code)
		}
	}
}

// TestExposureNeedsAToken refuses to serve other machines without a good token.
func TestExposureNeedsAToken(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, args := range [][]string{
		{"--http", "0.0.0.0:0"}, {"--http", "[::]:0"}, {"--http", "192.0.2.1:0"}, {"--http", "example.com:0"},
		{"--http", "0.0.0.0:0", "--token-file", tokenFile(t, "short")},
		{"--http", "127.0.0.1:0", "--token-file", tokenFile(t, "")},
		{"--http", "127.0.0.1:0", "--token-file", tokenFile(t, "\n \n")},
		{"--http", "127.0.0.1:0", "--token-file", filepath.Join(t.TempDir(), "none")},
		{"--http", "127.0.0.1:0", "--token-file", tokenFile(t, "two words of a token")},
		{"--http", "no address"},
	} {
		got := p.run(append([]string{"serve"}, args...)...)
		if got.code != 2 || got.out != "" || !strings.HasPrefix(got.err, "planloop: ") {
			t.Errorf("%q: exit code %d\n%s%s", args, got.code, got.out, got.err)
		}
		secretFree(t, "the refusal", got.err, "short", "two words")
	}
	if found := files(t, p.home); found != "" {
		t.Errorf("left on disk:\n%s", found)
	}
}

// TestToken: once a token is set, in any way, every request needs it.
func TestToken(t *testing.T) {
	t.Parallel()
	byFile, byVariable := newPlace(t), newPlace(t)
	byVariable.env = append(byVariable.env, "PLANLOOP_TOKEN="+token)
	for name, s := range map[string]*httpServer{
		"file":     byFile.serveHTTP("--token-file", tokenFile(t, token+"\n")),
		"variable": byVariable.serveHTTP(),
	} {
		for _, headers := range [][]string{
			nil, {"Authorization", token}, {"Authorization", "Bearer"}, {"Authorization", "Bearer " + token + "x"}, {"Authorization",
				"Bearer " + token[1:]},
			{"Authorization", "Basic " + token}, {"Authorization", "Bearer " + strings.ToUpper(token)}, {"Cookie", "token=" + token},
			{"X-Token", token},
		} {
			got := s.callTool("planning_setup_plan", `{"objective":"x"}`, headers...)
			if got.status != 401 || got.header.Get("WWW-Authenticate") == "" {
				t.Errorf("%s: %.20q: %d %s", name, headers, got.status, got.body)
			}
			secretFree(t, "the answer", fmt.Sprint(got), token)
		}
		for _, path := range []string{"/mcp", "/sse", "/message", "/none", "/mcp?token=" + token} {
			if got := s.send(http.MethodGet, path, ""); got.status != 401 {
				t.Errorf("%s: GET %s: %d %s", name, path, got.status, got.body)
			}
		}
		if got := s.callTool("planning_setup_plan", `{"objective":"x"}`, "Authorization", "Bearer "+token); got.status != 200 ||
			!got.contains(
				"active") {
			t.Errorf("%s: with the token: %d %s", name, got.status, got.body)
		}
	}
	unchanged(t, byFile, 1)
	unchanged(t, byVariable, 1)
}

// TestSecretsStayInside plants secrets in the environment and in headers, causes trouble with the most verbose logs, and searches all
// output of the program for the secrets.
func TestSecretsStayInside(t *testing.T) {
	t.Parallel()
	secrets := []string{token, "sk-planted-api-key-0815", "ghp_plantedplantedplanted", "wrong-token-from-elsewhere", "cookie-of-somebody",
		"hunter2-in-a-header"}
	p := newPlace(t)
	p.env = append(p.env, "PLANLOOP_TOKEN="+token, "OPENAI_API_KEY="+secrets[1], "GITHUB_TOKEN="+secrets[2])
	s := p.serveHTTP("-v")
	told := []string{}
	send := func(tool, args string, headers ...string) {
		got := s.callTool(tool, args, append([]string{"Cookie", secrets[4], "X-Secret", secrets[5]}, headers...)...)
		told = append(told, fmt.Sprint(got))
	}
	send("planning_setup_plan", `{"objective":"x"}`, "Authorization", "Bearer "+secrets[3])
	for _, args := range []string{`{"objective":"x","initial_steps":[{"title":"One"}]}`, `{"objective":7}`, `{`, `{"unknown":1}`} {
		send("planning_setup_plan", args, "Authorization", "Bearer "+token)
	}
	send("no_such_tool", `{}`, "Authorization", "Bearer "+token)
	told = append(told, fmt.Sprint(s.post("nonsense", "Authorization", "Bearer "+token)))
	rewrite(t, p.database(), func([]byte) []byte { return []byte("no database") }) // an error, which is logged
	_, _ = os.Remove(p.database()+"-wal"), os.Remove(p.database()+"-shm")
	send("planning_mark_step", `{"step_id":"S001","status":"done"}`, "Authorization", "Bearer "+token)
	for _, args := range [][]string{{"show", "-v"}, {"doctor"}, {"doctor", "--repair"}, {"log", "--json", "-n", "0"},
		{"start", "y", "--step", "x", "-v"},
		{
			"export"}, {
			"export",
			"--json"},
		{"serve", "--http", "127.0.0.1:none", "-v"}, {"serve", "--http", "127.0.0.1:0", "--allow-origin", "*", "-v"}} {
		got := p.run(args...)
		told = append(told, got.out, got.err)
	}
	h := p.open("-v")
	h.do("planning_read_plan", arguments{})
	h.leave()
	told = append(told, s.errors.String(), h.errors.String())
	if s.errors.String() == "" {
		t.Error("nothing was logged: the test looks at nothing")
	}
	for _, text := range told {
		secretFree(t, "what was told", text, secrets...)
	}
	for _, path := range strings.Split(files(t, p.home), "\n") {
		if data, err := os.ReadFile(path); err == nil {
			secretFree(t, path, string(data), secrets...)
		}
	}
}

// TestModesUnderAnOpenUmask creates all files under the most permissive umask.
func TestModesUnderAnOpenUmask(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there are no modes")
	}
	p := newPlace(t)
	wide := func(args ...string) {
		t.Helper()
		cmd := p.command(args...)
		cmd.Args = append([]string{"sh", "-c", `umask 000; exec "$0" "$@"`, cmd.Path}, args...)
		cmd.Path = "/bin/sh"
		cmd.Stdin = strings.NewReader(opening +
			`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"planning_mark_step","arguments":{"step_id":"S001",` +
			`"status":"in_progress"}}}`)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
		checkModes(t, p.home)
	}
	wide("start", "Open doors", "--step", "One")
	wide("serve")
	wide("step", "mark", "S001", "done")
	rewrite(t, p.database(), func([]byte) []byte { return []byte("no database") })
	_, _ = os.Remove(p.database()+"-wal"), os.Remove(p.database()+"-shm")
	wide("doctor", "--repair")
	wide("start", "After the repair", "--step", "One")
}

// checkModes fails on all files that others could read; the home itself is the user's.
func checkModes(t *testing.T, home string) {
	t.Helper()
	for _, path := range strings.Split(files(t, home), "\n") {
		info, err := os.Lstat(path)
		testenv.Check(t, err)
		want := os.FileMode(0o600)
		if info.IsDir() {
			want = 0o700
		}
		if got := info.Mode().Perm(); got != want {
			t.Errorf("%s has mode %04o, want %04o", path, got, want)
		}
	}
}
