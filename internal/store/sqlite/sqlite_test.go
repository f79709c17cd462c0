package sqlite_test

import (
	"path/filepath"
	"testing"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/sqlite"
	"github.com/planloop/planloop/internal/store/storetest"
)

func TestLog(t *testing.T) {
	storetest.Run(t, storetest.Engine{Shared: true, New: func(t *testing.T) func() store.Log {
		dir := filepath.Join(t.TempDir(), "state", "log")
		return func() store.Log { return sqlite.New(dir, sqlite.Options{}) }
	}})
}
