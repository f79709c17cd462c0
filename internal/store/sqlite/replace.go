package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/safefile"
)

// A log has several files, and no system can exchange several at once. So the new log is prepared
// completely in a folder next to the old one, and the old files get a second name in a folder that
// is kept. Then the prepared folder is renamed to exchangeName. From then on the log cannot be used
// until the exchange is finished. It can be restarted at any point: the folder holds all files
// until the end, and a file is in place when it is the same as the one in the folder.
const (
	preparedName = "exchange-" // plus some letters
	exchangeName = "exchange"
	damagedName  = "damaged-"  // plus the time: put aside by Repair
	replacedName = "replaced-" // plus the time: put aside by Restore
)

var errInterrupted = errors.New("a repair or restoration was interrupted: finish it with `planloop doctor --repair`")

func (l *Log) exchangePath() string { return filepath.Join(l.dir, exchangeName) }

// sweepPrepared removes leftover prepared logs. The lock is held.
func (l *Log) sweepPrepared() error {
	left, err := filepath.Glob(filepath.Join(l.dir, preparedName+"*"))
	for _, folder := range left {
		err = errors.Join(err, os.RemoveAll(folder))
	}
	return err
}

// prepare makes a folder for a log that will replace this one.
func (l *Log) prepare() (*Log, error) {
	dir, err := os.MkdirTemp(l.dir, preparedName)
	if err != nil {
		return nil, err
	}
	prepared := New(dir, l.opts)
	return prepared, prepared.makeFolder()
}

// replace puts a prepared log in the place of this one and keeps the old files in a folder with a
// name that begins with kind. An error before the prepared folder is renamed leaves everything
// unchanged.
func (l *Log) replace(prepared *Log, kind string) (kept string, err error) {
	if kept, err = l.keep(kind); err != nil {
		return "", errors.Join(err, os.RemoveAll(kept))
	}
	if err := os.Rename(prepared.dir, l.exchangePath()); err != nil {
		return "", errors.Join(err, os.RemoveAll(kept))
	}
	return kept, l.finishExchange()
}

// keep gives the log's files a second name in a folder of their own. The head, which is written in
// place, is copied.
func (l *Log) keep(kind string) (string, error) {
	dir, err := os.MkdirTemp(l.dir, kind+time.Now().UTC().Format("20060102T150405Z")+"-")
	if err != nil {
		return dir, err
	}
	kept := New(dir, l.opts)
	files, err := l.files()
	if err != nil {
		return dir, err
	}
	for _, path := range files {
		if err := os.Link(path, filepath.Join(dir, filepath.Base(path))); err != nil {
			return dir, err
		}
	}
	if err := errors.Join(kept.makeFolder(), copyHead(kept, l)); err != nil {
		return dir, err
	}
	return dir, errors.Join(safefile.SyncFolder(dir), safefile.SyncFolder(l.dir))
}

// finishExchange moves the prepared files into place. It can be called again after any
// interruption.
func (l *Log) finishExchange() error {
	from := New(l.exchangePath(), l.opts)
	present, err := l.files()
	if err != nil {
		return err
	}
	prepared, err := from.files()
	if err := errors.Join(err, from.checkFolder()); err != nil {
		return err
	}
	if !slices.Contains(prepared, from.databasePath()) {
		return fmt.Errorf("%s does not hold a log of planloop: move it away", from.dir)
	}
	for _, path := range append(present, l.databasePath()+"-shm") {
		if sameFile(path, filepath.Join(from.dir, filepath.Base(path))) {
			continue
		}
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	for _, path := range prepared {
		if err := os.Link(path, filepath.Join(l.dir, filepath.Base(path))); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := errors.Join(copyHead(l, from), safefile.SyncFolder(l.dir)); err != nil {
		return err
	}
	done, err := os.MkdirTemp(l.dir, preparedName)
	if err != nil {
		return err
	}
	if err := os.Rename(from.dir, filepath.Join(done, exchangeName)); err != nil {
		return err
	}
	return errors.Join(safefile.SyncFolder(l.dir), os.RemoveAll(done))
}

// files returns the log's existing files: the snapshots, the write-ahead log and the database.
func (l *Log) files() ([]string, error) {
	paths, err := l.snapshotPaths()
	if err != nil {
		return nil, err
	}
	paths = append(paths, l.databasePath()+"-wal", l.databasePath())
	return slices.DeleteFunc(paths, func(path string) bool { return !exists(path) }), nil
}

// copyHead copies the growth file of one log over that of another, which notifies its watchers.
func copyHead(to, from *Log) error {
	data, err := os.ReadFile(from.headPath())
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	growth, err := openGrowthFile(to.headPath())
	if err != nil {
		return err
	}
	_, err = growth.WriteAt(data, 0)
	return errors.Join(err, growth.Truncate(int64(len(data))), growth.Sync(), growth.Close())
}

// keptFolders returns the folders that repairs and restorations have put aside, newest last.
func (l *Log) keptFolders() ([]string, error) {
	var folders []string
	for _, kind := range []string{damagedName, replacedName} {
		found, err := filepath.Glob(filepath.Join(l.dir, kind+"*"))
		if err != nil {
			return nil, err
		}
		folders = append(folders, found...)
	}
	when := func(path string) string {
		_, time, _ := strings.Cut(filepath.Base(path), "-")
		return time
	}
	slices.SortFunc(folders, func(a, b string) int { return strings.Compare(when(a), when(b)) })
	return folders, nil
}

func sameFile(a, b string) bool {
	one, err := os.Lstat(a)
	if err != nil {
		return false
	}
	other, err := os.Lstat(b)
	return err == nil && os.SameFile(one, other)
}
