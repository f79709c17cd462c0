package sqlite

import (
	"errors"
	"fmt"
	"io/fs"
	"strings"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/planloop/planloop/internal/store"
)

// explain wraps an error of SQLite or the system about path in what it means
// for the log and what to do.
func explain(path string, err error) error {
	if err == nil || explained(err) {
		return err
	}
	if errors.Is(err, errUnreadable) || errors.Is(err, errForeign) {
		return damaged(path, "%w", err)
	}
	var sqliteErr *driver.Error
	if errors.As(err, &sqliteErr) {
		return explainCode(path, sqliteErr.Code(), err)
	}
	switch {
	case isFull(err):
		return fmt.Errorf("%w: nothing was written to %s: free some space and try again: %w", store.ErrFull, path, err)
	case isReadOnly(err), errors.Is(err, fs.ErrPermission):
		return readOnly(path, err)
	}
	return fmt.Errorf("%s: %w", path, err)
}

func explainCode(path string, code int, err error) error {
	switch code & 0xff {
	case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
		return fmt.Errorf("%w: another process uses %s: try again: %w", store.ErrBusy, path, err)
	case lib.SQLITE_FULL:
		return fmt.Errorf("%w: nothing was written to %s: free some space and try again: %w", store.ErrFull, path, err)
	case lib.SQLITE_READONLY, lib.SQLITE_PERM, lib.SQLITE_AUTH:
		return readOnly(path, err)
	case lib.SQLITE_CORRUPT, lib.SQLITE_NOTADB, lib.SQLITE_FORMAT, lib.SQLITE_MISMATCH:
		return damaged(path, "%w", err)
	case lib.SQLITE_IOERR:
		if code == lib.SQLITE_IOERR_SHORT_READ || code == lib.SQLITE_IOERR_CORRUPTFS || code == lib.SQLITE_IOERR_DATA {
			return damaged(path, "%w", err)
		}
	case lib.SQLITE_ERROR:
		// A schema that lacks our tables, or cannot be read.
		if text := err.Error(); strings.Contains(text, "no such table") || strings.Contains(text, "no such column") ||
			strings.Contains(text, "unsupported file format") || strings.Contains(text, "malformed") {
			return damaged(path, "%w", err)
		}
	}
	return fmt.Errorf("%s: %w", path, err)
}

func readOnly(path string, err error) error {
	return fmt.Errorf("%w: %s or its folder is read-only: make both writable for you: %w", store.ErrReadOnly, path, err)
}

// damaged says what is wrong with the file and the way out.
func damaged(path, format string, args ...any) error {
	problem := fmt.Errorf(format, args...)
	return fmt.Errorf("%w: %s: %w: it was left as it is; run `planloop doctor` to see what can be saved", store.ErrDamaged, path, problem)
}

// explained reports whether err says already what it means for the log.
func explained(err error) bool {
	for _, known := range []error{store.ErrConflict, store.ErrBusy, store.ErrDamaged, store.ErrNewer,
		store.ErrReadOnly, store.ErrFull, store.ErrClosed} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}
