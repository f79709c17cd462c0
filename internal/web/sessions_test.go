package web

import (
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"github.com/planloop/planloop/internal/origin"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/verbs"
)

func enterBody(name, value string) string {
	body, _ := json.Marshal(map[string]string{name: value})
	return string(body)
}

func TestLaunchCodes(t *testing.T) {
	f, other := serve(t, nil), serve(t, nil)
	enter := func(code string) reply { return f.raw(http.MethodPost, "/api/enter", enterBody("code", code)) }
	link := f.Link(f.base)
	code, ok := strings.CutPrefix(link, f.base+"/#enter=")
	if !ok || len(code) != 26 { // 130 bits
		t.Fatalf("the link is %s", link)
	}
	first := enter(code)
	var told struct {
		Key     string
		Decides bool
	}
	first.into(t, &told)
	cookie := first.header.Get("Set-Cookie")
	if !told.Decides || len(told.Key) != 26 || !strings.HasSuffix(cookie, "; Path=/api; HttpOnly; SameSite=Strict") {
		t.Errorf("%+v, %s", told, cookie)
	}
	if strings.Contains(first.body, cookie[strings.Index(cookie, "=")+1:strings.Index(cookie, ";")]) {
		t.Error("scripts are told the cookie")
	}
	late, inTime := f.code(), f.code()
	f.clock.pass(launchLasts - time.Millisecond)
	if answer := enter(inTime); answer.status != http.StatusOK {
		t.Errorf("in time: %d", answer.status)
	}
	f.clock.pass(time.Millisecond)
	many := make([]string, maxLaunchCodes+1)
	for i := range many {
		many[i] = f.code()
		f.clock.pass(time.Millisecond)
	}
	for what, code := range map[string]string{
		"a replayed code": code, "an old code": late, "that of another server": other.code(), "a wrong one": rand.Text(),
		"the key": told.Key, "a part": many[1][:21], "more": many[1] + "A", "one of too many": many[0], "a blank": " ", "nothing": "",
	} {
		answer := enter(code)
		if refused := answer.refusal(t); answer.status != http.StatusUnauthorized || refused.Kind != notEntered ||
			refused.Field != "/code" || answer.header.Get("Set-Cookie") != "" {
			t.Errorf("%s: %d %s", what, answer.status, answer.body)
		}
	}
	if answer := enter(many[1]); answer.status != http.StatusOK {
		t.Errorf("after all: %d %s", answer.status, answer.body)
	}
}

// TestLinkThatIsUsedTwice opens nothing more, and ends the session that it opened: that may be an attacker's.
func TestLinkThatIsUsedTwice(t *testing.T) {
	twice := 0
	f := serve(t, func(o *Options) { o.OnReusedLink = func() { twice++ } })
	code := f.code()
	first, other := f.enter(enterBody("code", code)), f.launch()
	first.typeCode()
	lines, _ := first.stream()
	for range 3 {
		if answer := f.raw(http.MethodPost, "/api/enter", enterBody("code", code)); answer.status != http.StatusUnauthorized {
			t.Errorf("used again: %d %s", answer.status, answer.body)
		}
	}
	if line := next(t, lines); line != "" { // it has ended
		t.Errorf("the stream goes on: %q", line)
	}
	for what, b := range map[string]*browser{"who came by it": first, "another": other} {
		if answer := b.act("w1", "comment", map[string]any{"text": "yes"}); (answer.status == http.StatusUnauthorized) != (b == first) {
			t.Errorf("%s: %d %s", what, answer.status, answer.body)
		}
	}
	f.raw(http.MethodPost, "/api/enter", enterBody("code", rand.Text()))
	if twice != 1 {
		t.Errorf("it was told %d times", twice)
	}
}

