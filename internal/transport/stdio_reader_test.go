package transport_test

import (
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/transport"
)

func TestWhatIsNotAMessageIsRefused(t *testing.T) {
	tests := []struct {
		name, line, id string
		code           int
		text           string
	}{
		{"not JSON", `nonsense`, "null", -32700, "not valid JSON"},
		{"half an object", `{"jsonrpc":"2.0","id":1`, "null", -32700, "not valid JSON"},
		{"two objects", `{} {}`, "null", -32700, "one message at a time"},
		{"a NUL byte", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"a\x00\"}", "null", -32700, "not valid JSON"},
		{"only NUL bytes", "\x00\x00", "null", -32700, "not valid JSON"},
		{"invalid UTF-8", "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xff\"}", "1", -32700, "UTF-8"},
		{"deep nesting", strings.Repeat(`{"a":`, 20000), "null", -32600, "deeper"},
		{"a batch", `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, "null", -32600, "batches"},
		{"an empty batch", `[]`, "null", -32600, "batches"},
		{"a string", `"ping"`, "null", -32700, "one JSON object"},
		{"null", `null`, "null", -32700, "one JSON object"},
		{"no version", `{"id":1,"method":"ping"}`, "1", -32600, "jsonrpc"},
		{"another version", `{"jsonrpc":"1.0","id":1,"method":"ping"}`, "1", -32600, "jsonrpc"},
		{"method not a string", `{"jsonrpc":"2.0","id":1,"method":1}`, "1", -32600, "strings"},
		{"no method", `{"jsonrpc":"2.0","id":1}`, "1", -32600, "method is missing"},
		{"id null", `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "null", -32600, "id must be"},
		{"id an object", `{"jsonrpc":"2.0","id":{},"method":"ping"}`, "null", -32600, "id must be"},
		{"id a boolean", `{"jsonrpc":"2.0","id":true,"method":"ping"}`, "null", -32600, "id must be"},
		{"id with a fraction", `{"jsonrpc":"2.0","id":1.5,"method":"ping"}`, "null", -32600, "id must be"},
		{"id with an exponent", `{"jsonrpc":"2.0","id":1e3,"method":"ping"}`, "null", -32600, "id must be"},
		{"id beyond 2^53", `{"jsonrpc":"2.0","id":9007199254740992,"method":"ping"}`, "null", -32600, "id must be"},
		{"id minus nought", `{"jsonrpc":"2.0","id":-0,"method":"ping"}`, "null", -32600, "id must be"},
		{"long id", `{"jsonrpc":"2.0","id":"` + strings.Repeat("x", 600) + `","method":"ping"}`, "null", -32600, "id must be"},
		{"request and result", `{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, "1", -32600, "either"},
		{"request and error", `{"jsonrpc":"2.0","id":1,"method":"ping","error":{}}`, "1", -32600, "either"},
		{"unknown method", `{"jsonrpc":"2.0","id":1,"method":"no/such"}`, "1", -32601, "no/such"},
	}
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			c.t = t
			c.send(tt.line)
			c.wantError(tt.id, tt.code, tt.text)
		})
	}
	c.t = t
	c.send(call(1, "append", `{"v":1}`))
	c.wantText("1", "ok")
	c.close()
}

func TestWhatNeedsNoAnswerGetsNone(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	c.send("", "   ", "\t", "\r",
		`{"jsonrpc":"2.0","method":"notifications/unknown"}`,
		`{"jsonrpc":"2.0","id":1,"result":{}}`, // answers to requests we never sent
		`{"jsonrpc":"2.0","id":2,"error":{"code":1,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"x"}}`,
		`{"jsonrpc":"2.0","id":3,"result":null}`,
		call(9, "append", `{"v":1}`)+"\r")
	c.wantText("9", "ok")
	c.close()
}

func TestIdsAreEchoedAsSent(t *testing.T) {
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{})
	c.handshake()
	for _, id := range []string{`0`, `-1`, `9007199254740991`, `-9007199254740991`, `""`, `"a b"`, `"\u0000\u202e"`} {
		c.send(call(id, "append", ""))
		c.wantText(id, "ok")
		c.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"no/such"}`, id))
		c.wantError(id, -32601, "")
	}
	c.close()
}

func TestALongFrameIsSkipped(t *testing.T) {
	const limit = 100_000
	f := newFixture()
	c := dial(t, f.MCPServer, transport.StdioOptions{MaxFrame: limit})
	c.handshake()
	fill := func(n int) string {
		return call(1, "append", fmt.Sprintf(`{"v":"%s"}`, strings.Repeat("x", n-len(call(1, "append", `{"v":""}`)))))
	}
	c.send(fill(limit), fill(limit)+"\r")
	c.want("1")
	c.want("1")
	c.send(fill(limit+1), call(2, "append", `{"v":2}`))
	c.wantError("null", -32600, "longer than 100000 bytes")
	c.want("2")
	go func() { // far more than any buffer, with the end of input inside it
		chunk := strings.Repeat("y", 1<<20)
		for range 64 {
			io.WriteString(c.in, chunk)
		}
		c.in.Close()
	}()
	c.wantError("null", -32600, "longer than 100000 bytes")
	c.close()
}
