package teamserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json" // go-webauthn's types are written for it
	"time"

	"github.com/go-webauthn/webauthn/protocol"
	"github.com/go-webauthn/webauthn/webauthn"
	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// approval is a person's approval of a plan, as signed with a passkey.
type approval struct {
	Team      int64  `json:"team"`
	Member    int64  `json:"member"`
	Workspace string `json:"workspace"` // WORKSPACE/TRACK
	Request   string `json:"request"`
	Digest    string `json:"digest"`
	Nonce     string `json:"nonce"`
}

// challenge returns the signed text. It depends on everything that is approved, so that the signature holds for nothing else.
func (a *approval) challenge() string {
	data, _ := json.Marshal(a) // texts and numbers: cannot fail
	sum := sha256.Sum256(append([]byte("planloop approval "), data...))
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

// beginApproval returns the challenge of an approval of the waiting plan, and the plan's size and digest.
func (p *people) beginApproval(ctx context.Context, who *person, in struct {
	Workspace string `json:"workspace"`
}) (any, error) {
	workspace, err := p.workspacesOf(who).Open(ctx, in.Workspace)
	if err != nil {
		return nil, err
	}
	view, err := review.ReadView(ctx, workspace)
	if err != nil {
		return nil, err
	}
	if view.Draft == nil || view.Draft.Request == "" {
		return nil, plan.Refuse(plan.Conflict, "", "no plan waits for approval", "look at the plan again")
	}
	shown := view.Draft.Plan
	of := &approval{who.team, who.memberID, in.Workspace, view.Draft.Request, shown.Digest, rand.Text()}
	challenge, err := base64.RawURLEncoding.DecodeString(of.challenge())
	if err != nil {
		return nil, err
	}
	options, session, err := p.webauthn.BeginDiscoverableLogin(webauthn.WithChallenge(challenge),
		webauthn.WithUserVerification(protocol.VerificationRequired))
	if err != nil {
		return nil, err
	}
	steps := len(shown.Steps) + shown.LeftOut
	answer := map[string]any{"objective": shown.Objective, "steps": steps, "short": shown.Short, "options": options}
	return answer, p.keepCeremony(ctx, passkeyChallenge+session.Challenge, ceremony{Session: session, Approval: of})
}

// finishApproval records the signed approval. The audit keeps the signature.
func (p *people) finishApproval(ctx context.Context, who *person, in passkeyAnswer) (any, error) {
	var of approval
	signer, err := p.checkAnswer(ctx, in.Credential, &of)
	if err != nil {
		return nil, err
	}
	if signer.memberID != who.memberID || of.Member != who.memberID || of.Team != who.team {
		return nil, wrong(teamwire.CodeForbidden, "the passkey is not of the person that is signed in", "sign in as "+signer.member)
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Minute)
	defer cancel()
	workspace, err := p.workspacesOf(who).Open(ctx, of.Workspace)
	if err != nil {
		return nil, err
	}
	err = p.db.InTeam(ctx, who.team, func(tx pgx.Tx) error {
		if err := signer.keepCredential(ctx, tx); err != nil {
			return err
		}
		return note(ctx, tx, who.team, who.member, "sign_approval", map[string]any{"approval": of, "signature": string(in.Credential)})
	})
	if err != nil {
		return nil, err
	}
	actor := plan.NewActor(plan.ChannelPage, who.member)
	actor.Proof = plan.ProofPasskey
	reply, err := workspace.Service.Decide(ctx, verbs.Caller{Actor: actor, Face: review.Face{}},
		plan.DecideDraft{Outcome: plan.Approved, Request: of.Request, Digest: of.Digest})
	return map[string]string{"message": reply.Message}, err
}
