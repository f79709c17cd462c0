package teamserver_test

import (
	"bufio"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/teamserver"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// stream reads the events of a workspace until the test or ctx ends.
func (c *client) stream(ctx context.Context) <-chan teamwire.HeadEvent {
	c.t.Helper()
	request, err := http.NewRequestWithContext(ctx, "GET", c.address+"/v1/w/shop/events", nil)
	check(c.t, err)
	request.Header.Set("Authorization", "Bearer "+c.token)
	answer, err := http.DefaultClient.Do(request)
	check(c.t, err)
	if answer.StatusCode != 200 || answer.Header.Get("Content-Type") != "text/event-stream" {
		c.t.Fatalf("the stream is answered with %d %v", answer.StatusCode, answer.Header)
	}
	events := make(chan teamwire.HeadEvent, 100)
	go func() {
		defer answer.Body.Close()
		defer close(events)
		for lines := bufio.NewScanner(answer.Body); lines.Scan(); {
			if data, is := strings.CutPrefix(lines.Text(), "data: "); is {
				var event teamwire.HeadEvent
				if json.Unmarshal([]byte(data), &event) == nil {
					events <- event
				}
			}
		}
	}()
	return events
}

// TestChangesReachOtherServersStreams fails if a stream does not begin with the heads, or misses a change that another server made.
func TestChangesReachOtherServersStreams(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	first := ann.do(setUp("Ship the shop"))
	bob := &client{t: t, address: w.serve(teamserver.Options{}).URL, token: w.token(w.team, "bob", teamwire.RoleMember)}
	events := bob.stream(t.Context())
	if got := <-events; got != (teamwire.HeadEvent{Track: "main", Head: first.Head}) {
		t.Errorf("the stream begins with %+v", got)
	}
	began := time.Now()
	second := ann.do(plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Test it"}}}})
	if got := <-events; got != (teamwire.HeadEvent{Track: "main", Head: second.Head}) {
		t.Errorf("the next event is %+v", got)
	}
	t.Log("a change took", time.Since(began))
	ann.must("POST", "/v1/w/shop/t/docs/do", ann.request(setUp("Write the docs")), nil)
	if got := <-events; got.Track != "docs" || got.Head.Seq != 1 {
		t.Errorf("a new track is %+v", got)
	}
}

// TestRecordsAreAwaited fails if a request with wait misses a change or does not end.
func TestRecordsAreAwaited(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	ann.do(setUp("Ship the shop"))
	answers := make(chan teamwire.Records)
	go func() {
		var got teamwire.Records
		w.as("bob", teamwire.RoleMember).call("GET", trackPath+"records?after=1&wait=25s", nil, &got)
		answers <- got
	}()
	ann.do(plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Test it"}}}})
	if got := <-answers; len(got.Records) != 1 || got.Head.Seq != 2 {
		t.Errorf("the answer is %+v", got)
	}
	for _, wait := range []string{"10ms", "1ns"} { // the shortest ends before the watch begins
		var got teamwire.Records
		if ann.must("GET", trackPath+"records?after=2&wait="+wait, nil, &got); len(got.Records) != 0 || got.Head.Seq != 2 {
			t.Errorf("without a change the answer is %+v", got)
		}
	}
}

// TestAStreamEnds fails if a stream outlives the server or its token.
func TestAStreamEnds(t *testing.T) {
	w := newWorld(t)
	w.as("ann", teamwire.RoleMember).do(setUp("Ship the shop"))
	server, err := teamserver.New(t.Context(), w.db, teamserver.Options{CheckEvery: time.Millisecond})
	check(t, err)
	defer server.Close()
	http := newHTTP(t, server)
	stream := func() <-chan teamwire.HeadEvent {
		events := (&client{t: t, address: http, token: w.token(w.team, "bob", teamwire.RoleMember)}).stream(t.Context())
		<-events
		return events
	}
	revoked, stopped := stream(), stream()
	tokens, err := w.admin.Tokens(t.Context(), w.team)
	check(t, err)
	check(t, w.admin.RevokeToken(t.Context(), w.team, tokens[1].ID)) // after ann's
	for range revoked {                                              // until it is closed
	}
	server.EndStreams()
	for range stopped {
	}
}

// history returns the records of a local plan.
func history(t *testing.T, actions ...plan.Action) (lines []string, state plan.State) {
	t.Helper()
	local := session.New(store.NewMemory(), session.Options{})
	defer local.Close()
	for _, a := range actions {
		by := plan.NewActor(plan.ChannelTerminal, "ann")
		if _, is := a.(plan.ShareTrack); is {
			by = plan.NewActor(plan.ChannelEngine, "ann")
		}
		outcome, err := local.Do(t.Context(), by, a, nil)
		check(t, err)
		state = outcome.After
	}
	for record, err := range local.Records(t.Context(), 0) {
		check(t, err)
		line, err := store.EncodeRecord(record)
		check(t, err)
		lines = append(lines, string(line))
	}
	return lines, state
}

// TestAnImportKeepsItsClaim fails if of two equal requests at once the one that comes too late ends the import of the other.
func TestAnImportKeepsItsClaim(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	lines, _ := history(t, setUp("Ship the shop"))
	for n := range 20 {
		path, both := fmt.Sprintf("/v1/w/shop/t/claim%d/share", n), sync.WaitGroup{}
		for range 4 {
			both.Go(func() { ann.call("POST", path, teamwire.ShareRequest{Records: lines}, nil) })
		}
		both.Wait()
	}
	var claims int
	check(t, w.db.Pool().QueryRow(t.Context(), "SELECT count(*) FROM sharing").Scan(&claims))
	if claims != 20 {
		t.Errorf("%d of 20 imports kept their claims", claims)
	}
}

// TestALocalHistoryIsShared fails if an import loses a record, is not marked, or can be mixed with other changes.
func TestALocalHistoryIsShared(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.as("ann", teamwire.RoleMember), w.as("bob", teamwire.RoleMember)
	lines, local := history(t, setUp("Ship the shop"), plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Test it"}}}},
		plan.MarkStep{Step: 1, Status: plan.InProgress})
	ann.must("POST", trackPath+"share", teamwire.ShareRequest{Records: lines[:2]}, nil)
	bob.refuse(teamwire.CodeExists, "POST", trackPath+"do", bob.request(setUp("Mine")))
	bob.refuse(teamwire.CodeExists, "POST", trackPath+"share", teamwire.ShareRequest{After: 2, Records: lines[2:], Last: true})
	ann.refuse(teamwire.CodeChanged, "POST", trackPath+"share", teamwire.ShareRequest{After: 1, Records: lines[1:]})
	ann.refuse(teamwire.CodeInvalid, "POST", trackPath+"share", teamwire.ShareRequest{After: 2, Records: lines[:1]})
	ann.refuse(teamwire.CodeInvalid, "POST", trackPath+"share", teamwire.ShareRequest{After: 2,
		Records: []string{strings.Replace(lines[2], `"name":"ann"`, `"name":"ann\u202e"`, 1)}})
	ann.refuse(teamwire.CodeInvalid, "POST", trackPath+"share", teamwire.ShareRequest{After: 2, Records: []string{lines[2] + "{}"}})
	ann.must("POST", trackPath+"share", teamwire.ShareRequest{After: 2, Records: lines[2:], Last: true}, nil)
	ann.refuse(teamwire.CodeExists, "POST", trackPath+"share", teamwire.ShareRequest{After: 4, Last: true})
	var got teamwire.Records
	bob.must("GET", trackPath+"records?after=0", nil, &got)
	list := records(t, got.Head, got.Records)
	if len(list) != 4 || !slices.Equal(got.Records[:3], lines) {
		t.Fatalf("the history has %d records: %v", len(list), got.Records)
	}
	shared, is := list[3].Events[0].(plan.TrackShared)
	if !is || shared.From != "ann's laptop" || shared.Records != 3 || shared.By != "ann" {
		t.Errorf("the mark is %+v", list[3])
	}
	if state := plan.Fold(local, list[3]); state.Plan.Steps.Len() != 2 {
		t.Errorf("the plan has %d steps", state.Plan.Steps.Len())
	}
	bob.do(plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Ship it"}}}})
	w.as("ann", teamwire.RoleAgent).refuse(teamwire.CodeForbidden, "POST", "/v1/w/shop/t/new/share", teamwire.ShareRequest{Records: lines})
}

// TestAnAbandonedImportIsReplaced fails if an import that ended in the middle blocks its track, or if one that is complete can be replaced.
func TestAnAbandonedImportIsReplaced(t *testing.T) {
	w := newWorld(t)
	check(t, w.admin.AddMember(t.Context(), w.team, "eve", teamwire.RoleAdmin, ""))
	ann, bob, eve := w.as("ann", teamwire.RoleMember), w.as("bob", teamwire.RoleMember), w.as("eve", teamwire.RoleAdmin)
	lines, _ := history(t, setUp("Ship the shop"), plan.MarkStep{Step: 1, Status: plan.InProgress})
	others, _ := history(t, setUp("Another"), plan.MarkStep{Step: 1, Status: plan.Done})
	var first, second teamwire.ShareReply
	ann.must("POST", trackPath+"share", teamwire.ShareRequest{Records: lines[:1]}, &first)
	bob.refuse(teamwire.CodeExists, "POST", trackPath+"share", teamwire.ShareRequest{Records: others})
	ann.must("POST", trackPath+"share", teamwire.ShareRequest{Records: lines[:1]}, &second)
	if first.Head.Chain == second.Head.Chain || second.Head.Seq != 1 {
		t.Errorf("the second import follows the first: %+v, %+v", first.Head, second.Head)
	}
	eve.must("POST", trackPath+"share", teamwire.ShareRequest{Records: others[:1]}, nil)
	ann.refuse(teamwire.CodeExists, "POST", trackPath+"share", teamwire.ShareRequest{After: 1, Records: lines[1:], Last: true})
	eve.must("POST", trackPath+"share", teamwire.ShareRequest{After: 1, Records: others[1:], Last: true}, nil)
	var got teamwire.Records
	bob.must("GET", trackPath+"records?after=0", nil, &got)
	if !slices.Equal(got.Records[:2], others) {
		t.Errorf("the track has %v", got.Records)
	}
	_, err := w.db.Pool().Exec(t.Context(), `INSERT INTO sharing (track, team, member, machine)
		SELECT t.id, t.team, m.id, 'laptop' FROM track t, member m WHERE m.name = 'eve'`) // left by a crash
	check(t, err)
	for _, one := range []*client{ann, eve} {
		one.refuse(teamwire.CodeExists, "POST", trackPath+"share", teamwire.ShareRequest{Records: lines})
	}
}

// TestAnImportEndsWithItsLastRecord fails if a server that stops after that record leaves the track claimed, or if a record of a former
// import within the history ends the claim.
func TestAnImportEndsWithItsLastRecord(t *testing.T) {
	w := newWorld(t)
	ann, bob, eve := w.as("ann", teamwire.RoleMember), w.as("bob", teamwire.RoleMember), w.as("ann", teamwire.RoleAdmin)
	lines, _ := history(t, setUp("Ship the shop"), plan.ShareTrack{From: "ann's desktop"}, plan.MarkStep{Step: 1, Status: plan.InProgress})
	ann.must("POST", trackPath+"share", teamwire.ShareRequest{Records: lines[:2]}, nil)
	bob.refuse(teamwire.CodeExists, "POST", trackPath+"do", bob.request(plan.ReportStep{Step: 1, Note: "too early"}))
	_, err := w.db.Pool().Exec(t.Context(), "REVOKE INSERT ON audit FROM planloop_server")
	check(t, err)
	last := teamwire.ShareRequest{After: 2, Records: lines[2:], Last: true}
	if status, _ := ann.call("POST", trackPath+"share", last, nil); status < 500 {
		t.Fatalf("the import ended with %d, although it could not be noted", status)
	}
	_, err = w.db.Pool().Exec(t.Context(), "GRANT INSERT ON audit TO planloop_server")
	check(t, err)
	bob.do(plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Ship it"}}}})
	for _, one := range []*client{ann, eve} {
		one.refuse(teamwire.CodeExists, "POST", trackPath+"share", teamwire.ShareRequest{Records: lines})
	}
}

// TestAHistoryIsPurged fails if a purge keeps a record, or loses the present plan.
func TestAHistoryIsPurged(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	before := ann.do(setUp("Ship the shop"))
	ann.do(plan.ReportStep{Step: 1, Note: "the password is hunter2"})
	ann.do(plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Test it"}}}})
	gone, err := w.admin.PurgeHistory(t.Context(), w.team, "shop", "main", true)
	check(t, err)
	ann.refuse(teamwire.CodeChain, "GET", trackPath+"records?after=0&chain="+before.Head.Chain, nil)
	list, state := ann.track()
	if gone != 3 || len(list) != 1 || state.Plan.Steps.Len() != 2 {
		t.Errorf("%d records are gone, and %+v is left", gone, list)
	}
	if reply := ann.do(plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Ship it"}}}}); reply.Seq != 2 {
		t.Errorf("the next record is %d", reply.Seq)
	}
}

// TestAChangeOfAPurgedHistoryIsRefused fails if a change that was asked for on a purged history is recorded in the new one, at a server
// that has only passed the new one on.
func TestAChangeOfAPurgedHistoryIsRefused(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	ann.do(setUp("Ship the shop"))
	before := ann.do(plan.ReportStep{Step: 1, Note: "begun"})
	_, err := w.admin.PurgeHistory(t.Context(), w.team, "shop", "main", true)
	check(t, err)
	other := &client{t: t, address: w.serve(teamserver.Options{}).URL, token: ann.token, keys: 100}
	other.do(plan.ReportStep{Step: 1, Note: "at the other server"})
	ann.must("GET", trackPath+"records?after=0", nil, nil)
	late := ann.request(plan.ReportStep{Step: 1, Note: "on the purged history"})
	late.Chain, late.After = before.Head.Chain, before.Head.Seq
	ann.refuse(teamwire.CodeChain, "POST", trackPath+"do", late)
}

// TestClaimsEndWithTheirLaptop fails if another agent gets a step while its owner is alive, or does not once its laptop is gone.
func TestClaimsEndWithTheirLaptop(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.as("ann", teamwire.RoleMember), w.as("bob", teamwire.RoleMember)
	ann.do(setUp("Ship the shop"))
	ann.do(plan.MarkStep{Step: 1, Status: plan.InProgress})
	ann.must("POST", "/v1/w/shop/seen", teamwire.Seen{Agents: map[string]time.Time{"claude-code": time.Now().Add(1000 * time.Hour)}}, nil)
	refused := bob.refuse(teamwire.CodeRefused, "POST", trackPath+"do", bob.request(plan.MarkStep{Step: 1, Status: plan.InProgress}))
	if !strings.Contains(refused.Problem, "ann/claude-code") {
		t.Errorf("the refusal is %+v", refused)
	}
	bob.must("POST", "/v1/w/shop/seen", teamwire.Seen{Gone: []string{"claude-code"}}, nil) // only its own
	bob.refuse(teamwire.CodeRefused, "POST", trackPath+"do", bob.request(plan.MarkStep{Step: 1, Status: plan.InProgress}))
	_, err := w.db.Pool().Exec(t.Context(), "UPDATE sighting SET heard = heard - interval '61 seconds' WHERE name LIKE 'ann/%'")
	check(t, err)
	bob.do(plan.MarkStep{Step: 1, Status: plan.InProgress})
}

// TestSettingsHold fails if a team's settings do not limit its plans, or settings that cannot be met are accepted.
func TestSettingsHold(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	check(t, w.admin.SetSettings(t.Context(), w.team, "", []byte(`{"max_steps": 2, "offline": "closed"}`)))
	var me teamwire.Me
	if ann.must("GET", "/v1/me", nil, &me); me.Offline != "closed" {
		t.Errorf("the caller is told %+v", me)
	}
	ann.do(setUp("Ship the shop"))
	three := plan.AddSteps{Steps: []plan.NewStep{{Spec: plan.Spec{Title: "a"}}, {Spec: plan.Spec{Title: "b"}}}}
	ann.refuse(teamwire.CodeRefused, "POST", trackPath+"do", ann.request(three))
	check(t, w.admin.SetSettings(t.Context(), w.team, "shop", []byte(`{}`)))
	ann.do(three)
	for _, settings := range []string{`{"approvals": 3}`, `{"approvals": 1, "approvers": ["eve"]}`,
		`{"approvals": 1, "approvers": ["@leads"]}`,
		`{"approvals": 2, "approvers": ["ann"]}`, `{"high_risk": 1}`, `{"lease": "1s"}`, `{"proof": "word"}`, `{"offline": "open"}`,
		`{"evidence_from": "laptop"}`, `{"approvals": -1}`, `{"unknown": 1}`, `[]`, `null`, ` null `, ``, `{"approvals": "2"}`,
		`{"groups": {"leads": ["zed"]}}`} {
		err := w.admin.SetSettings(t.Context(), w.team, "", []byte(settings))
		if err == nil || strings.Contains(err.Error(), "json:") || strings.Contains(err.Error(), "Settings") {
			t.Errorf("%s: %v", settings, err)
		}
	}
	if err := w.admin.SetSettings(t.Context(), w.team, "shop", []byte(`{"offline": "closed"}`)); err == nil ||
		!strings.Contains(err.Error(), "set it for the team") {
		t.Errorf("offline for one workspace: %v", err)
	}
	if _, _, err := w.admin.Settings(t.Context(), w.team, "nosuch"); err == nil {
		t.Error("a workspace that does not exist has rules")
	}
	if _, err := w.admin.CreateToken(t.Context(), w.team, "ann", "boss", "laptop", time.Hour); err == nil ||
		!strings.Contains(err.Error(), "agent, ci, member or admin") {
		t.Errorf("a token of an unknown role: %v", err)
	}
	for what, err := range map[string]error{"a new member": w.admin.AddMember(t.Context(), w.team, "eve", "boss", ""),
		"a member": w.admin.SetRole(t.Context(), w.team, "ann", "boss"), "an agent": w.admin.SetRole(t.Context(), w.team, "ann", "agent")} {
		if err == nil || !strings.Contains(err.Error(), "use member or admin") {
			t.Errorf("%s of an unknown role: %v", what, err)
		}
	}
	check(t, w.admin.SetSettings(t.Context(), w.team, "",
		[]byte(`{"approvals": 2, "approvers": ["@leads"], "groups": {"leads": ["ann", "bob"]}}`)))
}

// TestASubmissionKeepsTheRulesOfItsTime fails if a submitted plan has no policy, or gets that of a later time.
func TestASubmissionKeepsTheRulesOfItsTime(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	ann.do(setUp("Begin"))
	check(t, w.admin.SetSettings(t.Context(), w.team, "shop",
		[]byte(`{"approvals": 2, "approvers": ["@leads"], "groups": {"leads": ["ann", "bob"]}}`)))
	ann.do(plan.EnterMode{})
	ann.do(plan.SubmitPlan{Outline: plan.Outline{Objective: "Ship the shop"}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Write it"}}}})
	check(t, w.admin.SetSettings(t.Context(), w.team, "shop", []byte(`{}`)))
	_, state := ann.track()
	policy := state.Mode.Request.Policy
	if policy == nil || policy.Approvals != 2 || !slices.Equal(policy.Approvers, []string{"ann", "bob"}) {
		t.Errorf("the request has the policy %+v", policy)
	}
}
