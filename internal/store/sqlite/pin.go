package sqlite

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// The growth file holds the head after the last append, written in place after the commit and never synced.
// It serves three purposes. Its watchers learn of a commit when the commit is visible, which the database's
// own files do not guarantee. The end of the log can be displayed without opening a database. And it pins the
// log: a log that does not contain this head has lost records, such as those of a deleted write-ahead log.
// After a power failure it may be old or torn: an old head is contained, and a torn one does not count.
//
// openGrowthFile opens it for writing; the folder exists.
func openGrowthFile(path string) (*os.File, error) {
	return safefile.Open(path, os.O_CREATE|os.O_WRONLY)
}

func writePin(growth *os.File, h store.Head) error {
	_, err := growth.WriteAt(encodePin(h), 0)
	return err
}

// encodePin returns a head in a form of constant length that reveals an incomplete write.
func encodePin(h store.Head) []byte {
	text := fmt.Sprintf("%-32s %20d %s %-16s", h.Chain, h.Seq, h.Hash, cmp.Or(h.Phase, noPhase))
	return fmt.Appendf(nil, "%s %08x\n", text, crc32.ChecksumIEEE([]byte(text)))
}

// noPhase is written for a record without a phase.
const noPhase plan.Phase = "-"

const maxPin = 1 << 10 // more than encodePin writes

// readPin returns the head that the file pins, if it is valid.
func readPin(path string) (h store.Head, ok bool) {
	data, err := safefile.Read(path, maxPin)
	if err != nil {
		return store.Head{}, false
	}
	var hash string
	if _, err := fmt.Sscan(string(data), &h.Chain, &h.Seq, &hash, &h.Phase); err != nil || h.Hash.UnmarshalText([]byte(hash)) != nil {
		return store.Head{}, false
	}
	if h.Phase == noPhase {
		h.Phase = ""
	}
	return h, bytes.Equal(data, encodePin(h))
}

// pin is a head that a file other than the database remembers.
type pin struct {
	store.Head
	source string // that file
}

// pins returns the heads in the growth file and the snapshots, newest first.
func (l *Log) pins() (pins []pin, err error) {
	if head, ok := readPin(l.headPath()); ok {
		pins = append(pins, pin{head, l.headPath()})
	}
	headers, err := l.snapshotHeaders()
	for _, h := range headers {
		pins = append(pins, pin{h.Head, h.path})
	}
	return pins, err
}

// checkPin returns an error if the log should contain a head and does not. Heads of purged chains
// no longer matter.
func (v *view) checkPin(ctx context.Context, p pin) error {
	contained, former, err := v.contains(ctx, p.Head)
	if err != nil || contained || former {
		return err
	}
	return fmt.Errorf("the log does not contain record %d as noted in %s: the log was shortened, replaced or altered: %w",
		p.Seq, p.source, errUnreadable)
}

// contains reports whether the log contains a head, and otherwise whether the head belongs to a
// purged chain.
func (v *view) contains(ctx context.Context, pin store.Head) (contained, former bool, err error) {
	pinned, err := v.prepared(ctx, pinQuery)
	if err != nil {
		return false, false, err
	}
	var chain sql.NullString
	var hash []byte
	if err := pinned.QueryRowContext(ctx, pin.Seq, pin.Chain).Scan(&chain, &hash, &former); err != nil {
		return false, false, err
	}
	return chain.String == pin.Chain && string(hash) == string(pin.Hash[:]), former, nil
}
