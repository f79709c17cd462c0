package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/team"
	"github.com/planloop/planloop/internal/teamserver"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// TestTeamScripts runs the stories of two machines and a team's server, at $SERVER, for the tokens $ANN and $BOB.
func TestTeamScripts(t *testing.T) {
	db, err := postgres.Open(t.Context(), postgrestest.Start(t), postgres.Options{})
	testenv.Check(t, err)
	t.Cleanup(db.Close)
	server, err := teamserver.New(t.Context(), db, teamserver.Options{Address: "https://plans.example.com",
		Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	testenv.Check(t, err)
	t.Cleanup(func() { server.EndStreams(); server.Close() })
	admin := teamserver.NewAdmin(db, teamserver.Operator)
	acme, err := admin.CreateTeam(t.Context(), "acme")
	testenv.Check(t, err)
	tokens := map[string]string{}
	for _, name := range []string{"ann", "bob"} {
		testenv.Check(t, admin.AddMember(t.Context(), acme, name, teamwire.RoleMember, ""))
		token, err := admin.CreateToken(context.Background(), acme, name, teamwire.RoleMember, name+"-laptop", time.Hour)
		testenv.Check(t, err)
		tokens[name] = token
	}
	params := scripts(t, "../../testdata/team")
	setup := params.Setup
	params.Setup = func(env *testscript.Env) error {
		web := &teamAddress{handler: server.Handler(), stuck: make(chan struct{}, 1)}
		web.Server = httptest.NewServer(web)
		env.Defer(web.disconnect)
		env.Values[webKey{}] = web
		env.Setenv("SERVER", web.URL)
		env.Setenv("ANN", tokens["ann"])
		env.Setenv("BOB", tokens["bob"])
		return setup(env)
	}
	params.Cmds["disconnect"] = func(ts *testscript.TestScript, _ bool, _ []string) { ts.Value(webKey{}).(*teamAddress).disconnect() }
	params.Cmds["stall"] = func(ts *testscript.TestScript, isEnd bool, _ []string) {
		web := ts.Value(webKey{}).(*teamAddress)
		if isEnd {
			<-web.stuck
		}
		web.isStalling.Store(!isEnd)
	}
	// Laptops have stopped sending signs of life: silent
	params.Cmds["silent"] = func(ts *testscript.TestScript, _ bool, _ []string) {
		_, err := db.Pool().Exec(t.Context(), "UPDATE sighting SET heard = heard - interval '61 seconds'")
		ts.Check(err)
	}
	// A signed-in member decides on the server's page: page ann WORKSPACE/TRACK ACT STEP
	params.Cmds["page"] = func(ts *testscript.TestScript, neg bool, args []string) {
		_, err := db.Pool().Exec(t.Context(), `INSERT INTO signin (hash, page_key, team, member, way, expires)
			SELECT sha256($1), sha256($1), team, id, 'passkey', now() + interval '1 hour' FROM member WHERE name = $2
			ON CONFLICT DO NOTHING`, []byte(args[0]), args[0])
		ts.Check(err)
		ask := func(method, path string, in, out any) int {
			body := new(bytes.Buffer)
			if in != nil {
				ts.Check(json.NewEncoder(body).Encode(in))
			}
			request, err := http.NewRequest(method, ts.Getenv("SERVER")+path, body)
			ts.Check(err)
			request.Host = "plans.example.com"
			request.Header = http.Header{"Origin": {"https://plans.example.com"}, "Content-Type": {"application/json"},
				"Planloop-Key": {args[0]}, "Cookie": {"__Host-planloop=" + args[0]}}
			response, err := http.DefaultClient.Do(request)
			ts.Check(err)
			defer response.Body.Close()
			text, err := io.ReadAll(response.Body)
			ts.Check(err)
			ts.Logf("%s %s: %d %s", method, path, response.StatusCode, text)
			if response.StatusCode == http.StatusOK {
				ts.Check(json.Unmarshal(text, out))
			}
			return response.StatusCode
		}
		var view review.View
		if ask("GET", "/api/view?workspace="+url.QueryEscape(args[1]), nil, &view) != http.StatusOK || view.Plan == nil {
			ts.Fatalf("%s is shown no plan", args[0])
		}
		for _, step := range view.Plan.Steps {
			if step.ID.String() == args[3] {
				input := map[string]any{"plan": view.Plan.ID, "step": step.ID}
				if step.Ask != nil {
					input["digest"] = step.Ask.Digest
				}
				var done review.Done
				act := map[string]any{"workspace": args[1], "log": view.Log, "act": args[2], "input": input}
				status := ask("POST", "/api/act", act, &done)
				if (status == http.StatusOK) == neg {
					ts.Fatalf("%s is answered with %d", args[2], status)
				}
			}
		}
	}
	testscript.Run(t, params)
}

// TestHistoryAfterPurges: a team's purge keeps the plan, so that there is something to purge on a machine that has left with it.
func TestHistoryAfterPurges(t *testing.T) {
	purged := plan.Record{Action: plan.ActionWord(plan.Purge{}), Events: make([]plan.Event, 1)}
	keeping := purged
	keeping.Events = make([]plan.Event, 2)
	for name, c := range map[string]struct {
		records []plan.Record
		want    bool
	}{
		"none": {}, "purged": {records: []plan.Record{purged}}, "purged by a team": {[]plan.Record{keeping}, true},
		"used again": {[]plan.Record{purged, {Action: "set_up"}}, true},
	} {
		got := hasHistory(func(yield func(plan.Record, error) bool) {
			for _, record := range c.records {
				if !yield(record, nil) {
					return
				}
			}
		})
		if got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	if !hasHistory(func(yield func(plan.Record, error) bool) { yield(plan.Record{}, store.ErrDamaged) }) {
		t.Error("a damaged log has no history")
	}
}

// TestLeavingAgain leaves a team after a first try that could not delete the copy.
func TestLeavingAgain(t *testing.T) {
	u := userAt{t, t.TempDir()}
	ws, a := u.plans("left"), u.in("left")
	folder, _, err := a.teamFolders()
	testenv.Check(t, err)
	m := team.Membership{Address: "https://plans.example.com", Token: "plt_x", Team: "acme", Member: "ann"}
	testenv.Check(t, m.Save(folder))
	testenv.Check(t, team.Place{Team: "acme", Workspace: "shop", Track: "main"}.Save(ws.place.StateDir))
	output := filepath.Join(ws.place.StateDir, "logs", "S001")
	testenv.Check(t, os.Mkdir(filepath.Dir(output), 0o700))
	testenv.Check(t, os.WriteFile(output, []byte("of an agent"), 0o600))
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := a.leaveTeam(cancelled, "acme", false); err == nil {
		t.Fatal("the copy was deleted in no time")
	}
	testenv.Check(t, a.leaveTeam(t.Context(), "acme", false))
	log := sqlite.New(ws.place.StateDir, sqlite.Options{})
	defer log.Close()
	if hasHistory(log.Read(t.Context(), 0)) {
		t.Error("the copy is left behind")
	}
	if _, err := os.Lstat(output); err == nil {
		t.Error("an agent's output is left behind")
	}
}

// joined returns an app of a member of a team with this server, in the named workspace.
func (u userAt) joined(name string, server http.HandlerFunc) *app {
	u.t.Helper()
	web := httptest.NewServer(server)
	u.t.Cleanup(web.Close)
	a := u.in(name)
	folder, _, err := a.teamFolders()
	testenv.Check(u.t, err)
	m := team.Membership{Address: web.URL, Token: "plt_x", Team: "acme", Member: "ann", Role: teamwire.RoleMember}
	testenv.Check(u.t, m.Save(folder))
	return a
}

// TestPullWithoutRecords: if the first pull fails, the error says what has changed all the same.
func TestPullWithoutRecords(t *testing.T) {
	u := userAt{t, t.TempDir()}
	u.plans("pulled")
	a := u.joined("pulled", func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/records") {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
		testenv.Check(t, json.NewEncoder(w).Encode([]teamwire.Track{{Track: "main"}}))
	})
	err := a.pullTrack(t.Context(), "main", "acme/shop")
	const want = "Track main is now a copy of acme/shop main. The local track main continues as former-main."
	if err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("got %v", err)
	}
}

// TestChangesWhilePulling: while a track moves aside for a team's, another process changes it. Each accepted change, with the value that it
// names, is on the kept track.
func TestChangesWhilePulling(t *testing.T) {
	shared := store.NewMemory()
	_, err := session.New(shared, session.Options{}).Do(t.Context(), codex.Actor, plan.SetUp{Outline: plan.Outline{Objective: "Ours"}}, nil)
	testenv.Check(t, err)
	u := userAt{t, t.TempDir()}
	writer := u.plans("pulled")
	a := u.joined("pulled", func(w http.ResponseWriter, r *http.Request) {
		head, err := shared.Head(r.Context())
		testenv.Check(t, err)
		var answer any = []teamwire.Track{{Track: "main", Head: head}}
		if strings.HasSuffix(r.URL.Path, "/records") {
			records := teamwire.Records{Head: head}
			for record, err := range shared.Read(r.Context(), 0) {
				line, wrong := store.EncodeRecord(record)
				testenv.Check(t, errors.Join(err, wrong))
				records.Records = append(records.Records, string(line))
			}
			answer = records
		}
		testenv.Check(t, json.NewEncoder(w).Encode(answer))
	})
	value, err := writer.session.PutValue(t.Context(), []byte("long"))
	testenv.Check(t, err)
	titles, begun, refused := map[string]bool{}, make(chan struct{}), make(chan error)
	go func() {
		for {
			title := fmt.Sprintf("Step %d %s", len(titles), value)
			steps := []plan.NewStep{{Spec: plan.Spec{Title: title}}}
			if _, err := writer.verbs.AddStepsAfter(t.Context(), codex, steps, nil); err != nil {
				refused <- err
				return
			}
			if titles[title] = true; len(titles) == 10 {
				close(begun)
			}
		}
	}()
	select {
	case <-begun:
	case err := <-refused:
		t.Fatal(err)
	}
	testenv.Check(t, a.pullTrack(t.Context(), "main", "acme/shop"))
	t.Log("the last change:", <-refused) // the track is a team's by now, or the writer must choose between both tracks
	kept := u.in("pulled")
	kept.flags.track = "former-main"
	ws, state, err := kept.state(t.Context())
	testenv.Check(t, err)
	if info, err := os.Stat(filepath.Join(ws.place.StateDir, "values", value)); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the value: %v, %v", info, err)
	}
	n := len(titles)
	for step := range state.Plan.Steps.All() {
		delete(titles, step.Title)
	}
	if len(titles) > 0 {
		t.Errorf("lost %d of %d accepted changes", len(titles), n)
	}
}

