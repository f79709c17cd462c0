package main

import (
	"maps"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/atomicfile"
	"github.com/planloop/planloop/internal/private"
	"github.com/planloop/planloop/internal/review"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
)

// quiet is in which workspaces nothing waits, nor will by time alone, for as long as nothing is written there. It is kept beside
// their states: who has thousands opens those alone that have changed since. Like a snapshot it is a cache of the log, and
// what waits is never taken from it.
type quiet struct {
	path string // "" where nothing is kept

	mu      sync.Mutex // guards what follows
	read    bool
	places  map[string]quietPlace // by the id of the workspace
	changed bool                  // since they were written
	written time.Time
}

// quietPlace is a workspace as an inbox lists it, at the end of a log.
type quietPlace struct {
	At     logEnd            `json:"at"`
	Listed review.InboxPlace `json:"listed"`
}

// logEnd is where a log ends, by what can be seen without opening it. A database that is another one, or was damaged, is told by
// its size or its time.
type logEnd struct {
	Head    store.Head `json:"head"`
	Size    int64      `json:"size"`
	Written time.Time  `json:"written"`
	Tail    fileEnd    `json:"tail"` // records that were committed and stand in no head yet, as after a crash
}

// fileEnd is the zero fileEnd for a file that is empty or not there.
type fileEnd struct {
	Size    int64     `json:"size"`
	Written time.Time `json:"written"`
}

const (
	quietName = "quiet.json"
	mostQuiet = 64 << 20 // bytes: of a hundred thousand workspaces
)

// quietFile is what is kept. Another version of planloop may judge otherwise what waits.
type quietFile struct {
	Version string                `json:"version"`
	Places  map[string]quietPlace `json:"places"`
}

// logEndOf is where the log of a state ends now, false where nothing tells.
func logEndOf(state string) (logEnd, bool) {
	head := sqlite.Peek(state)
	info, err := os.Lstat(sqlite.Database(state))
	if err != nil || head.Seq == 0 {
		return logEnd{}, false
	}
	end := logEnd{Head: head, Size: info.Size(), Written: info.ModTime().UTC()}
	if tail, err := os.Lstat(sqlite.Database(state) + "-wal"); err == nil && tail.Size() > 0 {
		end.Tail = fileEnd{tail.Size(), tail.ModTime().UTC()}
	}
	return end, true
}

// at is a workspace in which nothing waits, if that is known of the end of its log.
func (q *quiet) at(id string, end logEnd) (review.InboxPlace, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.load()
	place, known := q.places[id]
	return place.Listed, known && place.At == end
}

// note keeps what was found, if nothing waits there.
func (q *quiet) note(id string, end logEnd, f found) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.load()
	if len(f.waiting) > 0 || !f.until.IsZero() || f.lively || f.listed.Phase.Restricted() || end.Head.Seq == 0 {
		if _, known := q.places[id]; known {
			delete(q.places, id)
			q.changed = true
		}
		return
	}
	q.places[id], q.changed = quietPlace{end, f.listed}, true
}

// load reads what was kept, once. What cannot be read is found again. It is called with mu held.
func (q *quiet) load() {
	if q.read {
		return
	}
	q.read, q.places = true, map[string]quietPlace{}
	var kept quietFile
	if text, err := private.Read(q.path, mostQuiet); err == nil && json.Unmarshal(text, &kept) == nil && kept.Version == version() {
		maps.Copy(q.places, kept.Places)
	}
}

// save keeps what has changed, for the workspaces that are there, unless that was done less than again ago.
func (q *quiet) save(again time.Duration) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if !q.changed || q.path == "" || time.Since(q.written) < again {
		return nil
	}
	for id := range q.places {
		if _, err := os.Lstat(filepath.Join(filepath.Dir(q.path), id)); err != nil {
			delete(q.places, id)
		}
	}
	text, err := json.Marshal(quietFile{version(), q.places}, json.Deterministic(true))
	if err != nil {
		return err
	}
	q.changed, q.written = false, time.Now()
	return atomicfile.WriteFile(q.path, text, atomicfile.Options{Mode: private.FileMode})
}
