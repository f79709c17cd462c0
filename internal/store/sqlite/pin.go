package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"hash/crc32"
	"os"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// The growth file holds the head after the last append, written in place after the commit and never synced.
// It serves three purposes. Its watchers learn of a commit when the commit is visible, which the database's
// own files do not guarantee. The end of the log can be displayed without opening a database. And it pins the
// log: a log that does not contain this head has lost records, such as those of a deleted write-ahead log.
// After a power failure it may be old or torn: an old head is contained, and a torn one does not count.
//
// openGrowthFile opens it for writing; the folder exists.
func openGrowthFile(path string) (*os.File, error) {
	return safefile.Open(path, os.O_CREATE|os.O_WRONLY)
}

func writePin(growth *os.File, h store.Head, open string) error {
	_, err := growth.WriteAt(encodePin(h, open), 0)
	return err
}

// doubtPin makes it unknown, durably, whether a log that was closed is open: a process killed before its next pin has opened it.
func (w *writer) doubtPin(path string) {
	if head, open, ok := readOpenPin(path); ok && open == closedWord && writePin(w.growth, head, unknownWord) == nil {
		_ = w.growth.Sync() // without it the list of open tracks may lack one after a power failure
	}
}

// encodePin returns a head in a form of constant length that reveals an incomplete write. Without a word about openness it is the form
// of older versions.
func encodePin(h store.Head, open string) []byte {
	text := fmt.Sprintf("%-32s %20d %s %-16s", h.Chain, h.Seq, h.Hash, cmp.Or(h.Phase, noPhase))
	if open != "" {
		text += fmt.Sprintf(" %-7s", open)
	}
	return fmt.Appendf(nil, "%s %08x\n", text, crc32.ChecksumIEEE([]byte(text)))
}

// Words about whether the state at a head is open.
const (
	isOpenWord  = "open"
	closedWord  = "closed"
	unknownWord = "unknown"
)

func openWord(isOpen bool) string {
	if isOpen {
		return isOpenWord
	}
	return closedWord
}

// noPhase is written for a record without a phase.
const noPhase plan.Phase = "-"

const maxPin = 1 << 10 // more than encodePin writes

// readPin returns the head that the file pins, if it is valid.
func readPin(path string) (h store.Head, ok bool) {
	h, _, ok = readOpenPin(path)
	return h, ok
}

// readOpenPin is readPin, with the word about openness. An older version overwrites only the beginning of a line.
func readOpenPin(path string) (h store.Head, open string, ok bool) {
	data, err := safefile.Read(path, maxPin)
	if err != nil {
		return store.Head{}, "", false
	}
	data = data[:bytes.IndexByte(data, '\n')+1]
	var hash, word, sum string
	n, _ := fmt.Sscan(string(data), &h.Chain, &h.Seq, &hash, &h.Phase, &word, &sum)
	if n < 5 || h.Hash.UnmarshalText([]byte(hash)) != nil {
		return store.Head{}, "", false
	}
	if h.Phase == noPhase {
		h.Phase = ""
	}
	if n == 5 {
		word = ""
	}
	if !bytes.Equal(data, encodePin(h, word)) {
		return store.Head{}, "", false
	}
	return h, word, true
}

// pin is a head that a file other than the database remembers.
type pin struct {
	store.Head
	source string // that file
}

// pins returns the heads in the growth file and the snapshots, newest first.
func (l *Log) pins() (pins []pin, err error) {
	if head, ok := readPin(l.headPath()); ok {
		pins = append(pins, pin{head, l.headPath()})
	}
	headers, err := l.snapshotHeaders()
	for _, h := range headers {
		pins = append(pins, pin{h.Head, h.path})
	}
	return pins, err
}

// checkPin returns an error if the log should contain a head and does not. Heads of purged chains
// no longer matter.
func (v *view) checkPin(ctx context.Context, p pin) error {
	contained, former, err := v.contains(ctx, p.Head)
	if err != nil || contained || former {
		return err
	}
	return fmt.Errorf("the log does not contain record %d as noted in %s: the log was shortened, replaced or altered: %w",
		p.Seq, p.source, errUnreadable)
}

