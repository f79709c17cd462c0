package cli

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/teamserver"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/internal/testenv"
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
	team, err := admin.CreateTeam(t.Context(), "acme")
	testenv.Check(t, err)
	tokens := map[string]string{}
	for _, name := range []string{"ann", "bob"} {
		testenv.Check(t, admin.AddMember(t.Context(), team, name, teamwire.RoleMember))
		token, err := admin.CreateToken(context.Background(), team, name, teamwire.RoleMember, name+"-laptop", time.Hour)
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
	testscript.Run(t, params)
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
