package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"

	driver "modernc.org/sqlite"

	"github.com/planloop/planloop/internal/store"
)

// openCopy reads a whole database, with its write-ahead log, into memory and opens the copy.
// Queries report a page that the disk fails to return as damaged; copying pages reports the
// difference. A fault in the copy is a fault in the database, whatever the disk does later.
func openCopy(ctx context.Context, path string) (v *view, indexProblem, err error) {
	pool, err := sql.Open("sqlite", "file::memory:?_pragma=trusted_schema(0)&_pragma=cell_size_check(1)")
	if err != nil {
		return nil, nil, err
	}
	pool.SetMaxOpenConns(1)
	v = &view{pool: pool, statements: map[string]*sql.Stmt{}}
	if v.conn, err = pool.Conn(ctx); err == nil {
		// The settings of other connections would make queries read the file.
		const settings = "_pragma=busy_timeout(5000)&_pragma=mmap_size(0)&_pragma=query_only(1)&mode="
		indexProblem, err = openWithFallback(path, settings, func(query string) error {
			return v.conn.Raw(func(conn any) error { return restore(conn, address(path, query)) })
		})
	}
	if err != nil {
		_ = v.close()
		return nil, nil, err
	}
	return v, indexProblem, nil
}

// restore copies the database at an address into that of a connection.
func restore(conn any, from string) error {
	into, ok := conn.(interface {
		NewRestore(string) (*driver.Backup, error)
	})
	if !ok {
		return fmt.Errorf("a connection of type %T cannot copy a database", conn)
	}
	backup, err := into.NewRestore(from)
	if err != nil {
		return err
	}
	const all = -1
	_, err = backup.Step(all)
	return cmp.Or(backup.Finish(), err)
}

// confirmDamage returns err, an error of this log, unless it reports damage that a copy does not have: then
// the disk failed.
func (l *Log) confirmDamage(ctx context.Context, err error) error {
	if !errors.Is(err, store.ErrDamaged) {
		return err
	}
	second := l.examine(context.WithoutCancel(ctx))
	if second.Fault == nil && (second.Damaged() || second.Newer != nil) {
		return err
	}
	if second.Fault != nil {
		return second.Fault
	}
	return failing(l.databasePath(), "could not be read", errDisagree)
}
