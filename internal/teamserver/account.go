package teamserver

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/subtle"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/coreos/go-oidc/v3/oidc"
	"github.com/jackc/pgx/v5"
	"golang.org/x/oauth2"

	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// Provider is an OpenID Connect provider of accounts, and this server's client there. The provider returns people to Address +
// /signin/account.
type Provider struct {
	Issuer, Client, Secret string
	HTTP                   *http.Client // for requests to the provider; nil: one with a time limit
}

const (
	accountPath   = "/signin/account"
	accountCookie = "__Host-planloop-account"

	// sessionAge is the greatest age of a session at the provider that signs a person in: an older one is renewed there.
	sessionAge      = 5 * time.Minute
	providerAnswers = 15 * time.Second
)

type accountLogin struct {
	State    string `json:"state"`
	Nonce    string `json:"nonce"`
	Verifier string `json:"verifier"`
	Team     string `json:"team"` // "": the only one
}

// provider returns the provider and this server as its client. The provider may be out of reach until it is needed.
func (p *people) provider(ctx context.Context) (context.Context, *oidc.Provider, *oauth2.Config, error) {
	of := p.opts.Provider
	if of.Issuer == "" {
		return ctx, nil, nil, wrong(teamwire.CodeNotFound, "this server knows no accounts", "sign in with a passkey")
	}
	ctx = oidc.ClientContext(ctx, cmp.Or(of.HTTP, &http.Client{Timeout: providerAnswers}))
	found := p.account.Load()
	if found == nil {
		var err error
		if found, err = oidc.NewProvider(ctx, of.Issuer); err != nil {
			p.log.Warn("the provider of accounts does not answer", "error", err)
			return ctx, nil, nil, wrong(teamwire.CodeUnready, "the provider of accounts does not answer", "try again, or use a passkey")
		}
		p.account.Store(found)
	}
	return ctx, found, &oauth2.Config{ClientID: of.Client, ClientSecret: of.Secret, Endpoint: found.Endpoint(),
		RedirectURL: p.opts.Address + accountPath, Scopes: []string{oidc.ScopeOpenID, "email"}}, nil
}

// beginAccount returns the provider's address for a sign-in. The browser's cookie, not the address, names its secrets.
func (p *people) beginAccount(w http.ResponseWriter, r *http.Request, in struct {
	Team string `json:"team,omitempty"`
}) (any, error) {
	ctx, _, config, err := p.provider(r.Context())
	if err != nil {
		return nil, err
	}
	secret := rand.Text()
	login := accountLogin{State: rand.Text(), Nonce: rand.Text(), Verifier: oauth2.GenerateVerifier(), Team: in.Team}
	if err := p.keepCeremony(ctx, accountSecret+secret, ceremony{Account: &login}); err != nil {
		return nil, err
	}
	setCookie(w, accountCookie, secret, challengeLasts)
	return map[string]string{"go": config.AuthCodeURL(login.State, oidc.Nonce(login.Nonce), oauth2.S256ChallengeOption(login.Verifier),
		oauth2.SetAuthURLParam("max_age", fmt.Sprint(int(sessionAge.Seconds()))))}, nil
}

// finishAccount signs in the member with the address that the account has proved to own. It makes no members.
func (p *people) finishAccount(w http.ResponseWriter, r *http.Request, in struct {
	State string `json:"state"`
	Code  string `json:"code"`
}) (any, error) {
	cookie, err := r.Cookie(accountCookie)
	if err != nil {
		return nil, notBegun()
	}
	setCookie(w, accountCookie, "", 0)
	begun, err := p.takeCeremony(r.Context(), accountSecret+cookie.Value)
	if err != nil {
		return nil, err
	}
	login := begun.Account
	if subtle.ConstantTimeCompare([]byte(login.State), []byte(in.State)) != 1 {
		return nil, notBegun()
	}
	email, subject, since, err := p.proved(r.Context(), in.Code, login)
	if err != nil {
		return nil, err
	}
	who, err := p.memberOf(r.Context(), email, subject, login.Team)
	if err != nil {
		return nil, err
	}
	return p.enter(w, r, who, signIn{act: "sign_in", way: "account", since: since}, func(tx pgx.Tx) error {
		err := changeOne(r.Context(), tx, noMember(email), `UPDATE member SET subject = $3 WHERE team = $1 AND id = $2 AND email = $4
			AND coalesce(subject, $3) = $3`, who.team, who.memberID, subject, email)
		if isTaken(err) {
			err = noMember(email)
		}
		return err
	})
}

