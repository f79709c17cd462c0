package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/planloop/planloop/internal/store"
)

// unwanted is how long a value stays that no record names: whoever put it may be about to write one.
const unwanted = 24 * time.Hour

var valueNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9a-f]{64}`) })

// SweepValues removes the values that no record of the log in a folder names and nobody has put
// for a day, and returns how many they were. A log that cannot be read whole keeps them all, and so
// does one of which a repair has kept another.
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
		for _, name := range valueNames().FindAll(body, -1) { // wherever it stands
			named[string(name)] = true
		}
	}
	for _, entry := range entries {
		info, err := entry.Info()
		if err != nil || named[entry.Name()] || now.Sub(info.ModTime()) < unwanted {
			continue
		}
		if err := os.Remove(filepath.Join(l.valuesPath(), entry.Name())); err != nil {
			return removed, err
		}
		removed++
	}
	return removed, nil
}
