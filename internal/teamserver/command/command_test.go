package command_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/teamserver/command"
)

// run runs a command on a database and returns its output.
func run(t *testing.T, dsn string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := command.New(func(name string) string { return map[string]string{"PLANLOOP_SERVER_DSN": dsn}[name] })
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SetErr(&out)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func must(t *testing.T, dsn string, args ...string) string {
	t.Helper()
	out, err := run(t, dsn, args...)
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	return out
}

// TestATeamIsMadeAndServed goes from an empty database to a server that answers a member, and stops it.
func TestATeamIsMadeAndServed(t *testing.T) {
	dsn := postgrestest.Empty(t)
	if _, err := run(t, dsn, "team", "create", "blue"); err == nil || !strings.Contains(err.Error(), "planloop-server migrate") {
		t.Errorf("an empty database is refused with %v", err)
	}
	must(t, dsn, "migrate")
	must(t, dsn, "migrate")
	must(t, dsn, "team", "create", "blue")
	must(t, dsn, "member", "add", "blue", "ann", "--role", "admin")
	must(t, dsn, "member", "add", "blue", "bob", "--email", "Bob@example.com")
	must(t, dsn, "member", "email", "blue", "ann", "ann@example.com")
	must(t, dsn, "member", "email", "blue", "ann", "")
	_, err := run(t, dsn, "member", "email", "blue", "eve", "eve@example.com")
	if err == nil || !strings.Contains(err.Error(), "no member") {
		t.Errorf("an address of no member is refused with %v", err)
	}
	if got := must(t, dsn, "team", "upgrade", "blue"); !strings.Contains(got, "already uses format") {
		t.Errorf("an upgrade to the same format says %s", got)
	}
	rules := filepath.Join(t.TempDir(), "rules.json")
	set := func(text string) string {
		if err := os.WriteFile(rules, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return must(t, dsn, "policy", "set", "blue", rules)
	}
	if got := set(`{"approvals": 1, "high_risk": 1}`); !strings.Contains(got, "high risk needs 2 approvals, and none by ann and bob") {
		t.Errorf("rules that no plan of high risk can meet: %q", got)
	}
	if got := set(`{"approvals": 2}`); !strings.Contains(got, "a plan needs 2 approvals") {
		t.Errorf("rules that no plan can meet: %q", got)
	}
	if _, err := run(t, dsn, "policy", "remove", "blue"); err == nil || !strings.Contains(err.Error(), "blue/NAME") {
		t.Errorf("the rules of a whole team are removed: %v", err)
	}
	if got := must(t, dsn, "policy", "show", "blue"); !strings.Contains(got, `"approvals": 2`) {
		t.Errorf("the rules are %s", got)
	}
	if got := set(`{}`) + set(`{"approvals": 1}`); got != "" {
		t.Errorf("a warning of rules that every plan can meet: %q", got)
	}
	if got := must(t, dsn, "member", "list", "blue"); got != "ann  admin\nbob  member\n" {
		t.Errorf("the members are %q", got)
	}
	for _, args := range [][]string{{"team", "list"}, {"policy", "get", "blue"}, {"nosuch"}, {"purge", "blue/shop", "nosuch"}} {
		if out, err := run(t, dsn, args...); err == nil || strings.Contains(err.Error(), "--keep-current") {
			t.Errorf("%q: %q, %v", args, out, err)
		}
	}
	token := strings.TrimSpace(must(t, dsn, "token", "create", "blue", "ann", "--days", "1"))
	if got := must(t, dsn, "token", "list", "blue"); !strings.Contains(got, "ann  member  laptop") || strings.Contains(got, token) {
		t.Errorf("the tokens are %s", got)
	}
	if _, err := run(t, dsn, "invite", "blue", "ann"); err == nil || !strings.Contains(err.Error(), "--address") {
		t.Errorf("an invitation without an address is refused with %v", err)
	}
	invitation := must(t, dsn, "invite", "blue", "ann", "--address", "https://plans.example.com")
	if !regexp.MustCompile(`^https://plans\.example\.com/invite#[A-Z2-7]{52}\n$`).MatchString(invitation) {
		t.Errorf("the invitation is %q", invitation)
	}
	address, stop := serve(t, dsn)
	address = "http://" + address
	if got := get(t, address+"/readyz", ""); got != "ok\n" {
		t.Errorf("readiness is %q", got)
	}
	if got := get(t, address+"/v1/me", token); !strings.Contains(got, `"member":"ann"`) {
		t.Errorf("the server answers %q", got)
	}
	if got := must(t, dsn, "member", "remove", "blue", "ann"); !strings.Contains(got, "no admin") {
		t.Errorf("the last admin is removed with %q", got)
	}
	if got := get(t, address+"/v1/me", token); !strings.Contains(got, `"error":"token"`) {
		t.Errorf("the server answers a removed member with %q", got)
	}
	log := stop()
	if !strings.Contains(log, `"took_ms":`) {
		t.Errorf("the log has no times with a unit: %s", log)
	}
	if !strings.Contains(log, "without --address") || strings.Contains(log, "unencrypted") {
		t.Errorf("the log does not warn, or of too much: %s", log)
	}
	_, stop = serve(t, dsn, "--listen", ":0", "--address", "https://plans.example.com")
	if log := stop(); strings.Contains(log, "without --address") || !strings.Contains(log, "unencrypted") {
		t.Errorf("the log of a server without TLS does not warn, or of too much: %s", log)
	}
	if strings.Contains(log, token) || !strings.Contains(log, `"member":"ann"`) {
		t.Errorf("the log is %s", log)
	}
	if _, err := run(t, dsn, "team", "delete", "blue"); err == nil {
		t.Error("a team is deleted without its name")
	}
	if _, err := run(t, dsn, "team", "delete", "blue/shop", "--confirm", "blue/shop"); err == nil {
		t.Error("a team is deleted although a workspace is named")
	}
	must(t, dsn, "team", "delete", "blue", "--confirm", "blue")
	if _, err := run(t, dsn, "member", "list", "blue"); err == nil {
		t.Error("a deleted team has members")
	}
}

// serve runs the server until stop, which returns its log. The address has no scheme.
func serve(t *testing.T, dsn string, flags ...string) (address string, stop func() string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	cmd := command.New(func(string) string { return dsn })
	cmd.SetArgs(append([]string{"serve", "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:0"}, flags...))
	in, out := io.Pipe()
	cmd.SetErr(out)
	ended := make(chan error, 1)
	go func() {
		err := cmd.ExecuteContext(ctx)
		out.CloseWithError(io.EOF)
		ended <- err
	}()
	lines := bufio.NewReader(in)
	first, err := lines.ReadString('\n')
	found := regexp.MustCompile(`"address":"([^"]+)"`).FindStringSubmatch(first)
	if err != nil || found == nil {
		t.Fatalf("the server begins with %q, %v, %v", first, err, <-ended)
	}
	rest := make(chan string, 1)
	go func() {
		text, _ := io.ReadAll(lines)
		rest <- string(text)
	}()
	return found[1], func() string {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("the server ended with %v", err)
		}
		return <-rest
	}
}

func get(t *testing.T, address, token string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), "GET", address, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
