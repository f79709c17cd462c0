package strict_test

import (
	"testing"

	"github.com/planloop/planloop/internal/strict"
)

// TestAFieldHidesAnEmbeddedOne: as in Go, the outer of two fields of one name counts.
func TestAFieldHidesAnEmbeddedOne(t *testing.T) {
	type inner struct {
		Title string `json:"title"`
		Deps  []int  `json:"deps,omitempty"`
	}
	var outer struct {
		inner
		Deps []string `json:"deps,omitempty"`
	}
	if err := strict.Decode([]byte(`{"title":"t","deps":["a"]}`), &outer, nil); err != nil || outer.Deps[0] != "a" || outer.Title != "t" {
		t.Errorf("got %+v, %v", outer, err)
	}
}
