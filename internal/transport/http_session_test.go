package transport

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestSessionLifecycle(t *testing.T) {
	f := serve(t, HTTPOptions{})
	id, in := f.session(t)
	next(t, "the registration", f.registered)
	if answer := f.raw(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","method":"notifications/initialized"}`,
		in); answer.status != http.StatusAccepted {
		t.Errorf("initialized: %d %s", answer.status, answer.body)
	}
	if answer := f.raw(t, http.MethodPost, "/mcp", callBody("echo", "hi"), in); !strings.Contains(answer.body, "echo hi") {
		t.Errorf("call: %d %s", answer.status, answer.body)
	}
	if answer := f.raw(t, http.MethodDelete, "/mcp", "", in); answer.status != http.StatusOK {
		t.Errorf("DELETE: %d %s", answer.status, answer.body)
	}
	if ended := next(t, "the end of the session", f.gone); ended.SessionID() != id {
		t.Errorf("ended session %s, want %s", ended.SessionID(), id)
	}
	for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodDelete} {
		body := ""
		if method == http.MethodPost {
			body = callBody("wait", "after the end")
		}
		answer := f.raw(t, method, "/mcp", body, in)
		if _, text := answer.rpcError(t); answer.status != http.StatusNotFound || !strings.Contains(text, "initialize") {
			t.Errorf("%s after DELETE: %d %s", method, answer.status, answer.body)
		}
	}
	if len(f.started) != 0 {
		t.Error("a tool ran in an ended session")
	}
}

