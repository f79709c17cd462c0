package teamserver_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/teamserver"
	"github.com/planloop/planloop/internal/teamwire"
)

func TestAnAdminChangesTheTeam(t *testing.T) {
	w := newWorld(t)
	ann := w.member("ann")
	ann.must("POST", "/admin/add", map[string]string{"member": "eve", "role": "member", "email": "eve@example.com"}, nil)
	ann.must("POST", "/admin/email", map[string]string{"member": "eve", "email": ""}, nil)
	var invited struct{ Link string }
	ann.must("POST", "/admin/invite", map[string]string{"member": "eve"}, &invited)
	at, err := url.Parse(invited.Link)
	check(t, err)
	if !strings.HasPrefix(invited.Link, pageAddress+"/invite#") {
		t.Errorf("the link is %s", invited.Link)
	}
	eve := w.browser().register(at.Fragment)
	for _, path := range []string{"/admin", "/admin.js"} {
		answer := ann.send("GET", path, nil)
		policy := answer.Header.Get("Content-Security-Policy")
		if answer.StatusCode != 200 || !strings.Contains(policy, "script-src 'self'") {
			t.Errorf("%s has %d and the policy %q", path, answer.StatusCode, policy)
		}
	}
	token := w.as("eve", teamwire.RoleAgent)
	var list struct {
		Tokens []struct {
			Token  int64
			Member string
			Role   teamwire.Role
		}
	}
	ann.must("POST", "/admin/tokens", struct{}{}, &list)
	if len(list.Tokens) != 1 || list.Tokens[0].Member != "eve" || list.Tokens[0].Role != teamwire.RoleAgent {
		t.Fatalf("the tokens are %+v", list)
	}
	ann.must("POST", "/admin/revoke", map[string]any{"token": list.Tokens[0].Token}, nil)
	token.refuse(teamwire.CodeToken, "GET", "/v1/me", nil)
	var policy struct {
		Settings struct{ Approvals int }
		Members  []teamwire.Member
		Warning  string
	}
	ann.must("POST", "/admin/policy", map[string]any{"settings": map[string]any{"approvals": 2}}, nil)
	members := []teamwire.Member{{Name: "ann", Role: "admin"}, {Name: "bob", Role: "member"}, {Name: "eve", Role: "member"}}
	if ann.must("POST", "/admin/policy", struct{}{}, &policy); policy.Settings.Approvals != 2 ||
		!slices.Equal(policy.Members, members) || policy.Warning != "" {
		t.Errorf("the policy is %+v", policy)
	}
	ann.must("POST", "/admin/remove", map[string]string{"member": "eve"}, nil)
	eve.refuse(401, "GET", "/api/inbox", nil)
	var acts []string
	check(t, w.db.Pool().QueryRow(t.Context(), "SELECT array_agg(act ORDER BY id) FROM audit WHERE actor = 'ann'").Scan(&acts))
	if want := []string{"register_passkey", "add_member", "set_email", "invite", "revoke_token", "set_policy",
		"remove_member"}; !slices.Equal(acts, want) {
		t.Errorf("the audit has %q", acts)
	}
	if body := ann.refuse(400, "POST", "/admin/policy", map[string]any{"settings": nil}); !strings.Contains(body, "not a JSON object") {
		t.Errorf("null is refused with %s", body)
	}
	for path, in := range map[string]any{
		"/admin/add":    map[string]string{"member": "bob", "role": "member"},
		"/admin/email":  map[string]string{"member": "bob", "email": "bob"},
		"/admin/remove": map[string]string{"member": "eve"},
		"/admin/invite": map[string]string{"member": "eve"},
		"/admin/revoke": map[string]any{"token": list.Tokens[0].Token},
		"/admin/policy": map[string]any{"settings": map[string]any{"approvals": 9}},
	} {
		if body := ann.refuse(400, "POST", path, in); strings.Contains(body, "its log says why") {
			t.Errorf("%s is refused with %s", path, body)
		}
	}
}

// TestAttacksOnAdminActs fails if they are open to anyone but an admin with a fresh sign-in, in the own team, from the own page.
func TestAttacksOnAdminActs(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.member("ann"), w.member("bob")
	red := w.newTeam("red")
	reds := w.token(red, "ann", teamwire.RoleAdmin)
	acts := map[string]any{
		"/admin/add":    map[string]string{"member": "eve", "role": "admin"},
		"/admin/email":  map[string]string{"member": "ann", "email": "bob@example.com"},
		"/admin/remove": map[string]string{"member": "ann"},
		"/admin/invite": map[string]string{"member": "ann"},
		"/admin/tokens": struct{}{},
		"/admin/revoke": map[string]any{"token": 1},
		"/admin/policy": map[string]any{"settings": map[string]any{}},
	}
	for path, in := range acts {
		bob.refuse(403, "POST", path, in)
		half := *ann
		half.key = bob.key
		half.refuse(401, "POST", path, in)
		token := w.browser()
		token.headers["Authorization"] = "Bearer " + w.token(w.team, "ann", teamwire.RoleAdmin)
		token.refuse(401, "POST", path, in)
		foreign := *ann
		foreign.headers = map[string]string{"Origin": "https://evil.example.com"}
		foreign.refuse(403, "POST", path, in)
		ann.refuse(404, "GET", path, nil)
	}
	var id int64
	check(t, w.db.Pool().QueryRow(t.Context(), "SELECT id FROM token WHERE team = $1", red).Scan(&id))
	ann.refuse(400, "POST", "/admin/revoke", map[string]any{"token": id})
	(&client{t: t, address: w.http.URL, token: reds}).must("GET", "/v1/me", nil, nil)

	ann.address = w.serve(teamserver.Options{Address: pageAddress}).URL // with a new limit of requests
	_, err := w.db.Pool().Exec(t.Context(), "UPDATE signin SET since = now() - interval '61 minutes'")
	check(t, err)
	for path, in := range acts {
		ann.refuse(403, "POST", path, in)
	}
	ann.signIn()
	check(t, w.admin.SetRole(t.Context(), w.team, "ann", teamwire.RoleMember))
	for path, in := range acts {
		ann.refuse(403, "POST", path, in)
	}
	if _, members, err := w.admin.Settings(t.Context(), w.team, ""); err != nil || !slices.Equal(members, []string{"ann", "bob"}) {
		t.Errorf("the members are %q: %v", members, err)
	}
}
