package teamserver_test

import (
	"testing"

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
			defer func() { check(t, w.admin.AddMember(t.Context(), w.team, "bob", teamwire.RoleMember)) }()
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
