package sqlite

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/planloop/planloop/internal/store"
)

const (
	applicationID = 0x504c4f50 // "PLOP", in the header of the file
	formatVersion = 1
	latestFormat  = 1000 // no format is ever above; a number that is has changed by chance

	schema = `
		CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) STRICT;
		CREATE TABLE former (chain TEXT PRIMARY KEY) STRICT; -- chains that were purged or repaired
		CREATE TABLE record (seq INTEGER PRIMARY KEY, phase TEXT NOT NULL, hash BLOB NOT NULL, body BLOB NOT NULL) STRICT;
	`
)

// formatPragmas mark the file as a log.
func formatPragmas() string {
	return fmt.Sprintf(` PRAGMA application_id = %d; PRAGMA user_version = %d;`, applicationID, formatVersion)
}

// oldestSQLite has the correction without which two connections can damage a
// database with a write-ahead log.
func oldestSQLite() []int { return []int{3, 51, 3} }

// format returns the version of the log's format, 0 when nothing was created
// yet. Another application's database and a newer format are errors.
func (v *view) format(ctx context.Context) (int, error) {
	var (
		library     string
		application int64
		version     int
		tables      int
	)
	err := v.conn.QueryRowContext(ctx, `SELECT sqlite_version(), (SELECT application_id FROM pragma_application_id),
		(SELECT user_version FROM pragma_user_version), (SELECT count(*) FROM sqlite_schema)`).
		Scan(&library, &application, &version, &tables)
	if err != nil {
		return 0, err
	}
	if err := checkLibrary(library); err != nil {
		return 0, err
	}
	switch {
	case application == 0 && version == 0 && tables == 0:
		return 0, nil
	case application != applicationID:
		return 0, errForeign
	case version > formatVersion && version <= latestFormat:
		return 0, fmt.Errorf("%w: its format is %d, this planloop knows %d: update planloop", store.ErrNewer, version, formatVersion)
	case version != formatVersion:
		return 0, fmt.Errorf("its format is %d: %w", version, errUnreadable)
	}
	return version, nil
}

var errForeign = errors.New("it is another application's database: move it away")

func checkLibrary(version string) error {
	var numbers []int
	for part := range strings.SplitSeq(version, ".") {
		n, err := strconv.Atoi(part)
		if err != nil {
			return fmt.Errorf("SQLite calls its version %q", version)
		}
		numbers = append(numbers, n)
	}
	if slices.Compare(numbers, oldestSQLite()) < 0 {
		return fmt.Errorf("SQLite %s can damage a log: build planloop with 3.51.3 or newer", version)
	}
	return nil
}
