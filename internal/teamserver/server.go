// Package teamserver is the team server: it authenticates the caller of a request, decides on the newest state of a track, appends, and
// reports changes to joined laptops. Its caches hold only copies from the database, so several servers can share one. It must not believe
// a request about its caller, the time, limits, or the policy: these come from the token or the sign-in, the database and the team's
// settings.
package teamserver

import (
	"cmp"
	"context"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/planloop/planloop/internal/origin"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/store/postgres"
)

// Options configures a Server.
type Options struct {
	Address  string   // public address of the page where people decide, as https://plans.example.com; "" if there is none
	Rate     float64  // requests per second of a token; 0 means 50
	Provider Provider // of accounts with which people sign in; passkeys work without one
	// Webhooks sends to the teams' webhooks; nil: only to public addresses.
	Webhooks *http.Client
	// CheckEvery is the time between two checks of the rights of an open page or stream; 0 means 10 seconds.
	CheckEvery time.Duration
	Logger     *slog.Logger // gets no text of a plan; nil: discards
}

// Server is a team server on one database. It is made by New and ended by Close.
type Server struct {
	db        *postgres.DB
	pool      *pgxpool.Pool
	opts      Options
	log       *slog.Logger
	clock     clock
	tracks    *tracks
	people    *people                    // nil: there is no page
	callers   cache[string, *caller]     // by the hash of their token, as last read
	ids       cache[trackName, trackIDs] // of tracks; they never change
	feeds     feeds
	mcps      mcpServers
	rates     origin.Rates
	strangers origin.Rates        // of look-ups, by address
	signIns   cache[string, bool] // known as valid, by the hash of their cookie
	metrics   metrics

	ending     context.Context // done when streams must end
	end        context.CancelFunc
	background sync.WaitGroup
}

// New returns a server on db, which stays the caller's. It begins to follow the database's clock.
func New(ctx context.Context, db *postgres.DB, opts Options) (*Server, error) {
	s := &Server{db: db, pool: db.Pool(), opts: opts, log: cmp.Or(opts.Logger, slog.New(slog.DiscardHandler))}
	s.opts.Rate, s.opts.CheckEvery = cmp.Or(opts.Rate, 50), cmp.Or(opts.CheckEvery, 10*time.Second)
	s.opts.Webhooks = cmp.Or(opts.Webhooks, outbound.Public())
	s.tracks = &tracks{open: map[int64]*track{}, most: 512}
	s.feeds.open, s.feeds.own = map[int64]*feed{}, map[int64]int{}
	s.mcps.open, s.metrics.requests = map[mcpKey]*mcpServer{}, map[string]*requests{}
	if err := s.clock.adjust(ctx, s.pool); err != nil {
		return nil, err
	}
	if opts.Address != "" {
		var err error
		if s.people, err = newPeople(s); err != nil {
			return nil, err
		}
	}
	s.ending, s.end = context.WithCancel(context.Background())
	s.background.Go(s.followClock)
	s.background.Go(s.sendNotices)
	return s, nil
}

// EndStreams ends the event streams and the requests that wait, so that the HTTP server can stop.
func (s *Server) EndStreams() { s.end() }

// Close ends the background work and closes the tracks. No request may be running.
func (s *Server) Close() {
	s.end()
	s.background.Wait()
	s.mcps.close()
	if s.people != nil {
		s.people.close()
	}
	s.tracks.close()
}

// clock is the database's clock, kept as its distance from this process's.
type clock struct{ offset atomic.Int64 } // a time.Duration

const clockEvery = 30 * time.Second

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.offset.Load())) }

func (c *clock) adjust(ctx context.Context, pool *pgxpool.Pool) error {
	ctx, cancel := context.WithTimeout(ctx, answerWithin)
	defer cancel()
	before := time.Now()
	var there time.Time
	if err := pool.QueryRow(ctx, "SELECT clock_timestamp()").Scan(&there); err != nil {
		return err
	}
	trip := time.Since(before)
	c.offset.Store(int64(there.Sub(before.Add(trip / 2))))
	return nil
}

func (s *Server) followClock() {
	repeat(s.ending, clockEvery, func() {
		if err := s.clock.adjust(s.ending, s.pool); err != nil && s.ending.Err() == nil {
			s.log.Warn("the database's clock cannot be read", "error", err)
		}
	})
}

func repeat(ctx context.Context, every time.Duration, do func()) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			do()
		}
	}
}
