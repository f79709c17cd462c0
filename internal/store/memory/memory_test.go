package memory_test

import (
	"testing"

	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/store/memory"
	"github.com/planloop/planloop/internal/store/storetest"
)

func TestLog(t *testing.T) {
	storetest.Run(t, storetest.Engine{New: func(t *testing.T) func() store.Log {
		log := memory.New()
		return func() store.Log { return log }
	}})
}
