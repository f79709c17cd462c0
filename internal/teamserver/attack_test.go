package teamserver_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/teamserver"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// TestATokenIsNeeded fails if a request without a valid token is answered, or one with is not.
func TestATokenIsNeeded(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	ann.do(setUp("Ship the shop"))
	for name, token := range map[string]string{"none": "", "forged": "plt_" + strings.Repeat("A", 43), "other form": "secret",
		"part": ann.token[:20], "long": "plt_" + strings.Repeat("A", 4000)} {
		t.Run(name, func(t *testing.T) {
			stranger := &client{t: t, address: w.http.URL, token: token}
			for _, path := range []string{"/v1/me", "/v1/members", "/v1/w/shop/tracks", trackPath + "records?after=0",
				"/v1/w/shop/events"} {
				if status, failed := stranger.call("GET", path, nil, nil); status != 401 && status != 429 {
					t.Errorf("%s: %d %+v", path, status, failed)
				}
			}
			if status, _ := stranger.call("POST", trackPath+"do", stranger.request(setUp("Mine")), nil); status != 401 && status != 429 {
				t.Errorf("do: %d", status)
			}
		})
	}
	ann.must("GET", "/v1/me", nil, nil) // failures of others at the same address do not lock it out
}

// TestBadTokensAreNotLookedUp fails if an address with many bad tokens or sign-ins keeps the database busy, or keeps out known callers.
func TestBadTokensAreNotLookedUp(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	ann.do(setUp("Ship the shop"))
	stranger, browser, bob := &client{t: t, address: w.http.URL}, w.browser(), w.member("bob")
	guess := func() (status int) {
		stranger.token = "plt_" + rand.Text()
		status, _ = stranger.call("GET", "/v1/me", nil, nil)
		return status
	}
	for n := 0; guess() != 429; n++ {
		if n > 1000 {
			t.Fatal("1,000 bad tokens were looked up")
		}
	}
	w.whileLocked("token", func() { ann.must("GET", "/v1/members", nil, nil) }, func() {
		var refused atomic.Int32
		for tried := 0; refused.Load() < 50; tried += 100 { // a slow machine has look-ups left, which wait for the table
			if tried == 1000 {
				t.Fatalf("%d of 1,000 bad tokens were refused without the database", refused.Load())
			}
			var group sync.WaitGroup
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			for range 100 {
				group.Go(func() {
					request, err := http.NewRequestWithContext(ctx, "GET", w.http.URL+"/v1/me", nil)
					check(t, err)
					request.Header.Set("Authorization", "Bearer plt_"+rand.Text())
					if answer, err := http.DefaultClient.Do(request); err == nil {
						defer answer.Body.Close()
						refused.Add(map[bool]int32{true: 1}[answer.StatusCode == 429])
					}
				})
			}
			group.Wait()
			cancel()
		}
		ann.must("GET", trackPath+"records?after=0", nil, nil) // without the table
	})
	for guess() != 429 {
	}
	browser.cookies["__Host-planloop"] = &http.Cookie{Name: "__Host-planloop", Value: "x"}
	for status := 0; status != 429; { // a slow machine has a look-up left
		status, _ = browser.ask("GET", "/api/inbox", nil)
	}
	bob.must("GET", "/api/inbox", nil, nil)
}

