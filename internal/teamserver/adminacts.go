package teamserver

import (
	"context"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/planloop/planloop/internal/teamwire"
)

// byAdmin returns an act of an admin with a sign-in of the last hour.
func byAdmin[In any](p *people, do func(context.Context, Admin, int64, In) (any, error)) pageAct {
	return byPerson(p, func(ctx context.Context, who *person, in In) (any, error) {
		if who.role != teamwire.RoleAdmin {
			return nil, wrong(teamwire.CodeForbidden, "only an admin of the team may do this", "ask an admin to do it")
		}
		return do(ctx, NewAdmin(p.db, who.member), who.team, in)
	})
}

// memberAct names a member and, for a new one, its role and the address of its account.
type memberAct struct {
	Member string        `json:"member"`
	Role   teamwire.Role `json:"role,omitempty"`
	Email  string        `json:"email,omitempty"`
}

// adminActs returns the acts of signed-in admins, by path. Their commands are the ones of planloop-server.
func (p *people) adminActs() map[string]pageAct {
	return map[string]pageAct{
		"/admin/add": byAdmin(p, func(ctx context.Context, a Admin, team int64, in memberAct) (any, error) {
			return struct{}{}, a.AddMember(ctx, team, in.Member, in.Role, in.Email)
		}),
		"/admin/email": byAdmin(p, func(ctx context.Context, a Admin, team int64, in memberAct) (any, error) {
			return struct{}{}, a.SetEmail(ctx, team, in.Member, in.Email)
		}),
		"/admin/remove": byAdmin(p, func(ctx context.Context, a Admin, team int64, in memberAct) (any, error) {
			return struct{}{}, a.RemoveMember(ctx, team, in.Member)
		}),
		"/admin/invite": byAdmin(p, func(ctx context.Context, a Admin, team int64, in memberAct) (any, error) {
			secret, err := a.Invite(ctx, team, in.Member)
			return map[string]string{"link": p.opts.Address + "/invite#" + secret}, err
		}),
		"/admin/tokens": byAdmin(p, func(ctx context.Context, a Admin, team int64, _ struct{}) (any, error) {
			tokens, err := a.Tokens(ctx, team)
			return map[string]any{"tokens": tokens}, err
		}),
		"/admin/revoke": byAdmin(p, func(ctx context.Context, a Admin, team int64, in struct {
			Token int64 `json:"token"`
		}) (any, error) {
			return struct{}{}, a.RevokeToken(ctx, team, in.Token)
		}),
		"/admin/policy": byAdmin(p, p.policy),
	}
}

func (p *people) policy(ctx context.Context, a Admin, team int64, in struct {
	Workspace string         `json:"workspace,omitempty"`
	Settings  jsontext.Value `json:"settings,omitempty"`
}) (any, error) {
	if len(in.Settings) > 0 {
		if err := a.SetSettings(ctx, team, in.Workspace, in.Settings); err != nil {
			return nil, err
		}
	}
	settings, names, err := a.Settings(ctx, team, in.Workspace)
	if err != nil {
		return nil, err
	}
	members, err := a.Members(ctx, team)
	return map[string]any{"settings": settings, "members": members, "warning": settings.Warning(names)}, err
}
