package llm

import (
	"cmp"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/planloop/planloop/internal/outbound"
)

// What is used where the configuration is silent.
const (
	DefaultBaseURL   = "https://api.openai.com/v1"
	DefaultAPIKeyEnv = "OPENAI_API_KEY"
	DefaultTimeout   = 60 * time.Second
	DefaultRetries   = 2

	defaultHost = "api.openai.com"
)

// NoKey, as the name of the variable, sends no key though one is at hand.
const NoKey = "none"

// Bounds of the configuration.
const (
	maxTimeout   = 30 * time.Minute
	minTimeout   = time.Millisecond
	maxRetries   = 10
	maxMaxTokens = 1_000_000
	maxName      = 200
)

// Config is the section model of the user's own configuration. The zero value
// is a model that nobody configured.
type Config struct {
	BaseURL     string        `yaml:"base_url"`    // up to, but without, /chat/completions
	Model       string        `yaml:"model"`       // required
	APIKeyEnv   string        `yaml:"api_key_env"` // the variable that holds the key: its name, never the key
	Timeout     time.Duration `yaml:"timeout"`     // of one try; all tries together have twice as long
	MaxTokens   int           `yaml:"max_tokens"`  // of one answer; 0 leaves it to the endpoint
	Temperature *float64      `yaml:"temperature"` // nil leaves it to the endpoint
	Retries     *int          `yaml:"retries"`     // after the first try; nil is 2
	AllowHTTP   bool          `yaml:"allow_http"`  // to a host that is not this machine
}

// Validate returns the first thing that cannot be used, as an *outbound.ConfigError.
func (c Config) Validate() error {
	_, err := c.endpoint()
	return err
}

// endpoint returns the address that is asked, when the whole configuration can be
// used.
func (c Config) endpoint() (*url.URL, error) {
	base, err := c.checkBaseURL()
	if err := cmp.Or(c.checkModel(), err, c.checkAPIKeyEnv(), c.checkNumbers()); err != nil {
		return nil, err
	}
	return base.JoinPath("chat", "completions"), nil
}

func invalid(key, problem, want string) error {
	return &outbound.ConfigError{Section: "model", Key: key, Problem: problem, Want: want}
}

func (c Config) checkModel() error {
	switch {
	case c.Model == "":
		return invalid("model", "is missing", "write the name the endpoint knows, such as model: gpt-4o-mini")
	case !outbound.Visible(c.Model) || len(c.Model) > maxName || strings.TrimSpace(c.Model) != c.Model:
		return invalid("model", "is not a name", fmt.Sprintf("write at most %d visible characters, such as model: gpt-4o-mini", maxName))
	case knownKey(c.Model):
		return invalid("model", "looks like a key", "write the name of a model; the key belongs in the environment")
	}
	return nil
}

func (c Config) checkBaseURL() (*url.URL, error) {
	const example = "base_url: " + DefaultBaseURL
	u, problem := outbound.Rules{
		Example:     example,
		Credentials: "take them out and name the variable that holds the key with api_key_env",
		Unencrypted: "write https://, or allow_http: true if that network is yours",
		AllowHTTP:   c.AllowHTTP,
	}.Parse(c.withDefaults().BaseURL)
	switch {
	case problem != nil:
		return nil, invalid("base_url", problem.Problem, problem.Want)
	case u.RawQuery != "" || u.ForceQuery:
		return nil, invalid("base_url", "has a query", "end it with the path, write it as in "+example)
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"):
		return nil, invalid("base_url", "ends in /chat/completions, which is added automatically", "leave that out")
	}
	return u, nil
}

func (c Config) checkAPIKeyEnv() error {
	name := c.withDefaults().APIKeyEnv
	const want = "put the key into a variable and write its name, such as api_key_env: " + DefaultAPIKeyEnv
	switch {
	case name == NoKey:
		return nil
	case keyLike(name):
		return invalid("api_key_env", "looks like a key itself", want)
	case !outbound.VariableName(name):
		return invalid("api_key_env", "is not the name of an environment variable", want)
	}
	return nil
}

func (c Config) checkNumbers() error {
	timeout := c.withDefaults().Timeout
	switch {
	case timeout < minTimeout || timeout > maxTimeout:
		return invalid("timeout", fmt.Sprintf("of %s is out of range", timeout),
			fmt.Sprintf("write a time with its unit, at most %s, such as timeout: 60s", maxTimeout))
	case c.MaxTokens < 0 || c.MaxTokens > maxMaxTokens:
		return invalid("max_tokens", fmt.Sprintf("of %d is out of range", c.MaxTokens),
			"write a number such as max_tokens: 4000, or leave it out")
	case c.Temperature != nil && !(*c.Temperature >= 0 && *c.Temperature <= 2):
		return invalid("temperature", fmt.Sprintf("of %g is out of range", *c.Temperature), "write a number from 0 to 2, or leave it out")
	case c.Retries != nil && (*c.Retries < 0 || *c.Retries > maxRetries):
		return invalid("retries", fmt.Sprintf("of %d is out of range", *c.Retries), fmt.Sprintf("write a number from 0 to %d", maxRetries))
	}
	return nil
}

func (c Config) withDefaults() Config {
	retries := DefaultRetries
	c.BaseURL = cmp.Or(c.BaseURL, DefaultBaseURL)
	c.APIKeyEnv = cmp.Or(c.APIKeyEnv, DefaultAPIKeyEnv)
	c.Timeout = cmp.Or(c.Timeout, DefaultTimeout)
	c.Retries = cmp.Or(c.Retries, &retries)
	return c
}

// keyLike reports whether s looks like a key rather than the name of a variable:
// it begins as keys do, or it is long and mixed as nobody's names are.
func keyLike(s string) bool {
	return knownKey(s) || len(s) >= 24 && !strings.ContainsAny(s, "_-/:. ") &&
		strings.ContainsAny(s, "0123456789") && strings.ContainsFunc(s, unicode.IsLetter)
}

// knownKey reports whether s begins as the keys of well-known services do.
func knownKey(s string) bool {
	prefixes := []string{"sk-", "sk_", "gsk_", "hf_", "xai-", "AIza", "pplx-", "nvapi-", "ghp_", "gho_",
		"github_pat_", "glpat-", "csk-", "Bearer "}
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) && len(s) >= len(p)+12 })
}