// TestOtherUsersStayOut with any credentials; a link that they try stays valid.
func TestOtherUsersStayOut(t *testing.T) {
	if os.Geteuid() < 0 {
		t.Skip("users have no numbers here")
	}
	const token = "the-token-of-the-server"
	for what, c := range map[string]struct {
		uid   int
		known bool
		out   bool
	}{
		"another user": {os.Geteuid() + 1, true, true}, "who has gone": {-1, true, true},
		"root": {0, true, false}, "our own": {os.Geteuid(), true, false}, "where nothing tells": {os.Geteuid() + 1, false, false},
	} {
		for _, looking := range []ViewAccess{{Anyone: true}, {Token: token}} {
			f := serve(t, func(o *Options) { o.ViewAccess = looking })
			f.owner = func(client, server string) (int, bool) {
				if !strings.HasPrefix(client, "127.0.0.1:") || server != f.host {
					t.Errorf("asked for %s to %s", client, server)
				}
				return c.uid, c.known
			}
			bodies := []string{enterBody("code", f.code()), "{}"}
			if looking.Token != "" {
				bodies[1] = enterBody("token", token)
			}
			for _, body := range bodies {
				if answer := f.raw(http.MethodPost, "/api/enter", body); (answer.status == http.StatusForbidden) != c.out ||
					(answer.status == http.StatusOK) == c.out {
					t.Errorf("%s: %d %s", what, answer.status, answer.body)
				}
			}
			if f.owner = origin.ConnectionOwner; c.out {
				f.enter(bodies[0])
			}
		}
	}
}

// TestWrongCodesAreBounded: a flood of wrong codes does not keep out the right one.
func TestWrongCodesAreBounded(t *testing.T) {
	t.Parallel()
	f := serve(t, nil)
	f.Server.enter.SetLimit(rate.Every(time.Hour)) // however long the test takes
	code := f.code()
	refused := 0
	for range 40 {
		answer := f.raw(http.MethodPost, "/api/enter", enterBody("code", rand.Text()))
		if answer.status == http.StatusTooManyRequests {
			refused++
			if answer.header.Get("Retry-After") != "1" || answer.refusal(t).Kind != tooMany {
				t.Errorf("%v %s", answer.header, answer.body)
			}
		}
	}
	if refused != 20 {
		t.Errorf("of 40 wrong codes %d were refused as too many", refused)
	}
	if answer := f.raw(http.MethodPost, "/api/enter", enterBody("code", code)); answer.status != http.StatusOK {
		t.Errorf("the right one: %d %s", answer.status, answer.body)
	}
}

func TestSessionsEndWithTheServer(t *testing.T) {
	f := serve(t, nil)
	b := f.launch()
	other := serve(t, nil)
	elsewhere := &browser{f: other, key: b.key, cookie: &http.Cookie{Name: cookieName(other.host), Value: b.cookie.Value}}
	if answer := elsewhere.get("/api/inbox"); answer.status != http.StatusUnauthorized {
		t.Errorf("a session of another server: %d", answer.status)
	}
	second := f.launch()
	mixed := &browser{f: f, cookie: b.cookie, key: second.key}
	if answer := mixed.get("/api/inbox"); answer.status != http.StatusUnauthorized {
		t.Errorf("the key of another session: %d", answer.status)
	}
	code := f.code()
	f.Close()
	if answer := b.get("/api/inbox"); answer.status != http.StatusUnauthorized {
		t.Errorf("after the end: %d", answer.status)
	}
	if answer := f.raw(http.MethodPost, "/api/enter", enterBody("code", code)); answer.status != http.StatusUnauthorized {
		t.Errorf("a code after the end: %d", answer.status)
	}
}

// TestSessionsEndWithoutUse: a page that is left open does not keep its session, one that is used does.
func TestSessionsEndWithoutUse(t *testing.T) {
	f := serve(t, func(o *Options) { o.Heartbeat = time.Millisecond })
	used, left := f.launch(), f.launch()
	lines, _ := left.stream()
	for range 3 {
		f.clock.pass(sessionLasts / 2)
		if answer := used.get("/api/inbox"); answer.status != http.StatusOK {
			t.Fatalf("it is used: %d %s", answer.status, answer.body)
		}
	}
	for next(t, lines) != "" { // until the stream ends
	}
	answer := left.get("/api/inbox")
	if answer.status != http.StatusUnauthorized || !strings.Contains(answer.refusal(t).Fix, "press Enter in the terminal") {
		t.Errorf("it was left: %d %s", answer.status, answer.body)
	}
	f.EndSessions()
	if answer := used.get("/api/inbox"); answer.status != http.StatusUnauthorized {
		t.Errorf("after the word of the terminal: %d", answer.status)
	}
	if answer := f.launch().get("/api/inbox"); answer.status != http.StatusOK {
		t.Errorf("a new one: %d %s", answer.status, answer.body)
	}
}

