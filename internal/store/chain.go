package store

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
)

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