// proved returns the address and the account that the provider vouches for, and when the person signed in there.
func (p *people) proved(ctx context.Context, code string, login *accountLogin) (email, subject string, since time.Time, err error) {
	ctx, provider, config, err := p.provider(ctx)
	if err != nil {
		return "", "", since, err
	}
	refuse := func(problem string, err error) (string, string, time.Time, error) {
		p.log.Warn("an account was refused", "problem", problem, "error", err)
		return "", "", time.Time{}, wrong(teamwire.CodeForbidden, problem, "sign in again, or use a passkey")
	}
	token, err := config.Exchange(ctx, code, oauth2.VerifierOption(login.Verifier))
	if err != nil {
		return refuse("the provider did not accept the sign-in", err)
	}
	raw, _ := token.Extra("id_token").(string)
	id, err := provider.Verifier(&oidc.Config{ClientID: config.ClientID, Now: p.clock.now}).Verify(ctx, raw)
	if err != nil || subtle.ConstantTimeCompare([]byte(id.Nonce), []byte(login.Nonce)) != 1 {
		return refuse("the provider's answer is not valid", err)
	}
	var claims struct {
		Email      string `json:"email"`
		IsVerified any    `json:"email_verified"` // some providers send "true"
		At         int64  `json:"auth_time"`
		For        string `json:"azp"`
	}
	if err := id.Claims(&claims); err != nil || len(id.Audience) > 1 && claims.For != config.ClientID {
		return refuse("the provider's answer is not valid", err)
	}
	if claims.Email == "" {
		info, err := provider.UserInfo(ctx, config.TokenSource(ctx, token))
		if err != nil || info.Subject != id.Subject {
			return refuse("the provider did not name your account", err)
		}
		claims.Email, claims.IsVerified = info.Email, info.EmailVerified
	}
	since = time.Unix(claims.At, 0)
	switch {
	case strings.ContainsFunc(claims.Email, func(r rune) bool { return r > unicode.MaxASCII }): // in lower case it may be another's
		return refuse("only e-mail addresses in ASCII are known", nil)
	case claims.Email == "" || !slices.Contains([]any{true, "true"}, claims.IsVerified):
		return refuse("the provider has not verified your e-mail address", nil)
	case p.clock.now().Sub(since) > sessionAge+challengeLasts: // also without auth_time
		return refuse("the provider did not ask you to sign in again, or did not say when it did", nil)
	}
	return strings.ToLower(claims.Email), id.Issuer + " " + id.Subject, since, nil
}

func (p *people) memberOf(ctx context.Context, email, subject, team string) (*person, error) {
	rows, err := p.pool.Query(ctx, "SELECT team, member, member_name FROM account_members($1, $2, $3)", email, subject, team)
	if err != nil {
		return nil, err
	}
	found, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (p *person, err error) {
		p = &person{}
		return p, row.Scan(&p.team, &p.memberID, &p.member)
	})
	switch {
	case err != nil:
		return nil, err
	case len(found) == 0:
		return nil, noMember(email)
	case len(found) > 1:
		return nil, wrong(teamwire.CodeForbidden, "you are a member of several teams", "sign in at "+p.opts.Address+"/signin?team=NAME")
	}
	return found[0], nil
}

func notBegun() error {
	return wrong(teamwire.CodeForbidden, "this browser did not begin this sign-in, or it took too long", "begin again at /signin")
}

func noMember(email string) error {
	return wrong(teamwire.CodeForbidden, "no member has the address "+email+", or another account signed in with it before",
		"ask an admin of the team to run: planloop-server member email")
}

// SetEmail sets the address of the account with which a member signs in; "" for none. The next account with it becomes the member's.
func (a Admin) SetEmail(ctx context.Context, team int64, member, email string) error {
	return a.change(ctx, team, "set_email", map[string]any{"member": member, "email": strings.ToLower(email)}, func(tx pgx.Tx) error {
		return setEmail(ctx, tx, team, member, email)
	})
}

func setEmail(ctx context.Context, tx pgx.Tx, team int64, member, email string) error {
	email = strings.ToLower(email)
	if local, host, _ := strings.Cut(email, "@"); email != "" && (local == "" || host == "" || strings.ContainsAny(email, " \t\n<>")) {
		return unfit("%s is not an e-mail address; use one like ann@example.com", plan.Quote(email))
	}
	if _, err := tx.Exec(ctx, `DELETE FROM signin WHERE way = 'account' AND
		member = (SELECT id FROM member WHERE team = $1 AND name = $2)`, team, member); err != nil {
		return err
	}
	return changeOne(ctx, tx, notMember(member), `UPDATE member SET email = nullif($3, ''), subject = NULL
		WHERE team = $1 AND name = $2 AND removed IS NULL`, team, member, email)
}
