package sqlite

import (
	"fmt"
	"hash/crc32"
	"os"
	"strings"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/plan"
)

// growthFile holds the head after the last append, written in place after the
// commit and never synced. It serves two ends. Whoever watches it hears of a
// commit when the commit can be seen, which cannot be said of the database's own
// files. And it pins the log: a log that does not contain this head has lost
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
// not whole. The phase is left out: it is no part of the pin.
func encodePin(h store.Head) []byte {
	text := fmt.Sprintf("%-32s %20d %s", h.Chain, h.Seq, h.Hash)
	return fmt.Appendf(nil, "%s %08x\n", text, checksum([]byte(text)))
}

// decodePin reads what encodePin wrote.
func decodePin(data []byte) (h store.Head, ok bool) {
	text, sum, _ := cutLast(strings.TrimSuffix(string(data), "\n"), " ")
	if sum != fmt.Sprintf("%08x", checksum([]byte(text))) {
		return store.Head{}, false
	}
	var seq plan.Revision
	var hash string
	if _, err := fmt.Sscanf(text, "%s %d %s", &h.Chain, &seq, &hash); err != nil {
		return store.Head{}, false
	}
	h.Seq = seq
	return h, h.Hash.UnmarshalText([]byte(hash)) == nil
}

// readPin returns the head that the file pins, if it does.
func readPin(path string) (store.Head, bool) {
	data, err := os.ReadFile(path)
	if err != nil {
		return store.Head{}, false
	}
	return decodePin(data)
}

func cutLast(s, sep string) (before, after string, ok bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// checksum tells a whole text from one that was torn or has changed by chance.
func checksum(data []byte) uint32 {
	return crc32.Checksum(data, crc32.MakeTable(crc32.Castagnoli))
}
