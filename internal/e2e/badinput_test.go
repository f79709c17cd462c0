package e2e_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/testenv"
)

// TestBadFrames sends lines that are not messages, or not valid yet. Each is answered, overlong lines are skipped, nothing changes, and the
// server lives on.
func TestBadFrames(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 2)
	h := p.serve()
	if f, err := h.request("tools/list", nil); err != nil || f.Error == nil || !strings.Contains(f.Error.Message, "initialize") {
		t.Errorf("before initialize: %+v, %v", f, err)
	}
	testenv.Check(t, h.initialize())
	for _, line := range []string{
		`{`, `nonsense`, `[]`, `[{"jsonrpc":"2.0","id":1,"method":"ping"}]`, `"text"`, `7`, `null`, `{}`, "\x00", "\xff\xfe",
		`{"jsonrpc":"2.0"`,
		`{"jsonrpc":"1.0","id":"old","method":"ping"}`, `{"jsonrpc":"2.0","id":{},"method":"ping"}`, `{"jsonrpc":"2.0","id":null,` +
			`"method":"ping"}`,
		`{"jsonrpc":"2.0","id":"x","method":7}`, `{"jsonrpc":"2.0","id":"both","method":"ping","result":{}}`,
		strings.Repeat(`[`, 100_000), `{"jsonrpc":"2.0","id":"deep","method":"ping","params":` + strings.Repeat(`{"a":`, 20_000),
		strings.Repeat("x", 5<<20),
	} {
		testenv.Check(t, h.write(line))
		if f := h.next(`"code":-32`); f.Error == nil || f.Error.Message == "" {
			t.Errorf("%.40q: no error: %+v", line, f)
		}
	}
	for _, bad := range []struct {
		method string
		params any
		code   int
	}{
		{"no/such", nil, -32601},
		{"tools/call", arguments{"name": "planning_approve", "arguments": arguments{}}, -32602},
		{"tools/call", arguments{"name": "planning_mark_step\x00", "arguments": arguments{}}, -32602},
		{"tools/call", []int{1}, -32600},
		{"resources/read", arguments{"uri": "plan://nowhere"}, -32002},
		{"resources/read", arguments{"uri": "plan://steps/S099"}, 0},
		{"resources/read", arguments{"uri": "plan://steps/\x00"}, 0},
		{"resources/read", arguments{"uri": "plan://plans/../../etc/passwd"}, 0},
		{"prompts/get", arguments{"name": "none"}, -32602},
	} {
		f, err := h.request(bad.method, bad.params)
		if err != nil {
			t.Fatalf("%s: %v", bad.method, err)
		}
		if f.Error == nil || f.Error.Message == "" || bad.code != 0 && f.Error.Code != bad.code {
			t.Errorf("%s %v: %+v %s", bad.method, bad.params, f.Error, f.Result)
		}
	}
	// Blank lines and carriage returns are neither messages nor errors.
	testenv.Check(t, h.write("\r\n \t\r\n"+`{"jsonrpc":"2.0","id":"after","method":"ping"}`+"\r"))
	h.next(`"after"`, `"result"`)
	unchanged(t, p, 1)
	h.do("planning_mark_step", arguments{"step_id": "S001", "status": "done"})
	if code := h.leave(); code != 0 {
		t.Errorf("exit code %d\n%s", code, h.errors)
	}
	unchanged(t, p, 2)
	p.sound()
}

// unchanged fails if the log has grown.
func unchanged(t *testing.T, p *place, revision int) {
	t.Helper()
	if got := len(p.records(0)); got != revision {
		t.Errorf("the log has %d records, want %d", got, revision)
	}
}

