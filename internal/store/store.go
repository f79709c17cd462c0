// Package store keeps the log of records of a workspace: append-only, with
// compare-and-append on the sequence number, a hash chain, snapshots, and a way
// to hear of growth. Engines stand in folders below; contract_test.go is what
// each must pass. The package must not know what a record means beyond its
// sequence number and phase.
package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"

	"github.com/planloop/planloop/plan"
)

// NewChain returns a name for a chain that no other chain has.
func NewChain() string { return rand.Text() }

// Hash is the SHA-256 of a record's predecessor's hash and its own bytes.
type Hash [32]byte

// Next returns the hash of the record that follows the one with hash h, given
// its bytes. The zero Hash comes before the first record.
func (h Hash) Next(record []byte) Hash {
	sum := sha256.New()
	sum.Write(h[:])
	sum.Write(record)
	return Hash(sum.Sum(nil))
}

// String returns the hash in hexadecimal.
func (h Hash) String() string { return hex.EncodeToString(h[:]) }

// MarshalText writes the hash in hexadecimal.
func (h Hash) MarshalText() ([]byte, error) { return []byte(h.String()), nil }

// UnmarshalText reads what MarshalText wrote.
func (h *Hash) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(h)) {
		return fmt.Errorf("a hash has %d hexadecimal digits, not %d", hex.EncodedLen(len(h)), len(text))
	}
	_, err := hex.Decode(h[:], text)
	return err
}

// ValueName is what a value is called that is kept beside the log.
func ValueName(value []byte) string {
	sum := sha256.Sum256(value)
	return hex.EncodeToString(sum[:])
}

// Head is the end of a log. The zero value is the head of an empty log.
type Head struct {
	Chain string        `json:"chain"` // names the chain; changes when the log is purged
	Seq   plan.Revision `json:"seq"`   // of the last record, 0 when there is none
	Hash  Hash          `json:"hash"`  // of the last record
	Phase plan.Phase    `json:"phase"` // of the last record
}

// Snapshot is a state with the head it was folded to. It is a cache, and a pin:
// a log that does not contain its head was shortened or altered.
type Snapshot struct {
	Head  Head
	State plan.State
}

// Log is the append-only log of one workspace. All methods may be called from
// several goroutines. Nothing is opened, created or locked before a method
// needs it: reading a log that does not exist yet finds it empty and creates
// nothing.
type Log interface {
	// Lock takes the workspace's lock, which keeps every other process and
	// goroutine from appending. It waits at most as long as ctx and the
	// engine's own bound allow; then the error wraps ErrBusy.
	Lock(ctx context.Context) (unlock func(), err error)

	// Append adds r, synced, or not at all. r.Seq must be the head's plus one;
	// otherwise the error wraps ErrConflict and nothing was written.
	Append(ctx context.Context, r plan.Record) (Head, error)

	// Head returns the end of the log as it is on disk now. It is cheap: one
	// look that costs the same whatever the length of the log.
	Head(ctx context.Context) (Head, error)

	// Since returns the end of the log as it is on disk now, and the records that
	// follow known when they are few: otherwise, and when the log is another chain,
	// there are none, and Read has them.
	Since(ctx context.Context, known Head) (Head, []plan.Record, error)

	// Glance returns the end of the log as the last append has left word of it,
	// without opening the log where that can be done. After a crash it may be
	// one record behind: it will do to show something, not to decide.
	Glance(ctx context.Context) (Head, error)

	// Read yields the records after seq in order, checking the chain. It stops
	// at the first error, which wraps ErrDamaged when a record is not what its
	// hash says.
	Read(ctx context.Context, after plan.Revision) iter.Seq2[plan.Record, error]

	// Snapshot returns the newest snapshot of the current fold version and
	// chain at or below seq, or nil when there is none; seq 0 means the newest.
	// An unreadable snapshot is as good as none. The error wraps ErrDamaged
	// when a snapshot pins a head that the log does not contain.
	Snapshot(ctx context.Context, seq plan.Revision) (*Snapshot, error)

	// SaveSnapshot keeps s and may drop older ones.
	SaveSnapshot(ctx context.Context, s Snapshot) error

	// Watch returns a channel that receives after the log has grown, whichever
	// process made it grow. Several growths may arrive as one. The channel is
	// closed when ctx ends or the log is closed. Nothing polls.
	Watch(ctx context.Context) (<-chan struct{}, error)

	// Purge deletes all records, values and snapshots and begins a new chain with
	// first, whose Seq must be 1. The caller holds the lock.
	Purge(ctx context.Context, first plan.Record) (Head, error)

	// PutValue keeps a value beside the log, synced, and returns its name: the same for
	// the same bytes. A record that names it is written after it.
	PutValue(ctx context.Context, value []byte) (name string, err error)

	// Value returns what PutValue has kept under a name. The error wraps ErrNoValue when
	// that is not there, or is not what was put.
	Value(ctx context.Context, name string) ([]byte, error)

	// Close ends the use of the log. Later calls return ErrClosed.
	Close() error
}

// Errors of a Log, matched with errors.Is. The text of the error that wraps
// them names the file and says what to do.
var (
	ErrConflict = errors.New("the log has moved on")
	ErrBusy     = errors.New("the workspace is locked by another process")
	ErrDamaged  = errors.New("the log is damaged")
	ErrNewer    = errors.New("the log was written by a newer planloop")
	ErrReadOnly = errors.New("the log cannot be written")
	ErrFull     = errors.New("the disk is full")
	ErrIO       = errors.New("the disk failed") // which says nothing of what is on it
	ErrClosed   = errors.New("the log is closed")
	ErrNoValue  = errors.New("the value is missing")
)
