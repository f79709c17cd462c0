package notify_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/planloop/planloop/internal/notify"
	"github.com/planloop/planloop/internal/outbound"
)

func TestConfigIsReadFromYAML(t *testing.T) {
	text := `
webhooks:
  - url: https://discord.com/api/webhooks/1/x
    events: [plan_waits, question_waits]
  - url_env: HOOK
    format: json
    headers_env: {Authorization: HOOK_AUTHORIZATION}
desktop: true
timeout: 5s
`
	var got notify.Config
	if err := yaml.Load([]byte(text), &got, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	want := notify.Config{Desktop: true, Timeout: 5 * time.Second, Webhooks: []notify.Webhook{
		{URL: "https://discord.com/api/webhooks/1/x", Events: []notify.Event{notify.PlanWaits, notify.QuestionWaits}},
		{URLEnv: "HOOK", Format: notify.JSON, HeadersEnv: map[string]string{"Authorization": "HOOK_AUTHORIZATION"}},
	}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	if err := yaml.Load([]byte("webhooks: [{url: x, headers: {a: b}}]"), &got, yaml.WithKnownFields()); err == nil {
		t.Error("a header's value in the file was taken")
	}
}

func TestAddressesThatMayStand(t *testing.T) {
	for _, url := range []outbound.Secret{
		"https://example.com", "https://example.com:8443/a/b?thread_id=7&k=v", "http://127.0.0.1:9/x", "http://127.8.9.1",
		"http://[::1]:80/", "http://LOCALHOST:3000",
		"https://192.168.1.7/hook", "https://[2001:db8::1]/",
	} {
		if err := (notify.Config{Webhooks: []notify.Webhook{{URL: url}}}).Validate(); err != nil {
			t.Errorf("%s: %v", string(url), err)
		}
	}
}

// TestConfigsThatMustBeRefused holds where the error points and what it advises;
// it never repeats what was planted.
func TestConfigsThatMustBeRefused(t *testing.T) {
	one := func(w notify.Webhook) notify.Config { return notify.Config{Webhooks: []notify.Webhook{w}} }
	headers := func(pairs ...string) notify.Config {
		given := map[string]string{}
		for i := 0; i < len(pairs); i += 2 {
			given[pairs[i]] = pairs[i+1]
		}
		return one(notify.Webhook{URL: hook, HeadersEnv: given})
	}
	many := map[string]string{}
	for i := range 17 {
		many[fmt.Sprint("X-", i)] = "HOOK"
	}
	for name, row := range map[string]struct {
		config    notify.Config
		key, want string
	}{
		"timeout too short":     {notify.Config{Timeout: time.Millisecond}, "timeout", "timeout: 10s"},
		"timeout too long":      {notify.Config{Timeout: time.Hour}, "timeout", "timeout: 10s"},
		"timeout below nothing": {notify.Config{Timeout: -1}, "timeout", "timeout: 10s"},
		"too many":              {notify.Config{Webhooks: make([]notify.Webhook, 17)}, "webhooks", "at most 16"},
		"nowhere":               {one(notify.Webhook{}), "webhooks[0]", "url_env"},
		"the second nowhere":    {notify.Config{Webhooks: []notify.Webhook{{URL: hook}, {}}}, "webhooks[1]", "url_env"},
		"both":                  {one(notify.Webhook{URL: hook, URLEnv: "HOOK"}), "webhooks[0]", "one of them"},
		"http":                  {one(notify.Webhook{URL: "http://example.com/" + plantedPath}), "webhooks[0].url", "https://"},
		"http to almost us":     {one(notify.Webhook{URL: "http://127.0.0.1.example.com/" + plantedPath}), "webhooks[0].url", "https://"},
		"another scheme":        {one(notify.Webhook{URL: "file:///" + plantedPath}), "webhooks[0].url", "https://example.com/hook"},
		"no scheme": {one(notify.Webhook{URL: "discord.com/api/webhooks/" + plantedPath}), "webhooks[0].url",
			"https://example.com/hook"},
		"credentials": {one(notify.Webhook{URL: "https://ann:" + plantedHeader + "@example.com/"}), "webhooks[0].url",
			"headers_env"},
		"no host":  {one(notify.Webhook{URL: "https:///" + plantedPath}), "webhooks[0].url", "https://example.com/hook"},
		"nonsense": {one(notify.Webhook{URL: "https://a b%%/" + plantedPath}), "webhooks[0].url", "https://example.com/hook"},
		"an escape": {one(notify.Webhook{URL: "https://a/\u202e" + plantedPath}), "webhooks[0].url",
			"https://example.com/hook"},
		"a fragment":            {one(notify.Webhook{URL: "https://a/#" + plantedPath}), "webhooks[0].url", "leave that out"},
		"address as a variable": {one(notify.Webhook{URLEnv: hook}), "webhooks[0].url_env", "url_env: DISCORD_WEBHOOK"},
		"variable not set":      {one(notify.Webhook{URLEnv: "NOT_SET"}), "webhooks[0].url_env", "variable NOT_SET"},
		"key as a variable":     {one(notify.Webhook{URLEnv: "Zq8vT3nLw0xR5bYkHd2mUcJ7"}), "webhooks[0].url_env", "variable that it names"},
		"variable blank":        {one(notify.Webhook{URLEnv: "BLANK"}), "webhooks[0].url_env", "variable BLANK"},
		"variable with http":    {one(notify.Webhook{URLEnv: "HOOK_PLAIN"}), "webhooks[0].url_env", "https://"},
		"variable with a user":  {one(notify.Webhook{URLEnv: "HOOK_USER"}), "webhooks[0].url_env", "headers_env"},
		"format":                {one(notify.Webhook{URL: hook, Format: "slack"}), "webhooks[0].format", "format: discord"},
		"event": {one(notify.Webhook{URL: hook, Events: []notify.Event{"plan_waits", hook}}), "webhooks[0].events[1]",
			"question_waits"},
		"header's name":       {headers("Authorization: x", "HOOK"), "webhooks[0].headers_env", "HOOK_AUTHORIZATION"},
		"header's value":      {headers("Authorization", plantedHeader), "webhooks[0].headers_env", "HOOK_AUTHORIZATION"},
		"header of ours":      {headers("host", "HOOK"), "webhooks[0].headers_env", "leave it out"},
		"header twice":        {headers("X-A", "HOOK", "x-a", "HOOK"), "webhooks[0].headers_env", "once"},
		"header not set":      {headers("X-A", "NOT_SET"), "webhooks[0].headers_env", "variable NOT_SET"},
		"header of two lines": {headers("X-A", "TWO_LINES"), "webhooks[0].headers_env", "one line"},
		"too many headers":    {one(notify.Webhook{URL: hook, HeadersEnv: many}), "webhooks[0].headers_env", "at most 16"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := notify.New(row.config, environment, notify.Options{})
			var refusal *outbound.ConfigError
			if !errors.As(err, &refusal) || !errors.Is(err, outbound.ErrConfig) {
				t.Fatal(err)
			}
			if refusal.Key != row.key || !strings.Contains(refusal.Want, row.want) || strings.Contains(err.Error(), ". ") {
				t.Errorf("%q: %v", refusal.Key, err)
			}
			mustNotLeak(t, fmt.Sprintf("%v %+v %#v", err, err, err))
		})
	}
}

// TestConfigIsNotShown prints a configuration in all the ways there are.
func TestConfigIsNotShown(t *testing.T) {
	config := notify.Config{Webhooks: []notify.Webhook{{URL: hook}}}
	n, err := notify.New(config, environment, notify.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer closed(t, n)
	encoded, err := json.Marshal(config)
	if err != nil || !strings.Contains(string(encoded), "[hidden]") {
		t.Error(string(encoded), err)
	}
	var log record
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "config", config, "url", config.Webhooks[0].URL, "notifier", n)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "config", config, "url", config.Webhooks[0].URL)
	mustNotLeak(t, string(encoded)+log.String()+fmt.Sprintf("%v %+v %#v", config, config, config)+fmt.Sprintf("%#v %+v", n, n))
}
