// Package rapidtest checks properties by inputs that are the same in each run, so that a change is judged by what it
// changed and not by what happened to be drawn. It must not know what the properties are of.
package rapidtest

import (
	"flag"
	"sync"

	"pgregory.net/rapid"
)

// Check is rapid.Check with a fixed seed. Other inputs are tried by -rapid.seed=N, more of them by -rapid.checks=N.
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