// TestAnothersAttempt fails if a member's token speaks as the agent of a step that another member's engine carries out.
func TestAnothersAttempt(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.as("ann", teamwire.RoleMember), w.as("bob", teamwire.RoleAgent)
	ann.do(plan.SetUp{Outline: plan.Outline{Objective: "Ship the shop"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Write it"}}}})
	ann.do(plan.MarkStep{Step: 1, Status: plan.InProgress})
	_, state := ann.track()
	request := bob.request(plan.MarkStep{Step: 1, Status: plan.Done})
	request.Scope = &plan.Attempt{Plan: state.Plan.Root(), Step: 1, Attempt: 1}
	if failed := bob.refuse(teamwire.CodeRefused, "POST", trackPath+"do", request); !strings.Contains(failed.Problem, "no engine of bob") {
		t.Errorf("the refusal is %+v", failed)
	}
}

// TestATokenHasNoRightOfAPerson fails if a token holds all tracks as an agent, claims that a person accepted a step, or continues or stops
// another member's run.
func TestATokenHasNoRightOfAPerson(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.as("ann", teamwire.RoleMember), w.as("bob", teamwire.RoleMember)
	ann.do(setUp("Ship the shop"))
	bob.refuse(teamwire.CodeRefused, "POST", trackPath+"do", bob.request(plan.EnterMode{All: true}))
	bob.do(plan.ReportStep{Step: 1, Evidence: []plan.Evidence{{Note: "fine", Waived: true, By: "ann"}}})
	ann.do(plan.BeginRun{})
	as := func(c *client, a plan.Action) teamwire.DoRequest {
		request := c.request(a)
		request.Agent = ""
		return request
	}
	ann.must("POST", trackPath+"do", as(ann, plan.PauseRun{}), nil)
	for _, a := range []plan.Action{plan.BeginRun{}, plan.AnswerStep{Step: 1, Choice: plan.Abort},
		plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.BeginRun{}}}}} {
		failed := bob.refuse(teamwire.CodeRefused, "POST", trackPath+"do", as(bob, a))
		if !strings.Contains(failed.Problem, "only an engine of ann") {
			t.Errorf("%T is refused with %+v", a, failed)
		}
	}
	ann.refuse(teamwire.CodeRefused, "POST", trackPath+"do", ann.request(plan.BeginRun{})) // an agent, after a person's pause
	ann.must("POST", trackPath+"do", as(ann, plan.BeginRun{}), nil)
	var got teamwire.Records
	ann.must("GET", trackPath+"records?after=0", nil, &got)
	if text := strings.Join(got.Records, "\n"); strings.Contains(text, "waived") {
		t.Errorf("a token accepted a step: %s", text)
	}
}

