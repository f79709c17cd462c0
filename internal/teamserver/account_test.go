package teamserver_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json" // as a provider writes it
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/teamserver"
	"github.com/planloop/planloop/internal/teamwire"
)

// provider is an OpenID Connect provider. Its answers can be falsified.
type provider struct {
	*httptest.Server
	t     *testing.T
	key   *ecdsa.PrivateKey
	codes map[string]url.Values // of a sign-in, by its code
	claim map[string]any        // in place of the right ones; nil: without the claim
	info  map[string]any        // of the user, on request
	signs *ecdsa.PrivateKey     // in place of key
}

const clientSecret = "the client's secret"

func newProvider(t *testing.T) *provider {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	p := &provider{t: t, key: key, signs: key, codes: map[string]url.Values{}, claim: map[string]any{}}
	mux := http.NewServeMux()
	p.Server = httptest.NewTLSServer(mux)
	t.Cleanup(p.Close)
	write := func(w http.ResponseWriter, value any) {
		w.Header().Set("Content-Type", "application/json")
		check(t, json.NewEncoder(w).Encode(value))
	}
	mux.HandleFunc("GET /.well-known/openid-configuration", func(w http.ResponseWriter, _ *http.Request) {
		write(w, map[string]any{"issuer": p.URL, "authorization_endpoint": p.URL + "/authorize", "token_endpoint": p.URL + "/token",
			"jwks_uri": p.URL + "/keys", "userinfo_endpoint": p.URL + "/me", "id_token_signing_alg_values_supported": []string{"ES256"}})
	})
	mux.HandleFunc("GET /keys", func(w http.ResponseWriter, _ *http.Request) {
		point, err := key.PublicKey.Bytes()
		check(t, err)
		write(w, map[string]any{"keys": []any{map[string]string{"kty": "EC", "crv": "P-256", "kid": "1", "use": "sig", "alg": "ES256",
			"x": encode(point[1:33]), "y": encode(point[33:])}}})
	})
	mux.HandleFunc("GET /me", func(w http.ResponseWriter, _ *http.Request) { write(w, p.info) })
	mux.HandleFunc("POST /token", func(w http.ResponseWriter, r *http.Request) {
		begun, isKnown := p.codes[r.FormValue("code")]
		delete(p.codes, r.FormValue("code"))
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		_, secret, _ := r.BasicAuth()
		if plain, err := url.QueryUnescape(secret); !isKnown || err != nil || plain != clientSecret ||
			encode(sum[:]) != begun.Get("code_challenge") || r.FormValue("redirect_uri") != begun.Get("redirect_uri") {
			http.Error(w, `{"error":"invalid_grant"}`, http.StatusBadRequest)
			return
		}
		now := time.Now().Unix()
		claims := map[string]any{"iss": p.URL, "aud": "planloop", "sub": "account-1", "nonce": begun.Get("nonce"), "iat": now,
			"exp": now + 60, "auth_time": now, "email": "Ann@example.com", "email_verified": true}
		maps.Copy(claims, p.claim)
		maps.DeleteFunc(claims, func(_ string, value any) bool { return value == nil })
		write(w, map[string]any{"access_token": "token", "token_type": "Bearer", "id_token": p.sign(claims)})
	})
	return p
}

func encode(data []byte) string { return base64.RawURLEncoding.EncodeToString(data) }

func (p *provider) sign(claims map[string]any) string {
	body, err := json.Marshal(claims)
	check(p.t, err)
	text := encode([]byte(`{"alg":"ES256","kid":"1"}`)) + "." + encode(body)
	sum := sha256.Sum256([]byte(text))
	r, s, err := ecdsa.Sign(rand.Reader, p.signs, sum[:])
	check(p.t, err)
	return text + "." + encode(append(r.FillBytes(make([]byte, 32)), s.FillBytes(make([]byte, 32))...))
}

// login signs a person in at the address that the server gave, and returns what the provider sends the browser back with.
func (p *provider) login(address string) map[string]string {
	p.t.Helper()
	at, err := url.Parse(address)
	check(p.t, err)
	query := at.Query()
	for name, want := range map[string]string{"client_id": "planloop", "response_type": "code", "scope": "openid email",
		"redirect_uri": pageAddress + "/signin/account", "code_challenge_method": "S256", "max_age": "300"} {
		if got := query.Get(name); got != want || !strings.HasPrefix(address, p.URL+"/authorize?") {
			p.t.Errorf("the provider is asked with %s=%q, not %q", name, got, want)
		}
	}
	code := rand.Text()
	p.codes[code] = query
	return map[string]string{"code": code, "state": query.Get("state")}
}

// withAccounts starts the world's server anew, with a provider. Ann has an address.
func withAccounts(t *testing.T) (*world, *provider) {
	t.Helper()
	w, p := newWorld(t), newProvider(t)
	w.http = w.serve(teamserver.Options{Address: pageAddress, Provider: w.provider(p)})
	check(t, w.admin.SetEmail(t.Context(), w.team, "ann", "ann@Example.com"))
	return w, p
}

