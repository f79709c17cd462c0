package teamserver_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/teamserver"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// world is a server on a database of its own, with a team of ann, an admin, and bob.
type world struct {
	t     *testing.T
	dsn   string
	db    *postgres.DB
	admin teamserver.Admin
	team  int64
	http  *httptest.Server
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := newDatabase(t)
	w.http = w.serve(teamserver.Options{Address: "https://plans.example.com"})
	return w
}

// newDatabase returns a world without a server.
func newDatabase(t *testing.T) *world {
	t.Helper()
	dsn := postgrestest.Start(t)
	w := &world{t: t, dsn: dsn}
	var err error
	w.db, err = postgres.Open(t.Context(), dsn, postgres.Options{})
	check(t, err)
	t.Cleanup(w.db.Close)
	w.admin = teamserver.NewAdmin(w.db, teamserver.Operator)
	w.team = w.newTeam("blue")
	return w
}

// serve starts another server on the same database.
func (w *world) serve(opts teamserver.Options) *httptest.Server {
	w.t.Helper()
	opts.Logger = slog.New(slog.NewTextHandler(w.t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
	server, err := teamserver.New(w.t.Context(), w.db, opts)
	check(w.t, err)
	http := httptest.NewServer(server.Handler())
	w.t.Cleanup(func() { server.EndStreams(); http.Close(); server.Close() })
	return http
}

func (w *world) newTeam(name string) int64 {
	w.t.Helper()
	team, err := w.admin.CreateTeam(w.t.Context(), name)
	check(w.t, err)
	check(w.t, w.admin.AddMember(w.t.Context(), team, "ann", teamwire.RoleAdmin, ""))
	check(w.t, w.admin.AddMember(w.t.Context(), team, "bob", teamwire.RoleMember, ""))
	return team
}

func (w *world) token(team int64, member string, role teamwire.Role) string {
	w.t.Helper()
	token, err := w.admin.CreateToken(w.t.Context(), team, member, role, "laptop", time.Hour)
	check(w.t, err)
	return token
}

// as returns a client with a new token.
func (w *world) as(member string, role teamwire.Role) *client {
	w.t.Helper()
	return &client{t: w.t, address: w.http.URL, token: w.token(w.team, member, role)}
}

type client struct {
	t       *testing.T
	address string
	token   string
	keys    int
}

// call sends a request, decodes a successful answer, and returns the status and the error's body.
func (c *client) call(method, path string, in, out any) (int, teamwire.Error) {
	c.t.Helper()
	var body io.Reader
	if in != nil {
		data, err := json.Marshal(in)
		check(c.t, err)
		body = bytes.NewReader(data)
	}
	return c.send(method, path, "application/json", body, out)
}

func (c *client) send(method, path, kind string, body io.Reader, out any) (int, teamwire.Error) {
	c.t.Helper()
	request, err := http.NewRequestWithContext(c.t.Context(), method, c.address+path, body)
	check(c.t, err)
	if c.token != "" {
		request.Header.Set("Authorization", "Bearer "+c.token)
	}
	request.Header.Set("Content-Type", kind)
	answer, err := http.DefaultClient.Do(request)
	check(c.t, err)
	defer answer.Body.Close()
	data, err := io.ReadAll(answer.Body)
	check(c.t, err)
	var failed teamwire.Error
	switch raw, isRaw := out.(*[]byte); {
	case answer.StatusCode >= 300:
		check(c.t, json.Unmarshal(data, &failed))
		if failed.Code.Status() != answer.StatusCode || failed.Problem == "" {
			c.t.Errorf("%s %s: status %d with %+v", method, path, answer.StatusCode, failed)
		}
	case isRaw:
		*raw = data
	case out != nil:
		check(c.t, json.Unmarshal(data, out, json.RejectUnknownMembers(true)))
	}
	return answer.StatusCode, failed
}

// request returns a request for an action with a new key.
func (c *client) request(a plan.Action) teamwire.DoRequest {
	c.t.Helper()
	c.keys++
	data, err := store.EncodeAction(a)
	check(c.t, err)
	return teamwire.DoRequest{Key: fmt.Sprintf("%s-%d", c.t.Name(), c.keys), Agent: "claude-code", Action: data}
}

const trackPath = "/v1/w/shop/t/main/"

// do asks for an action in the usual track, which must succeed.
func (c *client) do(a plan.Action) teamwire.DoReply {
	c.t.Helper()
	var reply teamwire.DoReply
	c.must("POST", trackPath+"do", c.request(a), &reply)
	return reply
}

func (c *client) must(method, path string, in, out any) {
	c.t.Helper()
	if status, failed := c.call(method, path, in, out); status >= 300 {
		c.t.Fatalf("%s %s: %d %+v", method, path, status, failed)
	}
}

// refuse sends a request that must fail with a code.
func (c *client) refuse(code teamwire.Code, method, path string, in any) teamwire.Error {
	c.t.Helper()
	status, failed := c.call(method, path, in, nil)
	if failed.Code != code {
		c.t.Errorf("%s %s: %d %+v, want %s", method, path, status, failed, code)
	}
	return failed
}

func check(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func setUp(objective string) plan.SetUp {
	return plan.SetUp{Outline: plan.Outline{Objective: objective}, Steps: []plan.NewStep{{Spec: plan.Spec{Title: "Write it"}}}}
}

// records decodes lines of records. Their hashes must lead to a head.
func records(t *testing.T, head store.Head, lines []string) (list []plan.Record) {
	t.Helper()
	var hash store.Hash
	for _, line := range lines {
		hash = hash.Next([]byte(line))
		record, err := store.DecodeRecord([]byte(line))
		check(t, err)
		list = append(list, record)
	}
	if hash != head.Hash {
		t.Errorf("the records do not lead to the head %v", head)
	}
	return list
}

// track reads the usual track.
func (c *client) track() (list []plan.Record, state plan.State) {
	c.t.Helper()
	var got teamwire.Records
	c.must("GET", trackPath+"records?after=0", nil, &got)
	list = records(c.t, got.Head, got.Records)
	for _, record := range list {
		state = plan.Fold(state, record)
	}
	return list, state
}

func TestAnActionIsDecidedAndRead(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	reply := ann.do(setUp("Ship the shop"))
	if reply.Seq != 1 || len(reply.Records) != 1 || reply.Head.Seq != 1 || reply.More {
		t.Errorf("the answer is %+v", reply)
	}
	var got teamwire.Records
	w.as("bob", teamwire.RoleMember).must("GET", trackPath+"records?chain=&after=0", nil, &got)
	list := records(t, got.Head, got.Records)
	if len(list) != 1 || list[0].Actor.Name != "ann/claude-code" || list[0].Actor.Kind != plan.Agent {
		t.Errorf("the records are %+v", list)
	}
	var tracks []teamwire.Track
	ann.must("GET", "/v1/w/shop/tracks", nil, &tracks)
	if len(tracks) != 1 || tracks[0].Track != "main" || !tracks[0].IsOpen || tracks[0].Head != got.Head {
		t.Errorf("the tracks are %+v", tracks)
	}
	var me teamwire.Me
	ann.must("GET", "/v1/me", nil, &me)
	if me.Team != "blue" || me.Member != "ann" || me.Machine != "laptop" || me.Role != teamwire.RoleMember || me.Format != 1 {
		t.Errorf("the caller is %+v", me)
	}
}

// TestAFormerPlanIsRestored fails if a server does not find an archived plan in the log.
func TestAFormerPlanIsRestored(t *testing.T) {
	w := newWorld(t)
	ann := w.as("ann", teamwire.RoleMember)
	first := ann.do(setUp("Ship the shop"))
	id := plan.Fold(plan.State{}, records(t, first.Head, first.Records)[0]).Plan.ID
	ann.do(setUp("Write the docs"))
	ann.do(plan.Restore{PlanID: id})
	ann.refuse(teamwire.CodeRefused, "POST", trackPath+"do", ann.request(plan.Restore{PlanID: "none"}))
	_, state := ann.track()
	if state.Draft == nil || state.Draft.ID != id || state.Draft.Steps.Len() != 1 { // an approval is needed
		t.Errorf("the draft is %+v", state.Draft)
	}
}

func newHTTP(t *testing.T, server *teamserver.Server) (address string) {
	t.Helper()
	h := httptest.NewServer(server.Handler())
	t.Cleanup(h.Close)
	return h.URL
}

// TestATeamIsUpgraded fails if a team's format rises although laptops are too old, or if such a laptop is served afterwards.
func TestATeamIsUpgraded(t *testing.T) {
	w := newWorld(t)
	ann, bob := w.as("ann", teamwire.RoleMember), w.as("bob", teamwire.RoleMember)
	ann.do(setUp("Ship the shop"))
	var me teamwire.Me
	bob.must("GET", "/v1/me", nil, &me)
	w.as("bob", teamwire.RoleCI) // never used
	if old, err := w.admin.Upgrade(t.Context(), w.team, 2, false); err == nil || len(old) != 2 ||
		!strings.Contains(err.Error(), "too old for format 2 on ann's laptop, last seen") {
		t.Errorf("upgraded: %v, %v", old, err)
	}
	ann.must("GET", "/v1/me", nil, &me)
	if old, err := w.admin.Upgrade(t.Context(), w.team, 2, true); err != nil || len(old) != 2 {
		t.Errorf("not upgraded: %v, %v", old, err)
	}
	ann.refuse(teamwire.CodeUpdate, "GET", "/v1/me", nil)
	ann.refuse(teamwire.CodeUpdate, "POST", trackPath+"do", ann.request(plan.Close{}))
	if _, err := w.admin.Upgrade(t.Context(), w.team, 2, false); !errors.Is(err, teamserver.ErrCurrent) {
		t.Errorf("upgraded twice: %v", err)
	}
}
