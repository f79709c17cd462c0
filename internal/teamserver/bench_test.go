package teamserver_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/teamserver"
	"github.com/planloop/planloop/internal/teamwire"
	"github.com/planloop/planloop/plan"
)

// benchWriters each change a track of their own.
const benchWriters = 16

// BenchmarkChanges compares changes through HTTP with plain appends and bare INSERTs of the same records in the same database, in turns,
// so that the ratios hold on a busy machine. Clients and servers share its cores with PostgreSQL, so the time of both is also reported.
func BenchmarkChanges(b *testing.B) {
	private := postgrestest.Private(b, "fsync=on", "shared_buffers=128MB", "max_wal_size=2GB")
	dsn := private.DSN("postgres")
	check(b, postgres.Migrate(b.Context(), dsn))
	dsn += fmt.Sprint(" pool_max_conns=", benchWriters)
	db, err := postgres.Open(b.Context(), dsn, postgres.Options{})
	check(b, err)
	b.Cleanup(db.Close)
	admin := teamserver.NewAdmin(db, teamserver.Operator)
	team, err := admin.CreateTeam(b.Context(), "blue")
	check(b, err)
	check(b, admin.AddMember(b.Context(), team, "ann", teamwire.RoleMember, ""))
	token, err := admin.CreateToken(b.Context(), team, "ann", teamwire.RoleMember, "laptop", time.Hour)
	check(b, err)
	var servers []string
	for range 3 {
		servers = append(servers, benchServer(b, dsn))
	}
	var writers []*benchWriter
	for i := range benchWriters {
		w := &benchWriter{http: &http.Client{Transport: &http.Transport{}}, token: token,
			path: fmt.Sprintf("/v1/w/shop/t/t%d/do", i), track: i}
		check(b, w.change(b.Context(), servers[0], setUp("Ship the shop")))
		writers = append(writers, w)
	}
	_, err = db.Pool().Exec(b.Context(), `CREATE TABLE bare (track bigint, seq bigint, phase text, hash bytea, line bytea,
		PRIMARY KEY (track, seq)); CREATE TABLE head (track bigint PRIMARY KEY, seq bigint) WITH (fillfactor = 40);
		INSERT INTO head SELECT n, 0 FROM generate_series(0, 100) n`)
	check(b, err)
	ways := map[string]func(context.Context, *benchWriter) error{
		"insert":    func(ctx context.Context, w *benchWriter) error { return w.write(ctx, db.Pool(), insert, w.track+1_000) },
		"append":    func(ctx context.Context, w *benchWriter) error { return w.write(ctx, db.Pool(), plainAppend, w.track) },
		"1-server":  func(ctx context.Context, w *benchWriter) error { return w.note(ctx, servers[0]) },
		"3-servers": func(ctx context.Context, w *benchWriter) error { return w.note(ctx, servers[w.track%3]) },
	}
	const rounds = 6
	each := max(b.N/rounds, benchWriters)
	speed, cpu, own := map[string][]float64{}, map[string]float64{}, map[string]float64{}
	b.ResetTimer()
	for range rounds {
		for name, way := range ways {
			before, ownBefore, began := cpuTime(b, db.Pool()), ownTime(), time.Now()
			share(b, writers, each, way)
			speed[name] = append(speed[name], float64(each)/time.Since(began).Seconds())
			cpu[name] += float64((cpuTime(b, db.Pool()) - before).Microseconds()) / float64(each*rounds)
			own[name] += float64((ownTime() - ownBefore).Microseconds()) / float64(each*rounds)
		}
	}
	for name, all := range speed {
		slices.Sort(all)
		slices.Sort(speed["append"])
		b.ReportMetric(all[rounds/2], name+"/s")
		b.ReportMetric(all[rounds/2]/speed["append"][rounds/2], name+"-ratio")
		b.ReportMetric(cpu[name], name+"-postgres-µs")
		b.ReportMetric(own[name], name+"-go-µs")
	}
}

func benchServer(b *testing.B, dsn string) (address string) {
	db, err := postgres.Open(b.Context(), dsn, postgres.Options{})
	check(b, err)
	b.Cleanup(db.Close)
	server, err := teamserver.New(b.Context(), db, teamserver.Options{Rate: 1e9})
	check(b, err)
	http := httptest.NewServer(server.Handler())
	b.Cleanup(func() { server.EndStreams(); http.Close(); server.Close() })
	return http.URL
}

