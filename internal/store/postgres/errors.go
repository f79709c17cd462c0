package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/planloop/planloop/internal/store"
)

// Codes of PostgreSQL's errors.
const (
	undefinedTable   = "42P01"
	uniqueViolation  = "23505"
	readOnlyDatabase = "25006"
	noPrivilege      = "42501"
	diskFull         = "53100"
	lockTimeout      = "55P03"
	deadlock         = "40P01"
	canceled         = "57014"
	ioError          = "58030"
	tooManyConns     = "53300"
	shutdownClass    = "57P"
	connectionClass  = "08"
	corruptClass     = "XX0"
)

// explain wraps an error of PostgreSQL or the network in one of the store's errors, with the remedy.
func explain(err error) error {
	known := []error{store.ErrConflict, store.ErrBusy, store.ErrDamaged, store.ErrNewer, store.ErrReadOnly, store.ErrFull, store.ErrIO,
		store.ErrClosed, store.ErrNoValue, store.ErrUnreachable, store.ErrTooLarge, store.ErrRepeated, ErrNoTrack,
		ErrOld}
	if err == nil || slices.ContainsFunc(known, func(kind error) bool { return errors.Is(err, kind) }) {
		return err
	}
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		return explainCode(failed.Code, err)
	}
	if isLost(err) {
		return fmt.Errorf("%w: try again: %w", store.ErrUnreachable, err)
	}
	return err
}

func explainCode(code string, err error) error {
	switch {
	case code == readOnlyDatabase:
		return fmt.Errorf("%w: the database takes no changes; use the address of the primary: %w", store.ErrReadOnly, err)
	case code == noPrivilege:
		return fmt.Errorf("%w: the database's role lacks a right; run `planloop-server migrate` and grant it planloop_server: %w",
			store.ErrReadOnly, err)
	case code == diskFull:
		return fmt.Errorf("%w: nothing was written; free some space on the database's disk: %w", store.ErrFull, err)
	case code == lockTimeout, code == canceled, code == deadlock:
		return fmt.Errorf("%w: another server holds it in the database; try again: %w", store.ErrBusy, err)
	case code == ioError:
		return fmt.Errorf("%w: the database reports it: %w", store.ErrIO, err)
	case isGone(code):
		return fmt.Errorf("%w: try again: %w", store.ErrUnreachable, err)
	case strings.HasPrefix(code, corruptClass):
		return fmt.Errorf("%w: restore the database from a backup: %w", store.ErrDamaged, err)
	}
	return fmt.Errorf("the database refused: %w", err)
}

// isGone reports whether a code says that the server or the connection ends.
func isGone(code string) bool {
	return code == tooManyConns || strings.HasPrefix(code, shutdownClass) || strings.HasPrefix(code, connectionClass)
}

// isLost reports whether a connection failed: the server may or may not have carried out the request.
func isLost(err error) bool {
	if failed, ok := errors.AsType[*pgconn.PgError](err); ok {
		return isGone(failed.Code)
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return false
	}
	is := func(kind error) bool { return errors.Is(err, kind) }
	return err != nil && (pgconn.SafeToRetry(err) || errors.As(err, new(net.Error)) || errors.As(err, new(*pgconn.ConnectError)) ||
		slices.ContainsFunc([]error{net.ErrClosed, pgconn.ErrConnClosed, io.EOF, io.ErrUnexpectedEOF}, is))
}
