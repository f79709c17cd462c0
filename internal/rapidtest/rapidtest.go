// Package rapidtest checks properties on the same inputs in each run, so that a failure comes from a change of the code
// and not from other random inputs. It must not know the packages whose properties it checks.
package rapidtest

import (
	"flag"
	"sync"

	"pgregory.net/rapid"
)

// Check is rapid.Check with a fixed seed. -rapid.seed=N tries other inputs, -rapid.checks=N more of them.
func Check(t rapid.TB, prop func(*rapid.T)) {
	t.Helper()
	if err := seeded(); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, prop)
}

const seed = "1"

// seeded fixes the seed, unless one was asked for.
var seeded = sync.OnceValue(func() error {
	f := flag.Lookup("rapid.seed")
	if f.Value.String() != "0" {
		return nil
	}
	return f.Value.Set(seed)
})
