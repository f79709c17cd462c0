package transport

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestContentType(t *testing.T) {
	f := serve(t, HTTPOptions{})
	_, post := f.openSSEClient(t)
	if answer := post(ping); answer.status != http.StatusAccepted {
		t.Fatalf("JSON to /message: %d %s", answer.status, answer.body)
	}
	for contentType, ok := range map[string]bool{
		"application/json": true, "application/json; charset=utf-8": true, "Application/JSON": true,
		"": false, "text/plain": false, "text/plain; application/json": false, "application/x-www-form-urlencoded": false,
		"multipart/form-data; boundary=x": false, "application/jsonx": false, "application/json, text/plain": false,
		"application/json;;": false, `application/json; charset="UTF-8"`: true, "application/json;charset=Utf-8": true,
		"application/json; charset=utf-16": false, "application/json; charset=utf-7": false, "application/json; charset=": false,
		"application/json; charset=utf8; charset=utf-8": false, "application/json; charset=latin1": false,
		"application/json; charset=UTF8": true,
	} {
		for _, path := range []string{"/mcp"} {
			answer := f.raw(t, http.MethodPost, path, initializeBody, func(r *http.Request) { r.Header.Set("Content-Type", contentType) })
			if ok != (answer.status == http.StatusOK) || !ok && answer.status != http.StatusUnsupportedMediaType {
				t.Errorf("%q on %s: %d", contentType, path, answer.status)
			}
		}
	}
	for name, edit := range map[string]func(*http.Request){
		"none":    func(r *http.Request) { r.Header.Del("Content-Type") },
		"two":     func(r *http.Request) { r.Header.Add("Content-Type", "text/plain") },
		"encoded": func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") },
	} {
		if answer := f.raw(t, http.MethodPost, "/mcp", initializeBody, edit); answer.status != http.StatusUnsupportedMediaType {
			t.Errorf("%s: %d", name, answer.status)
		}
	}
}

func TestForeignContentTypeRunsNoToolOverSSE(t *testing.T) {
	f := serve(t, HTTPOptions{})
	events, post := f.openSSEClient(t)
	post(initializeBody)
	next(t, "the answer to initialize", events)
	endpoint := next(t, "the session", f.registered).SessionID()
	answer := f.raw(t, http.MethodPost, "/message?sessionId="+endpoint, callBody("wait", "x"), func(r *http.Request) {
		r.Header.Set("Content-Type", "text/plain")
	})
	if answer.status != http.StatusUnsupportedMediaType {
		t.Errorf("text/plain on /message: %d", answer.status)
	}
	post(callBody("echo", "after"))
	if ev := next(t, "the answer to echo", events); !strings.Contains(ev.data, "echo after") {
		t.Errorf("answer: %s", ev.data)
	}
	if len(f.started) != 0 {
		t.Error("the tool ran")
	}
}

func callBody(tool, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q}}}`, tool, text)
}

func modernHTTPCall(id int, tool, text string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":%q,"arguments":{"text":%q},%s}}`, id, tool,
		text, modernMeta)
}

func TestBodySize(t *testing.T) {
	f := serve(t, HTTPOptions{MaxBody: 1000})
	_, in := f.session(t)
	fits := callBody("echo", "")
	fits = callBody("echo", strings.Repeat("x", 1000-len(fits)))
	if answer := f.raw(t, http.MethodPost, "/mcp", fits, in); answer.status != http.StatusOK {
		t.Errorf("%d bytes: %d %s", len(fits), answer.status, answer.body)
	}
	answer := f.raw(t, http.MethodPost, "/mcp", fits+" ", in)
	if _, text := answer.rpcError(t); answer.status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "1000") {
		t.Errorf("%d bytes: %d %s", len(fits)+1, answer.status, answer.body)
	}
	chunked := f.raw(t, http.MethodPost, "/mcp", fits+" ", func(r *http.Request) { in(r); r.ContentLength = -1 })
	if chunked.status != http.StatusRequestEntityTooLarge {
		t.Errorf("chunked: %d", chunked.status)
	}
}

