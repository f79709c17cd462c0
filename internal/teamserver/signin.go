package teamserver

import (
	"bytes"
	"cmp"
	"context"
	"encoding/binary"
	"encoding/json" // go-webauthn's types are written for it
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

const (
	signInCookie     = "__Host-planloop"
	signInLasts      = 12 * time.Hour
	challengeLasts   = 5 * time.Minute
	invitationLasts  = 72 * time.Hour
	signInsPerSecond = 5 // from one address, which may be a proxy's
)

// Invite returns the secret of a new invitation, with which a member registers a passkey once.
func (a Admin) Invite(ctx context.Context, team int64, member string) (secret string, err error) {
	secret, hash := newSecret("")
	return secret, a.change(ctx, team, "invite", map[string]any{"member": member}, func(tx pgx.Tx) error {
		return changeOne(ctx, tx, notMember(member), `INSERT INTO invitation (hash, team, member, expires)
			SELECT $3, team, id, now() + $4::interval FROM member WHERE team = $1 AND name = $2 AND removed IS NULL`,
			team, member, hash, invitationLasts)
	})
}

// person is a member in a browser, signed in or about to be.
type person struct {
	caller
	since       time.Time // of the sign-in
	credentials []webauthn.Credential
}

// WebAuthnID implements webauthn.User.
func (p *person) WebAuthnID() []byte { return binary.BigEndian.AppendUint64(nil, uint64(p.memberID)) }

// WebAuthnName implements webauthn.User.
func (p *person) WebAuthnName() string { return p.member }

// WebAuthnDisplayName implements webauthn.User.
func (p *person) WebAuthnDisplayName() string { return p.member }

// WebAuthnCredentials implements webauthn.User.
func (p *person) WebAuthnCredentials() []webauthn.Credential { return p.credentials }

// relyingParty returns the checks of passkeys for a server with this address, and its host.
func relyingParty(address string) (w *webauthn.WebAuthn, host string, err error) {
	at, err := url.Parse(address)
	if err != nil || at.Scheme != "https" || at.Host == "" || address != "https://"+at.Host {
		return nil, "", fmt.Errorf("the address %s is not one like https://plans.example.com", plan.Quote(address))
	}
	w, err = webauthn.New(&webauthn.Config{RPID: at.Hostname(), RPDisplayName: "planloop", RPOrigins: []string{address},
		AuthenticatorSelection: protocol.AuthenticatorSelection{ResidentKey: protocol.ResidentKeyRequirementRequired,
			UserVerification: protocol.VerificationRequired}})
	return w, at.Host, err
}

// signedIn returns the person of a request by its cookie, and by the key in the page's storage if the request asks for more than a file:
// servers on other ports of this host get the cookie, too. Nothing else admits to the page, least of all a token.
func (s *Server) signedIn(r *http.Request) (*person, error) {
	var p person
	var hash []byte
	cookie, err := r.Cookie(signInCookie)
	if err == nil {
		hash = hashToken(cookie.Value)
		err = s.mayLookUp(r, s.signIns.get(string(hash)))
	}
	if err == nil {
		key := hashToken(r.Header.Get("Planloop-Key"))
		if r.Method == http.MethodGet && !strings.HasPrefix(r.URL.Path, "/api/") {
			key = nil
		}
		ctx, cancel := context.WithTimeout(r.Context(), callerWait)
		defer cancel()
		err = s.pool.QueryRow(ctx, `SELECT s.team, team_name, member, member_name, role, since, rules
			FROM signed_in($1, $2) s JOIN team ON team.id = s.team`, hash, key).
			Scan(&p.team, &p.teamName, &p.memberID, &p.member, &p.role, &p.since, &p.rules)
	}
	if err == nil {
		s.signIns.set(string(hash), true)
		p.expires = p.since.Add(signInLasts)
	}
	if errors.Is(err, http.ErrNoCookie) || errors.Is(err, pgx.ErrNoRows) {
		s.signIns.drop(string(hash))
		return nil, wrong(teamwire.CodeToken, "this browser is not signed in, or no longer", "sign in at "+s.opts.Address+"/signin")
	}
	return &p, err
}

func (s *Server) acting(r *http.Request, who *person) context.Context {
	return withRights(r.Context(), &who.caller, s.bySignIn(r))
}

// bySignIn returns the person of a request by its sign-in, as often as it is called.
func (s *Server) bySignIn(r *http.Request) func(context.Context) (*caller, error) {
	return func(ctx context.Context) (*caller, error) {
		who, err := s.signedIn(r.WithContext(ctx))
		if err != nil {
			return nil, err
		}
		return &who.caller, nil
	}
}

// ceremony is the data to check the answer of a browser: from a passkey, or from the provider of accounts.
type ceremony struct {
	Session  *webauthn.SessionData `json:"session,omitempty"`
	Approval *approval             `json:"approval,omitempty"` // that the answer signs; nil: it signs in or registers
	Account  *accountLogin         `json:"account,omitempty"`
}

// passkeyChallenge and accountSecret keep the names of ceremonies apart.
const (
	passkeyChallenge = "passkey "
	accountSecret    = "account "
)

// keepCeremony stores a ceremony under a secret name, so that any server can finish it.
func (s *Server) keepCeremony(ctx context.Context, name string, c ceremony) error {
	data, err := json.Marshal(c)
	if err == nil {
		_, err = s.pool.Exec(ctx, `WITH expired AS (DELETE FROM challenge WHERE expires < now())
			INSERT INTO challenge (hash, session, expires) VALUES ($1, $2, now() + $3::interval)`, hashToken(name), data, challengeLasts)
	}
	return err
}

// takeCeremony returns and deletes it: an answer that was used before, or belongs to no challenge of this server, finds none.
func (s *Server) takeCeremony(ctx context.Context, name string) (c ceremony, err error) {
	var data []byte
	err = s.pool.QueryRow(ctx, "DELETE FROM challenge WHERE hash = $1 AND expires > now() RETURNING session", hashToken(name)).
		Scan(&data)
	if errors.Is(err, pgx.ErrNoRows) {
		return c, wrong(teamwire.CodeForbidden, "this answer was used already, or came too late", "try again")
	}
	if err == nil {
		err = json.Unmarshal(data, &c)
	}
	return c, err
}

func (s *Server) invited(ctx context.Context, secret string) (*person, error) {
	var p person
	err := s.pool.QueryRow(ctx, "SELECT team, member, member_name FROM invited($1)", hashToken(secret)).
		Scan(&p.team, &p.memberID, &p.member)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, wrong(teamwire.CodeForbidden, "this invitation was used already, has expired, or was never made",
			"ask an admin of the team for a new one")
	}
	return &p, err
}

