package downstream

import (
	"encoding/json"
	"testing"

	"github.com/planloop/planloop/internal/safetext"
)

// nowhere is a wire that leads nowhere.
type nowhere struct{}

func (nowhere) send(*call)  {}
func (nowhere) post([]byte) {}
func (nowhere) close()      {}

// FuzzMessages: whatever a server sends is taken, and no call gets what is another's.
func FuzzMessages(f *testing.F) {
	for _, seed := range []string{"", "null", "7", `{"jsonrpc":"2.0","id":1,"result":{"content":[]}}`,
		`{"id":2,"error":{"code":1,"message":"\u001b"}}`,
		`{"id":"q","method":"elicitation/create","params":{"message":"a","requestedSchema":{"type":"object"}}}`,
		`{"method":"notifications/progress","params":{"progressToken":1,"progress":1e999}}`, `{"id":null,"error":{}}`,
		`{"id":3,"result":{"tools":[{"name":"a\u202e","inputSchema":{"type":"object","properties":{"b":{"$ref":"#/x"}}}}]}}`,
		`{"method":"notifications/tools/list_changed"}`, "{\"result\":{\"a\":[}},\"id\":1}"} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, frame []byte) {
		c := newConn("s", []string{"hunter22hunter22"}, implementation{"planloop", "1"})
		c.wire, c.changed, c.noise = nowhere{}, func() {}, func([]byte) {}
		one, err := c.begin(t.Context(), request{method: "tools/call"})
		if err != nil {
			t.Fatal(err)
		}
		c.receive(frame, nil)
		c.receive(frame, one)
		lines := &frames{whole: func(line []byte) { c.receive(line, nil) }, long: func(head, end []byte) { c.tooLong(head, end, nil) }}
		_, _ = lines.Write(append(frame, '\n'))
		select {
		case a := <-one.answer:
			if a.err != nil && !safetext.PrintableLine(a.err.Error()) {
				t.Errorf("%q", a.err)
			}
			if result, err := asCalled(a.result); err == nil {
				out := result.outcome()
				if !safetext.Printable(out.Text) || !safetext.Printable(out.Error) || out.Value != nil && !json.Valid(out.Value) {
					t.Errorf("%+v", out)
				}
			}
		default:
		}
	})
}

// FuzzTools: whatever a server says of a tool, what is offered can be shown, and is a tool.
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
		_, tools, bad := s.offered([]json.RawMessage{raw})
		for _, tool := range tools {
			if !safetext.PrintableLine(tool.Name) || !safetext.PrintableLine(tool.Title) || !safetext.Printable(tool.Description) ||
				!json.Valid(tool.Schema) || len(tool.Name) > mostOfName || tool.Definition() == "" {
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
