package teamserver_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/teamserver"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// TestALoginWithOnlyTheServingRoleServes fails if a server needs more rights than those of planloop_server, or if these let it change
// records or see another team.
func TestALoginWithOnlyTheServingRoleServes(t *testing.T) {
	w, c, p := newDatabase(t), newChat(t), newProvider(t)
	config, err := pgx.ParseConfig(w.dsn)
	check(t, err)
	name := "app_" + config.Database
	for _, statement := range []string{"CREATE ROLE " + name + " LOGIN", "GRANT planloop_server TO " + name} {
		_, err := w.db.Pool().Exec(t.Context(), statement)
		check(t, err)
	}
	db, err := postgres.Open(t.Context(), w.dsn+" user="+name, postgres.Options{})
	check(t, err)
	defer db.Close()
	defer w.db.Pool().Exec(t.Context(), "DROP ROLE "+name)
	w.db, w.admin = db, teamserver.NewAdmin(db, teamserver.Operator)
	w.http = w.serve(teamserver.Options{Address: pageAddress, Provider: w.provider(p), Webhooks: c.Client()})
	ann := w.as("ann", teamwire.RoleMember)
	ann.do(setUp("Ship the shop"))
	ann.do(plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Test it"}}}})
	check(t, w.admin.SetSettings(t.Context(), w.team, "shop", []byte(`{"approvals": 1}`)))
	w.member("ann").signIn()
	check(t, w.admin.SetEmail(t.Context(), w.team, "ann", "ann@example.com"))
	anns := w.browser()
	anns.enter("/signin/account/finish", p.login(anns.toProvider()))
	check(t, w.admin.SetSettings(t.Context(), w.team, "shop", []byte(`{"webhook": "`+c.URL+`/hook/secret"}`)))
	w.submit(w.as("bob", teamwire.RoleAgent))
	c.next(t)
	c.fails.Store(1)
	anns.must("POST", "/api/act", anns.approval("shop/main"), nil)
	c.next(t)
	lines, _ := history(t, setUp("Write the docs"))
	ann.must("POST", "/v1/w/shop/t/docs/share", teamwire.ShareRequest{Records: lines, Last: true}, nil)
	ann.must("POST", "/v1/w/shop/seen", teamwire.Seen{Gone: []string{"codex"}}, nil)
	_, err = w.admin.PurgeHistory(t.Context(), w.team, "shop", "docs", true)
	check(t, err)
	check(t, w.admin.RemoveMember(t.Context(), w.team, "bob"))
	red := w.newTeam("red")
	for _, table := range []string{"member", "token", "policy", "sighting", "passkey", "signin", "invitation", "track", "record",
		"notice"} {
		check(t, db.InTeam(t.Context(), red, func(tx pgx.Tx) error {
			var n int
			err := tx.QueryRow(t.Context(), "SELECT count(*) FROM "+table+" WHERE team = $1", w.team).Scan(&n)
			if n != 0 {
				t.Errorf("a transaction of red sees %d rows of %s", n, table)
			}
			return err
		}))
	}
	var may bool
	check(t, db.Pool().QueryRow(t.Context(), `SELECT bool_or(has_function_privilege($1, oid, 'EXECUTE')) FROM pg_proc
		WHERE prorettype = 'trigger'::regtype AND pronamespace = 'public'::regnamespace`, name).Scan(&may))
	if may {
		t.Error("the serving role may use a trigger's function")
	}
	for _, statement := range []string{"UPDATE record SET line = ''", "DELETE FROM record", "DELETE FROM member", "DELETE FROM audit",
		"UPDATE audit SET actor = 'bob'", "UPDATE token SET hash = ''", "UPDATE token SET role = 'admin'", "UPDATE team SET name = 'x'",
		"INSERT INTO notice (team, track, seq) SELECT team, id, seq FROM track", "UPDATE notice SET due = now()"} {
		err := db.InTeam(t.Context(), w.team, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), statement)
			return err
		})
		if err == nil {
			t.Errorf("the serving role may %s", statement)
		}
	}
	check(t, w.admin.DeleteTeam(t.Context(), red))
}