type pageAct func(http.ResponseWriter, *http.Request) (any, error)

// reads returns an act on the decoded body of a request.
func reads[In any](do func(http.ResponseWriter, *http.Request, In) (any, error)) pageAct {
	return func(w http.ResponseWriter, r *http.Request) (any, error) {
		var in In
		if err := decode(r, &in); err != nil {
			return nil, err
		}
		return do(w, r, in)
	}
}

// byPerson returns an act of a person with a sign-in of the last hour, as decisions need it.
func byPerson[In any](p *people, do func(context.Context, *person, In) (any, error)) pageAct {
	return reads(func(_ http.ResponseWriter, r *http.Request, in In) (any, error) {
		who, err := p.signedIn(r)
		if err == nil && p.clock.now().Sub(who.since) >= time.Hour {
			err = wrong(teamwire.CodeForbidden, "you signed in more than an hour ago", "sign in again at "+p.opts.Address+"/signin?again")
		}
		if err != nil {
			return nil, err
		}
		return do(p.acting(r, who), who, in)
	})
}

type invitation struct {
	Invitation string          `json:"invitation"`
	Credential json.RawMessage `json:"credential,omitempty"`
}

type passkeyAnswer struct {
	Credential json.RawMessage `json:"credential"`
}

// beginInvitation returns the options for a new passkey.
func (p *people) beginInvitation(_ http.ResponseWriter, r *http.Request, in invitation) (any, error) {
	who, err := p.invited(r.Context(), in.Invitation)
	if err != nil {
		return nil, err
	}
	options, session, err := p.webauthn.BeginRegistration(who)
	if err != nil {
		return nil, err
	}
	return options, p.keepCeremony(r.Context(), passkeyChallenge+session.Challenge, ceremony{Session: session})
}

