package transport

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"

	"github.com/mark3labs/mcp-go/server"
)

const ping = `{"jsonrpc":"2.0","id":1,"method":"ping"}`

func TestGuardHost(t *testing.T) {
	f := serve(t, HTTPOptions{})
	_, port, err := net.SplitHostPort(f.host)
	if err != nil {
		t.Fatal(err)
	}
	for host, allowed := range map[string]bool{
		"127.0.0.1:" + port:           true,
		"localhost:" + port:           true,
		"LocalHost:" + port:           true,
		"[::1]:" + port:               true,
		"planloop.example:443":        false,
		"127.0.0.1":                   false,
		"localhost":                   false,
		"localhost:1":                 false,
		"localhost.:" + port:          false,
		"evil.example:" + port:        false,
		"localhost.evil.test:" + port: false,
		"127.0.0.1.evil.test:" + port: false,
		"evil.test@localhost:" + port: false,
		"0.0.0.0:" + port:             false,
		"[::ffff:127.0.0.1]:" + port:  false,
		"127.0.0.2:" + port:           false,
		"localhost:" + port + "1":     false,
		"localhost:0" + port:          false,
		"localhost:" + port + ",evil": false,
	} {
		for _, path := range []string{"/mcp", "/sse", "/message", "/nothing"} {
			answer := f.raw(t, http.MethodPost, path, ping, func(r *http.Request) { r.Host = host })
			if refused := answer.status == http.StatusForbidden; refused == allowed {
				// net/http itself refuses a Host that is not a valid host.
				if !allowed && answer.status == http.StatusBadRequest {
					continue
				}
				t.Errorf("Host %q on %s: %d %s", host, path, answer.status, answer.body)
			}
		}
	}
}

func TestGuardOrigin(t *testing.T) {
	f := serve(t, HTTPOptions{AllowOrigins: []string{"https://app.example", "http://app.example:8080"}})
	_, port, err := net.SplitHostPort(f.host)
	if err != nil {
		t.Fatal(err)
	}
	for origin, allowed := range map[string]bool{
		"http://127.0.0.1:" + port:              true,
		"http://localhost:" + port:              true,
		"http://[::1]:" + port:                  true,
		"https://app.example":                   true,
		"http://app.example:8080":               true,
		"":                                      false,
		"null":                                  false,
		"http://localhost":                      false,
		"http://localhost:1":                    false,
		"https://localhost:" + port:             false,
		"http://app.example":                    false,
		"https://app.example:444":               false,
		"https://app.example.evil.test":         false,
		"https://evil-app.example":              false,
		"https://app.example@evil.test":         false,
		"https://user@app.example":              false,
		"https://app.example/":                  false,
		"https://APP.example":                   false,
		"http://localhost:" + port + ".evil":    false,
		"http://localhost:" + port + "@evil":    false,
		"file://":                               false,
		"*":                                     false,
		"https://app.example http://evil.test":  false,
		"https://app.example, http://evil.test": false,
	} {
		for _, path := range []string{"/mcp", "/sse", "/message"} {
			answer := f.raw(t, http.MethodPost, path, ping, func(r *http.Request) { r.Header["Origin"] = []string{origin} })
			if refused := answer.status == http.StatusForbidden; refused == allowed {
				t.Errorf("Origin %q on %s: %d %s", origin, path, answer.status, answer.body)
			}
			cors := answer.header.Get("Access-Control-Allow-Origin")
			if configured := strings.Contains(origin, "app.example") && allowed; configured && cors != origin || !configured && cors != "" {
				t.Errorf("Origin %q on %s: Access-Control-Allow-Origin %q", origin, path, cors)
			}
		}
	}
	twice := f.raw(t, http.MethodPost, "/mcp", ping, func(r *http.Request) {
		r.Header["Origin"] = []string{"https://app.example", "https://evil.test"}
	})
	if twice.status != http.StatusForbidden {
		t.Errorf("two Origins: %d", twice.status)
	}
}

func TestGuardRefusesPlainLoadsByOtherSites(t *testing.T) {
	f := serve(t, HTTPOptions{})
	for site, want := range map[string]int{
		"cross-site": http.StatusForbidden, "same-site": http.StatusForbidden,
		"none": http.StatusNotFound, "same-origin": http.StatusNotFound,
	} {
		answer := f.raw(t, http.MethodGet, "/nothing", "", func(r *http.Request) { r.Header.Set("Sec-Fetch-Site", site) })
		if answer.status != want {
			t.Errorf("Sec-Fetch-Site %s: %d, want %d", site, answer.status, want)
		}
	}
}

func TestPreflight(t *testing.T) {
	f := serve(t, HTTPOptions{Token: "a-token-of-some-length", AllowOrigins: []string{"https://app.example"}})
	preflight := func(origin string) httpReply {
		return f.raw(t, http.MethodOptions, "/mcp", "", func(r *http.Request) {
			r.Header.Set("Origin", origin)
			r.Header.Set("Access-Control-Request-Method", "POST")
			r.Header.Set("Access-Control-Request-Headers", "authorization, content-type, mcp-session-id, x-evil")
		})
	}
	granted := preflight("https://app.example")
	if granted.status != http.StatusNoContent ||
		granted.header.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		granted.header.Get("Access-Control-Allow-Headers") != "authorization, content-type, mcp-session-id" ||
		granted.header.Get("Vary") != "Origin" {
		t.Errorf("allowed origin: %d %v", granted.status, granted.header)
	}
	refused := preflight("https://evil.test")
	if refused.status != http.StatusForbidden {
		t.Errorf("foreign origin: %d", refused.status)
	}
	for name := range refused.header {
		if strings.HasPrefix(name, "Access-Control-") {
			t.Errorf("foreign origin got %s", name)
		}
	}
}

