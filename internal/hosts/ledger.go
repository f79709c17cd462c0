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

// record is what is remembered of a file or folder that was written: what is in it that --remove may take out.
type record struct {
	Path    string            `json:"path"`
	Created bool              `json:"created,omitempty"` // it was not there before
	Parts   map[string]string `json:"parts,omitempty"`   // what was written, by its place
}

func newRecord(path string) record { return record{Path: path, Parts: map[string]string{}} }

func sum(text string) string {
	digest := sha256.Sum256([]byte(text))
	return hex.EncodeToString(digest[:])
}

// remembered is a file of the ledger about another file.
func (m Machine) remembered(target, ending string) string {
	return filepath.Join(m.Ledger, sum(target)[:16]+ending)
}

// wrote reports whether init has written a file and not removed its part since.
func (m Machine) wrote(target string) bool {
	_, err := os.Lstat(m.remembered(target, ".json"))
	return !errors.Is(err, fs.ErrNotExist)
}

// recall returns what is remembered of a file.
func (m Machine) recall(target string) (record, error) {
	known := newRecord(target)
	data, err := private.Read(m.remembered(target, ".json"), most)
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
		return known, fmt.Errorf("read what was written into %s before: %w", target, err)
	}
	return known, nil
}

func (m Machine) remember(r record) error {
	data, err := json.Marshal(r, json.Deterministic(true))
	if err != nil {
		return err
	}
	return m.keep(m.remembered(r.Path, ".json"), data)
}

// backUp keeps the text of a file that is about to be written.
func (m Machine) backUp(target string, text []byte) error {
	return m.keep(m.remembered(target, "-"+filepath.Base(target)), text)
}

func (m Machine) keep(path string, data []byte) error {
	err := private.Make(m.Ledger)
	if err == nil {
		err = atomicfile.WriteFile(path, data, atomicfile.Options{Mode: private.FileMode})
	}
	if err != nil {
		return fmt.Errorf("keep a record of what init writes: %w", err)
	}
	return nil
}

func (m Machine) forget(target string) error {
	if err := os.Remove(m.remembered(target, ".json")); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// makeFolders makes the folders above a file, and remembers those that were missing.
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
	return m.remember(record{Path: dir, Created: true})
}

// removeFolders removes the folders above a file that were made for it or another one, if they are empty.
func (m Machine) removeFolders(path string) error {
	for dir := filepath.Dir(path); filepath.Dir(dir) != dir; dir = filepath.Dir(dir) {
		known, err := m.recall(dir)
		if err != nil || !known.Created || os.Remove(dir) != nil {
			return err
		}
		if err := m.forget(dir); err != nil {
			return err
		}
	}
	return nil
}