// TestApproversCountWithoutANumber fails if rules that only name approvers let another member decide.
func TestApproversCountWithoutANumber(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	w.as("bob", teamwire.RoleMember)
	check(t, w.admin.SetSettings(t.Context(), w.team, "", []byte(`{"approvers": ["bob"]}`)))
	ann.do(plan.SubmitPlan{Outline: plan.Outline{Objective: "Ship the shop"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Write it"}}}})
	var got teamwire.Records
	ann.must("GET", trackPath+"records?after=0", nil, &got)
	if text := strings.Join(got.Records, ""); !strings.Contains(text, `"approvers":["bob"]`) {
		t.Errorf("the request has no policy: %s", text)
	}
}

// TestAnImportedApprovalIsMarked fails if an approval that a laptop's history claims looks like one of the team.
func TestAnImportedApprovalIsMarked(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	submit := plan.SubmitPlan{Outline: plan.Outline{Objective: "Ship the shop"}, Steps: setUp("").Steps}
	_, state := history(t, plan.EnterMode{}, submit)
	lines, _ := history(t, plan.EnterMode{}, submit, plan.DecideDraft{Outcome: plan.Approved, Digest: plan.Digest(state.Draft)})
	for i, line := range lines {
		lines[i] = strings.ReplaceAll(line, `"ann"`, `"bob"`)
	}
	ann.must("POST", trackPath+"share", teamwire.ShareRequest{Records: lines, Last: true}, nil)
	bob := w.member("bob")
	if v := bob.view("shop/main"); v.Plan == nil || v.Plan.Approval == nil || v.Plan.Approval.By != "bob before sharing" {
		t.Errorf("the page shows %+v", v.Plan)
	}
	var log review.Log
	if bob.must("GET", "/api/log?workspace=shop%2Fmain", nil, &log); len(log.Lines) != 4 ||
		log.Lines[1].Text != "the plan approved by bob (before sharing)" || strings.Contains(log.Lines[0].Text, "(before") {
		t.Errorf("the log is %+v", log.Lines)
	}
	agent, err := ann.mcp(t, "/w/blue/shop/t/main/mcp")
	check(t, err)
	defer agent.Close()
	if text, _ := call(t, agent, "planloop_status", nil); !strings.Contains(text, "approved by bob before sharing") {
		t.Errorf("an agent reads: %s", text)
	}
}

// TestAgentsWithoutEnd fails if a member's invented agents fill the database, or push out another member's.
func TestAgentsWithoutEnd(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.as("ann", teamwire.RoleMember), w.as("bob", teamwire.RoleAgent)
	ann.do(setUp("Ship the shop"))
	ann.must("POST", "/v1/w/shop/seen", teamwire.Seen{Agents: map[string]time.Time{"codex": time.Now()}}, nil)
	for i := range 6 {
		seen := teamwire.Seen{Agents: map[string]time.Time{}}
		for j := range 100 {
			seen.Agents[fmt.Sprintf("a%d", i*100+j)] = time.Now()
		}
		bob.must("POST", "/v1/w/shop/seen", seen, nil)
	}
	var bobs, anns int
	check(t, w.db.Pool().QueryRow(t.Context(), `SELECT count(*) FILTER (WHERE name LIKE 'bob/%'), count(*) FILTER (WHERE name = 'ann/codex')
		FROM sighting`).Scan(&bobs, &anns))
	if bobs != 500 || anns != 1 {
		t.Errorf("%d agents of bob and %d of ann are kept", bobs, anns)
	}
}

// TestStreamsWithoutEnd fails if one token can take the streams of all.
func TestStreamsWithoutEnd(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	ann.do(setUp("Ship the shop"))
	open := func(c *client) int {
		request, err := http.NewRequestWithContext(t.Context(), "GET", c.address+"/v1/w/shop/events", nil)
		check(t, err)
		request.Header.Set("Authorization", "Bearer "+c.token)
		answer, err := http.DefaultClient.Do(request)
		check(t, err)
		t.Cleanup(func() { answer.Body.Close() })
		return answer.StatusCode
	}
	for range 100 {
		if status := open(ann); status != 200 {
			t.Fatalf("a stream: %d", status)
		}
	}
	if status := open(ann); status != 429 {
		t.Errorf("the 101st stream of a token: %d", status)
	}
	if status := open(w.as("ann", teamwire.RoleMember)); status != 200 {
		t.Errorf("another token's stream: %d", status)
	}
}

// TestABadImportClaimsNothing fails if an import without a valid record keeps others from its track.
func TestABadImportClaimsNothing(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.as("ann", teamwire.RoleMember), w.as("bob", teamwire.RoleMember)
	for _, lines := range [][]string{nil, {"{}"}} {
		ann.refuse(teamwire.CodeInvalid, "POST", trackPath+"share", teamwire.ShareRequest{Records: lines})
	}
	bob.do(setUp("Ship the shop"))
}

// TestTokensOfMembers fails if a token that has ended is listed or valid again, or if one is not masked, or made beyond its member's role.
// See also TestRightsEndAtOnce.
func TestTokensOfMembers(t *testing.T) {
	w := newWorld(t)
	w.as("ann", teamwire.RoleAdmin)
	tokens, err := w.admin.Tokens(t.Context(), w.team)
	check(t, err)
	check(t, w.admin.RevokeToken(t.Context(), w.team, tokens[0].ID))
	if tokens, err = w.admin.Tokens(t.Context(), w.team); len(tokens) != 0 || err != nil {
		t.Errorf("a revoked token is listed: %v", err)
	}
	bob := w.as("bob", teamwire.RoleMember)
	if text := "the token is " + bob.token; plan.Mask(text) == text {
		t.Error("a token in a plan is not masked")
	}
	check(t, w.admin.RemoveMember(t.Context(), w.team, "bob"))
	check(t, w.admin.AddMember(t.Context(), w.team, "bob", teamwire.RoleMember, ""))
	bob.refuse(teamwire.CodeToken, "GET", "/v1/me", nil)
	if _, err := w.admin.CreateToken(t.Context(), w.team, "bob", teamwire.RoleAdmin, "laptop", time.Hour); err == nil {
		t.Error("a member who is no admin got an admin's token")
	}
	if _, err := w.admin.CreateToken(t.Context(), w.team, "eve", teamwire.RoleMember, "laptop", time.Hour); err == nil {
		t.Error("a stranger got a token")
	}
	if _, err := w.admin.CreateToken(t.Context(), w.team, "bob", teamwire.RoleMember, "laptop", 1000*24*time.Hour); err == nil {
		t.Error("a token of three years was made")
	}
}

// TestAnotherTeamIsNotFound fails if a token reads, writes or notices anything of another team, even if all names are the same.
func TestAnotherTeamIsNotFound(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	ann.do(setUp("Blue's secret"))
	value := []byte("blue's value")
	path := trackPath + "values/" + store.ValueName(value)
	if status, failed := ann.send("PUT", path, "application/octet-stream", bytes.NewReader(value), nil); status != 204 {
		t.Fatalf("%d %+v", status, failed)
	}
	var got []byte
	if ann.must("GET", path, nil, &got); !bytes.Equal(got, value) {
		t.Errorf("the value is %q", got)
	}
	red := &client{t: t, address: w.http.URL, token: w.token(w.newTeam("red"), "ann", teamwire.RoleAdmin)}
	for _, path := range []string{trackPath + "records?after=0", path, "/v1/w/shop/events"} {
		red.refuse(teamwire.CodeNotFound, "GET", path, nil)
	}
	red.refuse(teamwire.CodeNotFound, "POST", "/v1/w/shop/seen", teamwire.Seen{Gone: []string{"claude-code"}})
	var tracks []teamwire.Track
	if red.must("GET", "/v1/w/shop/tracks", nil, &tracks); len(tracks) != 0 {
		t.Errorf("red sees %+v", tracks)
	}
	reply := red.do(setUp("Red's own")) // a workspace of the same name, in red
	if reply.Seq != 1 || strings.Contains(reply.Records[0], "Blue") {
		t.Errorf("red's first record is %+v", reply)
	}
	var records teamwire.Records
	ann.must("GET", trackPath+"records?after=0", nil, &records)
	if records.Head.Seq != 1 || !strings.Contains(records.Records[0], "Blue's secret") {
		t.Errorf("blue's records are %+v", records)
	}
	for _, path := range []string{"/v1/w/..%2fred%2fshop/tracks", "/v1/w/blue%2fshop/tracks", "/v1/w/%00/tracks"} {
		var tracks []teamwire.Track
		if status, _ := red.call("GET", path, nil, &tracks); status < 300 && len(tracks) > 0 {
			t.Errorf("%s lists %+v", path, tracks)
		}
	}
}

// TestTheTokenNamesTheActor fails if a request chooses its author's member, kind or rights.
func TestTheTokenNamesTheActor(t *testing.T) {
	w := newWorld(t)
	w.as("ann", teamwire.RoleMember).do(setUp("Ship the shop"))
	for _, test := range []struct {
		role        teamwire.Role
		agent, kind string
		actor       string
		of          plan.ActorKind
		isRefused   bool
	}{
		{teamwire.RoleMember, "codex", "agent", "bob/codex", plan.Agent, false},
		{teamwire.RoleMember, "codex", "person", "bob/codex", plan.Agent, false},
		{teamwire.RoleMember, "codex", "planloop", "bob/codex", plan.Agent, false},
		{teamwire.RoleMember, "codex", "ci", "bob/codex", plan.Agent, false},
		{teamwire.RoleMember, "codex#a9dcbf", "", "bob/codex#a9dcbf", plan.Agent, false},
		{teamwire.RoleMember, "", "person", "bob", plan.Person, false},
		{teamwire.RoleCI, "", "person", "bob/ci", plan.CI, false},
		{teamwire.RoleCI, "codex", "agent", "bob/ci", plan.CI, false},
		{teamwire.RoleAgent, "", "", "", "", true},
		{teamwire.RoleMember, "../ann/codex", "", "", "", true},
		{teamwire.RoleMember, "ann (person)", "", "", "", true},
		{teamwire.RoleMember, "the person", "", "", "", true},
		{teamwire.RoleMember, "a\x1b[2Jb", "", "", "", true},
		{teamwire.RoleMember, strings.Repeat("x", 40), "", "", "", true},
		{teamwire.RoleMember, " codex", "", "", "", true},
	} {
		bob := w.as("bob", test.role)
		request := bob.request(plan.RaiseSignal{ID: fmt.Sprint("s", bob.token[4:8]), Level: plan.Info, Message: "hello"})
		request.Key += bob.token
		request.Key, request.Agent, request.Kind = request.Key[:min(len(request.Key), 80)], test.agent, test.kind
		var reply teamwire.DoReply
		status, failed := bob.call("POST", trackPath+"do", request, &reply)
		if test.isRefused {
			if status < 400 || status >= 500 {
				t.Errorf("%+v: %d", test, status)
			}
			continue
		}
		if status != 200 {
			t.Errorf("%+v: %d %+v", test, status, failed)
			continue
		}
		list := records(t, reply.Head, reply.Records)
		if by := list[len(list)-1].Actor; by.Name != test.actor || by.Kind != test.of {
			t.Errorf("%+v: recorded as %+v", test, by)
		}
	}
}

// TestNoTokenDecides fails if a token of any role approves, rejects, edits, answers or cancels.
func TestNoTokenDecides(t *testing.T) {
	w := newWorld(t)
	check(t, w.admin.SetRole(t.Context(), w.team, "bob", teamwire.RoleAdmin))
	agent := w.as("ann", teamwire.RoleAgent)
	w.as("ann", teamwire.RoleMember).do(setUp("Begin"))
	agent.do(plan.EnterMode{})
	reply := agent.do(plan.SubmitPlan{Outline: plan.Outline{Objective: "Ship the shop"},
		Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Write it"}}}})
	if reply.Head.Phase != plan.PhaseSubmitted {
		t.Fatalf("the phase is %s", reply.Head.Phase)
	}
	_, state := agent.track()
	request := *state.Mode.Request
	for _, role := range []teamwire.Role{teamwire.RoleAgent, teamwire.RoleCI, teamwire.RoleMember, teamwire.RoleAdmin} {
		for _, label := range []string{"", "codex"} {
			for _, kind := range []string{"", "person", "planloop"} {
				for _, action := range []plan.Action{
					plan.DecideDraft{Request: request.ID, Digest: request.Digest, Outcome: plan.Approved},
					plan.DecideDraft{Request: request.ID, Digest: request.Digest, Outcome: plan.Rejected, Comment: "no"},
					plan.CancelMode{},
					plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.DecideDraft{Request: request.ID, Digest: request.Digest,
						Outcome: plan.Approved}}}},
				} {
					bob := w.as("bob", role)
					do := bob.request(action)
					do.Key, do.Agent, do.Kind = bob.token, label, kind
					status, failed := bob.call("POST", trackPath+"do", do, nil)
					if status != 422 && !(status == 400 && role == teamwire.RoleAgent && label == "") {
						t.Errorf("%s %q %q %T: %d %+v", role, label, kind, action, status, failed)
					}
					_, is := action.(plan.DecideDraft)
					if is && status == 422 && !strings.Contains(failed.Refusal.Fix, "https://plans.example.com") {
						t.Errorf("the refusal does not lead to the page: %+v", failed.Refusal)
					}
				}
			}
		}
	}
	bob := w.as("bob", teamwire.RoleAdmin)
	bob.refuse(teamwire.CodeForbidden, "POST", trackPath+"do", bob.request(plan.Purge{}))
	bob.refuse(teamwire.CodeForbidden, "POST", trackPath+"do",
		bob.request(plan.Batch{Word: "update", Parts: []plan.Part{{Action: plan.Purge{}}}}))
	bob.refuse(teamwire.CodeForbidden, "POST", trackPath+"do", bob.request(plan.ShareTrack{From: "here"}))
}

// TestARepeatedKeyIsAnsweredAsTheFirstTime fails if a request that is sent again, also at the same time, counts twice.
func TestARepeatedKeyIsAnsweredAsTheFirstTime(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.as("ann", teamwire.RoleMember), w.as("bob", teamwire.RoleMember)
	ann.do(setUp("Ship the shop"))
	second := &client{t: t, address: w.serve(teamserver.Options{}).URL, token: ann.token}
	type answer struct {
		seq    plan.Revision
		status int
	}
	add := plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Test it"}}}}
	var request teamwire.DoRequest
	var last plan.Revision
	for range 20 {
		ann.do(add) // the second server has not read it
		_, state := ann.track()
		request, last = ann.request(add), state.Revision+1
		basis := plan.BasisOf(state)
		request.Basis = &basis
		answers := make(chan answer)
		for i := range 8 {
			go func() {
				var reply teamwire.DoReply
				status, _ := []*client{ann, second}[i%2].call("POST", trackPath+"do", request, &reply)
				answers <- answer{reply.Seq, status}
			}()
		}
		for range 8 {
			if got := <-answers; got != (answer{last, 200}) {
				t.Errorf("a try was answered with %+v, want record %d", got, last)
			}
		}
	}
	var reply teamwire.DoReply
	request.Agent = "codex"
	request.Basis = nil
	if bob.must("POST", trackPath+"do", request, &reply); reply.Seq != last+1 {
		t.Errorf("bob's own request with ann's key was answered with record %d", reply.Seq)
	}
}

// TestAStaleBasisChangesNothing fails if an action is decided after its checks no longer hold.
func TestAStaleBasisChangesNothing(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	reply := ann.do(setUp("Ship the shop"))
	basis := plan.BasisOf(plan.Fold(plan.State{}, records(t, reply.Head, reply.Records)[0]))
	add := func() teamwire.DoRequest {
		request := ann.request(plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Test it"}}}})
		request.Basis, request.Chain, request.After = &basis, reply.Head.Chain, 1
		return request
	}
	ann.must("POST", trackPath+"do", add(), nil)
	ann.refuse(teamwire.CodeChanged, "POST", trackPath+"do", add())
	stale := add()
	stale.Chain = store.NewChain()
	ann.refuse(teamwire.CodeChain, "POST", trackPath+"do", stale)
	stale.Chain, stale.After = reply.Head.Chain, 100
	ann.refuse(teamwire.CodeChain, "POST", trackPath+"do", stale)
	ann.refuse(teamwire.CodeChain, "GET", trackPath+"records?after=100", nil)
	ann.refuse(teamwire.CodeChain, "GET", trackPath+"records?after=0&chain="+store.NewChain(), nil)
	var got teamwire.Records
	if ann.must("GET", trackPath+"records?after=0", nil, &got); got.Head.Seq != 2 {
		t.Errorf("the log has %d records", got.Head.Seq)
	}
}

// TestMalformedRequestsAreRefused fails if a body that cannot be read, or is too large, is not refused in the API's words.
func TestMalformedRequestsAreRefused(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	ann.do(setUp("Ship the shop"))
	const good = `{"key":"k1","after":0,"agent":"codex","action":{"kind":"clear_plan"}`
	for name, test := range map[string]struct {
		body string
		code teamwire.Code
	}{
		"empty":            {"", teamwire.CodeInvalid},
		"not JSON":         {"hello", teamwire.CodeInvalid},
		"two values":       {good + "} {}", teamwire.CodeInvalid},
		"unknown field":    {good + `,"role":"admin"}`, teamwire.CodeInvalid},
		"field twice":      {good + `,"agent":"bob"}`, teamwire.CodeInvalid},
		"other case":       {good + `,"Agent":"bob"}`, teamwire.CodeInvalid},
		"no key":           {`{"after":0,"agent":"codex","action":{"kind":"clear_plan"}}`, teamwire.CodeInvalid},
		"long key":         {`{"key":"` + strings.Repeat("k", 81) + `","after":0,"action":{"kind":"clear_plan"}}`, teamwire.CodeInvalid},
		"negative":         {`{"key":"k1","after":-1,"agent":"codex","action":{"kind":"clear_plan"}}`, teamwire.CodeInvalid},
		"no action":        {`{"key":"k1","after":0,"agent":"codex"}`, teamwire.CodeInvalid},
		"null action":      {`{"key":"k1","after":0,"agent":"codex","action":null}`, teamwire.CodeInvalid},
		"unknown action":   {`{"key":"k1","after":0,"agent":"codex","action":{"kind":"seize"}}`, teamwire.CodeInvalid},
		"facts of a list":  {good + `,"facts":[]}`, teamwire.CodeInvalid},
		"facts of time":    {good + `,"facts":{"Now":"2020-01-01T00:00:00Z"}}`, teamwire.CodeInvalid},
		"hidden in a fact": {good + `,"facts":{"Definitions":{"a":"b\u202e"}}}`, teamwire.CodeInvalid},
		"not UTF-8":        {good + `,"chain":"` + "\xff" + `"}`, teamwire.CodeInvalid},
		"too large":        {good + `,"chain":"` + strings.Repeat("x", teamwire.MaxBody) + `"}`, teamwire.CodeTooLarge},
		"deep":             {good + `,"facts":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + "}", teamwire.CodeInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			c := &client{t: t, address: ann.address, token: ann.token}
			status, failed := c.send("POST", trackPath+"do", "application/json", strings.NewReader(test.body), nil)
			if failed.Code != test.code {
				t.Errorf("%d %+v, want %s", status, failed, test.code)
			}
		})
	}
	if status, _ := ann.send("POST", trackPath+"do", "text/plain", strings.NewReader(good+"}"), nil); status != 400 {
		t.Errorf("a form is answered with %d", status)
	}
	value := []byte("x")
	if status, failed := ann.send("PUT", trackPath+"values/"+store.ValueName([]byte("y")), "", bytes.NewReader(value), nil); status != 400 {
		t.Errorf("a value under a wrong name: %d %+v", status, failed)
	}
	if status, failed := ann.send("PUT", trackPath+"values/"+store.ValueName(value), "", bytes.NewReader(make([]byte, teamwire.MaxBody+1)),
		nil); status != 413 {
		t.Errorf("a value that is too large: %d %+v", status, failed)
	}
	for _, path := range []string{"records", "records?after=x", "records?after=1&wait=x", "records?after=-1"} {
		ann.refuse(teamwire.CodeInvalid, "GET", trackPath+path, nil)
	}
	ann.refuse(teamwire.CodeNotFound, "GET", "/v1/nothing", nil)
	ann.refuse(teamwire.CodeInvalid, "POST", "/v1/w/shop/t/Main%20Track/do", ann.request(setUp("x")))
	ann.refuse(teamwire.CodeInvalid, "POST", "/v1/w/shop/t/..%2f..%2fx/do", ann.request(setUp("x")))
	agent := w.as("bob", teamwire.RoleAgent)
	agent.refuse(teamwire.CodeForbidden, "POST", "/v1/w/other/t/main/do", agent.request(setUp("x")))
	ci := w.as("bob", teamwire.RoleCI)
	ci.refuse(teamwire.CodeForbidden, "POST", "/v1/w/shop/t/new/do", ci.request(setUp("x")))
}
