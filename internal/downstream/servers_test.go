package downstream_test

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/planloop/planloop/internal/downstream"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/process"
	"github.com/planloop/planloop/internal/toolbox"
)

// own returns the configuration of our own server as a command.
func own(b behaviour) downstream.Server {
	text, err := json.Marshal(b)
	if err != nil {
		panic(err)
	}
	program, err := os.Executable()
	if err != nil {
		panic(err)
	}
	return downstream.Server{Command: program, Args: []string{asServer, string(text)},
		Env: map[string]outbound.Secret{"PASSWORD": "hunter22hunter22"}}
}

// started returns servers that end with the test.
func started(t *testing.T, c downstream.Config, change ...func(*downstream.Options)) *downstream.Servers {
	t.Helper()
	o := downstream.Options{Launcher: &process.Launcher{}, Dir: t.TempDir(), CacheDir: filepath.Join(t.TempDir(), "lists"), Version: "1",
		Getenv: os.Getenv}
	for _, set := range change {
		set(&o)
	}
	s := downstream.New(c, o)
	t.Cleanup(s.Close)
	return s
}

func within(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// refreshed returns the servers' tools by name.
func refreshed(t *testing.T, s *downstream.Servers) map[string]toolbox.RemoteTool {
	t.Helper()
	if err := s.Refresh(within(t)); err != nil {
		t.Fatal(err)
	}
	return byName(s.Tools())
}

func byName(tools []toolbox.RemoteTool) map[string]toolbox.RemoteTool {
	all := map[string]toolbox.RemoteTool{}
	for _, tool := range tools {
		all[tool.Name] = tool
	}
	return all
}

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