// TestSessionEndsUnderARequest: a request in progress when its session ends is not performed.
func TestSessionEndsUnderARequest(t *testing.T) {
	f := serve(t, nil)
	b := f.launch()
	for _, path := range []string{"/api/act", "/api/code", "/api/unlock"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, f.base+path, onRead{strings.NewReader("{}"), f.EndSessions})
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{"Content-Type": "application/json", "Origin": f.base, "Expect": "100-continue"} {
			req.Header.Set(name, value)
		}
		b.in(req)
		transport := &http.Transport{ExpectContinueTimeout: time.Minute} // the body is read once the server asks for it
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		transport.CloseIdleConnections()
		if resp.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s: %s", path, resp.Status)
		}
		b = f.launch()
	}
}

// onRead runs a function before each read.
type onRead struct {
	io.Reader
	do func()
}

func (r onRead) Read(p []byte) (int, error) {
	r.do()
	return r.Reader.Read(p)
}

func TestOldestIdleSessionsEnd(t *testing.T) {
	t.Parallel()
	f := serve(t, func(o *Options) { o.ViewAccess.Anyone = true })
	inside := func(b *browser) bool { return b.get("/api/inbox").status == http.StatusOK }
	looks := f.enter("{}")
	var deciders []*browser
	for range maxSessions - 1 {
		deciders = append(deciders, f.launch())
		f.clock.pass(time.Second)
	}
	f.clock.pass(time.Second)
	if !inside(looks) {
		t.Fatal("who looks was sent away early")
	}
	again := f.enter("{}")
	if inside(looks) || !inside(again) {
		t.Error("one that looks does not take the place of the other")
	}
	_, _ = deciders[0].stream() // the oldest, and not idle
	f.clock.pass(time.Second)
	if !inside(deciders[1]) {
		t.Error("a session ended early")
	}
	more := []*browser{f.launch(), f.launch()}
	for what, c := range map[string]struct {
		b    *browser
		want bool
	}{
		"who only looks": {again, false}, "who watches": {deciders[0], true}, "who was just here": {deciders[1], true},
		"who is idle longest": {deciders[2], false}, "the next": {deciders[3], true},
		"the last but one": {more[0], true}, "the last": {more[1], true},
	} {
		if got := inside(c.b); got != c.want {
			t.Errorf("%s is inside: %v", what, got)
		}
	}
	if answer := f.raw(http.MethodPost, "/api/enter", "{}"); answer.status != http.StatusServiceUnavailable {
		t.Errorf("one that looks among deciders alone: %d", answer.status)
	}
	for range maxSessions {
		f.launch()
		f.clock.pass(time.Second)
	}
	if !inside(deciders[0]) || inside(deciders[1]) || len(f.sessions.sessions) != maxSessions {
		t.Error("who watches has to go before who does not, or there are too many sessions")
	}
}