// finishInvitation registers the passkey and signs the member in.
func (p *people) finishInvitation(w http.ResponseWriter, r *http.Request, in invitation) (any, error) {
	who, err := p.invited(r.Context(), in.Invitation)
	if err != nil {
		return nil, err
	}
	made, err := protocol.ParseCredentialCreationResponseBytes(in.Credential)
	if err != nil {
		return nil, notAccepted()
	}
	begun, err := p.takeCeremony(r.Context(), passkeyChallenge+made.Response.CollectedClientData.Challenge)
	if err != nil {
		return nil, err
	}
	credential, err := p.webauthn.CreateCredential(who, *begun.Session, made) // checks that the session is of the same member
	if err != nil {
		return nil, notAccepted()
	}
	data, err := json.Marshal(credential)
	if err != nil {
		return nil, err
	}
	return p.enter(w, r, who, signIn{act: "register_passkey", way: "passkey"}, func(tx pgx.Tx) error {
		isUsed := wrong(teamwire.CodeForbidden, "this invitation was used already", "ask an admin of the team for a new one")
		err := changeOne(r.Context(), tx, isUsed,
			"UPDATE invitation SET used = now() WHERE hash = $1 AND used IS NULL AND expires > now()", hashToken(in.Invitation))
		if err == nil {
			_, err = tx.Exec(r.Context(), "INSERT INTO passkey (id, team, member, credential) VALUES ($1, $2, $3, $4)",
				credential.ID, who.team, who.memberID, data)
		}
		if isTaken(err) {
			err = wrong(teamwire.CodeForbidden, "this passkey is registered already", "sign in with it")
		}
		return err
	})
}

// beginSignIn returns the challenge that the browser must sign. It names no member: the passkey does.
func (p *people) beginSignIn(_ http.ResponseWriter, r *http.Request, _ struct{}) (any, error) {
	options, session, err := p.webauthn.BeginDiscoverableLogin(webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, err
	}
	return options, p.keepCeremony(r.Context(), passkeyChallenge+session.Challenge, ceremony{Session: session})
}

// finishSignIn signs a member in by the answer of a passkey.
func (p *people) finishSignIn(w http.ResponseWriter, r *http.Request, in passkeyAnswer) (any, error) {
	who, err := p.checkAnswer(r.Context(), in.Credential, nil)
	if err != nil {
		return nil, err
	}
	return p.enter(w, r, who, signIn{act: "sign_in", way: "passkey"}, func(tx pgx.Tx) error { return who.keepCredential(r.Context(), tx) })
}

// checkAnswer returns the member of the passkey that answered a challenge: one to sign in or, unless signed is nil, to sign an approval.
func (p *people) checkAnswer(ctx context.Context, answer []byte, signed *approval) (*person, error) {
	parsed, err := protocol.ParseCredentialRequestResponseBytes(answer)
	if err != nil {
		return nil, notAccepted()
	}
	begun, err := p.takeCeremony(ctx, passkeyChallenge+parsed.Response.CollectedClientData.Challenge)
	if err != nil {
		return nil, err
	}
	if (begun.Approval == nil) != (signed == nil) ||
		signed != nil && begun.Approval.challenge() != parsed.Response.CollectedClientData.Challenge {
		return nil, notAccepted()
	}
	var who person
	_, credential, err := p.webauthn.ValidatePasskeyLogin(func(id, handle []byte) (webauthn.User, error) {
		var data []byte
		err := p.pool.QueryRow(ctx, "SELECT team, member, member_name, credential FROM passkey_of($1)", id).
			Scan(&who.team, &who.memberID, &who.member, &data)
		if err != nil || !bytes.Equal(handle, who.WebAuthnID()) {
			return nil, errors.Join(err, errors.New("no member has this passkey"))
		}
		who.credentials = make([]webauthn.Credential, 1)
		return &who, json.Unmarshal(data, &who.credentials[0])
	}, *begun.Session, parsed)
	if err != nil || credential.Authenticator.CloneWarning {
		return nil, notAccepted()
	}
	who.credentials[0] = *credential
	if signed != nil {
		*signed = *begun.Approval
	}
	return &who, nil
}

