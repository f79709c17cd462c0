// Package store keeps the log of records of a workspace: append-only, with compare-and-append on
// the sequence number, a hash chain, snapshots, and notification of growth. Implementations are in
// subfolders; each must pass contract_test.go. The package must not know the meaning of a record
// beyond its sequence number and phase.
package store

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"iter"
	"regexp"
	"sync"

	"github.com/planloop/planloop/plan"
)

// ValueName returns the name of a value that is kept outside the log.
func ValueName(value []byte) string { return Hash(sha256.Sum256(value)).String() }

var valueNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9a-f]{64}`) })

// ValueNames returns the names of values, and other texts of their form, anywhere in records.
func ValueNames(records ...string) map[string]bool {
	names := map[string]bool{}
	for _, record := range records {
		for _, name := range valueNames().FindAllString(record, -1) {
			names[name] = true
		}
	}
	return names
}

// Head is the end of a log. The zero value is the head of an empty log.
type Head struct {
	Chain string        `json:"chain"` // names the chain; changes when the log is purged
	Seq   plan.Revision `json:"seq"`   // of the last record, 0 if the log is empty
	Hash  Hash          `json:"hash"`  // of the last record
	Phase plan.Phase    `json:"phase"` // of the last record
}

// Snapshot is a state with the head it was folded to. It is a cache, and a pin: a log that does not
// contain its head was shortened or altered.
type Snapshot struct {
	Head  Head
	State plan.State
}

// Log is the append-only log of one workspace. All methods may be called from several goroutines. A
// method opens, creates and locks files only when it needs them: reading a log that does not exist
// finds it empty and creates nothing.
type Log interface {
	// Lock takes the workspace's lock, which keeps every other process and goroutine from
	// appending. It waits until ctx ends or the implementation's own limit is reached; then the
	// error wraps ErrBusy. A log in a database server keeps out only this process; Append judges between
	// processes.
	Lock(ctx context.Context) (unlock func(), err error)

	// Append adds r, synced, or not at all. r.Seq must be the head's plus one; otherwise the error
	// wraps ErrConflict and nothing was written.
	Append(ctx context.Context, r plan.Record) (Head, error)

	// Head returns the end of the log as it is on disk now, at the same low cost for any length.
	Head(ctx context.Context) (Head, error)

	// Since returns the end of the log as it is on disk now, and the records after known if they
	// are few. It returns no records if there are too many or if the log is another chain; then use
	// Read.
	Since(ctx context.Context, known Head) (Head, []plan.Record, error)

	// Glance returns the end of the log as noted by the last append, if possible without opening
	// the log. After a crash it may be one record old: good enough to display, not to decide.
	CachedHead(ctx context.Context) (Head, error)

	// Read yields the records after seq in order, checking the chain. It stops at the first error,
	// which wraps ErrDamaged if a record does not match its hash.
	Read(ctx context.Context, after plan.Revision) iter.Seq2[plan.Record, error]

	// Snapshot returns the newest snapshot of the current fold version and chain at or below seq,
	// or nil; seq 0 means the newest. An unreadable snapshot counts as missing. The error wraps
	// ErrDamaged if a snapshot pins a head that the log does not contain.
	Snapshot(ctx context.Context, seq plan.Revision) (*Snapshot, error)

	// SaveSnapshot keeps s and may drop older ones.
	SaveSnapshot(ctx context.Context, s Snapshot) error

	// Watch returns a channel that receives after any process has appended to the log. Several
	// appends may arrive as one. The channel is closed when ctx ends or the log is closed. Nothing
	// polls.
	Watch(ctx context.Context) (<-chan struct{}, error)

	// Purge deletes all records, values and snapshots and begins a new chain with first, which must
	// have Seq 1. Its name is one that NewChain returned, for another log if this becomes a copy of
	// that. The caller holds the lock.
	Purge(ctx context.Context, chain string, first plan.Record) (Head, error)

	// PutValue keeps a value outside the log, synced, and returns its name: the same for the same
	// bytes. Put the value before appending a record that names it.
	PutValue(ctx context.Context, value []byte) (name string, err error)

	// Value returns the value that PutValue has kept under a name. The error wraps ErrNoValue if it
	// is missing or was changed.
	Value(ctx context.Context, name string) ([]byte, error)

	// Close ends the use of the log. Later calls return ErrClosed.
	Close() error
}

// Errors of a Log, to match with errors.Is. The text of the wrapping error names the file and the
// remedy.
var (
	ErrConflict = errors.New("the log has new records")
	ErrBusy     = errors.New("the workspace is locked by another process")
	ErrDamaged  = errors.New("the log is damaged")
	ErrNewer    = errors.New("the log was written by a newer planloop")
	ErrReadOnly = errors.New("the log cannot be written")
	ErrFull     = errors.New("the disk is full")
	ErrIO       = errors.New("the disk failed") // the data on it may still be good
	ErrClosed   = errors.New("the log is closed")
	ErrNoValue  = errors.New("the value is missing")

	// Only of logs in a database server.
	ErrUnreachable = errors.New("the database cannot be reached") // or its answer to a change was lost
	ErrTooLarge    = errors.New("the limit for one value or record is exceeded")
	ErrRepeated    = errors.New("the log has a record with this key")
)

type keyInContext struct{}

// WithKey returns a context for Append and Purge that stores key, which must be unique in the log, with the
// record. An append with a key that the log has fails with ErrRepeated.
func WithKey(ctx context.Context, key string) context.Context {
	return context.WithValue(ctx, keyInContext{}, key)
}

// KeyOf returns the key that WithKey has set, or "".
func KeyOf(ctx context.Context) string {
	key, _ := ctx.Value(keyInContext{}).(string)
	return key
}

// NewChain returns a unique name for a chain.
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

// ScanBytes reads a hash from a column of a database.
func (h *Hash) ScanBytes(column []byte) error {
	if len(column) != len(h) {
		return fmt.Errorf("%w: a hash has %d bytes", ErrDamaged, len(column))
	}
	*h = Hash(column)
	return nil
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
