package presence

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/gofrs/flock"

	"github.com/planloop/planloop/internal/safefile"
)

// folder holds the signs of life of one workspace: for each name a .seen file, with the sign as its time, and for each
// connection a .live file, which is locked while it lasts. Names are untrusted, so files are named by their hashes.
type folder string

func subfolder(stateDir, name string) folder {
	if stateDir == "" {
		return ""
	}
	return folder(filepath.Join(stateDir, name))
}

func (f folder) seen(name string) string { return f.path(name, ".seen") }
func (f folder) live(name string) string { return f.path(name, ".live") }

func (f folder) path(name, extension string) string {
	sum := sha256.Sum256([]byte(name))
	return filepath.Join(string(f), hex.EncodeToString(sum[:16])+extension)
}

// make creates the folder, but never the state folder above it.
func (f folder) make() error {
	if err := os.Mkdir(string(f), safefile.FolderMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return safefile.CheckFolder(string(f))
}

// touch sets the time of the name's file to now, and creates it if needed.
func (f folder) touch(name string, now time.Time) error {
	if err := f.make(); err != nil {
		return err
	}
	return touchFile(f.seen(name), now)
}

// last is the file with the time of the last touch.
func (f folder) last() string { return filepath.Join(string(f), "last") }

func touchFile(path string, now time.Time) error {
	if err := create(path, 0); err != nil {
		return err
	}
	return os.Chtimes(path, now, now)
}

// create creates an empty file if needed. With os.O_EXCL the file must be new.
func create(path string, flag int) error {
	file, err := safefile.Open(path, os.O_CREATE|os.O_WRONLY|flag)
	if err != nil {
		return err
	}
	return file.Close()
}

// lastTouch returns when any name was last touched, zero if never.
func (f folder) lastTouch() time.Time {
	info, err := os.Lstat(f.last())
	if err != nil || f == "" {
		return time.Time{}
	}
	return info.ModTime()
}

// isLocked reports whether a process holds a name's connection. Its lock is shared, so that two checks do not meet as holders.
func (f folder) isLocked(name string) (bool, error) {
	lock := flock.New(f.live(name), flock.SetFlag(probeFlag()))
	free, err := lock.TryRLock()
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil || !free {
		return !free, err
	}
	return false, lock.Unlock()
}

func probeFlag() int {
	if runtime.GOOS == "aix" || runtime.GOOS == "solaris" || runtime.GOOS == "illumos" {
		return os.O_RDWR | safefile.NoFollow // no locks on files opened read-only
	}
	return os.O_RDONLY | safefile.NoFollow
}

// isSameFile reports whether the locked file is still the one at a path.
func isSameFile(path string, lock *flock.Flock) bool {
	open, err := lock.Stat()
	if err != nil {
		return false
	}
	there, err := os.Lstat(path)
	return err == nil && os.SameFile(open, there)
}

// removeLocked removes the file that lock locks, and unlocks it. Only the holder removes, and only the file it has locked: a process
// that then locks the removed file finds that it has vanished. Windows cannot remove open files.
func removeLocked(path string, lock *flock.Flock) error {
	if runtime.GOOS == "windows" {
		return errors.Join(lock.Unlock(), os.RemoveAll(path))
	}
	var err error
	if isSameFile(path, lock) {
		err = os.RemoveAll(path)
	}
	return errors.Join(err, lock.Unlock())
}

// sweep removes older files: .live files without a holder, and .seen files.
func (f folder) sweep(live, seen time.Time) error {
	err := safefile.CheckFolder(string(f))
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(string(f))
	for _, entry := range entries {
		path := filepath.Join(string(f), entry.Name())
		switch info, unread := entry.Info(); {
		case unread != nil || !info.Mode().IsRegular():
			err = errors.Join(err, unread)
		case strings.HasSuffix(path, ".seen") && info.ModTime().Before(seen):
			err = errors.Join(err, os.RemoveAll(path))
		case strings.HasSuffix(path, ".live") && info.ModTime().Before(live):
			err = errors.Join(err, removeUnlocked(path))
		}
	}
	return err
}

func removeUnlocked(path string) error {
	lock := flock.New(path, flock.SetFlag(probeFlag()))
	free, err := lock.TryLock()
	if errors.Is(err, fs.ErrNotExist) || err == nil && !free {
		return nil
	}
	if err != nil {
		return err
	}
	return removeLocked(path, lock)
}

func (f folder) has(name string) bool {
	_, err := os.Lstat(filepath.Join(string(f), name))
	return err == nil
}

func (f folder) get(name string, into any) bool {
	data, err := safefile.Read(filepath.Join(string(f), name), maxServer)
	return err == nil && json.Unmarshal(data, into) == nil
}

// put replaces a file atomically, without a sync: no process survives a power loss to need it.
func (f folder) put(name string, value any) error {
	data, err := json.Marshal(value)
	if err != nil {
		return err
	}
	path := filepath.Join(string(f), name)
	temporary := path + "." + rand.Text()
	if err := os.WriteFile(temporary, data, safefile.FileMode); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		return errors.Join(err, os.Remove(temporary))
	}
	return nil
}
