package e2e_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/testenv"
)

// buildNext builds the programs of the next version: today's source with the next format of records, one more migration, and a version.
func buildNext(t *testing.T, into string) {
	t.Helper()
	replaced, root := map[string]string{}, testenv.Must(filepath.Abs("../.."))(t)
	migrations := testenv.Must(filepath.Glob(root + "/internal/store/postgres/migrations/*.sql"))(t)
	migration := fmt.Sprintf("internal/store/postgres/migrations/%05d_next.sql", len(migrations)+1)
	for path, change := range map[string][2]string{
		"internal/teamwire/teamwire.go": {"const Format = 1\n", "const Format = 2\n"},
		"internal/build/build.go":       {`const Version = "`, `const Version = "9.9.9" //`},
		migration:                       {"", "-- +goose Up\nALTER TABLE team ADD COLUMN next integer;\n"},
	} {
		text, _ := os.ReadFile(filepath.Join(root, path)) // the migration does not exist
		changed := strings.Replace(string(text), change[0], change[1], 1)
		if changed == string(text) {
			t.Fatalf("%s has no %q", path, change[0])
		}
		file := filepath.Join(t.TempDir(), filepath.Base(path))
		testenv.Check(t, os.WriteFile(file, []byte(changed), 0o600))
		replaced[filepath.Join(root, path)] = file
	}
	overlay := filepath.Join(t.TempDir(), "overlay.json")
	testenv.Check(t, os.WriteFile(overlay, testenv.Must(json.Marshal(map[string]any{"Replace": replaced}))(t), 0o600))
	build(t, into, "-overlay", overlay, root+"/cmd/planloop", root+"/cmd/planloop-server")
}

