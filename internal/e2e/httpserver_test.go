package e2e_test

import (
	"bytes"
	"io"
	"net/http"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"
)

// httpServer is an HTTP server in a separate process.
type httpServer struct {
	t      testing.TB
	cmd    *exec.Cmd
	base   string // http://host:port
	out    *output
	errors *output
	ended  chan struct{}
}

// serveHTTP starts a server on a free port of the loopback address and waits until it has printed its address. Without a rate in args it
// sets no limit, so that tests are fast.
func (p *place) serveHTTP(args ...string) *httpServer {
	p.t.Helper()
	s := &httpServer{t: p.t, out: &output{}, errors: &output{}, ended: make(chan struct{}),
		cmd: p.command(append([]string{"serve", "--http", "127.0.0.1:0", "--rate", "0"}, args...)...)}
	address := make(chan string, 1)
	s.cmd.Stdout = s.out
	s.cmd.Stderr = &addressFinder{output: s.errors, found: address}
	if err := s.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	go func() {
		_ = s.cmd.Wait()
		close(s.ended)
	}()
	p.t.Cleanup(s.cleanUp)
	late := time.NewTimer(patience)
	defer late.Stop()
	select {
	case s.base = <-address:
	case <-s.ended:
		p.t.Fatalf("the server has ended: %s", s.errors)
	case <-late.C:
		p.t.Fatalf("the server has not told its address: %s", s.errors)
	}
	return s
}

// addressFinder looks for the address in a server's log.
type addressFinder struct {
	*output
	found chan<- string
	once  sync.Once
}

func (f *addressFinder) Write(p []byte) (int, error) {
	n, err := f.output.Write(p)
	if m := regexp.MustCompile(`(http://\S+)/mcp\n`).FindStringSubmatch(f.output.String()); m != nil {
		f.once.Do(func() { f.found <- m[1] })
	}
	return n, err
}

func (s *httpServer) kill() {
	_ = s.cmd.Process.Kill()
	<-s.ended
}

// cleanUp kills the server; another test covers signals.
func (s *httpServer) cleanUp() {
	s.kill()
	if text := s.out.String(); text != "" {
		s.t.Errorf("on standard output: %.200q", text)
	}
}

// answer is a complete HTTP answer.
type answer struct {
	status int
	header http.Header
	body   string
}

// post sends a body to /mcp. Headers are given in pairs; Host is one of them.
func (s *httpServer) post(body string, headers ...string) answer {
	s.t.Helper()
	return s.send(http.MethodPost, "/mcp", body, headers...)
}

func (s *httpServer) send(method, path, body string, headers ...string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.base+path, bytes.NewReader([]byte(body)))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "application/json, text/event-stream")
	for i := 0; i < len(headers); i += 2 {
		if headers[i] == "Host" {
			request.Host = headers[i+1]
			continue
		}
		request.Header.Set(headers[i], headers[i+1])
	}
	transport := &http.Transport{DisableKeepAlives: true}
	client := &http.Client{Transport: transport, Timeout: patience}
	response, err := client.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	return answer{response.StatusCode, response.Header, string(data)}
}

// meta is the metadata in a request of the stateless revision.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw",` +
	`"version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

// statelessHeaders returns the headers of a tool call in the stateless revision.
func statelessHeaders(tool string) []string {
	return []string{"MCP-Protocol-Version", "2026-07-28", "Mcp-Method", "tools/call", "Mcp-Name", tool}
}

// callTool calls a tool by the stateless revision, which needs no session.
func (s *httpServer) callTool(tool, args string, headers ...string) answer {
	s.t.Helper()
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{` + meta + `,"name":"` + tool + `","arguments":` + args + `}}`
	return s.post(body, append(statelessHeaders(tool), headers...)...)
}

func (a answer) contains(words ...string) bool { return containsAll(a.body, words) }

// secretFree fails if the text contains one of the secrets.
func secretFree(t testing.TB, where, text string, secrets ...string) {
	t.Helper()
	for _, secret := range secrets {
		if strings.Contains(text, secret) {
			t.Errorf("%s tells the secret %.6s…", where, secret)
		}
	}
}