func TestSlowBodyIsGivenUp(t *testing.T) {
	f := serve(t, HTTPOptions{BodyTimeout: 20 * time.Millisecond})
	conn, err := net.Dial("tcp", f.host)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	_, _ = fmt.Fprintf(conn, "POST /mcp HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n{", f.host)
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = resp.Body.Close()
	if resp.StatusCode != http.StatusRequestTimeout || !resp.Close {
		t.Errorf("slow body: %d, close %v", resp.StatusCode, resp.Close)
	}
}

// The limit on reading a body must not end an answer that takes longer.
func TestBodyTimeoutSparesLongCalls(t *testing.T) {
	const limit = 500 * time.Millisecond // no request needs it here, even on a busy machine
	f := serve(t, HTTPOptions{BodyTimeout: limit, KeepAlive: limit * 3 / 2})
	_, in := f.session(t)
	stream := f.open(t, http.MethodGet, "/mcp", "", in)
	defer func() { _ = stream.Body.Close() }()
	answers := make(chan httpReply, 1)
	go func() { answers <- f.raw(t, http.MethodPost, "/mcp", callBody("wait", "long"), in) }()
	next(t, "the call", f.started)
	events := sseEvents(stream.Body)
	for range 2 { // at least two keep-alives, three times the limit
		if ev := next(t, "a ping", events); ev.name != ":" && !strings.Contains(ev.data, `"ping"`) {
			t.Errorf("event %+v", ev)
		}
	}
	f.release <- struct{}{}
	if answer := next(t, "the answer", answers); !strings.Contains(answer.body, "waited long") {
		t.Errorf("answer: %d %s", answer.status, answer.body)
	}
}

func TestBodiesThatAreNoMessage(t *testing.T) {
	f := serve(t, HTTPOptions{})
	_, in := f.session(t)
	deep := strings.Repeat(`{"a":`, 140) + "1" + strings.Repeat("}", 140)
	for name, c := range map[string]struct {
		body string
		code int
	}{
		"empty":               {``, -32700},
		"no JSON":             {`hello`, -32700},
		"cut":                 {`{"jsonrpc":"2.0","id":1,`, -32700},
		"bad UTF-8":           {"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"p\xffing\"}", -32700},
		"two values":          {ping + ping, -32700},
		"a string":            {`"ping"`, -32700},
		"null":                {`null`, -32700},
		"batch":               {"[" + ping + "]", -32600},
		"method twice":        {`{"jsonrpc":"2.0","id":1,"method":"ping","method":"tools/list"}`, -32600},
		"name twice":          {`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","name":"wait"}}`, -32600},
		"other case":          {`{"jsonrpc":"2.0","id":1,"Method":"tools/list"}`, -32600},
		"folded by unicode":   {`{"jsonrpc":"2.0","id":1,"paramſ":{},"method":"ping"}`, -32600},
		"method is no string": {`{"jsonrpc":"2.0","id":1,"method":5}`, -32600},
		"id is an object":     {`{"jsonrpc":"2.0","id":{},"method":"ping"}`, -32600},
		"id is true":          {`{"jsonrpc":"2.0","id":true,"method":"ping"}`, -32600},
		"nothing in it":       {`{}`, -32600},
		"id is null":          {`{"jsonrpc":"2.0","id":null,"method":"ping"}`, -32600},
		"answer to nothing":   {`{"jsonrpc":"2.0","id":null,"result":{}}`, -32600},
		"both ways":           {`{"jsonrpc":"2.0","id":1,"method":"ping","result":{}}`, -32600},
		"no version":          {`{"id":1,"method":"ping"}`, -32600},
		"only an id":          {`{"jsonrpc":"2.0","id":1}`, -32600},
		"too deep":            {`{"jsonrpc":"2.0","id":1,"method":"ping","params":` + deep + `}`, -32600},
	} {
		answer := f.raw(t, http.MethodPost, "/mcp", c.body, in)
		if code, _ := answer.rpcError(t); answer.status != http.StatusBadRequest || code != c.code {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
		}
	}
	if answer := f.raw(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":"Method","method":"ping"}`, in); answer.status != http.StatusOK {
		t.Errorf("a value that looks like a misspelt name: %s", answer.body)
	}
}
