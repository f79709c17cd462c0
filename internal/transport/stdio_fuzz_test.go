package transport_test

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/transport"
)

// For any input, Serve returns at its end and has written only JSON-RPC messages, one a line.
func FuzzServe(f *testing.F) {
	for _, seed := range []string{
		"", "\n", "nonsense\n", "[]\n", initialize, initialize + "\n" + initialized + "\n" + call(1, "append", `{"v":1}`),
		initialize + "\r\n" + call(1, "progress", `{"n":3}`) + "\r\n\r\n" + cancelled(1),
		call(1, "append", ""), modernCall(1, "append"), listen(1, `{"toolsListChanged":true}`),
		listen(`"x"`, `{}`) + "\n" + cancelled(`"x"`),
		initialize + "\n" + call(1, "panic", "") + "\n" + call(1, "unencodable", ""),
		`{"jsonrpc":"2.0","id":1,"result":{}}`, `{"jsonrpc":"2.0","id":null,"method":"ping"}`, "\x00\xff\n{\"id\":1}",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		srv := newFixture()
		srv.DeleteTools("block", "wait", "stubborn") // these wait for the test
		var out bytes.Buffer
		served := make(chan error, 1)
		go func() {
			served <- transport.ServeStdio(t.Context(), srv.MCPServer, bytes.NewReader(in), &out, transport.StdioOptions{MaxFrame: 4096})
		}()
		select {
		case err := <-served:
			if err != nil {
				t.Fatal(err)
			}
		case <-time.After(patience):
			t.Fatal("did not return at the end of input")
		}
		lines := bytes.Split(out.Bytes(), []byte("\n"))
		for _, line := range lines[:len(lines)-1] {
			var m map[string]json.RawMessage
			if err := json.Unmarshal(line, &m); err != nil || string(m["jsonrpc"]) != `"2.0"` {
				t.Fatalf("wrote %q: %v", line, err)
			}
			if m["method"] == nil && (m["id"] == nil || (m["result"] == nil) == (m["error"] == nil)) {
				t.Fatalf("wrote %q, which is no answer", line)
			}
		}
		if last := lines[len(lines)-1]; len(last) != 0 {
			t.Fatalf("the last line %q does not end", last)
		}
	})
}
