package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/store"
)

const (
	channel       = "planloop"            // of NOTIFY
	coalesce      = 10 * time.Millisecond // before a notice
	noticeEvery   = 40 * time.Millisecond // while tracks grow all the time: each notice is a commit
	pingEvery     = 10 * time.Second
	pollEvery     = 2 * time.Second
	reconnectWait = time.Second / 2
	maxNotice     = 7000 // bytes; PostgreSQL takes 8000
)

// feed notifies the logs of this process of growth. Its own appends are announced at once. Other servers send notices, each of which names
// the server and the tracks that grew in 10 to 40 ms: NOTIFY takes a lock of the whole database, so appends leave it out. A notice may get
// lost, and behind pgbouncer none arrives, so the heads of watched tracks are also polled.
type feed struct {
	db     *DB
	server string // the name of this process in notices
	ctx    context.Context
	cancel context.CancelFunc
	begin  sync.Once
	listen chan struct{} // closed after the first try to listen
	ended  sync.WaitGroup

	mu       sync.Mutex
	watchers map[*watcher]struct{}
	pending  map[grown]struct{} // to be announced to other servers
	sent     time.Time          // the last notice
}

type grown struct{ team, track int64 }

func (g grown) String() string { return fmt.Sprintf("%d:%d", g.team, g.track) }

// watcher is called for the growth of a track, or of all tracks of a team if its track is 0. The feed's mu is held.
type watcher struct {
	grown
	notify func(track int64)
	end    func()
}

func startFeed(db *DB) *feed {
	f := &feed{db: db, server: rand.Text()[:8], listen: make(chan struct{}), watchers: map[*watcher]struct{}{},
		pending: map[grown]struct{}{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// Watch implements store.Log.
func (l *Log) Watch(ctx context.Context) (<-chan struct{}, error) {
	if err := l.checkOpen(); err != nil {
		return nil, err
	}
	if err := l.db.feed.watch(ctx, l.watcher); err != nil {
		return nil, err
	}
	return l.hub.Listen(ctx), nil
}

// WatchTeam returns a channel that receives the ids of a team's tracks after they have grown, and sometimes when they have not. Several
// appends may arrive as one. The channel is closed when ctx ends or the database is closed.
func (db *DB) WatchTeam(ctx context.Context, team int64) (<-chan []int64, error) {
	tracks := make(chan []int64, 1)
	w := &watcher{grown{team: team}, func(track int64) {
		var all []int64
		select {
		case all = <-tracks:
		default: // the receiver has taken the previous ones
		}
		if !slices.Contains(all, track) {
			all = append(all, track)
		}
		tracks <- all // only this function sends, one call at a time
	}, func() { close(tracks) }}
	err := db.feed.watch(ctx, w)
	context.AfterFunc(ctx, func() { db.feed.forget(w) })
	return tracks, err
}

// watch adds a watcher and returns once the feed listens.
func (f *feed) watch(ctx context.Context, w *watcher) error {
	f.mu.Lock()
	if f.ctx.Err() != nil {
		f.mu.Unlock()
		return store.ErrClosed
	}
	f.watchers[w] = struct{}{}
	f.begin.Do(func() {
		f.ended.Go(f.hear)
		f.ended.Go(f.poll)
	})
	f.mu.Unlock()
	select {
	case <-f.listen:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *feed) forget(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if _, ok := f.watchers[w]; ok {
		delete(f.watchers, w)
		w.end()
	}
}

func (f *feed) close() {
	f.cancel()
	f.mu.Lock()
	for w := range f.watchers {
		w.end()
	}
	clear(f.watchers)
	f.mu.Unlock()
	f.ended.Wait()
	f.send()
}

func (f *feed) notify(g grown) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		if w.team == g.team && (w.track == g.track || w.track == 0) {
			w.notify(g.track)
		}
	}
}

func (f *feed) watched() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	teams := map[int64]struct{}{}
	for w := range f.watchers {
		teams[w.team] = struct{}{}
	}
	return slices.Collect(maps.Keys(teams))
}

func (f *feed) announce(g grown) {
	f.notify(g)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pending) == 0 && f.ctx.Err() == nil {
		time.AfterFunc(max(coalesce, time.Until(f.sent.Add(noticeEvery))), f.send)
	}
	f.pending[g] = struct{}{}
}

