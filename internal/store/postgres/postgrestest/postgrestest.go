// Package postgrestest starts PostgreSQL for tests. It must not know the tests.
package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/store/postgres"
)

// required is set by CI: there, tests fail without PostgreSQL instead of being skipped.
const required = "PLANLOOP_TEST_POSTGRES"

// Server is a PostgreSQL server that listens on a socket in a folder of its own. It ends with this process.
type Server struct {
	programs string // the folder with initdb and postgres
	dir      string
	stdin    io.Closer // the guard stops the server when it is closed, as at this process's end
	guard    *exec.Cmd
	settings []string

	databases atomic.Int64 // that were made for tests
}

// errMissing says that the system has no PostgreSQL.
var errMissing = errors.New("PostgreSQL is not installed (looked for /usr/lib/postgresql/*/bin/initdb and initdb in PATH)")

// shared is the server of all tests of this process; its databases are copies of a migrated one.
var shared = sync.OnceValues(func() (*Server, error) {
	s, err := start()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := s.execute(ctx, `CREATE DATABASE migrated`); err != nil {
		return nil, err
	}
	return s, postgres.Migrate(ctx, s.DSN("migrated"))
})

// Start returns the address of a new migrated database on a server that all tests of this process share. Without PostgreSQL it skips the
// test, or fails it in CI.
func Start(t testing.TB) (dsn string) {
	t.Helper()
	return create(t, ` TEMPLATE migrated`)
}

// Empty is Start for a database without tables.
func Empty(t testing.TB) (dsn string) {
	t.Helper()
	return create(t, ``)
}

func create(t testing.TB, template string) string {
	t.Helper()
	s, err := shared()
	check(t, err)
	name := s.unused()
	check(t, s.execute(t.Context(), `CREATE DATABASE `+name+template))
	t.Cleanup(func() { _ = s.execute(context.Background(), `DROP DATABASE IF EXISTS `+name+` WITH (FORCE)`) })
	return s.DSN(name)
}

// Private returns a server for one test, which may stop it. Settings such as "fsync=on" are added to the usual ones.
func Private(t testing.TB, settings ...string) *Server {
	t.Helper()
	s, err := start(settings...)
	check(t, err)
	t.Cleanup(s.end)
	return s
}

func check(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case errors.Is(err, errMissing) && os.Getenv(required) == "":
		t.Skip(err)
	default:
		t.Fatal(err)
	}
}

func (s *Server) unused() string { return "test" + strconv.FormatInt(s.databases.Add(1), 10) }

// DSN returns the address of a database. The role is the server's owner.
func (s *Server) DSN(database string) string {
	return fmt.Sprintf("host=%s user=planloop dbname=%s", s.dir, database)
}

func (s *Server) execute(ctx context.Context, statement string) error {
	conn, err := pgx.Connect(ctx, s.DSN("postgres"))
	if err != nil {
		return err
	}
	defer conn.Close(ctx)
	_, err = conn.Exec(ctx, statement)
	return err
}

// findPrograms returns the folder of PostgreSQL's newest programs.
func findPrograms() (string, error) {
	found, _ := filepath.Glob("/usr/lib/postgresql/*/bin/initdb")
	slices.SortFunc(found, func(a, b string) int { return len(a) - len(b) })
	if path, err := exec.LookPath("initdb"); err == nil {
		if real, err := filepath.EvalSymlinks(path); err == nil {
			found = append([]string{real}, found...)
		}
	}
	if len(found) == 0 || runtime.GOOS == "windows" { // the scripts need a shell
		return "", errMissing
	}
	return filepath.Dir(found[len(found)-1]), nil
}

// start makes a server and starts it.
func start(settings ...string) (*Server, error) {
	s, err := newServer(settings)
	if err != nil {
		return nil, err
	}
	initdb := s.command(`exec "$0"/initdb -D "$1"/data -U planloop -A trust -E UTF8 --locale=C --no-sync`)
	if out, err := initdb.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("initdb: %w: %s", err, out)
	}
	return s, s.Start()
}

// newServer makes the folder of a server.
func newServer(settings []string) (*Server, error) {
	programs, err := findPrograms()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("/tmp", "planloop-postgres-") // a socket's path must be short
	if err != nil {
		return nil, err
	}
	if os.Getuid() == 0 {
		if out, err := exec.Command("chown", account(), dir).CombinedOutput(); err != nil {
			return nil, fmt.Errorf("chown: %w: %s", err, out)
		}
	}
	usual := []string{"listen_addresses=", "unix_socket_directories=" + dir, "fsync=off", "max_connections=200",
		"shared_buffers=32MB", "jit=off"}
	return &Server{programs: programs, dir: dir, settings: append(usual, settings...)}, nil
}

