package verbs_test

import (
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/session"
	"github.com/planloop/planloop/internal/store"
	"github.com/planloop/planloop/internal/verbs"
	"github.com/planloop/planloop/plan"
)

// touched counts signs of life.
type touched map[string]int

func (n touched) Touch(name string)         { n[name]++ }
func (n touched) Join(string) func()        { return func() {} }
func (n touched) Seen(string) plan.Sighting { return plan.Sighting{} }
func (n touched) LastActivity() time.Time   { return time.Time{} }

// TestEveryCallIsASignOfLife makes valid and invalid calls of every tool: a caller with only mistakes is alive, too.
func TestEveryCallIsASignOfLife(t *testing.T) {
	for _, row := range verbs.Table() {
		for _, arguments := range []string{strings.Replace(row.Example, `{"wait":30}`, `{}`, 1), `{"no such field":1}`} {
			seen := touched{}
			s := verbs.New(session.New(store.NewMemory(), session.Options{}), verbs.Options{Presence: seen})
			_, _ = row.Call(t.Context(), s, ann, []byte(arguments))
			if seen["ann"] == 0 {
				t.Errorf("%s %s is no sign of life", row.Name, arguments)
			}
		}
	}
}
