package downstream

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	strictjson "github.com/go-json-experiment/json"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/planloop/planloop/internal/safetext"
)

// FuzzMessages reads arbitrary messages of a server, over both transports.
func FuzzMessages(f *testing.F) {
	id, err := jsonrpc.MakeID(1.0)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{"", "null", "7", `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`,
		`{"id":2,"error":{"code":1,"message":"\u001b"}}`,
		`{"id":"q","method":"elicitation/create","params":{"message":"a","requestedSchema":{"type":"object"}}}`,
		`{"method":"notifications/progress","params":{"progressToken":1,"progress":1e999}}`, `{"id":null,"error":{}}`,
		`{"id":3,"result":{"tools":[{"name":"a\u202e","inputSchema":{"type":"object","properties":{"b":{"$ref":"#/x"}}}}]}}`,
		`{"method":"notifications/tools/list_changed"}`, "{\"result\":{\"a\":[}},\"id\":1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		for _, http := range []bool{false, true} {
			p := reading(t, bytes.NewReader(append(frame, '\n')))
			one := &call{method: "tools/call", tool: "x", maxIdle: time.Hour}
			result, err := p.request(t.Context(), one, func(ctx context.Context) error {
				p.expect(&jsonrpc.Request{ID: id, Method: "tools/call"}, one)
				if http {
					text := io.MultiReader(strings.NewReader("data: "), bytes.NewReader(frame), strings.NewReader("\n\n"))
					_, _ = io.ReadAll(&events{Reader: text, conn: p.conn, of: one})
					return errors.New("it is over")
				}
				for {
					if _, err := p.Read(ctx); err != nil {
						return err
					}
				}
			})
			if err != nil && !safetext.PrintableLine(err.Error()) {
				t.Errorf("%q", err)
			}
			var got called
			if err == nil && strictjson.Unmarshal(result, &got) == nil {
				out := got.outcome()
				if !safetext.Printable(out.Text) || !safetext.Printable(out.Error) || out.Value != nil && !json.Valid(out.Value) {
					t.Errorf("%+v", out)
				}
			}
		}
	})
}

// FuzzTools: whatever a server says about a tool, the offered tool is valid and safe to show.
func FuzzTools(f *testing.F) {
	for _, seed := range []string{`{"name":"a","inputSchema":{"type":"object"}}`, `{`,
		`{"name":"a","inputSchema":{"type":"object","title":"\u001b"}}`,
		`{"name":"\u202e","title":"\n","description":"\u0000","inputSchema":{"type":"object","properties":{"a":{"enum":["\u001b"]}}}}`,
		`{"name":"a","inputSchema":{"type":"object","type":"object"}}`,
		`{"name":"a","inputSchema":{"type":"object"},"outputSchema":null}`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		s := &server{name: "s"}
		_, tools, bad := s.checkTools([]json.RawMessage{raw})
		for _, tool := range tools {
			if !safetext.PrintableLine(tool.Name) || !safetext.PrintableLine(tool.Title) || !safetext.Printable(tool.Description) ||
				!json.Valid(tool.Schema) || len(tool.Name) > maxName || tool.Definition() == "" {
				t.Errorf("%+v", tool)
			}
			_ = tool.Check(json.RawMessage(`{}`))
		}
		for _, one := range bad {
			if !safetext.PrintableLine(one.Own) || !safetext.PrintableLine(one.Why) || one.Why == "" {
				t.Errorf("%q", one)
			}
		}
		if len(tools)+len(bad) != 1 {
			t.Errorf("%d tools, %d not", len(tools), len(bad))
		}
	})
}
