package teamserver_test

import (
	"bufio"
	"context"
	"encoding/json" // as the browser writes it
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/descope/virtualwebauthn"

	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/teamserver"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

const pageAddress = "https://plans.example.com"

// browser is a person's browser, with a passkey in it.
type browser struct {
	t       *testing.T
	address string
	servers []string          // that answer in turn, in place of address
	headers map[string]string // in place of what a browser sends
	cookies map[string]*http.Cookie
	key     string // of the page's session
	rp      virtualwebauthn.RelyingParty
	device  virtualwebauthn.Authenticator
	passkey virtualwebauthn.Credential
	sent    map[string]any // the last answer of the passkey

	ctx       context.Context
	transport http.RoundTripper // nil: the default
}

func (w *world) browser() *browser {
	rp := virtualwebauthn.RelyingParty{ID: "plans.example.com", Name: "planloop", Origin: pageAddress}
	return &browser{t: w.t, ctx: w.t.Context(), address: w.http.URL, rp: rp, headers: map[string]string{},
		cookies: map[string]*http.Cookie{}, device: virtualwebauthn.NewAuthenticator(), passkey: newPasskey()}
}

// newPasskey returns a new passkey. The virtual authenticator drops zeros at the beginning of a coordinate, so that one key in 128 would
// not be valid.
func newPasskey() virtualwebauthn.Credential {
	const complete = 77 // bytes
	for {
		if c := virtualwebauthn.NewCredential(virtualwebauthn.KeyTypeEC2); len(c.Key.AttestationData()) == complete {
			return c
		}
	}
}

// ask sends a request as a page of the server would, and returns the status and the body.
func (b *browser) ask(method, path string, in any) (int, string) {
	b.t.Helper()
	answer := b.send(method, path, in)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	check(b.t, err)
	return answer.StatusCode, string(data)
}

func (b *browser) send(method, path string, in any) *http.Response {
	b.t.Helper()
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		check(b.t, err)
		body = strings.NewReader(string(data))
	}
	address := b.address
	if len(b.servers) > 0 {
		address = b.servers[0]
		b.servers = append(b.servers[1:], address)
	}
	request, err := http.NewRequestWithContext(b.ctx, method, address+path, body)
	check(b.t, err)
	request.Host = "plans.example.com"
	if method == "POST" {
		request.Header.Set("Origin", pageAddress)
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Planloop-Key", b.key)
	for _, cookie := range b.cookies {
		request.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
	}
	for name, value := range b.headers {
		if request.Header.Set(name, value); name == "Host" {
			request.Host = value
		}
	}
	client := &http.Client{Transport: b.transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	answer, err := client.Do(request)
	check(b.t, err)
	for _, cookie := range answer.Cookies() {
		b.cookies[cookie.Name] = cookie
	}
	return answer
}

// must sends a request that must succeed, and decodes the answer.
func (b *browser) must(method, path string, in, out any) {
	b.t.Helper()
	status, body := b.ask(method, path, in)
	if status != 200 {
		b.t.Fatalf("%s %s: %d %s", method, path, status, body)
	}
	if out != nil {
		check(b.t, json.Unmarshal([]byte(body), out))
	}
}

// refuse sends a request that must fail with a status.
func (b *browser) refuse(want int, method, path string, in any) string {
	b.t.Helper()
	status, body := b.ask(method, path, in)
	if status != want {
		b.t.Errorf("%s %s: %d %s, want %d", method, path, status, body, want)
	}
	return body
}

// register makes a passkey with an invitation.
func (b *browser) register(invitation string) *browser {
	b.t.Helper()
	var options json.RawMessage
	b.must("POST", "/invite/begin", map[string]any{"invitation": invitation}, &options)
	parsed, err := virtualwebauthn.ParseAttestationOptions(string(options))
	check(b.t, err)
	made := virtualwebauthn.CreateAttestationResponse(b.rp, b.device, b.passkey, *parsed)
	b.sent = map[string]any{"invitation": invitation, "credential": json.RawMessage(made)}
	b.device.Options.UserHandle = []byte(parsed.UserID)
	b.device.AddCredential(b.passkey)
	return b.enter("/invite/finish", b.sent)
}

// sign answers a new challenge with the passkey.
func (b *browser) sign() map[string]any {
	b.t.Helper()
	var options json.RawMessage
	b.must("POST", "/signin/begin", struct{}{}, &options)
	return b.answer(options)
}

// answer signs a challenge.
func (b *browser) answer(options []byte) map[string]any {
	b.t.Helper()
	parsed, err := virtualwebauthn.ParseAssertionOptions(string(options))
	check(b.t, err)
	return map[string]any{"credential": json.RawMessage(virtualwebauthn.CreateAssertionResponse(b.rp, b.device, b.passkey, *parsed))}
}

func (b *browser) signIn() *browser {
	b.t.Helper()
	b.sent = b.sign()
	return b.enter("/signin/finish", b.sent)
}

// enter finishes a sign-in, and keeps the key as the page's script does.
func (b *browser) enter(path string, with any) *browser {
	b.t.Helper()
	var in struct{ Key string }
	if b.must("POST", path, with, &in); in.Key == "" {
		b.t.Error("the sign-in has no key")
	}
	b.key = in.Key
	return b
}

func (b *browser) view(workspace string) (v review.View) {
	b.t.Helper()
	b.must("GET", "/api/view?workspace="+url.QueryEscape(workspace), nil, &v)
	return v
}

// approval is the request that approves the plan that a browser is shown.
func (b *browser) approval(workspace string) map[string]any {
	b.t.Helper()
	v := b.view(workspace)
	if v.Draft == nil {
		b.t.Fatal("no plan waits")
	}
	return map[string]any{"workspace": workspace, "log": v.Log, "act": "approve",
		"input": map[string]any{"request": v.Draft.Request, "digest": v.Draft.Plan.Digest}}
}

func (w *world) invite(member string) string {
	w.t.Helper()
	secret, err := w.admin.Invite(w.t.Context(), w.team, member)
	check(w.t, err)
	return secret
}

// member returns the browser of a registered member with the page open.
func (w *world) member(name string) *browser {
	w.t.Helper()
	return w.browser().register(w.invite(name))
}

func (w *world) submit(agent *client) {
	w.t.Helper()
	w.as("ann", teamwire.RoleMember).do(setUp("Begin"))
	agent.do(plan.EnterMode{})
	agent.do(plan.SubmitPlan{Outline: plan.Outline{Objective: "Ship the shop"},
		Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Write it"}}}})
}

func TestAMemberRegistersAndSignsIn(t *testing.T) {
	w := newWorld(t)
	ann := w.browser()
	if answer := ann.send("GET", "/", nil); answer.StatusCode != 303 || answer.Header.Get("Location") != "/signin" {
		t.Errorf("a stranger's browser gets %d", answer.StatusCode)
	}
	answer := ann.send("GET", "/invite", nil)
	if policy := answer.Header.Get("Content-Security-Policy"); answer.StatusCode != 200 || !strings.Contains(policy, "script-src 'self'") {
		t.Errorf("the page has %d and the policy %q", answer.StatusCode, policy)
	}
	invitation := w.invite("ann")
	ann.register(invitation)
	cookie := ann.cookies["__Host-planloop"]
	if cookie == nil || !cookie.Secure || !cookie.HttpOnly || cookie.SameSite != http.SameSiteStrictMode || cookie.Path != "/" ||
		cookie.Domain != "" || cookie.MaxAge != 12*60*60 {
		t.Errorf("the cookie is %+v", cookie)
	}
	w.as("ann", teamwire.RoleMember).do(setUp("Ship the shop"))
	if v := ann.view("shop/main"); v.Plan == nil || v.Plan.Objective != "Ship the shop" || !v.Can.Decide || v.Can.Code {
		t.Errorf("the view is %+v", v)
	}
	var inbox review.Inbox
	if ann.must("GET", "/api/inbox", nil, &inbox); len(inbox.Workspaces) != 1 || inbox.Workspaces[0].ID != "shop/main" {
		t.Errorf("the inbox is %+v", inbox)
	}
	ann.must("GET", "/", nil, nil) // again, with the session
	ann.must("POST", "/signin/out", struct{}{}, nil)
	ann.refuse(401, "GET", "/api/inbox", nil)
	if cookie := ann.cookies["__Host-planloop"]; cookie.MaxAge != -1 || cookie.Value != "" {
		t.Errorf("after signing out the cookie is %+v", cookie)
	}
	ann.signIn().view("shop/main")
	var ways struct{ In, Account bool }
	if ann.must("POST", "/signin/ways", struct{}{}, &ways); !ways.In || ways.Account {
		t.Errorf("the ways are %+v", ways)
	}
	ann.key = ""
	if ann.must("POST", "/signin/ways", struct{}{}, &ways); ways.In {
		t.Error("without its key a browser counts as signed in")
	}
}

// TestAnyServerAnswers fails if a request of a page depends on the server that answered the one before, or on its memory.
func TestAnyServerAnswers(t *testing.T) {
	w, p := withAccounts(t)
	servers := []string{w.http.URL}
	for range 2 {
		servers = append(servers, w.serve(teamserver.Options{Address: pageAddress, Provider: w.provider(p)}).URL)
	}
	check(t, w.admin.SetSettings(t.Context(), w.team, "", []byte(`{"approvals": 2, "proof": "passkey"}`)))
	ann, bob := w.browser(), w.browser()
	ann.servers, bob.servers = servers, append([]string{servers[1], servers[2]}, servers[0])
	ann.register(w.invite("ann")).signIn()
	ann.enter("/signin/account/finish", p.login(ann.toProvider()))
	bob.register(w.invite("bob"))
	check(t, w.admin.AddMember(t.Context(), w.team, "eve", teamwire.RoleMember, ""))
	w.submit(w.as("eve", teamwire.RoleAgent))
	for _, b := range []*browser{ann, bob} {
		for range servers { // each has seen the plan, and none is behind
			if v := b.view("shop/main"); v.Draft == nil {
				t.Error("a server shows no plan")
			}
		}
		known := b.view("shop/main")
		var next review.View
		b.must("GET", "/api/view?workspace=shop%2Fmain&known="+known.Tag, nil, &next)
		if next.Draft == nil || len(next.Draft.Plan.Steps) != 1 {
			t.Errorf("a server that did not send the view before leaves out its steps: %+v", next.Draft)
		}
		var shown struct{ Options json.RawMessage }
		b.must("POST", "/approve/begin", map[string]any{"workspace": "shop/main"}, &shown)
		b.must("POST", "/approve/finish", b.answer(shown.Options), nil)
	}
	for range servers {
		if v := ann.view("shop/main"); v.Draft != nil || v.Plan == nil {
			t.Error("a server does not show the approval")
		}
	}
	ann.must("POST", "/signin/out", struct{}{}, nil)
	for range servers {
		ann.refuse(401, "GET", "/api/inbox", nil)
	}
}

// TestMembersVote fails if an approval on the page is not a vote under the team's policy.
func TestMembersVote(t *testing.T) {
	w := newWorld(t)
	check(t, w.admin.AddMember(t.Context(), w.team, "eve", teamwire.RoleMember, ""))
	check(t, w.admin.SetSettings(t.Context(), w.team, "", []byte(`{"approvals": 2}`)))
	ann, bob, eve := w.member("ann"), w.member("bob"), w.member("eve")
	w.submit(w.as("bob", teamwire.RoleAgent))
	first := ann.approval("shop/main")
	ann.must("POST", "/api/act", first, nil)
	check(t, w.admin.RemoveMember(t.Context(), w.team, "ann"))
	check(t, w.admin.AddMember(t.Context(), w.team, "ann", teamwire.RoleMember, ""))
	ann = w.member("ann")
	if text := fmt.Sprint(eve.view("shop/main").Draft.Situation); !strings.Contains(text, "2 approvals") {
		t.Errorf("a vote counts again after its member left and came back: %s", text)
	}
	ann.must("POST", "/api/act", ann.approval("shop/main"), nil)
	for who, want := range map[*browser]string{ann: "approved this plan already", bob: "you submitted this plan", eve: ""} {
		v := who.view("shop/main")
		var inbox review.Inbox
		if who.must("GET", "/api/inbox", nil, &inbox); v.Draft == nil || !strings.Contains(v.Draft.NoVote, want) ||
			(v.Draft.NoVote == "") != (want == "") || len(inbox.Waiting) != len(v.Waiting) || (len(v.Waiting) == 1) != (want == "") {
			t.Errorf("a page where %q has %+v, %+v", want, v.Draft, inbox.Waiting)
		}
	}
	if v := eve.view("shop/main"); v.Phase != plan.PhaseSubmitted || v.Draft == nil {
		t.Errorf("after one vote of two the phase is %s", v.Phase)
	} else if text := fmt.Sprint(v.Headline, v.Situation, v.Draft.Situation, v.Waiting); !strings.Contains(text, "1 more approval") {
		t.Errorf("the page does not say what is missing: %s", text)
	}
	body := bob.refuse(409, "POST", "/api/act", bob.approval("shop/main"))
	if !strings.Contains(body, "you submitted this plan") {
		t.Errorf("the submitter's vote is refused with %s", body)
	}
	ann.refuse(409, "POST", "/api/act", ann.approval("shop/main")) // a second vote
	eve.must("POST", "/api/act", eve.approval("shop/main"), nil)
	v := eve.view("shop/main")
	if v.Draft != nil || v.Plan == nil || v.Plan.Approval == nil || v.Plan.Approval.By != "ann and eve" || v.Decision.By != "ann and eve" {
		t.Errorf("after both votes the view is %+v", v)
	}
}

// TestADecisionNeedsAFreshSignIn fails if a sign-in of more than an hour ago decides.
func TestADecisionNeedsAFreshSignIn(t *testing.T) {
	w := newWorld(t)
	ann := w.member("ann")
	w.submit(w.as("bob", teamwire.RoleAgent))
	approval := ann.approval("shop/main")
	_, err := w.db.Pool().Exec(t.Context(), "UPDATE signin SET since = now() - interval '61 minutes'")
	check(t, err)
	if v := ann.view("shop/main"); v.Can.Decide {
		t.Error("an old sign-in may decide")
	}
	if body := ann.refuse(403, "POST", "/api/act", approval); !strings.Contains(body, "sign in again") {
		t.Errorf("the refusal is %s", body)
	}
	ann.signIn().must("POST", "/api/act", approval, nil)
	_, err = w.db.Pool().Exec(t.Context(), "UPDATE signin SET expires = now() - interval '1 second'")
	check(t, err)
	ann.refuse(401, "GET", "/api/inbox", nil)
}

// TestAttacksOnTheSignIn fails if a secret works twice, or elsewhere than it should.
func TestAttacksOnTheSignIn(t *testing.T) {
	w := newWorld(t)
	invitation := w.invite("ann")
	ann := w.browser()
	ann.register(invitation)
	mallory := w.browser()
	mallory.refuse(403, "POST", "/invite/begin", map[string]any{"invitation": invitation})
	mallory.refuse(403, "POST", "/invite/finish", ann.sent)
	mallory.refuse(403, "POST", "/invite/begin", map[string]any{"invitation": ""})

	// Two browsers begin with one invitation: one of them gets it. Bob's invitation is not for Ann's passkey.
	second := w.invite("bob")
	var options json.RawMessage
	mallory.must("POST", "/invite/begin", map[string]any{"invitation": second}, &options)
	parsed, err := virtualwebauthn.ParseAttestationOptions(string(options))
	check(t, err)
	w.browser().register(second)
	made := json.RawMessage(virtualwebauthn.CreateAttestationResponse(mallory.rp, mallory.device, mallory.passkey, *parsed))
	mallory.refuse(403, "POST", "/invite/finish", map[string]any{"invitation": second, "credential": made})
	mallory.refuse(403, "POST", "/invite/finish", map[string]any{"invitation": w.invite("ann"), "credential": made})

	ann.signIn()
	mallory.refuse(403, "POST", "/signin/finish", ann.sent) // replayed
	if len(mallory.cookies) != 0 {
		t.Errorf("the attacker got %v", mallory.cookies)
	}
	forged := *ann
	forged.passkey = newPasskey()
	forged.passkey.ID = ann.passkey.ID
	mallory.refuse(403, "POST", "/signin/finish", forged.sign())
	elsewhere := *ann
	elsewhere.rp.Origin = "https://plans.example.org"
	mallory.refuse(403, "POST", "/signin/finish", elsewhere.sign())
	unverified := *ann
	unverified.device.Options.UserNotVerified = true
	mallory.refuse(403, "POST", "/signin/finish", unverified.sign())
	other := *ann
	other.device.Options.UserHandle = []byte{0, 0, 0, 0, 0, 0, 0, 99}
	mallory.refuse(403, "POST", "/signin/finish", other.sign())
	late := ann.sign()
	_, err = w.db.Pool().Exec(t.Context(), "UPDATE challenge SET expires = now() - interval '1 second'")
	check(t, err)
	mallory.refuse(403, "POST", "/signin/finish", late)
	for name, value := range map[string]string{"Origin": "https://evil.example.com", "Sec-Fetch-Site": "same-site",
		"Host": "evil.example.com", "Content-Type": "text/plain"} {
		b := w.browser()
		b.headers[name] = value
		if status, body := b.ask("POST", "/signin/begin", struct{}{}); status != 403 && status != 400 {
			t.Errorf("%s: %s: %d %s", name, value, status, body)
		}
	}
	check(t, w.admin.RemoveMember(t.Context(), w.team, "ann"))
	mallory.refuse(403, "POST", "/signin/finish", ann.sign())
	if _, err := w.admin.Invite(t.Context(), w.team, "ann"); err == nil {
		t.Error("a removed member was invited")
	}
}

// TestAttacksOnThePage fails if the page answers without a person's own session.
func TestAttacksOnThePage(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.member("ann"), w.member("bob")
	w.submit(w.as("bob", teamwire.RoleAgent))
	approval := ann.approval("shop/main")

	thief := w.browser() // has tokens, but no cookie
	for _, role := range []teamwire.Role{teamwire.RoleMember, teamwire.RoleAdmin} {
		thief.headers["Authorization"], thief.key = "Bearer "+w.token(w.team, "ann", role), ann.key
		thief.refuse(401, "POST", "/api/act", approval)
		thief.refuse(401, "POST", "/approve/begin", map[string]any{"workspace": "shop/main"})
		thief.refuse(401, "POST", "/signin/out", struct{}{})
		thief.cookies["__Host-planloop"] = &http.Cookie{Name: "__Host-planloop", Value: thief.headers["Authorization"][7:]}
		thief.refuse(401, "GET", "/api/inbox", nil)
	}
	half := *ann // the cookies without the key of the page's storage, as a server on another port of this host gets them
	for _, half.key = range []string{"", "guess", bob.key} {
		half.refuse(401, "POST", "/api/act", approval)
		half.refuse(401, "GET", "/api/view?workspace=shop%2Fmain", nil)
		half.refuse(401, "POST", "/approve/begin", map[string]any{"workspace": "shop/main"})
	}
	ann.refuse(404, "POST", "/api/enter", struct{}{}) // no way in but the sign-in
	ann.refuse(404, "POST", "/api/unlock", map[string]any{"code": "000000"})
	for name, value := range map[string]string{"Origin": "https://evil.example.com", "Sec-Fetch-Site": "cross-site",
		"Host": "evil.example.com"} {
		foreign := *ann
		foreign.headers = map[string]string{name: value}
		foreign.refuse(403, "POST", "/api/act", approval)
	}
	asBob := *ann // Ann's key with Bob's sign-in
	asBob.cookies = bob.cookies
	asBob.refuse(401, "POST", "/api/act", approval)

	red := w.newTeam("red")
	reds := &client{t: t, address: w.http.URL, token: w.token(red, "ann", teamwire.RoleMember)}
	reds.must("POST", "/v1/w/secret/t/main/do", reds.request(setUp("Red's secret")), nil)
	ann.refuse(404, "GET", "/api/view?workspace=secret%2Fmain", nil)
	ann.refuse(404, "GET", "/api/log?workspace=secret%2Fmain", nil)
	if _, body := ann.ask("GET", "/api/inbox", nil); strings.Contains(body, "secret") {
		t.Errorf("the inbox shows another team's: %s", body)
	}
	foreign := map[string]any{"workspace": "secret/main", "log": approval["log"], "act": "comment",
		"input": map[string]any{"text": "hello"}}
	ann.refuse(404, "POST", "/api/act", foreign)

	check(t, w.admin.RemoveMember(t.Context(), w.team, "ann"))
	ann.refuse(401, "POST", "/api/act", approval)
	ann.refuse(401, "GET", "/api/inbox", nil)
	check(t, w.admin.AddMember(t.Context(), w.team, "ann", teamwire.RoleMember, ""))
	ann.refuse(401, "POST", "/api/act", approval)
}

// TestAStreamEndsWithItsSignIn fails if the page of a removed member still learns of changes.
func TestAStreamEndsWithItsSignIn(t *testing.T) {
	w := newWorld(t)
	w.http = w.serve(teamserver.Options{Address: pageAddress, CheckEvery: time.Millisecond})
	ann := w.member("ann")
	stream := ann.send("GET", "/api/events", nil)
	defer stream.Body.Close()
	lines := bufio.NewScanner(stream.Body)
	if !lines.Scan() || lines.Text() != ": watching" {
		t.Fatalf("the stream begins with %q: %v", lines.Text(), lines.Err())
	}
	w.as("ann", teamwire.RoleMember).do(setUp("Ship the shop"))
	for lines.Scan() && lines.Text() == "" {
	}
	if want := `data: {"workspace":"shop/main","revision":1}`; lines.Text() != want {
		t.Errorf("the stream has %q, not %q", lines.Text(), want)
	}
	check(t, w.admin.RemoveMember(t.Context(), w.team, "ann"))
	if _, err := io.Copy(io.Discard, stream.Body); err != nil {
		t.Error(err)
	}
}

// TestASilentDatabaseKeepsNoPersonWaiting fails if a page waits for the database without end.
func TestASilentDatabaseKeepsNoPersonWaiting(t *testing.T) {
	w := newWorld(t)
	ann, answers := w.member("ann"), make(chan int)
	w.whileLocked("signin", func() {
		status, _ := ann.ask("GET", "/api/inbox", nil)
		answers <- status
	}, func() {
		if status := <-answers; status != 503 {
			t.Errorf("the answer is %d", status)
		}
	})
}

// TestAnEndedStreamLeavesTheServer fails if a browser that closes the page ends the server, as HTTP/2 makes possible.
func TestAnEndedStreamLeavesTheServer(t *testing.T) {
	w := newWorld(t)
	server, err := teamserver.New(t.Context(), w.db, teamserver.Options{Address: pageAddress})
	check(t, err)
	w.http = httptest.NewUnstartedServer(server.Handler())
	w.http.EnableHTTP2 = true
	w.http.StartTLS()
	t.Cleanup(func() { server.EndStreams(); w.http.Close(); server.Close() })
	ann := w.browser()
	ann.transport = w.http.Client().Transport
	ann.register(w.invite("ann"))
	for range 50 {
		ctx, cancel := context.WithCancel(t.Context())
		ann.ctx = ctx
		stream := ann.send("GET", "/api/events", nil)
		if stream.ProtoMajor != 2 || stream.StatusCode != 200 {
			t.Fatalf("%s %s", stream.Proto, stream.Status)
		}
		cancel()
		stream.Body.Close()
	}
	ann.ctx = t.Context()
	ann.must("GET", "/api/inbox", nil, nil)
}

func TestTheAddressIsChecked(t *testing.T) {
	w := newWorld(t)
	for _, address := range []string{"http://plans.example.com", "plans.example.com", "https://plans.example.com/", "https://",
		"https://a/b"} {
		if server, err := teamserver.New(t.Context(), w.db, teamserver.Options{Address: address}); err == nil {
			server.Close()
			t.Errorf("the address %q is accepted", address)
		}
	}
}

// TestAnApprovalIsSigned fails if a policy with proof takes an approval without a signature, or one of another plan, person or purpose.
func TestAnApprovalIsSigned(t *testing.T) {
	w := newWorld(t)
	check(t, w.admin.AddMember(t.Context(), w.team, "eve", teamwire.RoleMember, ""))
	check(t, w.admin.SetSettings(t.Context(), w.team, "", []byte(`{"approvals": 1, "proof": "passkey"}`)))
	ann, eve := w.member("ann"), w.member("eve")
	agent := w.as("bob", teamwire.RoleAgent)
	w.submit(agent)
	if body := ann.refuse(409, "POST", "/api/act", ann.approval("shop/main")); !strings.Contains(body, "passkey") {
		t.Errorf("an approval without a signature is refused with %s", body)
	}
	if text := fmt.Sprint(ann.view("shop/main").Draft.Situation); !strings.Contains(text, pageAddress+"/approve#shop/main") {
		t.Errorf("the page does not say where to sign: %s", text)
	}
	begin := func(b *browser) map[string]any {
		var shown struct {
			Objective string
			Options   json.RawMessage
		}
		b.must("POST", "/approve/begin", map[string]any{"workspace": "shop/main"}, &shown)
		if shown.Objective != "Ship the shop" {
			t.Errorf("the plan to sign is %q", shown.Objective)
		}
		return b.answer(shown.Options)
	}
	ann.refuse(403, "POST", "/approve/finish", ann.sign()) // a sign-in is no approval
	w.browser().refuse(403, "POST", "/signin/finish", begin(ann))
	ann.refuse(403, "POST", "/approve/finish", begin(eve))
	w.browser().refuse(401, "POST", "/approve/finish", begin(ann))
	stale := begin(ann)
	agent.do(plan.SubmitPlan{Outline: plan.Outline{Objective: "Ship the shop"},
		Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Delete it"}}}})
	ann.refuse(422, "POST", "/approve/finish", stale)
	signed := begin(ann)
	ann.must("POST", "/approve/finish", signed, nil)
	ann.refuse(403, "POST", "/approve/finish", signed) // again
	if v := ann.view("shop/main"); v.Draft != nil || v.Plan == nil || v.Plan.Steps[0].Title != "Delete it" {
		t.Errorf("after the approval the view is %+v", v)
	}
	var proofs int
	check(t, w.db.Pool().QueryRow(t.Context(), "SELECT count(*) FROM audit WHERE act = 'sign_approval' AND actor = 'ann'").Scan(&proofs))
	if proofs != 2 {
		t.Errorf("the audit has %d signatures", proofs)
	}
}
