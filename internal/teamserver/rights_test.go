package teamserver_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/teamserver"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// TestRightsEndAtOnce fails if a server that has answered a token before still believes it after its rights have ended, or decides on rules
// that have changed.
func TestRightsEndAtOnce(t *testing.T) {
	w := newWorld(t)
	servers := []string{w.http.URL, w.serve(teamserver.Options{}).URL}
	ann := w.as("ann", teamwire.RoleMember)
	ann.do(setUp("Ship the shop"))
	add := plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Test it"}}}}
	note := plan.ReportStep{Step: 1, Note: "tried"}
	keys := 0
	known := func(member string) []*client { // to both servers
		token := w.token(w.team, member, teamwire.RoleMember)
		var all []*client
		for _, address := range servers {
			keys += 100 // a member's keys are the same from all machines
			c := &client{t: t, address: address, token: token, keys: keys}
			c.do(note)
			c.must("GET", trackPath+"records?after=0", nil, nil)
			all = append(all, c)
		}
		return all
	}
	execute := func(statement string) {
		t.Helper()
		_, err := w.db.Pool().Exec(t.Context(), statement, w.team)
		check(t, err)
	}
	for name, end := range map[string]func(){
		"expired": func() {
			execute("UPDATE token SET expires = now() WHERE id = (SELECT max(id) FROM token WHERE team = $1)")
		},
		"revoked": func() {
			tokens, err := w.admin.Tokens(t.Context(), w.team)
			check(t, err)
			check(t, w.admin.RevokeToken(t.Context(), w.team, tokens[len(tokens)-1].ID))
		},
		"removed": func() { check(t, w.admin.RemoveMember(t.Context(), w.team, "bob")) },
	} {
		if name == "removed" {
			defer func() { check(t, w.admin.AddMember(t.Context(), w.team, "bob", teamwire.RoleMember, "")) }()
		}
		member := map[bool]string{true: "bob", false: "ann"}[name == "removed"]
		all := known(member)
		repeated := all[0].request(note)
		all[0].must("POST", trackPath+"do", repeated, nil)
		end()
		for _, c := range all {
			c.refuse(teamwire.CodeToken, "POST", trackPath+"do", c.request(note))
			c.refuse(teamwire.CodeToken, "POST", trackPath+"do", repeated)
			c.refuse(teamwire.CodeToken, "POST", "/v1/w/shop/t/new/do", c.request(setUp("New")))
			c.refuse(teamwire.CodeToken, "GET", trackPath+"records?after=0", nil)
			c.refuse(teamwire.CodeToken, "GET", "/v1/w/shop/t/none/records?after=0", nil)
		}
	}
	both := known("ann")
	check(t, w.admin.SetSettings(t.Context(), w.team, "", []byte(`{"max_steps": 1}`)))
	for _, c := range both {
		c.refuse(teamwire.CodeRefused, "POST", trackPath+"do", c.request(add))
	}
	check(t, w.admin.SetSettings(t.Context(), w.team, "", []byte(`{}`)))
	both[1].do(add)                                             // a server does not refuse by rules that have ended
	both[0].do(plan.MarkStep{Step: 2, Status: plan.InProgress}) // nor for a state that has
	execute("UPDATE team SET format = 2 WHERE id = $1")
	for _, c := range both {
		c.refuse(teamwire.CodeUpdate, "POST", trackPath+"do", c.request(note))
	}
}

