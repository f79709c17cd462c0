package e2e_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/testenv"
)

// peer sends messages verbatim over one transport, and returns the answer to each.
type peer struct {
	name string
	meta string // of params, with a comma before it
	send func(message string) string
}

// peers returns a peer for each transport, on the same workspace, ready for calls.
func peers(t *testing.T, p *place, args ...string) []peer {
	t.Helper()
	stdio := p.open(args...)
	s := p.serveHTTP(args...)
	began := s.post(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
		`"clientInfo":{"name":"raw","version":"1"}}}`)
	session := []string{"Mcp-Session-Id", began.header.Get("Mcp-Session-Id"), "MCP-Protocol-Version", "2025-11-25"}
	return []peer{
		{"stdio", "", func(message string) string {
			testenv.Check(t, stdio.write(message))
			f := stdio.next()
			text, err := json.Marshal(f)
			testenv.Check(t, err)
			return string(text)
		}},
		{"http", "", func(message string) string { return s.post(message, session...).body }},
		{"stateless", "," + meta, func(message string) string {
			return s.post(message, statelessHeaders("planning_mark_step")...).body
		}},
		{"sse", "", ssePeer(t, s)},
	}
}

func ssePeer(t *testing.T, s *httpServer) func(string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.base+"/sse", nil)
	testenv.Check(t, err)
	stream, err := (&http.Client{Transport: &http.Transport{}}).Do(request)
	testenv.Check(t, err)
	t.Cleanup(func() { _ = stream.Body.Close() })
	lines := bufio.NewReaderSize(stream.Body, 8<<20)
	data := func() string {
		for {
			line, err := lines.ReadString('\n')
			testenv.Check(t, err)
			if text, ok := strings.CutPrefix(line, "data: "); ok {
				return strings.TrimSpace(text)
			}
		}
	}
	endpoint := data()
	send := func(message string) string {
		if got := s.send(http.MethodPost, endpoint, message); got.status != http.StatusAccepted {
			return got.body
		}
		return data()
	}
	send(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"raw","version":"1"}}}`)
	if got := s.send(http.MethodPost, endpoint, `{"jsonrpc":"2.0","method":"notifications/initialized"}`); got.body != "" {
		t.Fatal(got.body)
	}
	return send
}

// ambiguous are messages that one reader takes for a read or a listing and another for a mark, or that every reader takes differently. # is
// a placeholder for more params.
func ambiguous() map[string]string {
	const (
		list = `"method":"tools/list"`
		call = `"method":"tools/call"`
		tool = call + `,"params":{"name":"planning_mark_step"`
		mark = `"name":"planning_mark_step","arguments":{"step_id":"S001","status":"done"}`
		read = `"name":"planning_read_plan","arguments":{}`
	)
	envelope := func(body string) string { return `{"jsonrpc":"2.0","id":7,` + body + `}` }
	return map[string]string{
		"method twice":             envelope(list + `,` + call + `,"params":{` + mark + `#}`),
		"Method":                   envelope(list + `,"Method":"tools/call","params":{` + mark + `#}`),
		"Method alone":             envelope(`"Method":"tools/call","params":{` + mark + `#}`),
		"an escaped name twice":    envelope(list + `,"\u006dethod":"tools/call","params":{` + mark + `#}`),
		"params by a long s":       envelope(call + `,"params":{` + read + `#},"param` + "\u017f" + `":{` + mark + `}`),
		"params by an escape":      envelope(call + `,"params":{` + read + `#},"param\u017f":{` + mark + `}`),
		"PARAMS":                   envelope(call + `,"params":{` + read + `#},"PARAMS":{` + mark + `}`),
		"Name":                     envelope(call + `,"params":{` + read + `,"Name":"planning_mark_step"#}`),
		"name twice":               envelope(call + `,"params":{` + read + `,"name":"planning_mark_step"#}`),
		"Arguments":                envelope(tool + `,"Arguments":{"step_id":"S001","status":"done"}#}`),
		"arguments twice":          envelope(call + `,"params":{` + mark + `,"arguments":{}#}`),
		"REQUESTSTATE by a kelvin": envelope(call + `,"params":{` + mark + `,"tas` + "\u212a" + `":{}#}`),
		"arguments in arguments":   envelope(tool + `,"arguments":{"step_id":"S001","status":"done","Status":"done"}#}`),
		"argument's key twice":     envelope(tool + `,"arguments":{"step_id":"S002","step_id":"S001","status":"done"}#}`),
		"jsonrpc twice":            `{"jsonrpc":"1.0","id":7,` + call + `,"params":{` + mark + `#},"jsonrpc":"2.0"}`,
		"id twice":                 `{"jsonrpc":"2.0","id":7,"id":8,` + call + `,"params":{` + mark + `#}}`,
		"Id":                       `{"jsonrpc":"2.0","id":7,"Id":null,` + call + `,"params":{` + mark + `#}}`,
		"a batch":                  `[` + envelope(call+`,"params":{`+mark+`#}`) + `]`,
		"two messages":             envelope(list+`,"params":{"x":1#}`) + " " + envelope(call+`,"params":{`+mark+`#}`),
		"a lone surrogate":         envelope(call + `,"params":{` + mark + `,"task":{"ttl":"\ud800"}#}`),
		"a lone surrogate in arguments": envelope(tool +
			`,"arguments":{"step_id":"S001","status":"done","note":"\udc00"}#}`),
		"no UTF-8":            envelope(tool + `,"arguments":{"step_id":"S001","status":"done","note":"` + "\xff" + `"}#}`),
		"a NUL":               envelope(call + `,"params":{` + mark + "\x00" + `#}`),
		"a NUL in the method": envelope(`"method":"tools/call\u0000","params":{` + mark + `#}`),
		"a NUL in the name": envelope(call +
			`,"params":{"name":"planning_mark_step\u0000","arguments":{"step_id":"S001","status":"done"}#}`),
		"nested 33 deep": envelope(call +
			`,"params":{` + mark + `,"task":` + strings.Repeat("[", 33) + strings.Repeat("]", 33) + `#}`),
		"arguments 33 deep": envelope(tool + `,"arguments":{"step_id":"S001","status":"done","note":` +
			strings.Repeat("[", 33) + strings.Repeat("]", 33) + `}#}`),
		"id null":             strings.Replace(envelope(call+`,"params":{`+mark+`#}`), "7", "null", 1),
		"id a fraction":       strings.Replace(envelope(call+`,"params":{`+mark+`#}`), "7", "7.5", 1),
		"id an object":        strings.Replace(envelope(call+`,"params":{`+mark+`#}`), "7", "{}", 1),
		"id a list":           strings.Replace(envelope(call+`,"params":{`+mark+`#}`), "7", "[7]", 1),
		"id true":             strings.Replace(envelope(call+`,"params":{`+mark+`#}`), "7", "true", 1),
		"id huge":             strings.Replace(envelope(call+`,"params":{`+mark+`#}`), "7", "1e400", 1),
		"id beyond 2^53":      strings.Replace(envelope(call+`,"params":{`+mark+`#}`), "7", "9007199254740993", 1),
		"id of a megabyte":    strings.Replace(envelope(call+`,"params":{`+mark+`#}`), "7", `"`+strings.Repeat("x", 1<<20)+`"`, 1),
		"a result beside":     envelope(call + `,"params":{` + mark + `#},"result":{}`),
		"params a list":       envelope(call + `,"params":["planning_mark_step",{"step_id":"S001","status":"done"}]`),
		"name a list":         envelope(call + `,"params":{"name":["planning_mark_step"],"arguments":{"step_id":"S001","status":"done"}#}`),
		"a step beyond 2^53":  envelope(tool + `,"arguments":{"step_id":9007199254740993,"status":"done"}#}`),
		"a megabyte's method": envelope(`"method":"` + strings.Repeat("x", 1<<20) + `","params":{"x":1#}`),
		"a megabyte of _meta": envelope(`"method":"tools/list","params":{"x":"` + strings.Repeat("x", 1<<20) + `"#}`),
		"the _meta twice":     envelope(call + `,"params":{` + mark + `,"_meta":{},"_meta":{}}`),
		"_META":               envelope(call + `,"params":{` + mark + `,"_META":{}#}`),
	}
}

