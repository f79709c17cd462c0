package postgres

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"
)

// TestLostConnections fails if a change counts as refused although its connection broke, and it may have been recorded.
func TestLostConnections(t *testing.T) {
	for err, want := range map[error]bool{
		pgconn.ErrConnClosed: true, io.EOF: true, io.ErrUnexpectedEOF: true, net.ErrClosed: true, &net.OpError{Op: "read"}: true,
		&pgconn.PgError{Code: "57P01"}: true, &pgconn.PgError{Code: connectionClass + "006"}: true,
		&pgconn.PgError{Code: uniqueViolation}: false, context.Canceled: false, errors.New("another"): false,
	} {
		if got := isLost(fmt.Errorf("append: %w", err)); got != want {
			t.Errorf("%v: %t", err, got)
		}
	}
	if isLost(nil) {
		t.Error("no error is a lost connection")
	}
}
