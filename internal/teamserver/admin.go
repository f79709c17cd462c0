package teamserver

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// Operator is the actor of the server's commands.
const Operator = "operator"

// Admin changes teams. Each change is noted in the team's audit.
type Admin struct {
	db    *postgres.DB
	actor string // a member, or Operator
}

// NewAdmin returns the acts of an actor. The caller has checked its rights.
func NewAdmin(db *postgres.DB, actor string) Admin { return Admin{db, actor} }

func note(ctx context.Context, tx pgx.Tx, team int64, actor, act string, detail any) error {
	data, err := json.Marshal(detail)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, "INSERT INTO audit (team, actor, act, detail) VALUES ($1, $2, $3, $4)", team, actor, act, data)
	return err
}

func (a Admin) change(ctx context.Context, team int64, act string, detail any, f func(pgx.Tx) error) error {
	return a.db.InTeam(ctx, team, func(tx pgx.Tx) error {
		if err := f(tx); err != nil {
			return err
		}
		return note(ctx, tx, team, a.actor, act, detail)
	})
}

func unfit(format string, args ...any) error {
	return wrong(teamwire.CodeInvalid, fmt.Sprintf(format, args...), "")
}

func isTaken(err error) bool {
	failed, is := errors.AsType[*pgconn.PgError](err)
	return is && failed.Code == "23505"
}

// CreateTeam makes a team. Its name is unique on the server.
func (a Admin) CreateTeam(ctx context.Context, name string) (team int64, err error) {
	if err := teamwire.CheckName("team", name); err != nil {
		return 0, unfit("%v", err)
	}
	err = a.db.Pool().QueryRow(ctx, "INSERT INTO team (name) VALUES ($1) RETURNING id", name).Scan(&team)
	if isTaken(err) {
		return 0, unfit("the team %s exists already; choose another name", name)
	}
	if err != nil {
		return 0, err
	}
	return team, a.change(ctx, team, "create_team", nil, func(pgx.Tx) error { return nil })
}

// FindTeam returns a team by its name.
func (a Admin) FindTeam(ctx context.Context, name string) (team int64, err error) {
	err = a.db.Pool().QueryRow(ctx, "SELECT id FROM team WHERE name = $1", name).Scan(&team)
	if errors.Is(err, pgx.ErrNoRows) {
		err = unfit("team %s does not exist; create it with: planloop-server team create %s", plan.Quote(name), name)
	}
	return team, err
}

// ErrCurrent means that a team uses a format already.
var ErrCurrent = errors.New("the team uses this format already")

// Upgrade raises a team's format of records and requests, and returns the laptops that do not know it. If there are some, it needs
// force: they count as offline until they are updated.
func (a Admin) Upgrade(ctx context.Context, team int64, to int, force bool) (old []string, err error) {
	err = a.change(ctx, team, "upgrade", map[string]int{"format": to}, func(tx pgx.Tx) error {
		if err := changeOne(ctx, tx, ErrCurrent, "UPDATE team SET format = $2 WHERE id = $1 AND format < $2", team, to); err != nil {
			return err
		}
		rows, _ := tx.Query(ctx, `SELECT m.name || chr(39) || 's ' || t.machine || ', last seen ' || to_char(t.used, 'YYYY-MM-DD')
			FROM token t JOIN member m ON m.id = t.member WHERE t.format < $1 AND t.used IS NOT NULL AND t.revoked IS NULL
			AND t.expires > now() AND m.removed IS NULL ORDER BY 1`, to) // CollectRows returns its error
		if old, err = pgx.CollectRows(rows, pgx.RowTo[string]); err == nil && len(old) > 0 && !force {
			err = fmt.Errorf("planloop is too old for format %d on %s; update it there, or add --force to leave these laptops offline", to,
				strings.Join(old, "; "))
		}
		return err
	})
	return old, err
}

// DeleteTeam deletes a team with everything it has.
func (a Admin) DeleteTeam(ctx context.Context, team int64) error {
	return a.db.Exec(ctx, team, "SELECT delete_team()")
}