// contains reports whether the log contains a head, and otherwise whether the head belongs to a
// purged chain.
func (v *view) contains(ctx context.Context, pin store.Head) (contained, former bool, err error) {
	pinned, err := v.prepared(ctx, pinQuery)
	if err != nil {
		return false, false, err
	}
	var chain sql.NullString
	var hash []byte
	if err := pinned.QueryRowContext(ctx, pin.Seq, pin.Chain).Scan(&chain, &hash, &former); err != nil {
		return false, false, err
	}
	return chain.String == pin.Chain && string(hash) == string(pin.Hash[:]), former, nil
}

// Watch implements store.Log.
func (l *Log) Watch(ctx context.Context) (<-chan struct{}, error) {
	if err := l.startWatching(); err != nil {
		return nil, err
	}
	return l.grown.Listen(ctx), nil
}

// startWatching starts to watch for other processes, unless it has already; the goroutine ends with Close.
// It only watches the folder of the growth file: on some systems watching a folder opens the files
// in it, and closing the database's files again would drop the locks that SQLite has on them.
func (l *Log) startWatching() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.closed {
		return store.ErrClosed
	}
	if err := l.makeFolder(); err != nil {
		return err
	}
	if l.watcher == nil {
		heads, err := fsnotify.NewWatcher()
		if err != nil {
			return fmt.Errorf("watch %s: %w", l.dir, err)
		}
		lastHead, _ := readPin(l.headPath())
		l.watcher = heads
		l.watching.Go(func() { l.watchGrowth(heads, lastHead) })
	}
	// Again, even if done before: the folder may have been replaced.
	if err := l.watcher.Add(filepath.Dir(l.headPath())); err != nil {
		return fmt.Errorf("watch %s: %w", l.dir, err)
	}
	return nil
}

// MakeGrowthFolder makes the folder of a log's growth file, and returns it. To follow many logs, watch these
// folders with one watcher of the system, which allows few, and read the logs with Glance.
func MakeGrowthFolder(dir string) (string, error) {
	l := New(dir, Options{})
	return filepath.Dir(l.headPath()), l.makeFolder()
}

// CachedHead returns the head of the log in a folder without opening the log, as Glance does; the zero Head if it cannot.
func CachedHead(dir string) store.Head {
	head, _ := readPin(New(dir, Options{}).headPath())
	return head
}

// Overview reports whether the state at the end of the log in a folder is open, and when that end was written, without opening the log. It
// is not known after a repair, a crash or an older version's change.
func Overview(dir string) (isOpen, known bool, written time.Time) {
	path := New(dir, Options{}).headPath()
	info, err := os.Lstat(path)
	if err != nil {
		return false, !exists(DatabasePath(dir)), time.Time{} // without a log nothing is open
	}
	_, open, ok := readOpenPin(path)
	return open == isOpenWord, ok && (open == isOpenWord || open == closedWord), info.ModTime()
}

// DatabasePath returns the path of the database of the log in a folder.
func DatabasePath(dir string) string { return New(dir, Options{}).databasePath() }

// watchGrowth notifies of growth by any process, this one included.
func (l *Log) watchGrowth(heads *fsnotify.Watcher, lastHead store.Head) {
	for {
		pause := lookPause
		select {
		case _, ok := <-heads.Events:
			if !ok {
				return
			}
			head, ok := readPin(l.headPath())
			if ok && head == lastHead {
				break
			}
			if head.Seq > lastHead.Seq+1 {
				pause = busyPause
			}
			lastHead = head
			l.grown.Notify() // also if the file is unreadable: reading the log then reports the fault
		case _, ok := <-heads.Errors:
			if !ok {
				return
			}
			l.grown.Notify() // events were lost: watchers must look for themselves
		}
		time.Sleep(pause)
	}
}

// The minimum time between two looks at the growth file; the system joins events in between. While
// appends come so fast that one look finds several, more frequent looks would only slow them down.
const (
	lookPause = 2 * time.Millisecond
	busyPause = 20 * time.Millisecond
)
