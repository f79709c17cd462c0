package hosts

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/go-json-experiment/json"

	"github.com/planloop/planloop/internal/atomicfile"
	"github.com/planloop/planloop/internal/private"
)

// record is what is remembered of a file that was written, so that it can be again what it
// was. It is the backup, too.
type record struct {
	Path    string            `json:"path"`
	Created bool              `json:"created,omitempty"` // there was no such file
	Folders []string          `json:"folders,omitempty"` // that were made for it, the outermost first
	Before  []byte            `json:"before,omitempty"`  // without what is planloop's
	Sums    sums              `json:"sha256"`
	Parts   map[string]string `json:"parts,omitempty"` // what was written, by name
}

type sums struct {
	Before string `json:"before"`
	After  string `json:"after"`
}

func sum(text []byte) string {
	digest := sha256.Sum256(text)
	return hex.EncodeToString(digest[:])
}

func (m Machine) recordFile(target string) string {
	return filepath.Join(m.Ledger, sum([]byte(target))[:16]+".json")
}

// recall returns what is remembered of a file, nil for nothing.
func (m Machine) recall(target string) (*record, error) {
	data, err := private.Read(m.recordFile(target), 2*mostHistory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var known record
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err == nil && (known.Path != target || sum(known.Before) != known.Sums.Before) {
		err = errors.New("it is damaged")
	}
	if err != nil {
		return nil, fmt.Errorf("read what was written into %s before: %w", target, err)
	}
	return &known, nil
}

func (m Machine) remember(r record) error {
	r.Sums.Before = sum(r.Before)
	data, err := json.Marshal(r, json.Deterministic(true))
	if err == nil {
		err = private.Make(m.Ledger)
	}
	if err == nil {
		err = atomicfile.WriteFile(m.recordFile(r.Path), data, atomicfile.Options{Mode: private.FileMode})
	}
	if err != nil {
		return fmt.Errorf("remember what %s was: %w", r.Path, err)
	}
	return nil
}

// made are the folders above a file that were made for it, or for another one that is
// remembered: whichever goes last takes them along.
func (m Machine) made(target string, now []string) []string {
	known := map[string]bool{}
	for _, dir := range now {
		known[dir] = true
	}
	entries, _ := os.ReadDir(m.Ledger) // without a ledger nothing was made
	for _, entry := range entries {
		var other record
		data, err := private.Read(filepath.Join(m.Ledger, entry.Name()), 2*mostHistory)
		if err != nil || json.Unmarshal(data, &other) != nil {
			continue
		}
		for _, dir := range other.Folders {
			known[dir] = true
		}
	}
	var above []string
	for dir := filepath.Dir(target); filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		if known[dir] {
			above = append([]string{dir}, above...)
		}
	}
	return above
}

func (m Machine) forget(target string) error {
	if err := os.Remove(m.recordFile(target)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
