package llm_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v4"

	"github.com/planloop/planloop/internal/llm"
	"github.com/planloop/planloop/internal/outbound"
)

func TestConfigIsReadFromYAML(t *testing.T) {
	text := `
base_url: http://localhost:11434/v1
model: qwen3:8b
api_key_env: OLLAMA_KEY
timeout: 90s
max_tokens: 4000
temperature: 0
retries: 0
allow_http: true
`
	var got llm.Config
	if err := yaml.Load([]byte(text), &got, yaml.WithKnownFields()); err != nil {
		t.Fatal(err)
	}
	zero, none := 0.0, 0
	want := llm.Config{BaseURL: "http://localhost:11434/v1", Model: "qwen3:8b", APIKeyEnv: "OLLAMA_KEY", Timeout: 90 * time.Second,
		MaxTokens: 4000, Temperature: &zero, Retries: &none, AllowHTTP: true}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if err := got.Validate(); err != nil {
		t.Error(err)
	}
	if err := yaml.Load([]byte("model: m\napi_key: sk-1"), &got, yaml.WithKnownFields()); err == nil {
		t.Error("a key in the file was taken")
	}
}

func TestConfigsThatMayStand(t *testing.T) {
	for _, c := range []llm.Config{
		{Model: "gpt-4o-mini"},
		{Model: "meta-llama/Llama-3.3-70B-Instruct-Turbo:free", BaseURL: "https://openrouter.ai/api/v1", APIKeyEnv: "OPENROUTER_API_KEY"},
		{Model: "m", BaseURL: "http://localhost:11434/v1"},
		{Model: "m", BaseURL: "http://127.8.9.1:80"},
		{Model: "m", BaseURL: "http://[::1]:8080/v1/"},
		{Model: "m", BaseURL: "http://box.localhost/v1"},
		{Model: "m", BaseURL: "http://192.168.1.7:8000/v1", AllowHTTP: true},
		{Model: "m", APIKeyEnv: "my_key2"},
		{Model: "m", APIKeyEnv: llm.NoKey},
		{Model: "llama31instruct70bturbofp8"},
		{Model: "accounts/fireworks/models/llama-v3p1-405b-instruct"},
	} {
		if err := c.Validate(); err != nil {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestConfigsThatMustBeRefused(t *testing.T) {
	seven, minus, eleven := 7.0, -1, 11
	for name, row := range map[string]struct {
		config llm.Config
		key    string
		want   string
	}{
		"no model":            {llm.Config{Timeout: time.Second}, "model", "model: gpt-4o-mini"},
		"model of spaces":     {llm.Config{Model: " m"}, "model", "visible"},
		"model of escapes":    {llm.Config{Model: "m\x1b[0m"}, "model", "visible"},
		"model too long":      {llm.Config{Model: strings.Repeat("m", 300)}, "model", "200"},
		"model is a key":      {llm.Config{Model: planted}, "model", "environment"},
		"url of nonsense":     {llm.Config{Model: "m", BaseURL: "http://a b%%"}, "base_url", llm.DefaultBaseURL},
		"url with a space":    {llm.Config{Model: "m", BaseURL: "https://h/v1 "}, "base_url", llm.DefaultBaseURL},
		"url with an escape":  {llm.Config{Model: "m", BaseURL: "https://h/\u202ev1"}, "base_url", llm.DefaultBaseURL},
		"url without scheme":  {llm.Config{Model: "m", BaseURL: "api.openai.com/v1"}, "base_url", "https://"},
		"url of a file":       {llm.Config{Model: "m", BaseURL: "file:///etc"}, "base_url", "https://"},
		"url without host":    {llm.Config{Model: "m", BaseURL: "https:///v1"}, "base_url", "no host"},
		"url of port alone":   {llm.Config{Model: "m", BaseURL: "https://:8080/v1"}, "base_url", "no host"},
		"url opaque":          {llm.Config{Model: "m", BaseURL: "https:v1"}, "base_url", "no host"},
		"url with a password": {llm.Config{Model: "m", BaseURL: "https://u:" + planted + "@h/v1"}, "base_url", "api_key_env"},
		"url with a user":     {llm.Config{Model: "m", BaseURL: "https://" + planted + "@h/v1"}, "base_url", "api_key_env"},
		"url that breaks":     {llm.Config{Model: "m", BaseURL: "https://u:" + planted + "@h:x/v1"}, "base_url", "not a URL"},
		"url with a query":    {llm.Config{Model: "m", BaseURL: "https://h/v1?key=" + planted}, "base_url", "query"},
		"url with a mark":     {llm.Config{Model: "m", BaseURL: "https://h/v1?"}, "base_url", "query"},
		"url of the call":     {llm.Config{Model: "m", BaseURL: "https://h/v1/chat/completions/"}, "base_url", "leave that out"},
		"http elsewhere":      {llm.Config{Model: "m", BaseURL: "http://192.168.1.7/v1"}, "base_url", "allow_http: true"},
		"http to a lookalike": {llm.Config{Model: "m", BaseURL: "http://localhost.evil.test/v1"}, "base_url", "allow_http: true"},
		"http to 127 by name": {llm.Config{Model: "m", BaseURL: "http://127.0.0.1.evil.test/v1"}, "base_url", "allow_http: true"},
		"http to everywhere":  {llm.Config{Model: "m", BaseURL: "http://0.0.0.0:80/v1"}, "base_url", "allow_http: true"},
		"key as its name":     {llm.Config{Model: "m", APIKeyEnv: planted}, "api_key_env", "looks like a key"},
		"key of another kind": {llm.Config{Model: "m", APIKeyEnv: "gsk_a8Zk2mQpLx0vT3nRw5bYkHd2"}, "api_key_env", "looks like a key"},
		"key of hex digits":   {llm.Config{Model: "m", APIKeyEnv: "a3f09bc1d2e4457788aa99bb00cc11dd"}, "api_key_env", "looks like a key"},
		"key of dashes":       {llm.Config{Model: "m", APIKeyEnv: "7f9c-11aa"}, "api_key_env", "not the name"},
		"variable with a $":   {llm.Config{Model: "m", APIKeyEnv: "$OPENAI_API_KEY"}, "api_key_env", "not the name"},
		"timeout below 0":     {llm.Config{Model: "m", Timeout: -time.Second}, "timeout", "timeout: 60s"},
		"timeout of a number": {llm.Config{Model: "m", Timeout: 60}, "timeout", "unit"},
		"timeout for ever":    {llm.Config{Model: "m", Timeout: time.Hour}, "timeout", "30m"},
		"tokens below 0":      {llm.Config{Model: "m", MaxTokens: -1}, "max_tokens", "leave it out"},
		"too warm":            {llm.Config{Model: "m", Temperature: &seven}, "temperature", "0 to 2"},
		"retries below 0":     {llm.Config{Model: "m", Retries: &minus}, "retries", "0 to 10"},
		"retries for ever":    {llm.Config{Model: "m", Retries: &eleven}, "retries", "0 to 10"},
	} {
		t.Run(name, func(t *testing.T) {
			err := row.config.Validate()
			var refusal *outbound.ConfigError
			if !errors.As(err, &refusal) || !errors.Is(err, outbound.ErrConfig) || refusal.Key != row.key ||
				!strings.Contains(err.Error(), row.want) {
				t.Fatalf("%v; want %s, %q", err, row.key, row.want)
			}
			if _, again := llm.New(row.config, environment("k"), llm.Options{}); again == nil || again.Error() != err.Error() {
				t.Error(again)
			}
			for _, secret := range []string{planted[3:15], "gsk_a8", "a3f09"} {
				if strings.Contains(fmt.Sprintf("%v %+v %#v", err, err, err), secret) {
					t.Error("repeats what may be a key: ", err)
				}
			}
		})
	}
}

func TestKeys(t *testing.T) {
	local := llm.Config{Model: "m", BaseURL: "http://localhost:1/v1"}
	named := func(c llm.Config, env string) llm.Config { c.APIKeyEnv = env; return c }
	for name, row := range map[string]struct {
		config llm.Config
		key    string
		word   string // of the refusal; "" when there is none
	}{
		"nothing at all":              {llm.Config{}, "k", "no section model"},
		"the default without a key":   {llm.Config{Model: "m"}, "", "OPENAI_API_KEY"},
		"its host without a key":      {llm.Config{Model: "m", BaseURL: "https://API.openai.com/v1/"}, "", "OPENAI_API_KEY"},
		"a blank key":                 {llm.Config{Model: "m"}, " \n", "OPENAI_API_KEY"},
		"a key":                       {llm.Config{Model: "m"}, planted, ""},
		"a key and a line end":        {llm.Config{Model: "m"}, planted + "\n", ""},
		"a key of two lines":          {llm.Config{Model: "m"}, planted + "\nX-Evil: 1", "the key alone"},
		"a key beyond ASCII":          {llm.Config{Model: "m"}, planted + "ß", "the key alone"},
		"local without a key":         {local, "", ""},
		"local, its key missing":      {named(local, "LOCAL_KEY"), planted, "LOCAL_KEY"},
		"local, the default named":    {named(local, llm.DefaultAPIKeyEnv), "", "OPENAI_API_KEY"},
		"local with a key":            {local, planted, ""},
		"the default, none wanted":    {llm.Config{Model: "m", APIKeyEnv: llm.NoKey}, "", ""},
		"local, with a key of spaces": {named(local, llm.DefaultAPIKeyEnv), "a b", "the key alone"},
		"local, a key nobody named":   {local, "a b", ""}, // it is another service's, and not sent
	} {
		t.Run(name, func(t *testing.T) {
			c, err := llm.New(row.config, environment(row.key), llm.Options{})
			if row.word == "" {
				if err != nil {
					t.Fatal(err)
				}
				if strings.Contains(fmt.Sprintf("%v %+v %#v", c, c, *c), planted) {
					t.Error("the client keeps the key")
				}
				return
			}
			if c != nil || !errors.Is(err, llm.ErrNotConfigured) || !strings.Contains(err.Error(), row.word) ||
				strings.Contains(err.Error(), planted) {
				t.Error(err)
			}
		})
	}
}

// TestKeyIsReadAnew: it is kept nowhere, so a new one counts and a lost one is told.
func TestKeyIsReadAnew(t *testing.T) {
	inBubble(t, func(t *testing.T, w *world) {
		e := w.serve(host, says("because"))
		key := "first-key"
		c, err := llm.New(llm.Config{BaseURL: base, Model: "m", APIKeyEnv: "K"}, func(string) string { return key },
			llm.Options{HTTPClient: w.net.Client(), Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		key = "second-key"
		if _, err := ask(t.Context(), c); err != nil || e.Requests()[0].Header.Get("Authorization") != "Bearer second-key" {
			t.Error(err, e.Requests())
		}
		key = ""
		if _, err := ask(t.Context(), c); !errors.Is(err, llm.ErrNotConfigured) {
			t.Error(err)
		}
	})
}
