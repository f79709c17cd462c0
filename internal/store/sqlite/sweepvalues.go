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

// unwanted is how long an unnamed value stays: its record may still be about to be written.
const unwanted = 24 * time.Hour

var valueNames = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`[0-9a-f]{64}`) })

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
		for _, name := range valueNames().FindAll(body, -1) { // anywhere in it
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
