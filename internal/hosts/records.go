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

	"github.com/planloop/planloop/internal/safefile"
)

// record remembers a file or folder that init wrote, with the parts that --remove may delete.
type record struct {
	Path    string            `json:"path"`
	Created bool              `json:"created,omitempty"` // it did not exist before
	Parts   map[string]string `json:"parts,omitempty"`   // the texts that init wrote, by path
}

func newRecord(path string) record { return record{Path: path, Parts: map[string]string{}} }

func hashText(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])
}

// recordPath returns the path of the ledger's file about another file.
func (m Machine) recordPath(target, ending string) string {
	return filepath.Join(m.Ledger, hashText(target)[:16]+ending)
}

// hasRecord reports whether init has written a file and not removed its part since.
func (m Machine) hasRecord(target string) bool {
	_, err := os.Lstat(m.recordPath(target, ".json"))
	return !errors.Is(err, fs.ErrNotExist)
}

// readRecord returns the record of a file.
func (m Machine) readRecord(target string) (record, error) {
	known := newRecord(target)
	data, err := safefile.Read(m.recordPath(target, ".json"), maxFile)
	if errors.Is(err, fs.ErrNotExist) {
		return known, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &known)
	}
	if err == nil && (known.Path != target || known.Parts == nil) {
		err = errors.New("the record is damaged")
	}
	if err != nil {
		return known, fmt.Errorf("read the record of %s: %w", target, err)
	}
	return known, nil
}

func (m Machine) writeRecord(r record) error {
	data, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return err
	}
	return m.writePrivate(m.recordPath(r.Path, ".json"), data)
}

func (m Machine) writePrivate(path string, data []byte) error {
	err := safefile.MakeFolder(m.Ledger)
	if err == nil {
		err = safefile.WriteFile(path, data, safefile.Options{Mode: safefile.FileMode})
	}
	if err != nil {
		return fmt.Errorf("write init's record: %w", err)
	}
	return nil
}

func (m Machine) removeRecord(target string) error {
	if err := os.Remove(m.recordPath(target, ".json")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// makeFolders creates the missing folders above a file and records them.
func (m Machine) makeFolders(path string, mode fs.FileMode) error {
	dir := filepath.Dir(path)
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) || filepath.Dir(dir) == dir {
		return err
	}
	if err := m.makeFolders(dir, mode); err != nil {
		return err
	}
	if err := os.Mkdir(dir, mode); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return m.writeRecord(record{Path: dir, Created: true})
}

// removeFolders removes empty folders above a file that init created.
func (m Machine) removeFolders(path string) error {
	for dir := filepath.Dir(path); filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		known, err := m.readRecord(dir)
		if err != nil || !known.Created || os.Remove(dir) != nil {
			return err
		}
		if err := m.removeRecord(dir); err != nil {
			return err
		}
	}
	return nil
}
