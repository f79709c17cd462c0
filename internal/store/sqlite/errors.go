package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/store"
)

// explain wraps an error of SQLite or the system about path in one of the store's errors, with the
// remedy.
func explain(path string, err error) error {
	known := []error{store.ErrConflict, store.ErrBusy, store.ErrDamaged, store.ErrNewer, store.ErrReadOnly, store.ErrFull, store.ErrIO,
		store.ErrClosed}
	if err == nil || slices.ContainsFunc(known, func(kind error) bool { return errors.Is(err, kind) }) {
		return err // explained already
	}
	if errors.Is(err, errUnreadable) || errors.Is(err, errForeign) {
		return damaged(path, err)
	}
	if code := codeOf(err); code != 0 {
		return explainCode(path, code, err)
	}
	switch {
	case isFull(err):
		return full(path, err)
	case isReadOnly(err), errors.Is(err, fs.ErrPermission):
		return readOnly(path, err)
	case errors.Is(err, syscall.EIO):
		return failing(path, "could not be used", err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

// codeOf returns the code of an SQLite error, 0 for any other.
func codeOf(err error) int {
	if failed, ok := errors.AsType[*driver.Error](err); ok {
		return failed.Code()
	}
	return 0
}

func explainCode(path string, code int, err error) error {
	switch code & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%w: another process uses %s: try again: %w", store.ErrBusy, path, err)
	case lib.SQLITE_FULL:
		return full(path, err)
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_AUTH:
		return readOnly(path, err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_FORMAT, lib.SQLITE_MISMATCH, lib.SQLITE_TOOBIG:
		return damaged(path, err)
	case lib.SQLITE_IOERR:
		return explainIO(path, code, err)
	case lib.SQLITE_CANTOPEN:
		return explainPlace(path, "or its write-ahead log could not be opened", err)
	case lib.SQLITE_ERROR:
		// A schema that lacks our tables, or cannot be read.
		if text := err.Error(); strings.Contains(text, "no such table") || strings.Contains(text, "no such column") ||
			strings.Contains(text, "unsupported file format") || strings.Contains(text, "malformed") {
			return damaged(path, err)
		}
	}
	return fmt.Errorf("%s: %w", path, err)
}

// explainPlace explains a file that could not be made. SQLite does not say why, so the function tries it.
func explainPlace(path, what string, err error) error {
	if cause := findRoom(filepath.Dir(path)); cause != nil {
		return explain(path, cause)
	}
	for _, name := range []string{path, path + "-wal", path + "-shm"} {
		// Opening and closing a file would drop the locks that SQLite holds on it.
		if mode, err := safefile.CheckFile(name); err == nil && mode&0o600 != safefile.FileMode {
			return readOnly(name, fs.ErrPermission)
		}
	}
	return failing(path, what, err)
}

// explainIO names the operation that failed.
func explainIO(path string, code int, err error) error {
	switch code {
	case lib.SQLITE_IOERR_READ, lib.SQLITE_IOERR_SHORT_READ, lib.SQLITE_IOERR_CORRUPTFS, lib.SQLITE_IOERR_FSTAT:
		return failing(path, "or its write-ahead log could not be read", err)
	case lib.SQLITE_IOERR_WRITE, lib.SQLITE_IOERR_TRUNCATE:
		return failing(path, "or its write-ahead log could not be written", err)
	case lib.SQLITE_IOERR_FSYNC, lib.SQLITE_IOERR_DIR_FSYNC, lib.SQLITE_IOERR_CLOSE:
		return failing(path, "could not be synced; the last change may be lost", err)
	case lib.SQLITE_IOERR_SHMOPEN, lib.SQLITE_IOERR_SHMSIZE, lib.SQLITE_IOERR_SHMMAP:
		return explainPlace(path, "needs an index that could not be created", err)
	}
	return failing(path, "could not be used", err)
}

// findRoom tries to write as much as the index of a write-ahead log needs, and returns the error.
func findRoom(dir string) error {
	const index = 32 << 10
	path := filepath.Join(dir, roomName)
	err := safefile.WriteFile(path, make([]byte, index), safefile.Options{Mode: safefile.FileMode})
	_ = os.Remove(path)
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err // the name of the test file does not matter
	}
	return err
}

const roomName = ".planloop-room.tmp" // one of atomicfile.Leftovers

func full(path string, err error) error {
	return fmt.Errorf("%w: nothing was written to %s: free some space and try again: %w", store.ErrFull, path, err)
}

func readOnly(path string, err error) error {
	return fmt.Errorf("%w: %s or its folder is read-only: make both writable by you: %w", store.ErrReadOnly, path, err)
}

func failing(path, what string, err error) error {
	return fmt.Errorf("%w: %s %s: %w: try again; if it fails again, copy the folder to another disk", store.ErrIO, path, what, err)
}

// seeDoctor is the remedy that the doctor's own report leaves out.
const seeDoctor = ": the file is unchanged; run `planloop doctor` to see how much can be recovered"

// damaged describes the fault of the file and the remedy.
func damaged(path string, problem error) error {
	return fmt.Errorf("%w: %s: %w"+seeDoctor, store.ErrDamaged, path, problem)
}

// isFault reports whether an explained error comes from the disk, the system or another user of the
// log, and so says nothing about the log's content.
func isFault(err error) bool {
	kinds := []error{store.ErrIO, store.ErrFull, store.ErrReadOnly, store.ErrBusy, store.ErrClosed, context.Canceled,
		context.DeadlineExceeded}
	return slices.ContainsFunc(kinds, func(kind error) bool { return errors.Is(err, kind) }) ||
		errors.As(err, new(syscall.Errno)) || slices.Contains([]int{lib.SQLITE_NOMEM, lib.SQLITE_INTERRUPT, lib.SQLITE_PROTOCOL,
		lib.SQLITE_NOLFS, lib.SQLITE_ABORT, lib.SQLITE_INTERNAL, lib.SQLITE_MISUSE}, codeOf(err)&0xff)
}