// TestNoChangeAfterRightsEnded fails if a change on the page, over MCP, or of an import is recorded although its author was removed, or the
// token revoked, between the check of the rights and the record.
func TestNoChangeAfterRightsEnded(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	w.submit(w.as("ann", teamwire.RoleAgent))
	bob, agent, laptop := w.member("bob"), w.as("bob", teamwire.RoleAgent), w.as("bob", teamwire.RoleMember)
	approval := bob.approval("shop/main")
	ann.must("POST", "/v1/w/shop/t/mcp/do", ann.request(setUp("Test it")), nil)
	overMCP, err := agent.mcp(t, "/w/blue/shop/t/mcp/mcp")
	check(t, err)
	call(t, overMCP, "planloop_status", nil)
	lines, _ := history(t, setUp("Write the docs"))
	count := func() (n int) {
		check(t, w.db.Pool().QueryRow(t.Context(), "SELECT count(*) FROM record").Scan(&n))
		return n
	}
	share := func(last bool) {
		laptop.call("POST", "/v1/w/shop/t/docs/share", teamwire.ShareRequest{Records: lines, Last: last}, nil)
	}
	for name, change := range map[string]func(){
		"page": func() { bob.ask("POST", "/api/act", approval) },
		"MCP": func() {
			call(t, overMCP, "planloop_update", map[string]any{"tasks": []map[string]any{{"id": 1, "note": "tried"}}})
		},
		"share": func() { share(true) },
	} {
		before := count()
		w.whileLocked("policy", change, func() { check(t, w.admin.RemoveMember(t.Context(), w.team, "bob")) })
		want := before
		if name == "share" {
			want++ // the records came before; the track is not shared
		}
		if n := count(); n != want {
			t.Errorf("%s: %d records, want %d", name, n, want)
		}
		check(t, w.admin.AddMember(t.Context(), w.team, "bob", teamwire.RoleMember, ""))
		bob, agent, laptop = w.member("bob"), w.as("bob", teamwire.RoleAgent), w.as("bob", teamwire.RoleMember)
		if overMCP, err = agent.mcp(t, "/w/blue/shop/t/mcp/mcp"); err != nil {
			t.Fatal(err)
		}
		call(t, overMCP, "planloop_status", nil)
		// A change of the rules that leaves the rights only delays the change.
		before = count()
		w.whileLocked("policy", change, func() { check(t, w.admin.SetRole(t.Context(), w.team, "ann", teamwire.RoleAdmin)) })
		if n := count(); n != before+1 {
			t.Errorf("%s: %d records after a change of rules, want %d", name, n, before+1)
		}
	}
}

// TestAnImportIsNotReplacedAfterRightsEnded fails if the beginning of an abandoned import is purged for a member that was removed in the
// meantime.
func TestAnImportIsNotReplacedAfterRightsEnded(t *testing.T) {
	w := newWorld(t)
	bob := w.as("bob", teamwire.RoleMember)
	lines, _ := history(t, setUp("Ship the shop"))
	var begun teamwire.ShareReply
	bob.must("POST", trackPath+"share", teamwire.ShareRequest{Records: lines}, &begun)
	bob.address = w.serve(teamserver.Options{}).URL // which looks for a snapshot of the track first
	w.whileLocked("snapshot", func() {
		bob.refuse(teamwire.CodeToken, "POST", trackPath+"share", teamwire.ShareRequest{Records: lines})
	}, func() { check(t, w.admin.RemoveMember(t.Context(), w.team, "bob")) })
	var chain string
	check(t, w.db.Pool().QueryRow(t.Context(), "SELECT chain FROM track WHERE seq > 0").Scan(&chain))
	if chain != begun.Head.Chain {
		t.Errorf("the track's chain is %s, not %s", chain, begun.Head.Chain)
	}
}

// whileLocked begins a change, lets it come to a table that is locked, acts, and waits for the change.
func (w *world) whileLocked(table string, change, act func()) {
	w.t.Helper()
	tx, err := w.db.Pool().Begin(w.t.Context())
	check(w.t, err)
	_, err = tx.Exec(w.t.Context(), "LOCK TABLE "+pgx.Identifier{table}.Sanitize()+" IN ACCESS EXCLUSIVE MODE")
	check(w.t, err)
	done := make(chan struct{})
	go func() { defer close(done); change() }()
	for waits := false; !waits; time.Sleep(5 * time.Millisecond) {
		select {
		case <-done:
			w.t.Error("the change did not look at " + table)
			waits = true
		default:
			check(w.t, w.db.Pool().QueryRow(w.t.Context(), `SELECT EXISTS (SELECT FROM pg_locks
				WHERE NOT granted AND relation = $1::regclass)`, table).Scan(&waits))
		}
	}
	act()
	check(w.t, tx.Rollback(context.Background()))
	<-done
}
