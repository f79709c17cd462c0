package e2e_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// TestProgressArrives requests progress for many calls that end right after their last report. Progress arrives before the answer, in the
// bytes sent and in the official client: nearly always, since its head start is a delay, which a busy machine may miss.
func TestProgressArrives(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 1)
	const rounds, least = 60, 45
	s := p.serveHTTP("--toolsets", "planning,workspace")
	sent := 0
	for range rounds {
		got := s.post(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{`+strings.Replace(meta, "{", `{"progressToken":"p",`, 1)+
			`,"name":"bash_execute","arguments":{"command":"echo built"}}}`, statelessHeaders("bash_execute")...)
		if at := strings.Index(got.body, "notifications/progress"); at >= 0 && at < strings.Index(got.body, `"result"`) {
			sent++
		}
	}
	if sent < least {
		t.Errorf("on the wire: %d of %d", sent, rounds)
	}
	for _, version := range []string{stateless, handshake} {
		heard := make(chan any, 1000)
		client := connect(t, s.transport("http"), version, &mcp.ClientOptions{
			ProgressNotificationHandler: func(_ context.Context, r *mcp.ProgressNotificationClientRequest) {
				heard <- r.Params.ProgressToken
			},
		})
		for n := range rounds {
			params := &mcp.CallToolParams{Name: "bash_execute", Arguments: arguments{"command": "echo built"}}
			params.SetProgressToken(n)
			if _, err := client.CallTool(t.Context(), params); err != nil {
				t.Fatal(err)
			}
		}
		if arrived := hears(heard, least); arrived < least {
			t.Errorf("%s: %d of %d", version, arrived, rounds)
		}
	}
}

// hears waits for progress with so many tokens, and returns how many there were.
func hears(heard <-chan any, least int) int {
	tokens, late := map[any]bool{}, time.After(patience)
	for len(tokens) < least {
		select {
		case token := <-heard:
			tokens[token] = true
		case <-late:
			return len(tokens)
		}
	}
	return len(tokens)
}