func TestNoStreamIsOpenToEverybody(t *testing.T) {
	f := serve(t, HTTPOptions{})
	resp := f.open(t, http.MethodGet, "/sse", "", nil)
	defer func() { _ = resp.Body.Close() }()
	if got := resp.Header.Get("Access-Control-Allow-Origin"); got != "" {
		t.Errorf("/sse answers Access-Control-Allow-Origin: %s", got)
	}
}

func TestGuardToken(t *testing.T) {
	const token = "correct-horse-battery"
	f := serve(t, HTTPOptions{Token: token})
	for _, header := range [][]string{
		nil, {""}, {"Bearer"}, {"Bearer "}, {"Bearer wrong"}, {"Bearer " + token + "x"}, {"Bearer " + token[1:]},
		{"Basic " + token}, {token}, {"Bearer " + token, "Bearer " + token}, {"Bearer wrong", "Bearer " + token},
	} {
		for _, path := range []string{"/mcp", "/sse", "/message", "/nothing", "/mcp?token=" + token} {
			answer := f.raw(t, http.MethodPost, path, initializeBody, func(r *http.Request) { r.Header["Authorization"] = header })
			if answer.status != http.StatusUnauthorized || answer.header.Get("WWW-Authenticate") != "Bearer" {
				t.Errorf("Authorization %q on %s: %d", header, path, answer.status)
			}
			if strings.Contains(answer.body, token) {
				t.Errorf("the answer holds the token: %s", answer.body)
			}
		}
	}
	for _, scheme := range []string{"Bearer ", "bearer ", "BEARER  "} {
		answer := f.raw(t, http.MethodPost, "/mcp", initializeBody, func(r *http.Request) { r.Header.Set("Authorization", scheme+token) })
		if answer.status != http.StatusOK {
			t.Errorf("%q: %d %s", scheme, answer.status, answer.body)
		}
	}
}

func TestPathsAndMethods(t *testing.T) {
	f := serve(t, HTTPOptions{})
	for _, c := range []struct {
		method, path string
		status       int
		allow        string
	}{
		{"GET", "/", 404, ""},
		{"GET", "/mcp/", 404, ""},
		{"GET", "//mcp", 404, ""},
		{"POST", "/x/../mcp", 404, ""},
		{"GET", "/debug/pprof", 404, ""},
		{"PUT", "/mcp", 405, "DELETE, GET, POST"},
		{"HEAD", "/mcp", 405, "DELETE, GET, POST"},
		{"OPTIONS", "/mcp", 405, "DELETE, GET, POST"},
		{"POST", "/sse", 405, "GET"},
		{"GET", "/message", 405, "POST"},
	} {
		answer := f.raw(t, c.method, c.path, "", nil)
		if answer.status != c.status || answer.header.Get("Allow") != c.allow {
			t.Errorf("%s %s: %d, Allow %q", c.method, c.path, answer.status, answer.header.Get("Allow"))
		}
		if c.method != "HEAD" {
			answer.rpcError(t)
		}
	}
	if answer := f.raw(t, "GET", "/sse", "a body", nil); answer.status != http.StatusBadRequest {
		t.Errorf("GET with a body: %d", answer.status)
	}
}

func TestHeaderSizeIsBounded(t *testing.T) {
	f := serve(t, HTTPOptions{})
	status := func(size int) string {
		conn, err := net.Dial("tcp", f.host)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = conn.Close() }()
		_, _ = fmt.Fprintf(conn, "GET /nothing HTTP/1.1\r\nHost: %s\r\nX-Filler: %s\r\n\r\n", f.host, strings.Repeat("x", size))
		line, err := bufio.NewReader(conn).ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		return strings.TrimSpace(line)
	}
	if got := status(15 << 10); !strings.Contains(got, "404") {
		t.Errorf("15 KB of header: %s", got)
	}
	if got := status(17 << 10); !strings.Contains(got, "431") {
		t.Errorf("17 KB of header: %s", got)
	}
}

func TestExposureNeedsToken(t *testing.T) {
	for addr, loopback := range map[string]bool{
		"": true, ":0": true, ":8137": true, "127.0.0.1:0": true, "127.9.9.9:1": true, "[::1]:0": true, "localhost:0": true,
		"0.0.0.0:0": false, "[::]:0": false, "192.168.0.1:80": false, "planloop.example:80": false, "127.0.0.1.evil.test:80": false,
	} {
		err := try(HTTPOptions{Addr: addr})
		if loopback && err != nil || !loopback && !errors.Is(err, ErrTokenRequired) {
			t.Errorf("%q without a token: %v", addr, err)
		}
		if err := try(HTTPOptions{Addr: addr, Token: "sixteen-or-more-characters"}); err != nil {
			t.Errorf("%q with a token: %v", addr, err)
		}
	}
	if err := try(HTTPOptions{Addr: "0.0.0.0:0", Token: "short"}); !errors.Is(err, ErrTokenRequired) {
		t.Errorf("short token: %v", err)
	}
	for _, opts := range []HTTPOptions{
		{Addr: "no port"}, {Token: "with space"}, {Token: "with\nnewline"},
		{AllowOrigins: []string{"*"}}, {AllowOrigins: []string{"null"}}, {AllowOrigins: []string{"https://a.example/"}},
		{AllowOrigins: []string{"https://*.example"}}, {AllowOrigins: []string{"https://u@a.example"}},
		{AllowOrigins: []string{"a.example"}},
	} {
		if try(opts) == nil {
			t.Errorf("%+v was accepted", opts)
		}
	}
}

// try makes a server and discards it.
func try(opts HTTPOptions) error {
	s, err := NewHTTPServer(server.NewMCPServer("try", "1"), opts)
	if err == nil {
		s.Close()
	}
	return err
}