func (p *person) keepCredential(ctx context.Context, tx pgx.Tx) error {
	data, err := json.Marshal(p.credentials[0])
	if err != nil {
		return err
	}
	removed := notAccepted()
	return changeOne(ctx, tx, removed, "UPDATE passkey SET credential = $2, used = now() WHERE id = $1", p.credentials[0].ID, data)
}

// notAccepted does not tell why a passkey's answer is not valid.
func notAccepted() error {
	return wrong(teamwire.CodeForbidden, "the passkey was not accepted",
		"use one that you registered here, or ask an admin of the team for an invitation")
}

type signIn struct {
	act, way string    // for the audit; passkey or account
	since    time.Time // when the person did it elsewhere; zero: now
}

// enter signs a member in, in one transaction with f. It returns the answer that opens the page.
func (p *people) enter(w http.ResponseWriter, r *http.Request, who *person, how signIn, f func(pgx.Tx) error) (any, error) {
	ctx := r.Context()
	secret, hash := newSecret("")
	key, keyHash := newSecret("")
	if how.since.IsZero() {
		how.since = p.clock.now()
	}
	err := p.db.InTeam(ctx, who.team, func(tx pgx.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		err := tx.QueryRow(ctx, `WITH expired AS (DELETE FROM signin WHERE expires < now()),
			m AS (SELECT id, role FROM member WHERE team = $2 AND id = $3 AND removed IS NULL),
			entered AS (INSERT INTO signin (hash, page_key, team, member, way, since, expires)
				SELECT $1, $4, $2, id, $5, least(now(), $6), now() + $7::interval FROM m RETURNING team)
			SELECT name, m.role FROM m, entered JOIN team ON team.id = entered.team`,
			hash, who.team, who.memberID, keyHash, how.way, how.since, signInLasts).Scan(&who.teamName, &who.role)
		if errors.Is(err, pgx.ErrNoRows) {
			err = notAccepted()
		}
		if err != nil {
			return err
		}
		return note(ctx, tx, who.team, who.member, how.act, map[string]any{"way": how.way})
	})
	if err != nil {
		return nil, err
	}
	p.signIns.set(string(hash), true)
	setCookie(w, signInCookie, secret, signInLasts)
	return map[string]any{"key": key, "member": who.member, "role": who.role, "team": who.teamName}, nil
}

// setCookie sets a cookie for the pages of this server, and for a time; 0 removes it.
func setCookie(w http.ResponseWriter, name, value string, lasts time.Duration) {
	http.SetCookie(w, &http.Cookie{Name: name, Value: value, Path: "/", Secure: true, HttpOnly: true, SameSite: http.SameSiteStrictMode,
		MaxAge: cmp.Or(int(lasts.Seconds()), -1)})
}

// ways says whether the browser is signed in, and how it can be.
func (p *people) ways(_ http.ResponseWriter, r *http.Request, _ struct{}) (any, error) {
	_, err := p.signedIn(r)
	isIn := err == nil
	if isWrong(err, teamwire.CodeToken) {
		err = nil
	}
	return map[string]bool{"in": isIn, "account": p.opts.Provider.Issuer != ""}, err
}

func (p *people) signOut(w http.ResponseWriter, r *http.Request, _ struct{}) (any, error) {
	who, err := p.signedIn(r)
	if err != nil {
		return nil, err
	}
	cookie, _ := r.Cookie(signInCookie) // it is there: the person is signed in
	setCookie(w, signInCookie, "", 0)
	return struct{}{}, p.db.InTeam(r.Context(), who.team, func(tx pgx.Tx) error {
		if _, err := tx.Exec(r.Context(), "DELETE FROM signin WHERE hash = $1", hashToken(cookie.Value)); err != nil {
			return err
		}
		return note(r.Context(), tx, who.team, who.member, "sign_out", nil)
	})
}