// AddMember adds a member, or an earlier one again, without the tokens and passkeys of that time. It signs in with the account of an
// e-mail address; "" for none.
func (a Admin) AddMember(ctx context.Context, team int64, name string, role teamwire.Role, email string) error {
	if err := teamwire.CheckName("member", name); err != nil {
		return unfit("%v", err)
	}
	if err := checkMemberRole(role); err != nil {
		return err
	}
	// A name such as "person" would show an actor as another kind; ones that planloop itself uses would, too.
	if err := plan.CheckAgentName("name", name); err != nil || name == string(plan.Planloop) || name == Operator {
		return unfit("%s cannot be a member's name; use a name such as ann", plan.Quote(name))
	}
	return a.change(ctx, team, "add_member", map[string]any{"member": name, "role": role, "email": email}, func(tx pgx.Tx) error {
		isMember := unfit("%s is a member already; change the role with: planloop-server member role", name)
		err := changeOne(ctx, tx, isMember, `INSERT INTO member (team, name, role) VALUES ($1, $2, $3) ON CONFLICT (team, name)
			DO UPDATE SET removed = NULL, role = excluded.role WHERE member.removed IS NOT NULL`, team, name, role)
		if err == nil && email != "" {
			err = setEmail(ctx, tx, team, name, email)
		}
		return err
	})
}

func checkMemberRole(role teamwire.Role) error {
	if role != teamwire.RoleMember && role != teamwire.RoleAdmin {
		return unfit("a member cannot have the role %q; use member or admin", role)
	}
	return nil
}

// Members lists the members of a team.
func (a Admin) Members(ctx context.Context, team int64) ([]teamwire.Member, error) {
	return postgres.Collect(ctx, a.db, team, func(row pgx.CollectableRow) (m teamwire.Member, err error) {
		if err = row.Scan(&m.Name, &m.Role, &m.SeenAt); m.SeenAt.Unix() == 0 {
			m.SeenAt = time.Time{}
		}
		return m, err
	}, `SELECT m.name, m.role, coalesce(max(t.used), 'epoch') FROM member m LEFT JOIN token t ON t.member = m.id
		WHERE m.team = $1 AND m.removed IS NULL GROUP BY m.name, m.role ORDER BY m.name`, team)
}

// SetRole changes a member's role. A token of the role admin has no more rights than its member.
func (a Admin) SetRole(ctx context.Context, team int64, name string, role teamwire.Role) error {
	if err := checkMemberRole(role); err != nil {
		return err
	}
	return a.change(ctx, team, "set_role", map[string]any{"member": name, "role": role}, func(tx pgx.Tx) error {
		return changeOne(ctx, tx, notMember(name), "UPDATE member SET role = $3 WHERE team = $1 AND name = $2 AND removed IS NULL", team,
			name, role)
	})
}

// RemoveMember removes a member. All tokens, sign-ins, passkeys and invitations end at once, and votes no longer count.
func (a Admin) RemoveMember(ctx context.Context, team int64, name string) error {
	return a.change(ctx, team, "remove_member", map[string]any{"member": name}, func(tx pgx.Tx) error {
		if err := changeOne(ctx, tx, notMember(name), `UPDATE member SET removed = now(), subject = NULL, email = NULL
			WHERE team = $1 AND name = $2 AND removed IS NULL`, team, name); err != nil {
			return err
		}
		for _, query := range []string{"UPDATE token SET revoked = now() WHERE revoked IS NULL AND ",
			"UPDATE invitation SET used = now() WHERE used IS NULL AND ", "DELETE FROM signin WHERE ", "DELETE FROM passkey WHERE "} {
			if _, err := tx.Exec(ctx, query+"member = (SELECT id FROM member WHERE team = $1 AND name = $2)", team, name); err != nil {
				return err
			}
		}
		return nil
	})
}