func TestWhoMayLook(t *testing.T) {
	const token = "the-token-of-the-server"
	for what, c := range map[string]struct {
		looking ViewAccess
		body    string
		status  int
		field   string // that a refusal asks for
	}{
		"nobody, nothing given":          {ViewAccess{}, `{}`, 401, "/code"},
		"nobody, a token":                {ViewAccess{}, enterBody("token", token), 401, "/code"},
		"nobody, an empty token":         {ViewAccess{}, `{"token":""}`, 401, "/code"},
		"anyone":                         {ViewAccess{Anyone: true}, `{}`, 200, ""},
		"anyone, a wrong code":           {ViewAccess{Anyone: true}, enterBody("code", rand.Text()), 401, "/code"},
		"who has the token":              {ViewAccess{Token: token}, enterBody("token", token), 200, ""},
		"who has the token, none given":  {ViewAccess{Token: token}, `{}`, 401, "/token"},
		"who has the token, a wrong one": {ViewAccess{Token: token}, enterBody("token", token+"x"), 401, "/token"},
		"who has the token, as a code":   {ViewAccess{Token: token}, enterBody("code", token), 401, "/code"},
		"an unknown field":               {ViewAccess{Anyone: true}, `{"Token":"x"}`, 422, "/Token"},
		"twice":                          {ViewAccess{Anyone: true}, `{"token":"x","token":"y"}`, 422, "/token"},
		"a list":                         {ViewAccess{Anyone: true}, `[1]`, 422, ""},
		"no JSON":                        {ViewAccess{Anyone: true}, `code=1`, 422, ""},
	} {
		f := serve(t, func(o *Options) { o.ViewAccess = c.looking })
		answer := f.raw(http.MethodPost, "/api/enter", c.body, header("Authorization", "Bearer "+token))
		if answer.status != c.status {
			t.Errorf("%s: %d %s", what, answer.status, answer.body)
			continue
		}
		if c.status != http.StatusOK {
			if got := answer.refusal(t).Field; got != c.field {
				t.Errorf("%s: asks for %q", what, got)
			}
			continue
		}
		f.submit("w1")
		b := f.enter(c.body)
		v := b.view("w1")
		if v.Can.Decide || v.Can.Why == "" || v.Draft == nil {
			t.Errorf("%s: %+v", what, v.Can)
		}
		mayNothing(t, f, b, v)
	}
}

// TestServerThatOnlyShows refuses every decision, with the reason, also to a session from a link.
func TestServerThatOnlyShows(t *testing.T) {
	const why = "planloop was started by an agent"
	f := serve(t, func(o *Options) { o.Refusal = why })
	f.submit("w1")
	b := f.launch()
	v := b.view("w1")
	says := func(told string) bool {
		return strings.Contains(told, why) && strings.Contains(told, "run `planloop review`")
	}
	if v.Can.Decide || !says(v.Can.Why) {
		t.Errorf("%+v", v.Can)
	}
	if told := mayNothing(t, f, b, v); !says(told.Problem) {
		t.Errorf("%+v", told)
	}
}

// mayNothing tries to decide, and to be allowed to.
func mayNothing(t *testing.T, f *fixture, b *browser, v review.View) (told refusal) {
	t.Helper()
	for _, act := range []string{"approve", "return", "reject", "comment", "answer"} {
		answer := b.act("w1", act, decision(v))
		told = answer.refusal(t)
		if answer.status != http.StatusForbidden || told.Kind != forbidden {
			t.Errorf("%s: %d %s", act, answer.status, answer.body)
		}
	}
	if answer := b.post("/api/code", map[string]any{"workspace": "w1"}); answer.status != http.StatusForbidden || len(f.shown) > 0 {
		t.Errorf("a code: %d, %d are shown", answer.status, len(f.shown))
	}
	if answer := b.post("/api/unlock", map[string]any{"code": "000000"}); answer.status == http.StatusOK {
		t.Error("unlocked")
	}
	if after := b.view("w1"); after.Revision != v.Revision {
		t.Error("something was changed")
	}
	return told
}