// share runs f as often as said, spread over the writers.
func share(b *testing.B, writers []*benchWriter, n int, f func(context.Context, *benchWriter) error) {
	var next atomic.Int64
	var group sync.WaitGroup
	for _, w := range writers {
		group.Go(func() {
			for next.Add(1) <= int64(n) {
				if err := f(b.Context(), w); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
}

// benchWriter is a client with a track of its own.
type benchWriter struct {
	http        *http.Client
	token, path string
	track       int
	after       plan.Revision
	written     map[int]int // the last number in each track, without a server
	line        string      // of the last record
}

func (w *benchWriter) note(ctx context.Context, server string) error {
	status := plan.InProgress
	if w.after%2 == 0 {
		status = plan.Pending
	}
	return w.change(ctx, server, plan.MarkStep{Step: 1, Status: status})
}

func (w *benchWriter) change(ctx context.Context, server string, a plan.Action) error {
	action, err := store.EncodeAction(a)
	if err != nil {
		return err
	}
	body, err := json.Marshal(teamwire.DoRequest{Key: fmt.Sprint(w.path, w.after), Agent: "codex", Action: action, After: w.after})
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, "POST", server+w.path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+w.token)
	request.Header.Set("Content-Type", "application/json")
	answer, err := w.http.Do(request)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		return err
	}
	var reply teamwire.DoReply
	if err := json.Unmarshal(text, &reply); err != nil || reply.Seq != w.after+1 || len(reply.Records) != 1 {
		return fmt.Errorf("the answer is %s (%w)", text, err)
	}
	w.after, w.line = reply.Seq, reply.Records[0]
	return nil
}

const (
	insert = `INSERT INTO bare VALUES ($1, $2, $3, $4, $5)`

	// plainAppend moves the head by compare-and-set and inserts the record.
	plainAppend = `WITH h AS (UPDATE head SET seq = $2 WHERE track = $1 AND seq = $2 - 1 RETURNING seq)
		INSERT INTO bare SELECT $1, seq, $3, $4, $5 FROM h RETURNING seq`
)

// write writes the last record by the driver alone, without a key or a team.
func (w *benchWriter) write(ctx context.Context, pool *pgxpool.Pool, query string, track int) error {
	if w.written == nil {
		w.written = map[int]int{}
	}
	w.written[track]++
	hash := store.Hash{}.Next([]byte(w.line))
	done, err := pool.Exec(ctx, query, track, w.written[track], "", hash[:], []byte(w.line))
	if err == nil && done.RowsAffected() != 1 {
		err = fmt.Errorf("track %d: nothing was written", track)
	}
	return err
}

// cpuTime returns the time that PostgreSQL's processes have used, those that have ended included.
func cpuTime(b *testing.B, pool *pgxpool.Pool) (used time.Duration) {
	b.Helper()
	var dir string
	check(b, pool.QueryRow(b.Context(), "SHOW data_directory").Scan(&dir))
	pid, err := os.ReadFile(filepath.Join(dir, "postmaster.pid"))
	check(b, err)
	server, _, _ := strings.Cut(string(pid), "\n")
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, path := range stats {
		text, _ := os.ReadFile(path) // a process may have ended
		_, rest, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(rest)
		if len(fields) < 15 || fields[1] != server && path != "/proc/"+server+"/stat" {
			continue
		}
		for i := 11; i < 15; i++ { // its own, and of its ended children, in ticks
			ticks, _ := strconv.Atoi(fields[i])
			used += time.Duration(ticks) * 10 * time.Millisecond
		}
	}
	return used
}

// ownTime returns the time that this process has used: the clients and servers.
func ownTime() time.Duration {
	text, _ := os.ReadFile("/proc/self/stat")
	_, rest, _ := strings.Cut(string(text), ") ")
	fields := strings.Fields(rest)
	user, _ := strconv.Atoi(fields[11])
	system, _ := strconv.Atoi(fields[12])
	return time.Duration(user+system) * 10 * time.Millisecond
}