// TestOneReading sends ambiguous messages over every transport. Each is refused, under its id if that is unambiguous, and nothing changes.
func TestOneReading(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 4)
	for _, peer := range peers(t, p) {
		for name, message := range ambiguous() {
			got := peer.send(strings.ReplaceAll(message, "#", peer.meta))
			if !strings.Contains(got, `"error":{`) && !strings.Contains(got, `"isError":true`) || len(got) > 2000 {
				t.Errorf("%s: %s: %.300s", peer.name, name, got)
			}
			if strings.HasPrefix(name, "arg") && !strings.Contains(got, "7") {
				t.Errorf("%s: %s: not under its id: %.300s", peer.name, name, got)
			}
		}
		if got := p.revision(); got != 1 {
			t.Fatalf("%s: the log has %d records", peer.name, got)
		}
	}
	for i, peer := range peers(t, p) {
		got := peer.send(fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"planning_mark_step",`+
			`"arguments":{"step_id":"S00%d","status":"in_progress"}%s}}`, i+1, peer.meta))
		if !strings.Contains(got, "in_progress") || strings.Contains(got, `"isError":true`) {
			t.Errorf("%s: a plain call: %s", peer.name, got)
		}
	}
}

// TestErrorsRepeatLittle puts long and hostile text in place of every name in the protocol. The answer is short, and contains only plain
// text.
func TestErrorsRepeatLittle(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	setUp(p, 1)
	const escapes = `\u001b[31m\u202e\u0000\u0007\r\n\u009b\u2066<>&😀'"`
	for _, peer := range peers(t, p) {
		for _, size := range []int{1, 20, 1_000, 4_000} { // the third and the fourth are 50 and 200 KB
			text := strings.Repeat(strings.ReplaceAll(escapes, `"`, `\"`), size)
			for _, request := range []string{
				`"method":"TEXT","params":{"x":1META}`, `"method":"tools/TEXT","params":{"x":1META}`,
				`"method":"tools/call","params":{"name":"TEXT","arguments":{}META}`,
				`"method":"tools/call","params":{"name":"TEXT","arguments":{},"TEXT":1META}`,
				`"method":"tools/call","params":{"name":"planning_read_plan","arguments":{"TEXT":1}META}`,
				`"method":"tools/call","params":{"name":"planning_read_plan","arguments":{"status":"TEXT"}META}`,
				`"method":"tools/call","params":{"name":["TEXT"],"arguments":{}META}`,
				`"method":"tools/call","params":{"name":"planning_read_plan","arguments":{},"task":"TEXT"META}`,
				`"method":"resources/read","params":{"uri":"TEXT"META}`,
				`"method":"resources/read","params":{"uri":"plan://steps/TEXT"META}`,
				`"method":"resources/read","params":{"uri":"plan://plans/TEXT"META}`,
				`"method":"resources/subscribe","params":{"uri":"plan://TEXT"META}`,
				`"method":"resources/list","params":{"cursor":"TEXT"META}`, `"method":"tools/list","params":{"cursor":"TEXT"META}`,
				`"method":"prompts/list","params":{"cursor":"TEXT"META}`,
				`"method":"resources/templates/list","params":{"cursor":"TEXT"META}`,
				`"method":"prompts/get","params":{"name":"TEXT"META}`,
				`"method":"prompts/get","params":{"name":"decompose_goal","arguments":{"TEXT":"x"}META}`,
				`"method":"completion/complete","params":{"ref":{"type":"TEXT"},"argument":{"name":"a","value":"b"}META}`,
				`"method":"completion/complete","params":` +
					`{"ref":{"type":"ref/prompt","name":"TEXT"},"argument":{"name":"TEXT","value":"TEXT"}META}`,
				`"method":"completion/complete","params":` +
					`{"ref":{"type":"ref/resource","uri":"TEXT"},"argument":{"name":"a","value":"b"}META}`,
				`"method":"logging/setLevel","params":{"level":"TEXT"META}`, `"method":"tasks/get","params":{"taskId":"TEXT"META}`,
				`"method":"server/discover","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"9TEXT",` +
					`"io.modelcontextprotocol/clientCapabilities":{}}}`,
				`"method":"tools/list","params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"9TEXT"}}`,
				`"method":"tools/list","params":{"_meta":{"progressToken":"TEXT"}}`,
			} {
				got := peer.send(`{"jsonrpc":"2.0","id":7,` + strings.NewReplacer("TEXT", text, "META", peer.meta).Replace(request) + `}`)
				var answer map[string]any
				if err := json.Unmarshal([]byte(got), &answer); err != nil {
					t.Errorf("%s: %.100s, %d times: %v: %.300q", peer.name, request, size, err, got)
				}
				if answer["error"] != nil && len(got) > 2000 || len(got) > 50_000 || hides(answer) {
					t.Errorf("%s: %.100s, %d times, gives %d bytes: %.600s", peer.name, request, size, len(got), got)
				}
			}
		}
	}
	unchanged(t, p, 1)
}

// hides reports whether a text within a JSON value has an unprintable character.
func hides(value any) bool {
	switch v := value.(type) {
	case string:
		return !safetext.Printable(v)
	case []any:
		return slices.ContainsFunc(v, hides)
	case map[string]any:
		return slices.ContainsFunc(slices.Collect(maps.Values(v)), hides)
	}
	return false
}
