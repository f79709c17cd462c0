package postgres

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/planloop/planloop/internal/store"
)

const (
	channel       = "planloop" // of NOTIFY
	coalesce      = 10 * time.Millisecond
	pingEvery     = 10 * time.Second
	pollEvery     = 2 * time.Second
	reconnectWait = time.Second / 2
	maxNotice     = 7000 // bytes; PostgreSQL takes 8000
)

// feed notifies the logs of this process of growth. Its own appends are announced at once. Other servers send notices, each of which names
// the server and the tracks that grew in 10 ms: NOTIFY takes a lock of the whole database, so it is not part of an append. A notice may get
// lost, and behind pgbouncer none arrives, so the heads of watched tracks are also polled.
type feed struct {
	db     *DB
	server string // the name of this process in notices
	ctx    context.Context
	cancel context.CancelFunc
	begin  sync.Once
	listen chan struct{} // closed after the first try to listen
	ended  sync.WaitGroup

	mu      sync.Mutex
	closed  bool
	logs    map[int64]map[*Log]struct{} // that are watched, by track
	pending map[int64]struct{}          // tracks that grew and were not announced to other servers yet
}

func startFeed(db *DB) *feed {
	f := &feed{db: db, server: rand.Text()[:8], listen: make(chan struct{}), logs: map[int64]map[*Log]struct{}{},
		pending: map[int64]struct{}{}}
	f.ctx, f.cancel = context.WithCancel(context.Background())
	return f
}

// Watch implements store.Log.
func (l *Log) Watch(ctx context.Context) (<-chan struct{}, error) {
	if err := l.checkOpen(); err != nil {
		return nil, err
	}
	if err := l.db.feed.watch(ctx, l); err != nil {
		return nil, err
	}
	return l.grown.Listen(ctx), nil
}

// watch adds a log, and listens before it returns.
func (f *feed) watch(ctx context.Context, l *Log) error {
	f.mu.Lock()
	if f.closed {
		f.mu.Unlock()
		return store.ErrClosed
	}
	if f.logs[l.track] == nil {
		f.logs[l.track] = map[*Log]struct{}{}
	}
	f.logs[l.track][l] = struct{}{}
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

func (f *feed) forget(l *Log) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.logs[l.track], l)
	if len(f.logs[l.track]) == 0 {
		delete(f.logs, l.track)
	}
}

func (f *feed) close() {
	f.cancel()
	f.mu.Lock()
	f.closed = true
	watched := slices.Collect(maps.Values(f.logs))
	f.mu.Unlock()
	for _, logs := range watched {
		for l := range logs {
			l.grown.Close()
		}
	}
	f.ended.Wait()
	f.send()
}

// notify wakes the watchers of tracks in this process.
func (f *feed) notify(tracks ...int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, track := range tracks {
		for l := range f.logs[track] {
			l.grown.Notify()
		}
	}
}

func (f *feed) watched() []int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Collect(maps.Keys(f.logs))
}

// announce notifies of an append in this process.
func (f *feed) announce(track int64) {
	f.notify(track)
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.pending) == 0 && !f.closed {
		time.AfterFunc(coalesce, f.send)
	}
	f.pending[track] = struct{}{}
}

// send notifies the other servers of the pending tracks.
func (f *feed) send() {
	f.mu.Lock()
	tracks := slices.Collect(maps.Keys(f.pending))
	clear(f.pending)
	f.mu.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), f.db.opts.Wait)
	defer cancel()
	for _, notice := range notices(f.server, tracks) {
		if _, err := f.db.pool.Exec(ctx, `SELECT pg_notify($1, $2)`, channel, notice); err != nil {
			f.db.opts.Logger.Warn("other servers were not notified and will poll", "error", err)
			return
		}
	}
}

// notices writes "SERVER TRACK TRACK ...", in as many texts as needed.
func notices(server string, tracks []int64) (all []string) {
	for len(tracks) > 0 {
		text := []byte(server)
		for len(tracks) > 0 && len(text) < maxNotice {
			text = strconv.AppendInt(append(text, ' '), tracks[0], 10)
			tracks = tracks[1:]
		}
		all = append(all, string(text))
	}
	return all
}

// heard wakes the watchers of the tracks in another server's notice.
func (f *feed) heard(notice string) {
	words := strings.Fields(notice)
	if len(words) == 0 || words[0] == f.server {
		return
	}
	for _, word := range words[1:] {
		if track, err := strconv.ParseInt(word, 10, 64); err == nil {
			f.notify(track)
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
	conn, err := f.connect()
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = conn.Close(ctx)
	}()
	listening()
	f.notify(f.watched()...) // of what happened before
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
			if err := f.ping(conn); err != nil {
				return err
			}
		}
	}
}

func (f *feed) connect() (*pgx.Conn, error) {
	ctx, cancel := context.WithTimeout(f.ctx, f.db.opts.Wait)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, f.db.pool.Config().ConnConfig)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, `LISTEN `+channel); err != nil {
		_ = conn.Close(ctx)
		return nil, err
	}
	return conn, nil
}

func (f *feed) ping(conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(f.ctx, pollEvery)
	defer cancel()
	return conn.Ping(ctx)
}

// poll compares the heads of watched tracks until the feed is closed.
func (f *feed) poll() {
	ticks := time.NewTicker(pollEvery)
	defer ticks.Stop()
	seen := map[int64]string{}
	for {
		select {
		case <-f.ctx.Done():
			return
		case <-ticks.C:
		}
		tracks := f.watched()
		maps.DeleteFunc(seen, func(track int64, _ string) bool { return !slices.Contains(tracks, track) })
		if len(tracks) == 0 {
			continue
		}
		heads, err := collect(f.ctx, f.db, 0, pgx.RowToStructByPos[polled], `SELECT track, chain, seq FROM heads($1)`, tracks)
		if err != nil {
			f.db.opts.Logger.Warn("the heads of tracks cannot be read", "error", err)
		}
		for _, is := range heads {
			if head := fmt.Sprint(is.Chain, is.Seq); seen[is.Track] != head {
				seen[is.Track] = head
				f.notify(is.Track)
			}
		}
	}
}

// polled is a track's head.
type polled struct {
	Track int64
	Chain string
	Seq   int64
}
