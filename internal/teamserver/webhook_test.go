package teamserver_test

import (
	"encoding/json" // as a chat reads it
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/teamserver"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// chat is a webhook's endpoint.
type chat struct {
	*httptest.Server
	fails atomic.Int32 // calls still to be refused
	calls chan map[string]any
}

func newChat(t *testing.T) *chat {
	t.Helper()
	c := &chat{calls: make(chan map[string]any, 100)}
	c.Server = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		var body map[string]any
		if err != nil || json.Unmarshal(data, &body) != nil || r.Method != "POST" || r.URL.Path != "/hook/secret" {
			t.Errorf("%s %s: %s %v", r.Method, r.URL, data, err)
		}
		if c.fails.Add(-1) >= 0 {
			w.WriteHeader(http.StatusBadGateway)
		}
		c.calls <- body
	}))
	t.Cleanup(c.Close)
	return c
}

// next returns the next call.
func (c *chat) next(t *testing.T) map[string]any {
	t.Helper()
	select {
	case body := <-c.calls:
		return body
	case <-time.After(30 * time.Second):
		t.Fatal("the webhook was not called")
		return nil
	}
}

// settle waits until no notice is left.
func (w *world) settle(t *testing.T) {
	t.Helper()
	for range 600 {
		var left int
		check(t, w.db.Pool().QueryRow(t.Context(), "SELECT count(*) FROM notice").Scan(&left))
		if left == 0 {
			return
		}
		<-time.After(50 * time.Millisecond)
	}
	t.Fatal("notices are left")
}

// withChat starts three servers for a team with a webhook.
func withChat(t *testing.T) (*world, *chat) {
	t.Helper()
	w, c := newDatabase(t), newChat(t)
	check(t, w.admin.SetSettings(t.Context(), w.team, "", []byte(`{"webhook": "`+c.URL+`/hook/secret"}`)))
	for range 3 {
		w.http = w.serve(teamserver.Options{Address: pageAddress, Webhooks: c.Client()})
	}
	return w, c
}

// TestAWebhookIsCalledOnce fails if a waiting or decided plan is not reported, or by more than one of the servers.
func TestAWebhookIsCalledOnce(t *testing.T) {
	w, c := withChat(t)
	ann := w.member("ann")
	w.submit(w.as("bob", teamwire.RoleAgent))
	body := c.next(t)
	for _, field := range []string{"content", "text"} {
		if text, _ := body[field].(string); !strings.Contains(text, "A plan is waiting for you: Ship the shop") ||
			!strings.Contains(text, "(1 step) [shop] - "+pageAddress+"/#workspace=shop%2Fmain") {
			t.Errorf("%s is %q", field, text)
		}
	}
	if text, _ := body["text"].(string); strings.Count(text, "Ship the shop") > 1 {
		t.Errorf("the title is there twice: %s", text)
	}
	if body["event"] != "plan_waits" {
		t.Errorf("the notice is %v", body)
	}
	ann.must("POST", "/api/act", ann.approval("shop/main"), nil)
	if body = c.next(t); body["event"] != "plan_decided" || !strings.Contains(body["text"].(string), "ann approved “Ship the shop”") &&
		!strings.Contains(body["text"].(string), `ann approved "Ship the shop"`) {
		t.Errorf("the notice is %v", body)
	}
	w.as("ann", teamwire.RoleMember).do(plan.RaiseSignal{ID: "tests", Level: plan.Info, Message: "They pass"}) // of no interest
	w.settle(t)
	if len(c.calls) > 0 {
		t.Errorf("the webhook was called again with %v", <-c.calls)
	}
}

// TestASlowWebhookDelaysItsTeamAlone fails if another team's notice waits for a webhook that does not answer.
func TestASlowWebhookDelaysItsTeamAlone(t *testing.T) {
	w, c := newDatabase(t), newChat(t)
	release := make(chan struct{})
	slow := httptest.NewTLSServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { <-release }))
	t.Cleanup(slow.Close)
	t.Cleanup(func() { close(release) })
	red := w.newTeam("red")
	check(t, w.admin.SetSettings(t.Context(), w.team, "", []byte(`{"webhook": "`+slow.URL+`/hook"}`)))
	check(t, w.admin.SetSettings(t.Context(), red, "", []byte(`{"webhook": "`+c.URL+`/hook/secret"}`)))
	w.http = w.serve(teamserver.Options{Webhooks: c.Client()})
	submit := plan.SubmitPlan{Outline: plan.Outline{Objective: "Ship the shop"}, Steps: setUp("").Steps}
	ann, other := w.as("ann", teamwire.RoleMember), &client{t: t, address: w.http.URL, token: w.token(red, "ann", teamwire.RoleMember)}
	for i := range 6 {
		path := fmt.Sprintf("/v1/w/shop/t/t%d/do", i)
		ann.must("POST", path, ann.request(setUp("Begin")), nil)
		ann.must("POST", path, ann.request(plan.EnterMode{}), nil)
		ann.must("POST", path, ann.request(submit), nil)
	}
	other.do(plan.EnterMode{})
	other.do(submit)
	select {
	case <-c.calls:
	case <-time.After(10 * time.Second): // a webhook has 15 s
		t.Error("the webhook of another team waits")
	}
}

