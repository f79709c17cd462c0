package sqlite

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"time"

	"github.com/planloop/planloop/internal/safefile"
	"github.com/planloop/planloop/internal/store"
)

// valuesName is the folder of the values that are too large for the log, each in a file named by
// the SHA-256 of its content.
const valuesName = "values"

// maxValue bounds the size of a value, in bytes.
const maxValue = 64 << 20

func (l *Log) valuesPath() string { return filepath.Join(l.dir, valuesName) }

// PutValue implements store.Log.
func (l *Log) PutValue(ctx context.Context, value []byte) (string, error) {
	if err := errors.Join(ctx.Err(), l.checkOpen()); err != nil {
		return "", err
	}
	for _, dir := range []string{l.dir, l.valuesPath()} {
		if err := safefile.MakeFolder(dir); err != nil {
			return "", explain(dir, err)
		}
	}
	name := store.ValueName(value)
	path := filepath.Join(l.valuesPath(), name)
	if _, err := l.Value(ctx, name); err == nil { // keeps SweepValues from removing it
		now := time.Now()
		return name, explain(path, os.Chtimes(path, now, now))
	}
	return name, explain(path, safefile.WriteFile(path, value, safefile.Options{Mode: safefile.FileMode}))
}

// Value implements store.Log.
func (l *Log) Value(ctx context.Context, name string) ([]byte, error) {
	if err := errors.Join(ctx.Err(), l.checkOpen()); err != nil {
		return nil, err
	}
	if sum, err := hex.DecodeString(name); err != nil || len(sum) != len(store.Hash{}) {
		return nil, fmt.Errorf("%w: %q is not the name of a value", store.ErrNoValue, name)
	}
	path := filepath.Join(l.valuesPath(), name)
	value, err := safefile.Read(path, maxValue)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: %s does not exist", store.ErrNoValue, path)
	case err != nil:
		return nil, explain(path, err)
	case store.ValueName(value) != name:
		return nil, fmt.Errorf("%w: %s was changed", store.ErrNoValue, path)
	}
	return value, nil
}

// valueGracePeriod is how long an unnamed value stays: its record may still be about to be written.
const valueGracePeriod = 24 * time.Hour

// SweepValues removes the values that are named by no record of the log in a folder and were not
// put in the last day, and returns their number. It removes nothing if the log cannot be read
// completely, or if a repair has kept another log.
func SweepValues(ctx context.Context, dir string, now time.Time) (removed int, err error) {
	l := New(dir, Options{AllowNetwork: true})
	defer l.Close()
	entries, err := os.ReadDir(l.valuesPath())
	if errors.Is(err, fs.ErrNotExist) || len(entries) == 0 {
		return 0, nil
	} else if err != nil {
		return 0, err
	}
	if folders, err := l.keptFolders(); err != nil || len(folders) > 0 {
		return 0, err
	}
	named := map[string]bool{}
	for record, err := range l.Read(ctx, 0) {
		if err != nil {
			return 0, err
		}
		body, err := store.EncodeRecord(record)
		if err != nil {
			return 0, err
		}
		maps.Copy(named, store.ValueNames(string(body)))
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || named[entry.Name()] || now.Sub(info.ModTime()) < valueGracePeriod {
			continue
		}
		if err := os.Remove(filepath.Join(l.valuesPath(), entry.Name())); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}
