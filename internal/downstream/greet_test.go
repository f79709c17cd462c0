package downstream_test

import (
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/downstream"
	"github.com/planloop/planloop/internal/process"
)

// TestGreet greets servers of each era in each era, within the time limit.
func TestGreet(t *testing.T) {
	for name, test := range map[string]struct {
		server          behaviour
		stateless       bool
		long            time.Duration
		version, failed string
	}{
		"stateless":        {behaviour{Modern: true}, true, time.Minute, "2026-07-28", ""},
		"handshake":        {behaviour{}, false, time.Minute, "2025-06-18", ""},
		"wrong handshake":  {behaviour{Modern: true}, false, time.Minute, "", "unsupported protocol version"},
		"wrong stateless":  {behaviour{}, true, time.Minute, "", "does not speak revision 2026-07-28"},
		"dies":             {behaviour{Start: "die"}, false, time.Minute, "", "exit code 3"},
		"hangs, stateless": {behaviour{Start: "silent"}, true, 300 * time.Millisecond, "", "within 300ms"},
		"hangs, handshake": {behaviour{Start: "silent"}, false, 300 * time.Millisecond, "", "within 300ms"},
	} {
		t.Run(name, func(t *testing.T) {
			options := downstream.Options{Launcher: &process.Launcher{}, Dir: t.TempDir(), Getenv: func(string) string { return "x" }}
			got, err := downstream.Greet(t.Context(), "it", own(test.server), options, test.stateless, test.long)
			if test.failed == "" {
				if err != nil || got.Version != test.version || got.Tools != len(standard()) || got.Took <= 0 {
					t.Errorf("%+v %v", got, err)
				}
			} else if err == nil || !strings.Contains(err.Error(), test.failed) {
				t.Errorf("%+v %v", got, err)
			}
		})
	}
}