func TestCodeOfTheTerminal(t *testing.T) {
	wrong := 0
	f := serve(t, func(o *Options) { o.OnWrongCode = func() { wrong++ } })
	f.submit("w1")
	b, other := f.launch(), f.launch()
	ask := func(b *browser) string {
		t.Helper()
		if answer := b.post("/api/code", map[string]any{"workspace": "w1"}); answer.status != http.StatusOK || answer.body != "{}" {
			t.Fatal(answer.body)
		}
		code := next(t, f.shown)
		if len(code) != 6 {
			t.Errorf("the code is %q", code)
		}
		return code
	}
	unlock := func(b *browser, code string) reply { return b.post("/api/unlock", map[string]any{"code": code}) }
	is := func(what string, answer reply, status int) {
		t.Helper()
		if answer.status != status {
			t.Errorf("%s: %d %s", what, answer.status, answer.body)
		}
	}
	is("none was asked for", unlock(b, "123456"), 409)
	code := ask(b)
	is("by another session", unlock(other, code), 409)
	f.clock.pass(codeLasts)
	is("an old one", unlock(b, code), 409)
	first, second := ask(b), ask(b)
	if first != second {
		is("one that was replaced", unlock(b, first), 422)
		if wrong != 1 {
			t.Errorf("the terminal heard of %d wrong codes", wrong)
		}
	}
	answer := unlock(b, " "+second+" ")
	is("the right one", answer, 200)
	is("twice", unlock(b, second), 409)
	var told struct{ Unlock string }
	answer.into(t, &told)

	approve := func(b *browser, proof ...string) reply { // and every other act of the page
		var answers []reply
		for _, name := range append(review.ActNames(), "approve") {
			body := `{"workspace":"w1","act":"` + name + `","input":{"nothing":true}}`
			answer := f.raw(http.MethodPost, "/api/act", body, b.in, header("Planloop-Unlock", proof...))
			answers = append(answers, answer)
			if answer.status != answers[0].status || answer.status == http.StatusForbidden &&
				(answer.refusal(t).Kind != locked || answer.refusal(t).Problem != "the code from the terminal is required") {
				t.Errorf("%s: %d %s", name, answer.status, answer.body)
			}
		}
		return answers[0]
	}
	is("of another session", approve(other, told.Unlock), 403)
	is("a wrong proof", approve(b, rand.Text()), 403)
	is("the code itself", approve(b, second), 403)
	is("none", approve(b), 403)
	is("two", approve(b, told.Unlock, told.Unlock), 403)
	is("the proof", approve(b, told.Unlock), 422) // allowed, and then its input is read
	f.clock.pass(proofLasts)
	is("the proof before it ends", approve(b, told.Unlock), 422)
	f.clock.pass(proofLasts)
	if b.unlock = told.Unlock; b.view("w1").Can.Code {
		t.Error("a page is not told that it may decide")
	}
	b.unlock = ""
	f.clock.pass(time.Second) // since it acted; it has only looked since
	is("an old proof", approve(b, told.Unlock), 403)
}

// TestCodeLasts: a typed code counts for eight hours without an act, and for one where only a person's own decision counts.
func TestCodeLasts(t *testing.T) {
	f := prepare(t, nil)
	f.workspaces.sheets["w2"] = open(t, "w2", func(o *verbs.Options) { o.Limits.PersonOnly = true })
	f.serve()
	b := f.launch()
	if code := b.post("/api/code", map[string]any{"workspace": "w2"}); code.status != http.StatusOK {
		t.Fatalf("a code: %s", code.body)
	}
	var told struct{ Unlock string }
	b.post("/api/unlock", map[string]any{"code": next(t, f.shown)}).into(t, &told)
	b.unlock = told.Unlock
	for _, step := range []struct {
		after        time.Duration
		code, strict bool // needed again
	}{{time.Hour, false, false}, {time.Second, false, true}, {7*time.Hour - time.Second, false, true}, {time.Second, true, true}} {
		f.clock.pass(step.after)
		if code, strict := b.view("w1").Can.Code, b.view("w2").Can.Code; code != step.code || strict != step.strict {
			t.Errorf("after another %s a code is needed: %t, under approval: person %t", step.after, code, strict)
		}
	}
}

// atWork is the agents at work, as their hooks attest them.
type atWork []verbs.ActiveAgent

func (atWork) Called(string)                 {}
func (a atWork) Agents() []verbs.ActiveAgent { return a }

