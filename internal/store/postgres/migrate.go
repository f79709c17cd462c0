package postgres

import (
	"context"
	"embed"
	"errors"
	"fmt"
	"io/fs"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"

	"github.com/planloop/planloop/internal/store"
)

//go:embed migrations/*.sql
var migrations embed.FS

const (
	schemaTable = "goose_db_version"

	// migrationLock is the advisory lock that keeps two migrations apart.
	migrationLock = 0x706c616e6c6f6f70
)

func newestSchema() (newest int64) {
	names, _ := fs.Glob(migrations, "migrations/*.sql") // in order
	_, _ = fmt.Sscanf(names[len(names)-1], "migrations/%d_", &newest)
	return newest
}

// Migrate brings the schema to this build's version. Servers of this build and the one before may run in the meantime.
func Migrate(ctx context.Context, dsn string) error {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("the address of the database is not valid: %w", err)
	}
	lock, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return explain(err)
	}
	defer lock.Close(context.WithoutCancel(ctx))
	if err := checkServer(ctx, lock); err != nil {
		return explain(err)
	}
	if _, err := lock.Exec(ctx, `SELECT pg_advisory_lock($1)`, int64(migrationLock)); err != nil {
		return explain(err)
	}
	db := stdlib.OpenDB(*config)
	defer db.Close()
	folder, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return err
	}
	provider, err := goose.NewProvider(goose.DialectPostgres, db, folder, goose.WithDisableGlobalRegistry(true),
		goose.WithTableName(schemaTable))
	if err != nil {
		return err
	}
	_, err = provider.Up(ctx)
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok && failed.Code == noPrivilege {
		return fmt.Errorf("%w: migrate needs the database's owner, and CREATEROLE to make the role planloop_server; "+
			"grant it with: ALTER ROLE %s CREATEROLE: %w", store.ErrReadOnly, pgx.Identifier{config.User}.Sanitize(), err)
	}
	return explain(err)
}

// checkSchema refuses a schema that is neither this build's nor the one before.
func checkSchema(ctx context.Context, pool *pgxpool.Pool) error {
	var version int64
	err := pool.QueryRow(ctx, `SELECT coalesce(max(version_id), 0) FROM `+schemaTable+` WHERE is_applied`).Scan(&version)
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok && failed.Code == undefinedTable {
		err = nil
	}
	if err != nil {
		return explain(err)
	}
	newest := newestSchema()
	switch {
	case version > newest:
		return fmt.Errorf("the database has schema %d and this server knows %d: update planloop-server", version, newest)
	case version < newest-1:
		return fmt.Errorf("the database has schema %d and this server needs %d: run `planloop-server migrate`", version, newest)
	}
	return nil
}
