package testenv_test

import (
	"os"
	"testing"

	"github.com/adrg/xdg"

	"github.com/planloop/planloop/internal/testenv"
)

type tests func() int

func (run tests) Run() int { return run() }

func TestSettingsAreRemoved(t *testing.T) {
	kept := map[string]bool{"PATH": true, "HOME": true, "PLANLOOP_TEST_X": true, "PLANLOOP_E2E_X": true, "XDG_CACHE_HOME": true,
		"PLANLOOP_GATES": false, "XDG_CONFIG_HOME": false, "GIT_DIR": false, "LC_ALL": false, "NO_COLOR": false, "CI": false}
	for name := range kept {
		t.Setenv(name, t.TempDir())
	}
	xdg.Reload()
	config := os.Getenv("XDG_CONFIG_HOME")
	code := testenv.Fixed{Tests: tests(func() int {
		for name, want := range kept {
			if _, got := os.LookupEnv(name); got != want {
				t.Errorf("%s is set: %v, want %v", name, got, want)
			}
		}
		if xdg.ConfigHome == config {
			t.Errorf("the configuration folder is still %s", config)
		}
		return 7
	})}.Run()
	if code != 7 {
		t.Errorf("exit code %d, want that of the tests", code)
	}
	t.Cleanup(xdg.Reload)
}
