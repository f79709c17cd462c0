package cli

import (
	"context"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/workspace"
	"github.com/planloop/planloop/plan"
)

// InInbox implements review.Workspaces. It opens no log that has not grown since the last call.
func (d *reviewWorkspaces) InInbox(ctx context.Context, place review.Place) (review.InboxPlace, []review.Waiting, error) {
	s, err := d.workspace(place.ID)
	if err != nil {
		return review.InboxPlace{Place: place}, nil, err
	}
	found, err := s.inbox(ctx)
	found.listed.Place = place
	return found.listed, found.waiting, err
}

// inboxState is the inbox of a workspace at the log's end head.
type inboxState struct {
	head     store.Head
	listed   review.InboxPlace
	waiting  []review.Waiting
	until    time.Time // when it changes by time alone; zero: never
	isActive bool      // an agent is at work, and its silence changes the headline
}

// inbox returns the user's waiting plans, questions and steps. It reads nothing if the log has not grown since the last call.
func (s *reviewWorkspace) inbox(ctx context.Context) (inboxState, error) {
	s.inboxMu.Lock() // concurrent callers share the result
	defer s.inboxMu.Unlock()
	head := s.head()
	s.mu.Lock()
	last := s.found
	s.mu.Unlock()
	if head.Seq > 0 && last.head == head && !last.over() {
		return last, nil
	}
	now, err := s.readInbox(ctx)
	if err != nil {
		return now, err
	}
	now.head = head
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = now
	return now, nil
}

func (f inboxState) over() bool { return !f.until.IsZero() && time.Now().After(f.until) }

// readInbox calls find, unless the workspace is known to be quiet.
func (s *reviewWorkspace) readInbox(ctx context.Context) (inboxState, error) {
	cache, end := &s.workspaces.cache, logEndOf(s.local.StateDir)
	if listed, isQuiet := cache.at(s.ID, end); isQuiet {
		return inboxState{listed: listed}, nil
	}
	now, err := s.find(ctx)
	if err == nil {
		cache.note(s.ID, end, now)
	}
	return now, err
}

// find reads the inbox, then closes the log again unless it is in use.
func (s *reviewWorkspace) find(ctx context.Context) (f inboxState, err error) {
	shown, err := s.open(ctx, false)
	if err != nil {
		return f, err
	}
	defer s.closeIdle()
	state, err := shown.Service.State(ctx)
	if err != nil {
		return f, err
	}
	if left, will := shown.Service.ModeEnds(state); will {
		f.until = time.Now().Add(left)
	}
	f.isActive = state.OpenRun() != nil || state.Plan != nil && state.Plan.Steps.Count(plan.InProgress) > 0
	f.listed, f.waiting, err = review.InInbox(ctx, shown)
	return f, err
}

// inboxCache lists the workspaces with an empty inbox that only a write can fill, so that a user with thousands of workspaces opens only
// those that changed. Like a snapshot it is a cache of the log: waiting items are never read from it.
type inboxCache struct {
	path string // "": nothing is stored

	mu      sync.Mutex // guards the fields below
	read    bool
	places  map[string]cachedInbox // by id of the workspace
	changed bool                   // since the last write
	written time.Time
}

type cachedInbox struct {
	At     logEnd            `json:"at"`
	Listed review.InboxPlace `json:"listed"`
}

// logEnd identifies the end of a log without opening it; the zero logEnd if that is unknown.
type logEnd struct {
	Head     store.Head `json:"head"`
	Database fileEnd    `json:"database"` // reveals a replaced or damaged one
	Tail     fileEnd    `json:"tail"`     // committed records that are not in a head yet, as after a crash
}

// fileEnd is the zero fileEnd for a missing or empty file.
type fileEnd struct {
	Size    int64     `json:"size"`
	Written time.Time `json:"written"`
}

const (
	inboxCacheName = "quiet.json"
	maxInboxCache  = 64 << 20 // bytes, enough for a hundred thousand workspaces
)

// inboxCacheFile is the stored form. Other versions of planloop, which may judge differently, ignore it.
type inboxCacheFile struct {
	Version string                 `json:"version"`
	Places  map[string]cachedInbox `json:"places"`
}

func logEndOf(state string) logEnd {
	path := sqlite.DatabasePath(state)
	end := logEnd{sqlite.CachedHead(state), fileEndOf(path), fileEndOf(path + "-wal")}
	if end.Head.Seq == 0 || end.Database.Size == 0 {
		return logEnd{}
	}
	return end
}

func fileEndOf(path string) fileEnd {
	info, err := os.Lstat(path)
	if err != nil || info.Size() == 0 {
		return fileEnd{}
	}
	return fileEnd{info.Size(), info.ModTime().UTC()}
}

func (q *inboxCache) at(id string, end logEnd) (review.InboxPlace, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.load()
	place, known := q.places[id]
	return place.Listed, known && place.At == end
}

// note records a finding if the workspace is quiet.
func (q *inboxCache) note(id string, end logEnd, f inboxState) {
	if q.path == "" {
		return
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	q.load()
	if len(f.waiting) > 0 || !f.until.IsZero() || f.isActive || f.listed.Phase.IsRestricted() || end.Head.Seq == 0 {
		if _, known := q.places[id]; known {
			delete(q.places, id)
			q.changed = true
		}
		return
	}
	q.places[id], q.changed = cachedInbox{end, f.listed}, true
}

// load reads the stored list, once. An unreadable list counts as empty. The caller holds mu.
func (q *inboxCache) load() {
	if q.read {
		return
	}
	q.read, q.places = true, map[string]cachedInbox{}
	var kept inboxCacheFile
	if text, err := safefile.Read(q.path, maxInboxCache); err == nil && json.Unmarshal(text, &kept) == nil && kept.Version == version() {
		maps.Copy(q.places, kept.Places)
	}
}

// save stores the list if it has changed, without removed workspaces, unless it was stored less than again ago.
func (q *inboxCache) save(again time.Duration, logger *slog.Logger) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.changed || time.Since(q.written) < again {
		return
	}
	for id := range q.places {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(q.path), workspace.MainID(id))); err != nil {
			delete(q.places, id)
		}
	}
	q.changed, q.written = false, time.Now()
	text, err := json.Marshal(inboxCacheFile{version(), q.places}, json.Deterministic(true))
	if err == nil {
		err = safefile.WriteFile(q.path, text, safefile.Options{Mode: safefile.FileMode})
	}
	if err != nil {
		logger.Debug("the inbox cache was not saved", "error", err)
	}
}
