package teamserver

import (
	"context"
	"embed"
	"encoding/json" // go-webauthn's types are written for it
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/go-webauthn/webauthn/webauthn"

	"github.com/planloop/planloop/internal/origin"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/web"
	"github.com/planloop/planloop/plan"
)

// people is the server's page, where members sign in and decide.
type people struct {
	*Server
	host     string
	webauthn *webauthn.WebAuthn
	acts     map[string]pageAct            // by path
	account  atomic.Pointer[oidc.Provider] // once it has answered

	mu    sync.Mutex
	pages map[int64]*memberPage // by member
}

type memberPage struct {
	*web.Server
	used time.Time
}

// mostPages bounds the number of kept pages, one for each member.
const mostPages = 500

func newPeople(s *Server) (*people, error) {
	w, host, err := relyingParty(s.opts.Address)
	p := &people{Server: s, host: host, webauthn: w, pages: map[int64]*memberPage{}}
	p.acts = map[string]pageAct{"/invite/begin": reads(p.beginInvitation), "/invite/finish": reads(p.finishInvitation),
		"/approve/begin": byPerson(p, p.beginApproval), "/approve/finish": byPerson(p, p.finishApproval),
		"/signin/begin": reads(p.beginSignIn), "/signin/finish": reads(p.finishSignIn), "/signin/ways": reads(p.ways),
		"/signin/out": reads(p.signOut), "/signin/account": reads(p.beginAccount), "/signin/account/finish": reads(p.finishAccount)}
	maps.Copy(p.acts, p.adminActs())
	return p, err
}

func (p *people) close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, page := range p.pages {
		page.Close()
	}
	clear(p.pages)
}

type personKey struct{} // of a request's person in its context

func (p *people) workspacesOf(who *person) workspaces {
	return workspaces{p.Server, &who.caller, &knownInbox{entries: map[string]inboxEntry{}}}
}

// page returns the review page of a member. The oldest page ends if there are too many.
func (p *people) page(who *person) (*web.Server, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	page := p.pages[who.memberID]
	if page == nil {
		if len(p.pages) >= mostPages {
			oldest := slices.MinFunc(slices.Collect(maps.Keys(p.pages)), func(a, b int64) int {
				return p.pages[a].used.Compare(p.pages[b].used)
			})
			go p.pages[oldest].Close() // it waits for its streams
			delete(p.pages, oldest)
		}
		server, err := web.New(web.Options{Workspaces: p.workspacesOf(who), Public: &web.Public{Host: p.host, Age: p.age}, Logger: p.log,
			Person: plan.NewActor(plan.ChannelPage, who.member)})
		if err != nil {
			return nil, err
		}
		page = &memberPage{Server: server}
		p.pages[who.memberID] = page
	}
	page.used = time.Now()
	return page.Server, nil
}

// age returns the time since the sign-in of an admitted request.
func (p *people) age(r *http.Request) time.Duration {
	who, _ := r.Context().Value(personKey{}).(*person)
	if who == nil {
		return signInLasts
	}
	return p.clock.now().Sub(who.since)
}

//go:embed page
var signInPage embed.FS

// ServeHTTP answers requests outside the API.
func (p *people) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for _, header := range web.Policy() {
		w.Header().Set(header[0], header[1])
	}
	origin.LimitWrite(w)
	if r.Host != p.host {
		p.fail(w, r, wrong(teamwire.CodeForbidden, "the Host header does not name this server", "open "+p.opts.Address))
		return
	}
	file := map[string]string{"/signin": "signin.html", "/invite": "signin.html", "/approve": "signin.html", accountPath: "signin.html",
		"/signin.js": "signin.js", "/signin.css": "signin.css", "/admin": "admin.html", "/admin.js": "admin.js"}[r.URL.Path]
	act := p.acts[r.URL.Path]
	switch {
	case file != "" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		http.ServeFileFS(w, r, signInPage, "page/"+file)
	case act != nil && r.Method == http.MethodPost:
		p.act(w, r, act)
	case file != "" || act != nil:
		p.fail(w, r, wrong(teamwire.CodeNotFound, "this path does not accept this method", "open "+p.opts.Address))
	default:
		p.review(w, r)
	}
}

const maxSignIn = 64 << 10

func (p *people) act(w http.ResponseWriter, r *http.Request, act pageAct) {
	sender := "sign-in from " + origin.ClientOf(r)
	if who, err := p.signedIn(r); err == nil { // others behind the same proxy cannot use up the member's rate
		sender = fmt.Sprint("sign-in of ", who.memberID)
	}
	var answer any
	var err error
	switch {
	case !origin.IsOwn(r, "https://") || !origin.IsSameSite(r):
		err = wrong(teamwire.CodeForbidden, "requests from other web origins are refused", "open "+p.opts.Address)
	case !take(&p.rates, sender, signInsPerSecond):
		err = wrong(teamwire.CodeTooMany, "too many requests", "wait a second")
	default:
		r.Body = http.MaxBytesReader(w, r.Body, maxSignIn)
		answer, err = act(w, r)
	}
	var body []byte
	if err == nil {
		body, err = json.Marshal(answer)
	}
	if err != nil {
		p.fail(w, r, err)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // a client that has gone needs no answer
}

// review serves the review page to signed-in members, and redirects others to the sign-in.
func (p *people) review(w http.ResponseWriter, r *http.Request) {
	who, err := p.signedIn(r)
	var page *web.Server
	if err == nil && !take(&p.rates, fmt.Sprint("page of ", who.memberID), p.opts.Rate) {
		err = wrong(teamwire.CodeTooMany, "too many requests", "wait a second")
	}
	if err == nil {
		page, err = p.page(who)
	}
	switch {
	case r.URL.Path == "/" && r.Method == http.MethodGet && isWrong(err, teamwire.CodeToken):
		http.Redirect(w, r, "/signin", http.StatusSeeOther) // browsers keep the part after #
		return
	case err != nil:
		p.failPage(w, r, err)
		return
	}
	ctx, cancel := p.untilEnd(context.WithValue(p.acting(r, who), personKey{}, who))
	defer cancel()
	if r.URL.Path == "/api/events" {
		go p.endWithRights(ctx, cancel, p.bySignIn(r))
	}
	page.ServeHTTP(w, r.WithContext(ctx))
}

// failPage writes an error in the words that the page's script reads.
func (p *people) failPage(w http.ResponseWriter, r *http.Request, err error) {
	e := p.describe(r, err)
	kind := "fault"
	if e.Code == teamwire.CodeToken {
		kind = "not_entered"
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(e.Code.Status())
	answer := map[string]string{"kind": kind, "problem": e.Problem, "fix": e.Fix, "field": "/signin"}
	body, _ := json.Marshal(map[string]any{"error": answer}) // texts: cannot fail
	_, _ = w.Write(body)
}