// changeOne runs a statement that must change a row; missing is the error if there is none.
func changeOne(ctx context.Context, tx pgx.Tx, missing error, statement string, args ...any) error {
	done, err := tx.Exec(ctx, statement, args...)
	if err == nil && done.RowsAffected() == 0 {
		err = missing
	}
	return err
}

func notMember(name string) error {
	return unfit("the team has no member %s; list them with: planloop-server member list", plan.Quote(name))
}

const longestToken = 366 * 24 * time.Hour

// CreateToken returns a new token of a member. It is not kept, only its hash.
func (a Admin) CreateToken(ctx context.Context, team int64, member string, role teamwire.Role, machine string, valid time.Duration) (
	string, error) {
	if err := teamwire.CheckName("machine", machine); err != nil {
		return "", unfit("%v", err)
	}
	if valid <= 0 || valid > longestToken {
		return "", unfit("a token cannot be valid for %s; use at most %d days", valid, int(longestToken.Hours()/24))
	}
	if !slices.Contains(role.Values(), string(role)) {
		return "", unfit("a token cannot have the role %q; use agent, ci, member or admin", role)
	}
	token, hash := newSecret(tokenPrefix)
	detail := map[string]any{"member": member, "role": role, "machine": machine, "valid": valid.String()}
	return token, a.change(ctx, team, "create_token", detail, func(tx pgx.Tx) error {
		missing := notMember(member)
		if role == teamwire.RoleAdmin {
			missing = unfit("%s is not an admin; create a token of the role member", member)
		}
		return changeOne(ctx, tx, missing, `INSERT INTO token (team, member, hash, role, machine, expires)
			SELECT $1, id, $3, $4, $5, now() + $6::interval FROM member
			WHERE team = $1 AND name = $2 AND removed IS NULL AND ($4 <> 'admin' OR role = 'admin')`,
			team, member, hash, role, machine, valid)
	})
}

// Token describes a token without its secret.
type Token struct {
	ID      int64         `json:"token"`
	Member  string        `json:"member"`
	Machine string        `json:"machine"`
	Role    teamwire.Role `json:"role"`
	Created time.Time     `json:"created"`
	Expires time.Time     `json:"expires"`
	Used    *time.Time    `json:"used,omitempty"`
}

// Tokens lists the valid tokens of a team.
func (a Admin) Tokens(ctx context.Context, team int64) ([]Token, error) {
	return postgres.Collect(ctx, a.db, team, pgx.RowToStructByPos[Token],
		`SELECT t.id, m.name, t.machine, t.role, t.created, t.expires, t.used
		FROM token t JOIN member m ON m.id = t.member WHERE t.revoked IS NULL AND t.expires > now() ORDER BY m.name, t.id`)
}

// RevokeToken ends a token at once.
func (a Admin) RevokeToken(ctx context.Context, team, id int64) error {
	return a.change(ctx, team, "revoke_token", map[string]any{"token": id}, func(tx pgx.Tx) error {
		missing := unfit("the team has no valid token %d; list them with: planloop-server token list", id)
		return changeOne(ctx, tx, missing, "UPDATE token SET revoked = now() WHERE id = $1 AND revoked IS NULL", id)
	})
}