// TestJoinedAgain: a process that runs uses the token of the last join, and the track that was pulled last.
func TestJoinedAgain(t *testing.T) {
	u := userAt{t, t.TempDir()}
	local, a := u.plans("joined"), u.in("joined")
	folder, _, err := a.teamFolders()
	testenv.Check(t, err)
	m := team.Membership{Address: "http://127.0.0.1:9", Token: "plt_x", Team: "acme", Member: "ann"}
	place := team.Place{Team: "acme", Workspace: "shop", Track: "main"}
	for what, change := range map[string]func(){
		"joined": func() {}, "again": func() { m.Token = "plt_y" }, "another track": func() { place.Workspace = "blog" },
	} {
		change()
		testenv.Check(t, errors.Join(m.Save(folder), place.Save(local.place.StateDir)))
		first, err := a.open(t.Context(), nil)
		testenv.Check(t, err)
		second, err := a.open(t.Context(), nil)
		testenv.Check(t, err)
		if first.copied.Token != m.Token || first.copied.Place != place || first != second {
			t.Errorf("%s: uses %s of %s", what, first.copied.Token, first.copied.Place)
		}
	}
}

// TestFollowingEnds: a process stops following when it ends, also if it only opened other workspaces.
func TestFollowingEnds(t *testing.T) {
	hasStopped := false
	a := userAt{t, t.TempDir()}.in("none")
	a.stopFollowing = func() { hasStopped = true }
	testenv.Check(t, a.close())
	if !hasStopped {
		t.Error("it still follows")
	}
}

type webKey struct{}

// teamAddress is the server as one script reaches it.
type teamAddress struct {
	*httptest.Server
	handler    http.Handler
	isStalling atomic.Bool // the last part of an import hangs
	stuck      chan struct{}
}

func (a *teamAddress) disconnect() { a.CloseClientConnections(); a.Close() }

func (a *teamAddress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if a.isStalling.Load() && strings.HasSuffix(r.URL.Path, "/share") {
		body, _ := io.ReadAll(r.Body)
		if strings.Contains(string(body), `"last":true`) {
			a.stuck <- struct{}{}
			<-r.Context().Done()
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
	}
	a.handler.ServeHTTP(w, r)
}
