package mcpserver_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/transport"
)

// wire is a connection on which a test writes and reads frames itself.
type wire struct {
	t   *testing.T
	out io.Writer
	in  *bufio.Scanner
}

func (w world) wire(t *testing.T) *wire {
	t.Helper()
	serverIn, clientOut := io.Pipe()
	clientIn, serverOut := io.Pipe()
	done := make(chan error, 1)
	go func() {
		done <- transport.ServeStdio(t.Context(), w.server.MCP, serverIn, serverOut, transport.StdioOptions{})
	}()
	t.Cleanup(func() {
		clientOut.Close()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	scanner := bufio.NewScanner(clientIn)
	scanner.Buffer(nil, 1<<20)
	return &wire{t: t, out: clientOut, in: scanner}
}

// meta is the metadata of a request of the stateless revision.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"raw",` +
	`"version":"1"},"io.modelcontextprotocol/clientCapabilities":{}}`

func (c *wire) send(format string, args ...any) {
	c.t.Helper()
	if _, err := fmt.Fprintf(c.out, format+"\n", args...); err != nil {
		c.t.Fatal(err)
	}
}

// until reads frames up to the first that contains all the words.
func (c *wire) until(words ...string) string {
	c.t.Helper()
next:
	for c.in.Scan() {
		line := c.in.Text()
		if !json.Valid(c.in.Bytes()) {
			c.t.Fatalf("not a frame: %s", line)
		}
		for _, word := range words {
			if !strings.Contains(line, word) {
				continue next
			}
		}
		return line
	}
	c.t.Fatalf("the stream ended before %q", words)
	return ""
}

// TestListen receives another client's change on a stream of the stateless revision, stamped with the id of the
// stream.
func TestListen(t *testing.T) {
	w := newWorld(t)
	other := w.connect(t, stateless, nil)
	call(t, other, "planning_setup_plan", map[string]any{"objective": "Watched", "initial_steps": []map[string]any{{"title": "One"}}})
	c := w.wire(t)
	c.send(`{"jsonrpc":"2.0","id":"stream-1","method":"subscriptions/listen","params":{%s,"notifications":{"resourcesListChanged":true,`+
		`"resourceSubscriptions":["plan://current"]}}}`, meta)
	c.until("notifications/subscriptions/acknowledged", "plan://current")
	call(t, other, "planning_mark_step", map[string]any{"step_id": "S001", "status": "in_progress"})
	c.until("notifications/resources/updated", `"plan://current"`, `"io.modelcontextprotocol/subscriptionId":"stream-1"`)
	call(t, other, "planning_setup_plan", map[string]any{"objective": "Another"})
	c.until("notifications/resources/list_changed", `"io.modelcontextprotocol/subscriptionId":"stream-1"`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{%s,"requestId":"stream-1"}}`, meta)
	c.send(`{"jsonrpc":"2.0","id":"after","method":"tools/list","params":{%s}}`, meta)
	if got := c.until(`"id":`); !strings.Contains(got, `"id":"after"`) {
		t.Errorf("a cancelled stream ends with %s", got)
	}
}

// TestBadFrames sends invalid or untimely messages. Each is answered, and the server survives.
func TestBadFrames(t *testing.T) {
	c := newWorld(t).wire(t)
	c.send(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	c.until(`"id":1`, `"error"`, "initialize")
	c.send(`{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"raw","version":"1"}}}`)
	c.until(`"id":2`, `"protocolVersion":"2025-06-18"`)
	c.send(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	for _, bad := range []string{`{`, `nonsense`, `[]`, `"text"`, `{"jsonrpc":"1.0","id":3,"method":"ping"}`, "\x00"} {
		c.send("%s", bad)
		c.until(`"error"`, `"code":-32`)
	}
	c.send(`{"jsonrpc":"2.0","id":4,"method":"no/such"}`)
	c.until(`"id":4`, "-32601")
	c.send(`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"planning_setup_plan","arguments":{"objective":"a",` +
		`"objective":"b"}}}`)
	c.until(`"id":5`, "duplicate", "objective", `"isError":true`)
	c.send(`{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"planning_setup_plan","arguments":{"objective":"a",` +
		`"objective\u0000":"b"}}}`)
	c.until(`"id":6`, "unknown field", `"isError":true`)
	c.send(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"planning_setup_plan","arguments":[1]}}`)
	c.until(`"id":7`, `rror`)
	c.send(`{"jsonrpc":"2.0","id":8,"method":"tools/call","params":{"name":"planning_setup_plan","arguments":{"objective":"alive"}}}`)
	c.until(`"id":8`, "alive-", "active")
}