// Replica returns a running copy of the server that follows it.
func (s *Server) Replica(t testing.TB) *Server {
	t.Helper()
	replica, err := newServer(nil)
	check(t, err)
	t.Cleanup(replica.end)
	copying := replica.command(`exec "$0"/pg_basebackup -D "$1"/data -R -h "$2" -U planloop -X stream -c fast --no-sync`, s.dir)
	if out, err := copying.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	check(t, replica.Start())
	return replica
}

// Restore copies a database by pg_dump and pg_restore, as operators do, and returns the address of the copy.
func (s *Server) Restore(t testing.TB, database string) (dsn string) {
	t.Helper()
	name := s.unused()
	check(t, s.execute(t.Context(), `CREATE DATABASE `+name))
	copying := s.command(`"$0"/pg_dump --format=custom -h "$1" -U planloop -f "$1"/"$3" "$2" &&
		"$0"/pg_restore --exit-on-error -h "$1" -U planloop -d "$3" "$1"/"$3"`, database, name)
	if out, err := copying.CombinedOutput(); err != nil {
		t.Fatalf("pg_dump and pg_restore: %v: %s", err, out)
	}
	return s.DSN(name)
}

// account is the user that the server runs as if this is root, which PostgreSQL refuses.
func account() string {
	if exec.Command("id", "postgres").Run() == nil {
		return "postgres"
	}
	return "nobody"
}

// command runs a script of the shell as the server's user, with the programs' folder, the server's folder and words as arguments.
func (s *Server) command(script string, words ...string) *exec.Cmd {
	args := append([]string{"sh", "-c", script, s.programs, s.dir}, words...)
	if os.Getuid() == 0 {
		args = append([]string{"setpriv", "--reuid=" + account(), "--regid=nogroup", "--clear-groups"}, args...)
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Dir = s.dir
	return cmd
}

// guardScript runs the server and stops it when its input ends.
const guardScript = `programs=$0 dir=$1; shift
	trap '' INT
	"$programs"/postgres -D "$dir"/data "$@" >"$dir"/log 2>&1 </dev/null &
	cat >/dev/null
	kill -INT $! 2>/dev/null
	wait $!
	[ -e "$dir"/keep ] || rm -rf "$dir"`

// Start starts the server after Stop, and waits until it answers.
func (s *Server) Start() error {
	var words []string
	for _, setting := range s.settings {
		words = append(words, "-c", setting)
	}
	s.guard = s.command(guardScript, words...)
	stdin, err := s.guard.StdinPipe()
	if err != nil {
		return err
	}
	s.stdin = stdin
	if err := s.guard.Start(); err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(10 * time.Millisecond) {
		err := s.execute(context.Background(), `SELECT`)
		if err == nil {
			return nil
		}
		if time.Since(began) > time.Minute {
			log, _ := os.ReadFile(filepath.Join(s.dir, "log"))
			return fmt.Errorf("PostgreSQL does not start: %w: %s", err, log)
		}
	}
}

// Stop stops the server in a mode of pg_ctl: "immediate" is like a power failure.
func (s *Server) Stop(mode string) error {
	keep := filepath.Join(s.dir, "keep")
	if err := os.WriteFile(keep, nil, 0o600); err != nil {
		return err
	}
	out, err := s.command(`exec "$0"/pg_ctl stop -D "$1"/data -m "$2"`, mode).CombinedOutput()
	if err != nil {
		return fmt.Errorf("pg_ctl: %w: %s", err, out)
	}
	_ = s.stdin.Close()
	_ = s.guard.Wait()
	return os.Remove(keep)
}

// end stops the server and deletes its folder.
func (s *Server) end() {
	if s.guard != nil {
		_ = s.stdin.Close()
		_ = s.guard.Wait()
	}
	_ = os.RemoveAll(s.dir)
}

// OpenTeam opens a database and makes a team with a track of one workspace.
func OpenTeam(t testing.TB, dsn string) (db *postgres.DB, team, track int64) {
	t.Helper()
	db, err := postgres.Open(t.Context(), dsn, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(db.Close)
	name := strings.ReplaceAll(t.Name(), "/", "-")
	err = db.Pool().QueryRow(t.Context(), `INSERT INTO team (name) VALUES ($1) ON CONFLICT (name) DO UPDATE SET name = $1 RETURNING id`,
		name).Scan(&team)
	if err != nil {
		t.Fatal(err)
	}
	if track, err = db.EnsureTrack(t.Context(), team, "shop", "main"); err != nil {
		t.Fatal(err)
	}
	return db, team, track
}
