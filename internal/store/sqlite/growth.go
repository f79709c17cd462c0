package sqlite

import (
	"bytes"
	"cmp"
	"fmt"
	"hash/crc32"
	"os"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// growthFile holds the head after the last append, written in place after the
// commit and never synced. It serves three ends. Whoever watches it hears of a
// commit when the commit can be seen, which cannot be said of the database's own
// files. Whoever only wants to show where the log stands reads it here and opens
// no database. And it pins the log: a log that does not contain this head has lost
// records, such as those of a deleted write-ahead log. After a power failure it
// may be old or torn: an old head is contained, and a torn one does not count.
type growthFile struct {
	file *os.File
}

// openGrowthFile opens the file for writing; the folder exists.
func openGrowthFile(path string) (*growthFile, error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY, fileMode)
	if err != nil {
		return nil, err
	}
	if err := ensureMode(path, fileMode); err != nil {
		_ = f.Close()
		return nil, err
	}
	return &growthFile{f}, nil
}

func (g *growthFile) write(h store.Head) error {
	_, err := g.file.WriteAt(encodePin(h), 0)
	return err
}

func (g *growthFile) close() error { return g.file.Close() }

// encodePin returns a head in a form of constant length that shows when it is
// not whole.
func encodePin(h store.Head) []byte {
	text := fmt.Sprintf("%-32s %20d %s %-16s", h.Chain, h.Seq, h.Hash, cmp.Or(h.Phase, noPhase))
	return fmt.Appendf(nil, "%s %08x\n", text, checksum([]byte(text)))
}

// noPhase stands where a record has none.
const noPhase plan.Phase = "-"

// decodePin reads what encodePin wrote.
func decodePin(data []byte) (h store.Head, ok bool) {
	var hash string
	if _, err := fmt.Sscan(string(data), &h.Chain, &h.Seq, &hash, &h.Phase); err != nil || h.Hash.UnmarshalText([]byte(hash)) != nil {
		return store.Head{}, false
	}
	if h.Phase == noPhase {
		h.Phase = ""
	}
	return h, bytes.Equal(data, encodePin(h))
}

// readPin returns the head that the file pins, if it does.
func readPin(path string) (store.Head, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return store.Head{}, false
	}
	return decodePin(data)
}

// checksum tells a whole text from one that was torn or has changed by chance.
func checksum(data []byte) uint32 {
	return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
}
