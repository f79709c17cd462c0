package postgres_test

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/postgres"
	"github.com/planloop/planloop/internal/store/postgres/postgrestest"
	"github.com/planloop/planloop/internal/testenv"
	"github.com/planloop/planloop/plan"
)

// Both benchmarks have as many writers, each with a track of its own, on a server that syncs each commit.
const writers = 16

// benchServer returns the address of a migrated database on a server that syncs.
func benchServer(b *testing.B) string {
	s := postgrestest.Private(b, "fsync=on", "shared_buffers=128MB", "max_wal_size=2GB")
	testenv.Check(b, postgres.Migrate(b.Context(), s.DSN("postgres")))
	return s.DSN("postgres") + fmt.Sprint(" pool_max_conns=", writers)
}

// share runs f b.N times, spread over the writers, and reports how often per second.
func share(b *testing.B, f func(ctx context.Context, writer int) error) {
	var next atomic.Int64
	var group sync.WaitGroup
	b.ResetTimer()
	began := time.Now()
	for writer := range writers {
		group.Go(func() {
			for next.Add(1) <= int64(b.N) {
				if err := f(b.Context(), writer); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	group.Wait()
	b.ReportMetric(float64(b.N)/time.Since(began).Seconds(), "appends/s")
}

func BenchmarkAppend(b *testing.B) {
	for _, servers := range []int{1, 3} {
		b.Run(fmt.Sprintf("servers=%d", servers), func(b *testing.B) {
			dsn := benchServer(b)
			var logs []store.Log
			for i := range writers {
				if i%(writers/servers+1) == 0 {
					db, team, _ := postgrestest.OpenTeam(b, dsn)
					for j := i; j < min(writers, i+writers/servers+1); j++ {
						track := testenv.Must(db.EnsureTrack(b.Context(), team, "shop", fmt.Sprint(j)))(b)
						logs = append(logs, db.Log(team, track))
					}
				}
			}
			seqs := make([]plan.Revision, writers)
			share(b, func(ctx context.Context, writer int) error {
				seqs[writer]++
				_, err := logs[writer].Append(ctx, mark(seqs[writer], 1))
				return err
			})
		})
	}
}

// The floor: the same bytes inserted and committed by the driver alone, without a head, a key or a team.
func BenchmarkAppendFloor(b *testing.B) {
	dsn := benchServer(b)
	db, _, _ := postgrestest.OpenTeam(b, dsn)
	testenv.Must(db.Pool().Exec(b.Context(), `CREATE TABLE floor (track bigint, seq bigint, phase text, hash bytea, line bytea,
		PRIMARY KEY (track, seq))`))(b)
	seqs := make([]plan.Revision, writers)
	share(b, func(ctx context.Context, writer int) error {
		seqs[writer]++
		line, err := store.EncodeRecord(mark(seqs[writer], 1))
		if err != nil {
			return err
		}
		hash := store.Hash{}.Next(line)
		_, err = db.Pool().Exec(ctx, `INSERT INTO floor VALUES ($1, $2, $3, $4, $5)`, writer, seqs[writer], "", hash[:], line)
		return err
	})
}