// TestCodeIsAskedForWhereAgentsAreHeld: enforcing every agent proves nothing about the user's other programs, such as
// one started before planning mode began.
func TestCodeIsAskedForWhereAgentsAreHeld(t *testing.T) {
	f := prepare(t, nil)
	f.workspaces.sheets["w1"] = open(t, "w1", func(o *verbs.Options) {
		o.Hooks = atWork{{Agent: "ann", Host: "claude", Answered: time.Now().Add(time.Hour)}}
	})
	f.serve()
	f.submit("w1")
	b := f.launch()
	v := b.view("w1")
	if len(v.Agents) != 1 || v.Agents[0].State != verbs.Enforced || !v.Can.Decide || !v.Can.Code {
		t.Errorf("held by %+v, %+v", v.Agents, v.Can)
	}
	if answer := b.act("w1", "approve", decision(v)); answer.status != http.StatusForbidden || answer.refusal(t).Kind != locked {
		t.Errorf("approved without the code: %d %s", answer.status, answer.body)
	}
}

func TestNoTerminalToShowACode(t *testing.T) {
	f := serve(t, func(o *Options) { o.ShowCode = nil })
	answer := f.launch().post("/api/code", map[string]any{"workspace": "w1"})
	if told := answer.refusal(t); answer.status != http.StatusForbidden || !strings.Contains(told.Problem, "terminal") {
		t.Errorf("%d %s", answer.status, answer.body)
	}
	broken := serve(t, func(o *Options) {
		o.ShowCode = func(review.Place, string) error { return fmt.Errorf("the terminal is gone") }
	})
	answer = broken.launch().post("/api/code", map[string]any{"workspace": "w1"})
	if answer.status != http.StatusInternalServerError {
		t.Errorf("%d %s", answer.status, answer.body)
	}
}

// TestGuessingTheCodeIsHopeless: all sessions together have three tries, and then growing pauses until the right code
// is typed.
func TestGuessingTheCodeIsHopeless(t *testing.T) {
	f := prepare(t, nil)
	inside := func() *session {
		cookie, _, err := f.sessions.open(true, "")
		if err != nil {
			t.Fatal(err)
		}
		return f.sessions.sessions[digestOf(cookie)]
	}
	a, b := inside(), inside()
	guess := func(s *session) string {
		_, err := f.sessions.unlock(s, "no")
		return string(refusalOf(err).Kind)
	}
	pause := firstPause
	for round := range 12 {
		if _, err := f.sessions.newCode(a); err != nil {
			t.Fatal(round, err)
		}
		codeOfB, err := f.sessions.newCode(b)
		if err != nil {
			t.Fatal(round, err)
		}
		for i, s := range []*session{a, b, a} {
			if got := guess(s); got != "invalid_input" {
				t.Errorf("round %d, guess %d: %s", round, i, got)
			}
		}
		if _, err := f.sessions.unlock(b, codeOfB); err == nil || refusalOf(err).Kind != tooMany || refusalOf(err).after != pause {
			t.Errorf("round %d, the right one in the pause: %v", round, err)
		}
		if _, err := f.sessions.newCode(b); err == nil || refusalOf(err).Kind != tooMany {
			t.Errorf("round %d, a new code in the pause: %v", round, err)
		}
		f.clock.pass(pause)
		if got := guess(a); got != "conflict" {
			t.Errorf("round %d, the code of the third guess: %s", round, got)
		}
		pause = min(2*pause, longestWait)
	}
	if pause != longestWait {
		t.Errorf("the pause grew to %s", pause)
	}
	code, err := f.sessions.newCode(a)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.sessions.unlock(a, code); err != nil {
		t.Fatal(err)
	}
	if f.sessions.guesses != (guesses{}) {
		t.Errorf("after the right one: %+v", f.sessions.guesses)
	}
}

func TestCodesAreNotWrittenWithoutBound(t *testing.T) {
	f := serve(t, nil)
	f.codes.SetLimit(0)
	b := f.launch()
	for i := range 5 {
		answer := b.post("/api/code", map[string]any{"workspace": "w1"})
		want := http.StatusOK
		if i >= 3 {
			want = http.StatusTooManyRequests
		}
		if answer.status != want {
			t.Errorf("code %d: %d %s", i, answer.status, answer.body)
		}
	}
	if len(f.shown) != 3 {
		t.Errorf("%d codes are shown", len(f.shown))
	}
}