// badArguments are arguments that must be refused, with the field that the refusal names.
func badArguments() []badCall {
	long := strings.Repeat("x", 1<<20)
	return []badCall{
		{"planning_setup_plan", `{"objective":"` + long + `"}`, "/objective"},
		{"planning_setup_plan", `{"objective":"` + strings.Repeat(`\u0000`, 1000) + `"}`, "/objective"},
		{"planning_setup_plan", `{"objective":"a","objektive":"b"}`, "objective"},
		{"planning_setup_plan", `{"objective":"a","objective":"b"}`, "objective"},
		{"planning_setup_plan", `{"objective":"a","objective\u0000":"b"}`, "unknown"},
		{"planning_setup_plan", `{"Objective":"a"}`, "objective"},
		{"planning_setup_plan", `{"objective":"a","initial_steps":` + strings.Repeat("[", 40) + strings.Repeat("]", 40) + `}`, "nested"},
		{"planning_add_step", `{"steps":[{"title":"x","details":"` + long + `"}]}`, "/steps/0/details"},
		{"planning_add_step", `{"steps":[` + strings.TrimSuffix(strings.Repeat(`{"title":"x"},`, 2001), ",") + `]}`, "steps"},
		{"planning_mark_step", `{"step_id":"S001","status":"` + long + `"}`, "/status"},
		{"planning_mark_step", `{"step_id":"` + long + `","status":"done"}`, "/step_id"},
		{"planning_mark_step", `{"step_id":"S001","status":"done","note":"nul \u0000 byte"}`, "/note"},
		{"planning_read_plan", `{"status":"\u001b[31m"}`, "/status"},
	}
}

type badCall struct {
	tool, args, want string
}

// TestBadArguments sends bad arguments with the official client, over every transport. Every answer says what is wrong; nothing changes.
func TestBadArguments(t *testing.T) {
	t.Parallel()
	for _, transport := range []string{"stdio", "http", "sse"} {
		t.Run(transport, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			setUp(p, 1)
			client := connect(t, p.transport(transport), handshake, nil)
			for _, bad := range badArguments() {
				got, err := client.tool(bad.tool, json.RawMessage(bad.args))
				if err != nil {
					t.Fatalf("%s %.60s: %v", bad.tool, bad.args, err)
				}
				if !got.refused || !strings.Contains(got.text, bad.want) || len(got.text) > 2000 || strings.ContainsAny(got.text,
					"\x00\x1b") {
					t.Errorf("%s %.60s: refused %v: %.2000q", bad.tool, bad.args, got.refused, got.text)
				}
			}
			if got, err := client.tool("planning_approve", json.RawMessage(`{}`)); err == nil {
				t.Errorf("an unknown tool was called: %+v, %v", got, err)
			}
			unchanged(t, p, 1)
			if got, err := client.tool("planning_mark_step", arguments{"step_id": "S001", "status": "done"}); err != nil || got.refused {
				t.Errorf("afterwards: %+v, %v", got, err)
			}
			unchanged(t, p, 2)
		})
	}
}

// TestBadBodies posts bodies that no client would send: each gets its own status and a JSON-RPC error, and nothing changes.
func TestBadBodies(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 1)
	s := p.serveHTTP()
	for _, bad := range badArguments() {
		if got := s.callTool(bad.tool, bad.args); got.status != 200 || !got.contains(`"isError":true`) {
			t.Errorf("%s %.60s: %d %.300s", bad.tool, bad.args, got.status, got.body)
		}
	}
	for body, status := range map[string]int{
		``: 400, `{`: 400, `nonsense`: 400, `[]`: 400, "\x00": 400, "{\"jsonrpc\":\"2.0\",\"id\":\"\xff\",\"method\":\"ping\"}": 400,
		strings.Repeat("[", 100_000): 400,
		`{"jsonrpc":"2.0","id":1,"method":"ping"} {"jsonrpc":"2.0","id":2,"method":"ping"}`: 400, `{"jsonrpc":"2.0","id":1}`: 400,
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`: 400, // no session
		strings.Repeat("x", 4<<20+1):                     413, // little too much: more could reset the connection
	} {
		got := s.post(body)
		if _, err := parseFrame([]byte(got.body)); got.status != status || err != nil {
			t.Errorf("%.60q: %d %.300s", body, got.status, got.body)
		}
	}
	unchanged(t, p, 1)
	if got := s.callTool("planning_mark_step", `{"step_id":"S001","status":"done"}`); got.status != 200 || !got.contains("completed") {
		t.Errorf("afterwards: %d %s", got.status, got.body)
	}
	unchanged(t, p, 2)
}
