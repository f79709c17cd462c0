package notify_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/planloop/planloop/internal/notify"
	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/testenv"
)

func TestConfigIsReadFromYAML(t *testing.T) {
	text := "{command: [go, version], webhook: 'https://discord.com/api/webhooks/1/x'}"
	var got notify.Config
	testenv.Check(t, yaml.Load([]byte(text), &got, yaml.WithKnownFields()))
	want := notify.Config{Command: []string{"go", "version"}, Webhook: "https://discord.com/api/webhooks/1/x"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
}

func TestValidAddresses(t *testing.T) {
	for _, url := range []outbound.Secret{
		"https://example.com", "https://example.com:8443/a/b?thread_id=7&k=v", "http://127.0.0.1:9/x", "http://127.8.9.1",
		"http://[::1]:80/", "http://LOCALHOST:3000",
		"https://192.168.1.7/hook", "https://[2001:db8::1]/",
	} {
		if err := (notify.Config{Webhook: url}).Validate(); err != nil {
			t.Errorf("%s: %v", string(url), err)
		}
	}
}

// TestInvalidConfigs: an error names the key and what to write, and repeats no part of an address.
func TestInvalidConfigs(t *testing.T) {
	const password = "kP4sW9eXo1ViBt6GfQzN"
	command := func(argv ...string) notify.Config { return notify.Config{Command: argv} }
	for name, row := range map[string]struct {
		config    notify.Config
		key, want string
	}{
		"no program":        {notify.Config{Command: []string{}}, "command", "as a list"},
		"blank program":     {command("", "x"), "command", "as a list"},
		"NUL":               {command("x", "a\x00b"), "command", "as a list"},
		"many arguments":    {command(slices.Repeat([]string{"x"}, 257)...), "command", "as a list"},
		"relative":          {command(filepath.Join("bin", "x")), "command", "absolute path"},
		"http":              {notify.Config{Webhook: "http://example.com/" + plantedPath}, "webhook", "https://"},
		"http to almost us": {notify.Config{Webhook: "http://127.0.0.1.example.com/" + plantedPath}, "webhook", "https://"},
		"another scheme":    {notify.Config{Webhook: "file:///" + plantedPath}, "webhook", "https://example.com/hook"},
		"no scheme":         {notify.Config{Webhook: "discord.com/api/webhooks/" + plantedPath}, "webhook", "https://example.com/hook"},
		"credentials":       {notify.Config{Webhook: "https://ann:" + password + "@example.com/"}, "webhook", "path or query"},
		"no host":           {notify.Config{Webhook: "https:///" + plantedPath}, "webhook", "https://example.com/hook"},
		"nonsense":          {notify.Config{Webhook: "https://a b%%/" + plantedPath}, "webhook", "https://example.com/hook"},
		"an escape":         {notify.Config{Webhook: "https://a/\u202e" + plantedPath}, "webhook", "https://example.com/hook"},
		"a fragment":        {notify.Config{Webhook: "https://a/#" + plantedPath}, "webhook", "leave that out"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := notify.New(row.config, notify.Options{})
			var refusal *outbound.ConfigError
			if !errors.As(err, &refusal) || !errors.Is(err, outbound.ErrConfig) {
				t.Fatal(err)
			}
			if refusal.Key != row.key || !strings.Contains(refusal.Want, row.want) || row.config.Validate().Error() != err.Error() {
				t.Errorf("%q: %v", refusal.Key, err)
			}
			text := fmt.Sprintf("%v %+v %#v", err, err, err)
			mustNotLeak(t, text)
			if strings.Contains(text, password) {
				t.Error(text)
			}
		})
	}
}

// TestMissingProgram: Validate reports it; New does not, since a webhook may still work.
func TestMissingProgram(t *testing.T) {
	config := notify.Config{Command: []string{"no-such-program"}}
	if err := config.Validate(); err == nil || !strings.Contains(err.Error(), "notify.command starts a program that cannot be found") {
		t.Error(err)
	}
	n := testenv.Must(notify.New(config, notify.Options{}))(t)
	closed(t, n)
}

// TestConfigIsNotShown prints a configuration in every form.
func TestConfigIsNotShown(t *testing.T) {
	config := notify.Config{Webhook: hook}
	n := testenv.Must(notify.New(config, notify.Options{}))(t)
	defer closed(t, n)
	encoded, err := json.Marshal(config)
	if err != nil || !strings.Contains(string(encoded), "[hidden]") {
		t.Error(string(encoded), err)
	}
	var log record
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "config", config, "url", config.Webhook, "notifier", n)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "config", config, "url", config.Webhook)
	mustNotLeak(t, string(encoded)+log.String()+fmt.Sprintf("%v %+v %#v", config, config, config)+fmt.Sprintf("%#v %+v", n, n))
}
