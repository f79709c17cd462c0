package e2e_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// TestSubscriptionsAreBounded subscribes to existing resources, to impossible ones, and to more than any client needs.
func TestSubscriptionsAreBounded(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 1)
	for _, peer := range peers(t, p) {
		if peer.meta != "" {
			continue // the stateless revision has no such request
		}
		subscribe := func(uri string) string {
			return peer.send(`{"jsonrpc":"2.0","id":7,"method":"resources/subscribe","params":{"uri":"` + uri + `"}}`)
		}
		for _, uri := range []string{"plan://current", "plan://current", "plan://steps/S001", "plan://steps/s2", "plan://plans/p-1",
			"plan://planning-guide.md", "test://of-somebody-else"} {
			if got := subscribe(uri); strings.Contains(got, `"error":{`) {
				t.Errorf("%s: %s: %s", peer.name, uri, got)
			}
		}
		for _, uri := range []string{"plan://curent", "plan://steps/x", "plan://steps/", "plan://plans/", "plan://plans/\\u202e", "",
			"plan://plans/" + strings.Repeat("x", 1000), "test://" + strings.Repeat("x", 1000), "plan://" + strings.Repeat("x", 1<<20)} {
			if got := subscribe(uri); !strings.Contains(got, `"error":{`) {
				t.Errorf("%s: %.60s: %s", peer.name, uri, got)
			}
		}
		granted := 0
		for n := range 400 {
			if got := subscribe(fmt.Sprintf("plan://steps/S%03d", n+1)); !strings.Contains(got, `"error":{`) {
				granted++
			} else if !strings.Contains(got, "unsubscribe") {
				t.Fatalf("%s: %s", peer.name, got)
			}
		}
		if granted < 240 || granted > 256 {
			t.Errorf("%s: %d subscriptions", peer.name, granted)
		}
	}
}

// TestRate sends more requests than one client may in a second, and as many with a higher limit.
func TestRate(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 1)
	for _, c := range []struct {
		args    []string
		refused bool
	}{{[]string{"--rate", "1"}, true}, {[]string{"--rate", "0"}, false}, {[]string{"--rate", "1000"}, false}} {
		s := p.serveHTTP(c.args...)
		refused := 0
		for range 60 {
			got := s.callTool("planning_read_plan", `{}`)
			if got.status != http.StatusTooManyRequests {
				continue
			}
			refused++
			f, err := parseFrame([]byte(got.body))
			if err != nil || got.header.Get("Retry-After") == "" || !strings.Contains(f.Error.Message, "wait") {
				t.Fatalf("%v: %v %s", c.args, got.header, got.body)
			}
		}
		if (refused > 0) != c.refused {
			t.Errorf("%v: %d of 60 were refused", c.args, refused)
		}
	}
	if got := p.run("serve", "--http", "127.0.0.1:0", "--rate", "-1"); got.code != 2 || !strings.Contains(got.err, "rate") {
		t.Errorf("a negative rate: %+v", got)
	}
}

// TestHeaderAndStreams sends an overlong header, and opens too many streams.
func TestHeaderAndStreams(t *testing.T) {
	t.Parallel()
	s := newPlace(t).serveHTTP()
	for size, status := range map[int]int{15 << 10: http.StatusOK, 17 << 10: http.StatusRequestHeaderFieldsTooLarge} {
		if got := s.callTool("planning_read_plan", `{}`, "X-Long", strings.Repeat("x", size)); got.status != status {
			t.Errorf("a header of %d bytes: %d %s", size, got.status, got.body)
		}
	}
	client := &http.Client{Transport: &http.Transport{}}
	for n := range 101 {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/sse", nil)
		testenv.Check(t, err)
		stream, err := client.Do(request)
		testenv.Check(t, err)
		defer stream.Body.Close()
		if (n < 100) != (stream.StatusCode == http.StatusOK) {
			t.Fatalf("stream %d: %d", n+1, stream.StatusCode)
		}
	}
}