// TestAFailedWebhookIsCalledAgain fails if a failure loses a notice at once, keeps it for ever, or stops a change.
func TestAFailedWebhookIsCalledAgain(t *testing.T) {
	w, c := withChat(t)
	c.fails.Store(5)
	w.submit(w.as("bob", teamwire.RoleAgent))
	ids := map[any]bool{}
	for try := 1; try <= 5; try++ {
		body := c.next(t)
		if ids[body["id"]] = true; len(ids) != 1 || body["plan_id"] == "" {
			t.Errorf("try %d sends %v", try, body)
		}
		var tries int
		var wait time.Duration
		if try == 5 {
			break
		}
		check(t, w.db.Pool().QueryRow(t.Context(), "SELECT tries, due - now() FROM notice").Scan(&tries, &wait))
		if longest := time.Minute << (2 * (try - 1)); tries != try || wait > longest || wait < longest/2 {
			t.Errorf("after try %d of %d the next one is in %s", try, tries, wait)
		}
		_, err := w.db.Pool().Exec(t.Context(), "UPDATE notice SET due = now()")
		check(t, err)
	}
	w.settle(t)
	if len(c.calls) > 0 {
		t.Error("the webhook was called a sixth time")
	}
}

// TestALateWebhookDescribesItsRecord fails if a notice that is sent again is about the plan that came after.
func TestALateWebhookDescribesItsRecord(t *testing.T) {
	w, c := withChat(t)
	ann, laptop := w.member("ann"), w.as("ann", teamwire.RoleMember)
	w.submit(w.as("bob", teamwire.RoleAgent))
	c.next(t)
	c.fails.Store(1)
	ann.must("POST", "/api/act", ann.approval("shop/main"), nil)
	c.next(t)
	laptop.do(plan.MarkStep{Step: 1, Status: plan.InProgress})
	laptop.do(plan.MarkStep{Step: 1, Status: plan.Done})
	laptop.do(setUp("Another"))
	_, err := w.db.Pool().Exec(t.Context(), "UPDATE notice SET due = now()")
	check(t, err)
	if body := c.next(t); body["event"] != "plan_decided" || !strings.Contains(body["text"].(string), "Ship the shop") {
		t.Errorf("the notice is %v", body)
	}
}

// TestAWebhookReachesNoPrivateAddress fails if a team can make the server call a service of its own network.
func TestAWebhookReachesNoPrivateAddress(t *testing.T) {
	w, c := newWorld(t), newChat(t) // without a client that may
	for _, bad := range []string{"http://127.0.0.1/hook", "http://example.com/hook", "https://ann:x@example.com/", "ftp://example.com",
		"x"} {
		if err := w.admin.SetSettings(t.Context(), w.team, "", []byte(`{"webhook": "`+bad+`"}`)); err == nil {
			t.Errorf("the webhook %s is accepted", bad)
		}
	}
	check(t, w.admin.SetSettings(t.Context(), w.team, "", []byte(`{"webhook": "`+c.URL+`/hook/secret"}`)))
	w.submit(w.as("bob", teamwire.RoleAgent))
	for tries := 0; tries == 0; {
		check(t, w.db.Pool().QueryRow(t.Context(), "SELECT tries FROM notice").Scan(&tries))
		<-time.After(20 * time.Millisecond)
	}
	client := outbound.Public()
	for _, address := range []string{c.URL, "https://10.0.0.1", "https://169.254.169.254", "https://[::1]", "https://[fd00::1]",
		"https://[::ffff:127.0.0.1]", "https://100.64.0.1", "https://[64:ff9b::7f00:1]", "https://0.0.0.0"} {
		request, err := http.NewRequestWithContext(t.Context(), "POST", address, nil)
		check(t, err)
		if answer, err := client.Do(request); err == nil || !strings.Contains(err.Error(), "not public") {
			t.Errorf("%s: %v %v", address, answer, err)
		}
	}
	if len(c.calls) > 0 {
		t.Error("the server called a private address")
	}
}

// TestTheInboxHasAllWorkspaces fails if something waits in one of a team's tracks and is not in the inbox of its members.
func TestTheInboxHasAllWorkspaces(t *testing.T) {
	w := newWorld(t)
	agent := w.as("bob", teamwire.RoleAgent)
	for _, track := range []string{"shop/t/main", "shop/t/payments", "docs/t/main", "idle/t/main"} {
		path := "/v1/w/" + track + "/do"
		w.as("ann", teamwire.RoleMember).must("POST", path, w.as("ann", teamwire.RoleMember).request(setUp("Begin "+track)), nil)
		if track == "idle/t/main" {
			continue
		}
		agent.must("POST", path, agent.request(plan.EnterMode{}), nil)
		agent.must("POST", path, agent.request(plan.SubmitPlan{Outline: plan.Outline{Objective: "Ship " + track},
			Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Write it"}}}}), nil)
	}
	ann := w.member("ann")
	var inbox review.Inbox
	ann.must("GET", "/api/inbox", nil, &inbox)
	var waiting, places []string
	for _, item := range inbox.Waiting {
		waiting = append(waiting, item.Name+": "+item.Title)
	}
	for _, place := range inbox.Workspaces {
		places = append(places, place.ID)
	}
	if got := strings.Join(waiting, "; "); got !=
		"docs: Ship docs/t/main; shop · payments: Ship shop/t/payments; shop: Ship shop/t/main" {
		t.Errorf("the inbox has %q", got)
	}
	if got, want := strings.Join(places, " "), "docs/main idle/main shop/main shop/payments"; got != want {
		t.Errorf("the workspaces are %q, not %q", got, want)
	}
	ann.must("POST", "/api/act", ann.approval("shop/payments"), nil)
	if ann.must("GET", "/api/inbox", nil, &inbox); len(inbox.Waiting) != 2 {
		t.Errorf("after a decision the inbox has %+v", inbox.Waiting)
	}
}