// SetSettings sets the rules of a team, or those of one workspace, which then replace the team's; nil removes these.
// Submissions keep the rules of their time.
func (a Admin) SetSettings(ctx context.Context, team int64, workspace string, settings []byte) error {
	detail := map[string]any{"workspace": workspace, "settings": string(settings)}
	return a.change(ctx, team, "set_policy", detail, func(tx pgx.Tx) error {
		id, err := findWorkspace(ctx, tx, team, workspace)
		if err != nil {
			return err
		}
		if settings == nil {
			_, err := tx.Exec(ctx, "DELETE FROM policy WHERE team = $1 AND workspace = $2", team, id)
			return err
		}
		now, err := rulesIn(ctx, tx, team, id)
		if err != nil {
			return err
		}
		set, err := ParseSettings(settings, slices.Sorted(maps.Keys(now.members)))
		if err == nil && id != 0 && set.Offline != "" { // a laptop is told the team's only
			err = unfit("offline cannot be set for one workspace; set it for the team")
		}
		if err != nil {
			return err
		}
		data, err := json.Marshal(set)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO policy (team, workspace, settings) VALUES ($1, $2, $3) ON CONFLICT (team, workspace)
			DO UPDATE SET settings = excluded.settings, changed = now()`, team, id, data)
		return err
	})
}

// findWorkspace returns a workspace by its name; 0 for "", the whole team.
func findWorkspace(ctx context.Context, tx pgx.Tx, team int64, name string) (id int64, err error) {
	if name == "" {
		return 0, nil
	}
	err = tx.QueryRow(ctx, "SELECT id FROM workspace WHERE team = $1 AND name = $2", team, name).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		err = unfit("the team has no workspace %s; share a track in it first", plan.Quote(name))
	}
	return id, err
}

// Settings returns the rules of a team, or of one workspace of it, and the team's members.
func (a Admin) Settings(ctx context.Context, team int64, workspace string) (set Settings, members []string, err error) {
	err = a.db.InTeam(ctx, team, func(tx pgx.Tx) error {
		id, err := findWorkspace(ctx, tx, team, workspace)
		if err != nil {
			return err
		}
		r, err := rulesIn(ctx, tx, team, id)
		set, members = r.settings, slices.Sorted(maps.Keys(r.members))
		return err
	})
	return set, members, err
}

// PurgeHistory begins a new chain of a track with its present plan and draft, without the history that led to
// them. Laptops replace their copies; other copies cannot be recalled. It returns the number of records that are gone.
func (a Admin) PurgeHistory(ctx context.Context, team int64, workspace, name string, keepCurrent bool) (gone plan.Revision, err error) {
	id, err := a.db.FindTrack(ctx, team, workspace, name)
	switch {
	case errors.Is(err, postgres.ErrNoTrack):
		return 0, unfit("the workspace %s has no track %s; the page lists them", plan.Quote(workspace), plan.Quote(name))
	case err != nil:
		return 0, err
	case !keepCurrent:
		return 0, unfit("the history would be deleted; add --keep-current to begin a new one with the present plan")
	}
	log := a.db.Log(team, id)
	unlock, err := log.Lock(ctx)
	if err != nil {
		return 0, err
	}
	defer unlock()
	reader := session.New(log, session.Options{})
	defer reader.Close()
	for {
		state, err := reader.State(ctx)
		if err != nil {
			return 0, err
		}
		_, err = log.Purge(ctx, store.NewChain(), a.presentPlan(state))
		if errors.Is(err, store.ErrConflict) && ctx.Err() == nil {
			continue // a server has changed the track since
		}
		if err != nil {
			return 0, err
		}
		detail := map[string]any{"workspace": workspace, "track": name, "records": state.Revision}
		return state.Revision, a.change(ctx, team, "purge", detail, func(pgx.Tx) error { return nil })
	}
}

// presentPlan returns the record that replaces the history of a state.
func (a Admin) presentPlan(state plan.State) plan.Record {
	now := time.Now().UTC()
	events := []plan.Event{plan.HistoryPurged{Records: state.Revision, At: now}}
	if state.Plan != nil {
		events = append(events, plan.PlanRestored{Plan: withoutRevision(state.Plan.Body())})
	}
	if state.Draft != nil {
		events = append(events, plan.DraftMade{Plan: withoutRevision(state.Draft.Body())})
	}
	after := plan.Apply(plan.State{}, events...)
	return plan.Record{Seq: 1, Action: plan.ActionWord(plan.Purge{}), Actor: plan.NewActor(plan.ChannelEngine, a.actor),
		Time: now.Truncate(time.Millisecond), Phase: after.PhaseNow(), IsOpen: after.IsOpen(), Events: events}
}

// withoutRevision returns a plan with an approval that names no record of the former log.
func withoutRevision(b plan.Body) plan.Body {
	if b.Approval != nil {
		approval := *b.Approval
		approval.Revision = 0
		b.Approval = &approval
	}
	return b
}
