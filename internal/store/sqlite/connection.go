package sqlite

import (
	"database/sql"
	"errors"
	"net/url"
	"path/filepath"
	"strings"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"
)

// pragmas are set on every connection. Nothing is mapped into memory: with a
// mapped database an I/O error is a crash.
const pragmas = "_pragma=busy_timeout(5000)&_pragma=synchronous(full)&_pragma=fullfsync(1)&_pragma=checkpoint_fullfsync(1)" +
	"&_pragma=foreign_keys(1)&_pragma=trusted_schema(0)&_pragma=cell_size_check(1)&_pragma=mmap_size(0)&_txlock=immediate"

// openPool returns connections to the database at path. None is opened yet.
func openPool(path, query string) (*sql.DB, error) {
	slashed := filepath.ToSlash(path)
	if !strings.HasPrefix(slashed, "/") {
		slashed = "/" + slashed // a drive letter
	}
	name := url.URL{Scheme: "file", Path: slashed, RawQuery: query + "&" + pragmas}
	pool, err := sql.Open("sqlite", name.String())
	if err != nil {
		return nil, err
	}
	pool.SetMaxIdleConns(2)
	return pool, nil
}

func isCannotOpen(err error) bool {
	var sqliteErr *driver.Error
	if !errors.As(err, &sqliteErr) {
		return false
	}
	code := sqliteErr.Code() & 0xff
	return code == lib.SQLITE_CANTOPEN || code == lib.SQLITE_READONLY
}