func TestRequestsWithoutSession(t *testing.T) {
	f := serve(t, HTTPOptions{})
	unknown := func(r *http.Request) {
		r.Header.Set("Mcp-Session-Id", "mcp-session-4b1f6bd2-0d3c-4a55-a0b3-3f3f3f3f3f3f")
	}
	wrongVersion := func(r *http.Request) { r.Header.Set("Mcp-Protocol-Version", "2020-01-01") }
	for name, c := range map[string]struct {
		method, body string
		edit         func(*http.Request)
		status       int
	}{
		"call before initialize": {http.MethodPost, callBody("wait", ""), nil, 400},
		"ping before initialize": {http.MethodPost, ping, nil, 400},
		"notification before initialize": {http.MethodPost,
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`, nil, 400},
		"response before initialize":   {http.MethodPost, `{"jsonrpc":"2.0","id":1,"result":{"a":1}}`, nil, 400},
		"stream before initialize":     {http.MethodGet, "", nil, 400},
		"end before initialize":        {http.MethodDelete, "", nil, 400},
		"initialize as a notification": {http.MethodPost, `{"jsonrpc":"2.0","method":"initialize"}`, nil, 400},
		"call in an unknown session":   {http.MethodPost, callBody("wait", ""), unknown, 404},
		"stream of an unknown session": {http.MethodGet, "", unknown, 404},
		"end of an unknown session":    {http.MethodDelete, "", unknown, 404},
		"unknown revision":             {http.MethodPost, callBody("wait", ""), wrongVersion, 400},
		"stateless stream":             {http.MethodGet, "", modern("", ""), 405},
		"stateless end":                {http.MethodDelete, "", modern("", ""), 405},
		"stateless header, other body": {http.MethodPost, callBody("wait", ""), modern("tools/call", "wait"), 400},
	} {
		answer := f.raw(t, c.method, "/mcp", c.body, c.edit)
		if answer.status != c.status {
			t.Errorf("%s: %d %s", name, answer.status, answer.body)
		}
	}
	if len(f.started) != 0 || len(f.registered) != 0 {
		t.Error("something ran without a session")
	}
}

func TestErrorsCarryTheRequestID(t *testing.T) {
	f := serve(t, HTTPOptions{})
	var answer struct{ ID any }
	got := f.raw(t, http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":"abc","method":"tools/list"}`, nil)
	if err := json.Unmarshal([]byte(got.body), &answer); err != nil || answer.ID != "abc" {
		t.Errorf("answer %s", got.body)
	}
}

func TestIdleSessionEnds(t *testing.T) {
	f := serve(t, HTTPOptions{SessionIdle: time.Millisecond}) // swept every second
	id, in := f.session(t)
	if ended := next(t, "the sweep", f.gone); ended.SessionID() != id {
		t.Errorf("ended %s, want %s", ended.SessionID(), id)
	}
	if answer := f.raw(t, http.MethodPost, "/mcp", ping, in); answer.status != http.StatusNotFound {
		t.Errorf("idle session: %d", answer.status)
	}
}

// The pings of a listening stream keep the session of an idle client.
func TestListeningSessionStays(t *testing.T) {
	f := serve(t, HTTPOptions{SessionIdle: 2 * time.Second, KeepAlive: 100 * time.Millisecond})
	_, in := f.session(t)
	stream := f.open(t, http.MethodGet, "/mcp", "", in)
	defer func() { _ = stream.Body.Close() }()
	events := sseEvents(stream.Body)
	for pings := 0; pings < 40; { // two sweeps and more
		if strings.Contains(next(t, "a ping", events).data, `"ping"`) {
			pings++
		}
	}
	if answer := f.raw(t, http.MethodPost, "/mcp", callBody("echo", "still"), in); answer.status != http.StatusOK {
		t.Errorf("a listening session: %d %s", answer.status, answer.body)
	}
}

// A client may use its session once it has decoded the answer, which here is longer than net/http's buffer, and need
// not read to the end of the body.
func TestSessionIsRegisteredBeforeTheAnswer(t *testing.T) {
	f := serve(t, HTTPOptions{})
	for range 200 {
		resp := f.open(t, http.MethodPost, "/mcp", initializeBody, nil)
		var answer struct{ Result struct{ Instructions string } }
		if err := json.NewDecoder(resp.Body).Decode(&answer); err != nil || len(answer.Result.Instructions) < 8<<10 {
			t.Fatalf("answer of %d bytes of instructions, %v", len(answer.Result.Instructions), err)
		}
		select {
		case session := <-f.registered:
			if id := resp.Header.Get("Mcp-Session-Id"); session.SessionID() != id {
				t.Fatalf("registered %s, want %s", session.SessionID(), id)
			}
		default:
			t.Fatal("the answer came before the registration")
		}
		_ = resp.Body.Close()
	}
}

func TestNumberOfSessionsIsBounded(t *testing.T) {
	f := serve(t, HTTPOptions{})
	_, quiet := f.session(t)
	stream := f.open(t, http.MethodGet, "/mcp", "", quiet)
	defer func() { _ = stream.Body.Close() }()
	_, working := f.session(t)
	call := func(name string, in func(*http.Request)) {
		t.Helper()
		if answer := f.raw(t, http.MethodPost, "/mcp", callBody("echo", "still here"), in); answer.status != http.StatusOK {
			t.Errorf("the %s client: %d %s", name, answer.status, answer.body)
		}
	}
	call("working", working)
	for range maxSessions/2 + 10 {
		if id, _ := f.session(t); id == "" {
			t.Fatal("no session")
		}
	}
	call("quiet", quiet)
	call("working", working)
	_, late := f.session(t)
	call("late", late)
	if n := len(f.sessions.alive); n > maxSessions/2 {
		t.Errorf("one client has %d sessions", n)
	}
	if n := len(f.gone); n < 10 {
		t.Errorf("of the sessions that made room the library has let go of %d", n)
	}
}

func TestRunningCallsAreBounded(t *testing.T) {
	f := serve(t, HTTPOptions{})
	_, in := f.session(t)
	f.calls.max = 1
	answers := make(chan httpReply, 1)
	go func() { answers <- f.raw(t, http.MethodPost, "/mcp", callBody("wait", "last"), in) }()
	next(t, "the call", f.started)
	full := f.raw(t, http.MethodPost, "/mcp", callBody("echo", ""), in)
	if full.status != http.StatusServiceUnavailable || full.header.Get("Retry-After") == "" {
		t.Errorf("one call too many: %d %s", full.status, full.body)
	}
	f.release <- struct{}{}
	next(t, "the answer", answers)
	if answer := f.raw(t, http.MethodPost, "/mcp", callBody("echo", "room again"), in); answer.status != http.StatusOK {
		t.Errorf("afterwards: %d %s", answer.status, answer.body)
	}
}

// A client with its full share of sessions takes none from another.
func TestSessionsMakeRoomWithinAClientFirst(t *testing.T) {
	s := &sessions{alive: map[string]*httpSession{}}
	begin := func(client string) string {
		if id := s.sessionToReplace(client); id != "" {
			_, _ = s.Terminate(id)
		}
		id := s.Generate()
		s.update(id, func(known *httpSession) { known.client = client })
		return id
	}
	other := begin("10.0.0.2")
	used := begin("10.0.0.1")
	if _, err := s.Validate(used); err != nil {
		t.Fatal(err)
	}
	for range 2 * maxSessions {
		begin("10.0.0.1")
	}
	for _, id := range []string{other, used} {
		if s.alive[id] == nil {
			t.Errorf("the session of %v made room", id)
		}
	}
	for n := range 2 * maxSessions { // many clients below their share
		begin(fmt.Sprint(n))
	}
	if _, err := s.Validate(used); err != nil || len(s.alive) != maxSessions {
		t.Errorf("the session in use: %v, of %d", err, len(s.alive))
	}
}

func TestRequestsASecondAreBounded(t *testing.T) {
	f := serve(t, HTTPOptions{Token: clientToken, Rate: 1})
	authorized := func(r *http.Request) { r.Header.Set("Authorization", "Bearer "+clientToken) }
	burst := func(edit func(*http.Request)) (statuses map[int]int, last httpReply) {
		statuses = map[int]int{}
		for range 30 {
			answer := f.raw(t, http.MethodPost, "/mcp", ping, edit)
			if statuses[answer.status]++; answer.status == http.StatusTooManyRequests {
				last = answer
			}
		}
		return statuses, last
	}
	statuses, _ := burst(nil)
	if statuses[http.StatusTooManyRequests] == 0 || statuses[http.StatusUnauthorized] == 0 {
		t.Errorf("guesses at the token: %v", statuses)
	}
	if answer := f.raw(t, http.MethodPost, "/mcp", initializeBody, authorized); answer.status != http.StatusOK {
		t.Errorf("who holds the token pays for guesses: %d %s", answer.status, answer.body)
	}
	statuses, refused := burst(authorized)
	if _, text := refused.rpcError(t); statuses[http.StatusTooManyRequests] == 0 || refused.header.Get("Retry-After") != "1" ||
		!strings.Contains(text, "wait a second") {
		t.Errorf("%v, %s", statuses, refused.body)
	}
}

func TestNumberOfStreamsIsBounded(t *testing.T) {
	f := serve(t, HTTPOptions{MaxStreams: 2})
	_, in := f.session(t)
	first := f.open(t, http.MethodGet, "/mcp", "", in)
	defer func() { _ = first.Body.Close() }()
	f.openSSEClient(t)
	for _, c := range []struct {
		method, path, body string
		edit               func(*http.Request)
	}{
		{http.MethodGet, "/sse", "", nil},
		{http.MethodGet, "/mcp", "", in},
		{http.MethodPost, "/mcp", listenBody, modern("subscriptions/listen", "")},
	} {
		if answer := f.raw(t, c.method, c.path, c.body, c.edit); answer.status != http.StatusServiceUnavailable {
			t.Errorf("%s %s as a third stream: %d", c.method, c.path, answer.status)
		}
	}
	if answer := f.raw(t, http.MethodPost, "/mcp", callBody("echo", "calls go on"), in); answer.status != http.StatusOK {
		t.Errorf("a call beside full streams: %d", answer.status)
	}
}

func TestSSERefusesCallsBeforeInitialize(t *testing.T) {
	f := serve(t, HTTPOptions{})
	events, post := f.openSSEClient(t)
	for _, body := range []string{callBody("wait", "early"), `{"jsonrpc":"2.0","id":7,"method":"tools/list"}`} {
		if answer := post(body); answer.status != http.StatusAccepted {
			t.Fatalf("post: %d %s", answer.status, answer.body)
		}
		if ev := next(t, "the refusal", events); !strings.Contains(ev.data, `"id":7`) || !strings.Contains(ev.data,
			"-32600") || !strings.Contains(ev.data, "send initialize") {
			t.Errorf("refusal: %s", ev.data)
		}
	}
	post(ping)
	if ev := next(t, "the answer to ping", events); !strings.Contains(ev.data, `"result"`) {
		t.Errorf("ping: %s", ev.data)
	}
	post(initializeBody)
	if ev := next(t, "the answer to initialize", events); !strings.Contains(ev.data, `"protocolVersion":"2025-11-25"`) {
		t.Errorf("initialize: %s", ev.data)
	}
	post(callBody("echo", "now"))
	if ev := next(t, "the answer to echo", events); !strings.Contains(ev.data, "echo now") {
		t.Errorf("echo: %s", ev.data)
	}
	if len(f.started) != 0 {
		t.Error("a call ran before initialize")
	}
}

func TestSSESpeaksHandshakeRevisionsOnly(t *testing.T) {
	f := serve(t, HTTPOptions{})
	events, post := f.openSSEClient(t)
	refused := func(body string) {
		t.Helper()
		post(body)
		if ev := next(t, "the refusal", events); !strings.Contains(ev.data, "-32022") || !strings.Contains(ev.data,
			`"supported":["2025-11-25"`) {
			t.Errorf("%s: %s", body, ev.data)
		}
	}
	discover := `{"jsonrpc":"2.0","id":2,"method":"server/discover","params":{` + modernMeta + `}}`
	refused(discover)
	refused(modernHTTPCall(3, "wait", "modern"))
	post(initializeBody)
	next(t, "the answer to initialize", events)
	refused(discover)
	refused(modernHTTPCall(3, "wait", "modern"))
	post(`{"jsonrpc":"2.0","id":2,"method":"server/discover"}`)
	if ev := next(t, "the answer to discover", events); !strings.Contains(ev.data, "-32601") {
		t.Errorf("discover without _meta: %s", ev.data)
	}
	if len(f.started) != 0 {
		t.Error("the stateless call ran")
	}
}

func TestSSESessionEndsWithItsStream(t *testing.T) {
	f := serve(t, HTTPOptions{})
	resp := f.open(t, http.MethodGet, "/sse", "", nil)
	endpoint := next(t, "the endpoint", sseEvents(resp.Body)).data
	post := func(body string) httpReply { return f.raw(t, http.MethodPost, endpoint, body, nil) }
	session := next(t, "the registration", f.registered)
	post(initializeBody)
	session.Initialize() // its answer is not read here
	post(callBody("wait", "orphan"))
	next(t, "the call", f.started)
	_ = resp.Body.Close()
	next(t, "the cancellation of its call", f.cancelled)
	next(t, "the end of the session", f.gone)
	if answer := post(ping); answer.status != http.StatusNotFound {
		t.Errorf("post after the end: %d", answer.status)
	}
}

func TestSSECancelledIsNotAnswered(t *testing.T) {
	f := serve(t, HTTPOptions{})
	events, post := f.openSSEClient(t)
	post(initializeBody)
	next(t, "the answer to initialize", events)
	post(callBody("wait", "own"))
	next(t, "the call", f.started)
	post(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	next(t, "the cancellation", f.cancelled)
	post(callBody("echo", "alive"))
	if ev := next(t, "the next answer", events); !strings.Contains(ev.data, "echo alive") {
		t.Errorf("a cancelled request is answered: %s", ev.data)
	}
}

func TestSSENotificationsComeBeforeTheAnswer(t *testing.T) {
	f := serve(t, HTTPOptions{})
	events, post := f.openSSEClient(t)
	post(initializeBody)
	next(t, "the answer to initialize", events)
	for range 20 {
		post(callBody("burst", ""))
		for range 3 {
			if ev := next(t, "progress", events); !strings.Contains(ev.data, "notifications/progress") {
				t.Fatalf("before the answer: %s", ev.data)
			}
		}
		if ev := next(t, "the answer", events); !strings.Contains(ev.data, "told") {
			t.Fatalf("answer: %s", ev.data)
		}
	}
}

func TestPanicIsAnsweredAndHidden(t *testing.T) {
	log := &logBuffer{}
	f := serve(t, HTTPOptions{Logger: textLogger(log)})
	_, in := f.session(t)
	answer := f.raw(t, http.MethodPost, "/mcp", callBody("panic", ""), in)
	if answer.status != http.StatusInternalServerError || strings.Contains(answer.body, "secret") {
		t.Errorf("panic over /mcp: %d %s", answer.status, answer.body)
	}
	events, post := f.openSSEClient(t)
	post(initializeBody)
	next(t, "the answer to initialize", events)
	post(callBody("panic", ""))
	if ev := next(t, "the answer", events); !strings.Contains(ev.data, "-32603") || !strings.Contains(ev.data,
		`"id":7`) || strings.Contains(ev.data, "secret") {
		t.Errorf("panic over SSE: %s", ev.data)
	}
	if strings.Count(log.String(), "secret of the inside") < 2 {
		t.Errorf("the log lacks the panics: %s", log.String())
	}
	post(callBody("echo", "alive"))
	if ev := next(t, "the answer", events); !strings.Contains(ev.data, "echo alive") {
		t.Errorf("after the panic: %s", ev.data)
	}
}