func (f *feed) send() {
	f.mu.Lock()
	tracks := slices.Collect(maps.Keys(f.pending))
	clear(f.pending)
	f.sent = time.Now()
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), pollEvery)
	defer cancel()
	for _, notice := range notices(f.server, tracks) {
		if _, err := f.db.pool.Exec(ctx, `SELECT pg_notify($1, $2)`, channel, notice); err != nil {
			f.db.opts.Logger.Warn("other servers were not notified and will poll", "error", err)
			return
		}
	}
}

// notices writes "SERVER TEAM:TRACK TEAM:TRACK ...", in as many texts as needed.
func notices(server string, tracks []grown) (all []string) {
	for len(tracks) > 0 {
		text := server
		for len(tracks) > 0 && len(text) < maxNotice {
			text += " " + tracks[0].String()
			tracks = tracks[1:]
		}
		all = append(all, text)
	}
	return all
}

func (f *feed) heard(notice string) {
	words := strings.Fields(notice)
	if len(words) == 0 || words[0] == f.server {
		return
	}
	for _, word := range words[1:] {
		var g grown
		if n, err := fmt.Sscanf(word, "%d:%d", &g.team, &g.track); n == 2 && err == nil {
			f.notify(g)
		}
	}
}

// hear listens until the feed is closed, on a connection of its own.
func (f *feed) hear() {
	tried := sync.OnceFunc(func() { close(f.listen) })
	defer tried()
	for f.ctx.Err() == nil {
		err := f.hearOnce(tried)
		tried()
		if f.ctx.Err() == nil {
			f.db.opts.Logger.Warn("not listening to other servers; polling", "error", err)
		}
		select {
		case <-f.ctx.Done():
		case <-time.After(reconnectWait):
		}
	}
}

func (f *feed) hearOnce(listening func()) error {
	begin, cancel := context.WithTimeout(f.ctx, f.db.opts.Wait)
	defer cancel()
	conn, err := pgx.ConnectConfig(begin, f.db.pool.Config().ConnConfig)
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	if _, err := conn.Exec(begin, `LISTEN `+channel); err != nil {
		return err
	}
	listening()
	for {
		ctx, cancel := context.WithTimeout(f.ctx, pingEvery)
		notice, err := conn.WaitForNotification(ctx)
		silent := ctx.Err() != nil
		cancel()
		switch {
		case err == nil:
			f.heard(notice.Payload)
		case f.ctx.Err() != nil || !silent:
			return err
		default:
			ctx, cancel := context.WithTimeout(f.ctx, pollEvery)
			err := conn.Ping(ctx)
			cancel()
			if err != nil {
				return err
			}
		}
	}
}

// poll compares the heads of watched teams' tracks until the feed is closed.
func (f *feed) poll() {
	ticks := time.NewTicker(pollEvery)
	defer ticks.Stop()
	seen := map[polled]bool{} // the heads found by the last poll
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-ticks.C:
		}
		ctx, cancel := context.WithTimeout(f.ctx, pollEvery)
		heads, err := Collect(ctx, f.db, 0, pgx.RowToStructByPos[polled], `SELECT team, track, chain, seq FROM heads($1) WHERE seq > 0`,
			f.watched())
		cancel()
		if err != nil {
			f.db.opts.Logger.Warn("the heads of tracks cannot be read", "error", err)
			continue
		}
		now := make(map[polled]bool, len(heads))
		for _, head := range heads {
			now[head] = true
			if !seen[head] {
				f.notify(grown{head.Team, head.Track})
			}
		}
		seen = now
	}
}

type polled struct {
	Team, Track int64
	Chain       string
	Seq         int64
}