func (w *world) provider(p *provider) teamserver.Provider {
	return teamserver.Provider{Issuer: p.URL, Client: "planloop", Secret: clientSecret, HTTP: p.Client()}
}

// toProvider begins a sign-in with an account.
func (b *browser) toProvider() string {
	b.t.Helper()
	var to struct{ Go string }
	b.must("POST", "/signin/account", struct{}{}, &to)
	return to.Go
}

// refused signs in with claims, which must fail.
func (w *world) refused(p *provider, what string, claim map[string]any) {
	w.t.Helper()
	b := w.browser()
	p.claim = claim
	b.refuse(403, "POST", "/signin/account/finish", p.login(b.toProvider()))
	if b.cookies["__Host-planloop"] != nil {
		w.t.Errorf("%s: the browser is signed in", what)
	}
	p.claim = nil
}

func TestAMemberSignsInWithAnAccount(t *testing.T) {
	w, p := withAccounts(t)
	w.submit(w.as("bob", teamwire.RoleAgent))
	ann := w.browser()
	var ways struct{ In, Account bool }
	if ann.must("POST", "/signin/ways", struct{}{}, &ways); ways.In || !ways.Account {
		t.Errorf("the ways are %+v", ways)
	}
	back := p.login(ann.toProvider())
	if answer := ann.send("GET", "/signin/account?"+url.Values{"code": {back["code"]}, "state": {back["state"]}}.Encode(), nil); answer.
		StatusCode != 200 || len(p.codes) != 1 {
		t.Errorf("the page to which the provider returns has %d", answer.StatusCode)
	}
	ann.enter("/signin/account/finish", back)
	ann.must("POST", "/api/act", ann.approval("shop/main"), nil)
	var way string
	check(t, w.db.Pool().QueryRow(t.Context(), "SELECT detail->>'way' FROM audit WHERE act = 'sign_in' AND actor = 'ann'").Scan(&way))
	if way != "account" {
		t.Errorf("the audit has the way %q", way)
	}

	// A provider may tell the address only on request, and a session of some minutes there counts from its beginning.
	p.claim = map[string]any{"email": nil, "email_verified": nil, "auth_time": time.Now().Add(-4 * time.Minute).Unix()}
	p.info = map[string]any{"sub": "account-1", "email": "ann@example.com", "email_verified": "true"}
	ann.enter("/signin/account/finish", p.login(ann.toProvider()))
	var age time.Duration
	check(t, w.db.Pool().QueryRow(t.Context(), "SELECT max(now() - since) FROM signin").Scan(&age))
	if age < 4*time.Minute || age > 5*time.Minute {
		t.Errorf("the sign-in is %s old", age)
	}
	p.info["sub"] = "account-2"
	ann.refuse(403, "POST", "/signin/account/finish", p.login(ann.toProvider()))

	without := w.serve(teamserver.Options{Address: pageAddress})
	other := w.browser()
	other.address = without.URL
	other.refuse(404, "POST", "/signin/account", struct{}{})
	p.Close()
	w.http = w.serve(teamserver.Options{Address: pageAddress, Provider: teamserver.Provider{Issuer: p.URL, Client: "planloop"}})
	w.browser().refuse(503, "POST", "/signin/account", struct{}{})
}

// TestAttacksWithAnAccount fails if the server believes more than its provider says now about this sign-in.
func TestAttacksWithAnAccount(t *testing.T) {
	w, p := withAccounts(t)
	check(t, w.admin.AddMember(t.Context(), w.team, "kim", teamwire.RoleMember, ""))
	check(t, w.admin.SetEmail(t.Context(), w.team, "kim", "kim@example.com"))
	old := time.Now().Add(-20 * time.Minute).Unix()
	for what, claim := range map[string]map[string]any{
		"another nonce":          {"nonce": "guess"},
		"no nonce":               {"nonce": nil},
		"another client's":       {"aud": "wiki"},
		"another client's first": {"aud": []string{"wiki", "planloop"}, "azp": "wiki"},
		"another issuer":         {"iss": "https://login.example.com"},
		"expired":                {"exp": time.Now().Unix() - 60},
		"an old session":         {"auth_time": old},
		"a session of no age":    {"auth_time": nil},
		"an unverified address":  {"email_verified": false},
		"an address of no word":  {"email_verified": nil},
		"a look-alike":           {"email": "\u212aim@example.com"},
		"no member's address":    {"email": "eve@example.com"},
		"a longer address":       {"email": "ann@example.com.evil.example"},
	} {
		w.refused(p, what, claim)
	}
	stolen, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	check(t, err)
	p.signs = stolen
	w.refused(p, "another key", nil)
}

