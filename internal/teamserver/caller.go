package teamserver

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// tokenPrefix marks a token, so that scanners for secrets find it.
const tokenPrefix = "plt_"

// newSecret returns a random secret with a prefix, and the hash that is kept of it, which tells nothing. It is long enough for plan.Mask.
func newSecret(prefix string) (secret string, hash []byte) {
	secret = prefix + rand.Text() + rand.Text()
	return secret, hashToken(secret)
}

func hashToken(token string) []byte {
	sum := sha256.Sum256([]byte(token))
	return sum[:]
}

// caller is the holder of a valid token, or a person who has signed in.
type caller struct {
	token    int64 // 0: of a person
	team     int64
	teamName string
	memberID int64
	member   string
	machine  string
	role     teamwire.Role
	format   int
	expires  time.Time
	rules    int64 // number of the team's rules when it was read
	read     time.Time
	isUnused bool // its last use was not noted lately
}

// tokenKey returns the key of a request's token in the cache of callers.
func tokenKey(header string) string { return string(hashToken(strings.TrimPrefix(header, "Bearer "))) }

// recall returns the holder of a token as it was read at most a minute ago. Its rights may have ended since: before anything is changed or
// answered, an append or confirm must find that the team's rules still have the caller's number.
func (s *Server) recall(ctx context.Context, header string) (*caller, error) {
	c := s.callers.get(tokenKey(header))
	if c == nil || time.Since(c.read) > usedEvery {
		return s.authenticate(ctx, header)
	}
	return c, nil
}

func (s *Server) readAgain(r *http.Request) (*caller, error) {
	c, err := s.authenticate(r.Context(), r.Header.Get("Authorization"))
	if err == nil {
		err = s.checkFormat(r, c)
	}
	return c, err
}

// confirm checks that a caller's rights lasted at least until the team's rules had a number.
func (s *Server) confirm(r *http.Request, c *caller, rules int64) error {
	if rules == c.rules && s.clock.now().Before(c.expires) {
		return nil
	}
	_, err := s.readAgain(r)
	return err
}

// relied returns the conditions of an append by a caller, decided by rules with a number: the rights and the rules are the same, and the
// rights have not ended.
func (c *caller) relied(rules int64) *postgres.Relied {
	return &postgres.Relied{Rules: min(c.rules, rules), Until: c.expires}
}

// rights are the caller of a request with changes that the session decides: on the page, over MCP, and while sharing.
type rights struct {
	mu   sync.Mutex
	now  *caller
	read func(context.Context) (*caller, error)
}

type rightsInContext struct{}

// withRights returns a context for changes of a caller, which read finds again with its present rights.
func withRights(ctx context.Context, c *caller, read func(context.Context) (*caller, error)) context.Context {
	return context.WithValue(ctx, rightsInContext{}, &rights{now: c, read: read})
}

// byToken returns the caller of a request by its token, as often as it is called.
func (s *Server) byToken(r *http.Request) func(context.Context) (*caller, error) {
	header := r.Header.Get("Authorization")
	return func(ctx context.Context) (*caller, error) { return s.authenticate(ctx, header) }
}

// endWithRights ends a long request once its caller's rights have ended. A silent database does not end it.
func (s *Server) endWithRights(ctx context.Context, end func(), find func(context.Context) (*caller, error)) {
	repeat(ctx, s.opts.CheckEvery, func() {
		if _, err := find(ctx); isWrong(err, teamwire.CodeToken) {
			end()
		}
	})
}

// rightsLog is a log that changes only while the rights in the context last, or on conditions of the caller. If the team's rules have
// changed, it finds the rights again and reports a conflict, after which a session decides again.
type rightsLog struct{ *postgres.Log }

var errNoRights = errors.New("the change has no rights")

// Append implements store.Log.
func (l rightsLog) Append(ctx context.Context, r plan.Record) (store.Head, error) {
	return withinRights(ctx, func(ctx context.Context) (store.Head, error) { return l.Log.Append(ctx, r) })
}

// Purge implements store.Log.
func (l rightsLog) Purge(ctx context.Context, chain string, first plan.Record) (store.Head, error) {
	return withinRights(ctx, func(ctx context.Context) (store.Head, error) { return l.Log.Purge(ctx, chain, first) })
}

// withinRights changes a log on the condition that the rights in the context last.
func withinRights(ctx context.Context, change func(context.Context) (store.Head, error)) (store.Head, error) {
	by, _ := ctx.Value(rightsInContext{}).(*rights)
	switch {
	case by == nil && postgres.Relies(ctx):
		return change(ctx)
	case by == nil:
		return store.Head{}, errNoRights
	}
	by.mu.Lock()
	defer by.mu.Unlock()
	head, err := change(postgres.Rely(ctx, by.now.relied(math.MaxInt64)))
	if !errors.Is(err, postgres.ErrOld) {
		return head, err
	}
	now, err := by.read(ctx)
	if err != nil {
		return head, err
	}
	by.now = now
	return head, fmt.Errorf("%w: %w", store.ErrConflict, postgres.ErrOld)
}

