package sqlite

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/planloop/planloop/internal/atomicfile"
	"github.com/planloop/planloop/internal/private"
	"github.com/planloop/planloop/internal/store"
)

// valuesName is the folder of the values that are too large for the log, each in a file named by
// the SHA-256 of its content.
const valuesName = "values"

// mostValue bounds the size of a value, in bytes.
const mostValue = 64 << 20

func (l *Log) valuesPath() string { return filepath.Join(l.dir, valuesName) }

// PutValue implements store.Log.
func (l *Log) PutValue(ctx context.Context, value []byte) (string, error) {
	if err := errors.Join(ctx.Err(), l.usable()); err != nil {
		return "", err
	}
	if err := private.Make(l.dir); err != nil {
		return "", explain(l.dir, err)
	}
	if err := private.Make(l.valuesPath()); err != nil {
		return "", explain(l.valuesPath(), err)
	}
	name := store.ValueName(value)
	path := filepath.Join(l.valuesPath(), name)
	if _, err := l.Value(ctx, name); err == nil { // keeps SweepValues from removing it
		now := time.Now()
		return name, explain(path, os.Chtimes(path, now, now))
	}
	return name, explain(path, atomicfile.WriteFile(path, value, atomicfile.Options{Mode: private.FileMode}))
}

// Value implements store.Log.
func (l *Log) Value(ctx context.Context, name string) ([]byte, error) {
	if err := errors.Join(ctx.Err(), l.usable()); err != nil {
		return nil, err
	}
	if sum, err := hex.DecodeString(name); err != nil || len(sum) != len(store.Hash{}) {
		return nil, fmt.Errorf("%w: %q names none", store.ErrNoValue, name)
	}
	path := filepath.Join(l.valuesPath(), name)
	value, err := private.Read(path, mostValue)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w: there is no %s", store.ErrNoValue, path)
	case err != nil:
		return nil, explain(path, err)
	case store.ValueName(value) != name:
		return nil, fmt.Errorf("%w: %s was changed", store.ErrNoValue, path)
	}
	return value, nil
}