func build(t *testing.T, into string, args ...string) {
	t.Helper()
	noticeSources()
	args = append([]string{"build", "-trimpath", "-o", into + "/"}, args...)
	if out, err := exec.Command("go", args...).CombinedOutput(); err != nil {
		t.Fatalf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// teamServer is a planloop-server of one version.
type teamServer struct{ program, dsn string }

// run runs one of its commands.
func (s teamServer) run(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, s.program, args...)
	cmd.Env = append(os.Environ(), "PLANLOOP_SERVER_DSN="+s.dsn)
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

func (s teamServer) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := s.run(args...)
	if err != nil {
		t.Fatalf("planloop-server %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

// serve starts it, and returns its address.
func (s teamServer) serve(t *testing.T) string {
	t.Helper()
	cmd := exec.Command(s.program, "serve", "--listen", "127.0.0.1:0")
	cmd.Env = append(os.Environ(), "PLANLOOP_SERVER_DSN="+s.dsn)
	stderr := testenv.Must(cmd.StderrPipe())(t)
	testenv.Check(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Kill(); _ = cmd.Wait() })
	for lines := bufio.NewScanner(stderr); lines.Scan(); {
		var entry struct{ Msg, Address string }
		if json.Unmarshal(lines.Bytes(), &entry) == nil && entry.Msg == "serving" {
			go io.Copy(io.Discard, stderr) // until it ends
			return "http://" + entry.Address
		}
	}
	t.Fatal("the server does not start")
	return ""
}

// laptop is a place with planloop of one version.
type laptop struct {
	*place
	program string
}

func (l *laptop) do(t *testing.T, isFine bool, says string, args ...string) {
	t.Helper()
	l.prepare = func(cmd *exec.Cmd) { cmd.Path = l.program }
	got := l.run(args...)
	if (got.code == 0) != isFine || !strings.Contains(got.out+got.err, says) {
		t.Fatalf("planloop %s: exit code %d, want %q in\n%s%s", strings.Join(args, " "), got.code, says, got.out, got.err)
	}
}

// joins joins the team at an address.
func (l *laptop) joins(t *testing.T, address, token string) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "token")
	testenv.Check(t, os.WriteFile(file, []byte(token), 0o600))
	l.do(t, true, "Joined blue", "team", "join", address, "--token-file", file)
}

// moves makes the laptop use another server, as a load balancer does.
func (l *laptop) moves(t *testing.T, from, to string) {
	t.Helper()
	user := ""
	for _, variable := range l.env {
		if value, is := strings.CutPrefix(variable, "XDG_CONFIG_HOME="); is {
			user = value
		}
	}
	file := filepath.Join(user, "planloop", "teams", "blue.json")
	text := strings.ReplaceAll(string(testenv.Must(os.ReadFile(file))(t)), from, to)
	testenv.Check(t, os.WriteFile(file, []byte(text), 0o600))
	old := time.Now().Add(-2 * time.Minute)
	found, _ := filepath.Glob(filepath.Join(l.home, "planloop", "*", "team.confirmed"))
	for _, path := range found {
		testenv.Check(t, os.Chtimes(path, old, old))
	}
}

// TestATeamIsUpgradedStepByStep: servers and laptops of this version and the next work together before, during and after the migration.
// Once the team uses the next format, a laptop of this version says that it must be updated and counts as offline; its copy can be read,
// and continues after the update.
func TestATeamIsUpgradedStepByStep(t *testing.T) {
	t.Parallel()
	ann, bob := &laptop{place: newPlace(t)}, &laptop{place: newPlace(t)}
	dsn := postgrestest.Empty(t)
	programs, nextPrograms := t.TempDir(), t.TempDir()
	build(t, programs, "../../cmd/planloop-server")
	buildNext(t, nextPrograms)
	server, next := teamServer{programs + "/planloop-server", dsn}, teamServer{nextPrograms + "/planloop-server", dsn}
	ann.program, bob.program = os.Getenv(binaryVariable), nextPrograms+"/planloop"

	server.must(t, "migrate")
	server.must(t, "team", "create", "blue")
	tokens := map[string]string{}
	for _, name := range []string{"ann", "bob"} {
		server.must(t, "member", "add", "blue", name)
		out := strings.Fields(server.must(t, "token", "create", "blue", name, "--machine", "laptop"))
		for _, word := range out {
			if strings.HasPrefix(word, "plt_") {
				tokens[name] = word
			}
		}
	}
	old := server.serve(t)
	ann.must("--agent", "codex", "start", "Ship the shop")
	ann.joins(t, old, tokens["ann"])
	ann.do(t, true, "Shared main", "team", "share", "main", "--in", "blue/shop")

	// The next version serves on this schema, and knows laptops of this one. Its laptop works with a server of this version.
	newer := next.serve(t)
	ann.moves(t, old, newer)
	ann.do(t, true, "", "--agent", "codex", "step", "add", "Before the migration")
	bob.joins(t, old, tokens["bob"])
	bob.do(t, true, "is now a copy of", "team", "pull", "main", "--in", "blue/shop")
	bob.do(t, true, "", "--agent", "codex", "step", "mark", "S001", "doing")

	// After the migration, running servers of this version continue. They cannot start again.
	next.must(t, "migrate")
	ann.moves(t, newer, old)
	ann.do(t, true, "", "--agent", "codex", "step", "add", "After the migration")
	bob.moves(t, old, newer)
	bob.do(t, true, "After the migration", "show")
	bob.do(t, true, "", "--agent", "codex", "step", "mark", "S001", "done")
	if out, err := server.run("serve", "--listen", "127.0.0.1:0"); err == nil || !strings.Contains(out, "update planloop-server") {
		t.Errorf("a server of this version starts on the next schema: %v\n%s", err, out)
	}

	// The team's format rises once the laptops are listed that do not know it.
	if out, err := next.run("team", "upgrade", "blue"); err == nil || !strings.Contains(out, "too old for format 2 on ann's laptop") ||
		strings.Contains(out, "bob") {
		t.Errorf("upgraded: %v\n%s", err, out)
	}
	if out := next.must(t, "team", "upgrade", "blue", "--force"); !strings.Contains(out, "uses format 2") {
		t.Errorf("not upgraded: %s", out)
	}
	for _, address := range []string{newer, old} {
		ann.moves(t, old, address)
		ann.do(t, false, "offline since", "--agent", "codex", "step", "add", "Too old")
		ann.do(t, true, "After the migration", "show")
		ann.do(t, true, "warning: this is track blue/shop main as of", "show")
	}
	ann.moves(t, old, newer)
	ann.do(t, false, "nothing was changed (the team uses format 2, and this planloop knows 1; update planloop to 9.9.9)", "--agent",
		"codex", "step", "add", "Too old")
	bob.do(t, true, "", "--agent", "codex", "step", "add", "In the next format")

	ann.program = bob.program
	ann.do(t, true, "connected", "team", "status")
	ann.do(t, true, "In the next format", "show")
	ann.do(t, true, "", "--agent", "codex", "step", "add", "Updated")
	bob.do(t, true, "Updated", "show")
}
