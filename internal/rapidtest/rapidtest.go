// Package rapidtest checks properties on the same inputs in each run, so that a failure comes from a change of the code
// and not from other random inputs. It must not know the packages whose properties it checks.
package rapidtest

import (
	"errors"
	"flag"
	"strconv"
	"sync"

	"pgregory.net/rapid"

	"github.com/planloop/planloop/internal/testenv"
)

// Check is rapid.Check with a fixed seed. -rapid.seed=N tries other inputs, -rapid.checks=N more of them.
func Check(t rapid.TB, prop func(*rapid.T)) {
	t.Helper()
	if err := configure(); err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, prop)
}

const seed = "1"

// checks is the number of inputs. rapid tries a fifth of them with -short.
func checks() string { return strconv.Itoa(testenv.Count(100, 100, 500)) }

// configure sets the seed and the number of inputs, unless the flags do.
var configure = sync.OnceValue(func() error {
	return errors.Join(setDefault("rapid.seed", seed), setDefault("rapid.checks", checks()))
})

func setDefault(name, value string) error {
	f := flag.Lookup(name)
	if f.Value.String() != f.DefValue {
		return nil
	}
	return f.Value.Set(value)
}