// TestASignInBelongsToItsBrowser fails if what the provider sends back works elsewhere, or a second time.
func TestASignInBelongsToItsBrowser(t *testing.T) {
	w, p := withAccounts(t)

	// The code and state of one browser are worth nothing in another, nor a second time, nor with another state.
	ann, mallory := w.browser(), w.browser()
	back := p.login(ann.toProvider())
	mallory.refuse(403, "POST", "/signin/account/finish", back)
	mallory.toProvider()
	mallory.refuse(403, "POST", "/signin/account/finish", back)
	begun := *ann // with the cookie of its sign-in
	begun.cookies = maps.Clone(ann.cookies)
	ann.refuse(403, "POST", "/signin/account/finish", map[string]string{"code": back["code"], "state": "guess"})
	begun.refuse(403, "POST", "/signin/account/finish", back)
	crossed := w.browser()
	code := p.login(mallory.toProvider())["code"] // PKCE: of a sign-in that began elsewhere
	crossed.refuse(403, "POST", "/signin/account/finish", map[string]string{"code": code, "state": p.login(crossed.toProvider())["state"]})
	var options struct {
		PublicKey struct{ Challenge string } `json:"publicKey"`
	}
	other := w.browser() // a passkey's challenge begins no sign-in with an account
	other.must("POST", "/signin/begin", struct{}{}, &options)
	other.cookies["__Host-planloop-account"] = &http.Cookie{Name: "__Host-planloop-account", Value: options.PublicKey.Challenge}
	other.refuse(403, "POST", "/signin/account/finish", map[string]string{"code": "", "state": ""})
	for _, b := range []*browser{ann, &begun, mallory, crossed, other} {
		if b.cookies["__Host-planloop"] != nil {
			t.Error("a browser is signed in")
		}
	}
}

// TestAnAddressBelongsToOneAccount fails if an address opens more than its member's page.
func TestAnAddressBelongsToOneAccount(t *testing.T) {
	w, p := withAccounts(t)
	ann := w.browser()

	// The first account becomes the member's, until an admin says otherwise.
	ann.enter("/signin/account/finish", p.login(ann.toProvider()))
	w.refused(p, "an address that another person has now", map[string]any{"sub": "account-2"})
	check(t, w.admin.SetEmail(t.Context(), w.team, "ann", "ann@example.com"))
	ann.refuse(401, "GET", "/api/inbox", nil)
	p.claim = map[string]any{"sub": "account-2"}
	ann.enter("/signin/account/finish", p.login(ann.toProvider()))
	p.claim = nil

	// A removed member's address opens nothing, also after the name was given again.
	check(t, w.admin.RemoveMember(t.Context(), w.team, "ann"))
	ann.refuse(401, "GET", "/api/inbox", nil)
	w.refused(p, "a removed member", nil)
	check(t, w.admin.AddMember(t.Context(), w.team, "ann", teamwire.RoleMember, ""))
	w.refused(p, "a former member's address", nil)
	if err := w.admin.SetEmail(t.Context(), w.team, "ann", "ann"); err == nil {
		t.Error("an address without a host was accepted")
	}

	// Members of two teams choose one.
	check(t, w.admin.SetEmail(t.Context(), w.team, "ann", "ann@example.com"))
	check(t, w.admin.SetEmail(t.Context(), w.newTeam("red"), "bob", "ann@example.com"))
	w.refused(p, "two teams", nil)
	var to struct{ Go string }
	ann.must("POST", "/signin/account", map[string]string{"team": "red"}, &to)
	var in struct{ Member, Team string }
	if ann.must("POST", "/signin/account/finish", p.login(to.Go), &in); in.Member != "bob" || in.Team != "red" {
		t.Errorf("signed in as %+v", in)
	}
}

// TestASlowProviderKeepsNoOneWaiting fails if a sign-in waits for the provider's answer to another one.
func TestASlowProviderKeepsNoOneWaiting(t *testing.T) {
	w, p := newWorld(t), newProvider(t)
	var arrived sync.WaitGroup
	arrived.Add(2)
	of := w.provider(p)
	of.HTTP = &http.Client{Transport: heldUntil{p.Client().Transport, &arrived}, Timeout: 10 * time.Second}
	w.http = w.serve(teamserver.Options{Address: pageAddress, Provider: of})
	var group sync.WaitGroup
	for range 2 {
		group.Go(func() { w.browser().toProvider() })
	}
	group.Wait()
}

// heldUntil holds each request until all have arrived.
type heldUntil struct {
	http.RoundTripper
	all *sync.WaitGroup
}

func (h heldUntil) RoundTrip(r *http.Request) (*http.Response, error) {
	h.all.Done()
	arrived := make(chan struct{})
	go func() { h.all.Wait(); close(arrived) }()
	select {
	case <-arrived:
		return h.RoundTripper.RoundTrip(r)
	case <-r.Context().Done():
		return nil, r.Context().Err()
	}
}
