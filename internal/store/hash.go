package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

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

// NewChain returns a name for a chain that no other chain has.
func NewChain() string { return rand.Text() }
