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

// Once reports whether something has not been said to a session yet, and notes that it is said now. Where that
// cannot be noted it was said: nothing is said over and over.
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