// usedEvery limits how often the last use of a token is noted.
const usedEvery = time.Minute

// callerWait bounds a look at the database for a caller, as long as laptops wait.
const callerWait = 5 * time.Second

// authenticate returns the holder of a token: it is known, has not expired, and neither it nor its
// member was removed. The database's clock counts.
func (s *Server) authenticate(ctx context.Context, header string) (*caller, error) {
	token, isBearer := strings.CutPrefix(header, "Bearer ")
	if !isBearer || !strings.HasPrefix(token, tokenPrefix) || len(token) > 200 {
		return nil, wrong(teamwire.CodeToken, "the request has no token", "send the header Authorization: Bearer TOKEN")
	}
	ctx, cancel := context.WithTimeout(ctx, callerWait)
	defer cancel()
	hash := hashToken(token)
	c := caller{read: time.Now()}
	err := s.pool.QueryRow(ctx, `SELECT t.token, t.team, t.team_name, t.member, t.member_name, t.machine, t.role, t.format, t.expires,
		g.rules, t.used IS NULL OR t.used < now() - $2::interval FROM team_token($1) t JOIN team g ON g.id = t.team`, hash, usedEvery).
		Scan(&c.token, &c.team, &c.teamName, &c.memberID, &c.member, &c.machine, &c.role, &c.format, &c.expires, &c.rules, &c.isUnused)
	if errors.Is(err, pgx.ErrNoRows) {
		s.callers.drop(string(hash))
		return nil, wrong(teamwire.CodeToken, "the token is unknown, has expired or was revoked", "ask an admin of the team for a new one")
	}
	if err != nil {
		return nil, err
	}
	known := c
	known.isUnused = false // once noted
	s.callers.set(string(hash), &known)
	return &c, err
}

// noteUse notes that a token was used, by a laptop that knows this format.
func (s *Server) noteUse(ctx context.Context, c *caller, format int) error {
	if !c.isUnused {
		return nil
	}
	return s.db.Exec(ctx, c.team, "UPDATE token SET used = now(), format = $2 WHERE id = $1", c.token, format)
}

// maxLabel keeps the name member/label within plan.MaxName.
const maxLabel = plan.MaxName - 41

// actor returns the author of an action. The token alone gives its name and rights; the
// request may name an agent of the same member. An engine of the member may take the actions of engines, which
// need no right of a person.
func (c *caller) actor(label, kind string, a plan.Action) (plan.Actor, error) {
	clean, err := plan.Text{Max: maxLabel}.Clean(label)
	if err != nil || clean != label || len(label) > maxLabel || strings.Contains(label, "/") || plan.CheckAgentName("", label) != nil {
		return plan.Actor{}, wrong(teamwire.CodeInvalid, plan.Quote(label)+" is not a valid name of an agent",
			fmt.Sprintf("use up to %d characters, such as codex or reviewer-2", maxLabel))
	}
	name := c.member + "/" + label
	switch {
	case c.role == teamwire.RoleCI:
		return plan.NewActor(plan.ChannelCI, c.member+"/ci"), nil
	case label == "" && c.role == teamwire.RoleAgent:
		return plan.Actor{}, wrong(teamwire.CodeInvalid, "the request names no agent",
			"name it: planloop --agent NAME, or the field agent of the request")
	case label == "":
		return plan.NewActor(plan.ChannelScript, c.member), nil
	case kind == string(plan.Planloop) && isOfEngine(a):
		return plan.NewActor(plan.ChannelEngine, name), nil
	}
	return plan.NewActor(plan.ChannelAgentShell, name), nil
}

// isOfEngine reports whether engines take an action by themselves: it records results of steps, or that a time is over.
func isOfEngine(a plan.Action) bool {
	switch a.(type) {
	case plan.Schedule, plan.PauseRun, plan.ExpireMode:
		return true
	}
	return false
}

func (c *caller) may(activity string, roles ...teamwire.Role) error {
	for _, role := range roles {
		if c.role == role {
			return nil
		}
	}
	return wrong(teamwire.CodeForbidden, fmt.Sprintf("a token of the role %s may not %s", c.role, activity),
		"ask an admin of the team for a token of another role")
}

func wrong(code teamwire.Code, problem, fix string) error {
	return &teamwire.Error{Code: code, Problem: problem, Fix: fix}
}
