package presence

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/planloop/planloop/internal/private"
)

// Once reports whether a session has not been told something yet, and records that it is told now. If that cannot be
// recorded, it reports false, so that nothing is repeated forever.
func (b *Book) Once(session, what string) bool {
	if b.said == "" {
		return false
	}
	sum := sha256.Sum256([]byte(session + "\x00" + what))
	err := b.said.make()
	if err == nil {
		var file *os.File
		file, err = private.Open(filepath.Join(string(b.said), hex.EncodeToString(sum[:16])+".seen"), os.O_CREATE|os.O_EXCL|os.O_WRONLY)
		if err == nil {
			return file.Close() == nil
		}
	}
	if !errors.Is(err, fs.ErrExist) {
		b.report("note what was said", session, err)
	}
	return false
}
