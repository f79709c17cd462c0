package llm

import (
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
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

// Validate returns the first thing that cannot be used, as a *ConfigError.
func (c Config) Validate() error {
	for _, check := range []func() *ConfigError{c.checkModel, c.checkBaseURL, c.checkAPIKeyEnv, c.checkTimeout, c.checkNumbers} {
		if problem := check(); problem != nil {
			return problem
		}
	}
	return nil
}

func (c Config) checkModel() *ConfigError {
	switch {
	case c.Model == "":
		return &ConfigError{"model", "is missing", "write the name the endpoint knows, such as model: gpt-4o-mini"}
	case !printable(c.Model) || len(c.Model) > maxName || strings.TrimSpace(c.Model) != c.Model:
		return &ConfigError{"model", "is not a name", fmt.Sprintf("write at most %d visible characters, such as model: gpt-4o-mini", maxName)}
	case knownKey(c.Model):
		return &ConfigError{"model", "looks like a key", "write the name of a model; the key belongs in the environment"}
	}
	return nil
}

const wantURL = "write it as in base_url: " + DefaultBaseURL

func (c Config) checkBaseURL() *ConfigError {
	// What does not parse is not repeated: it may hold a password.
	u, err := url.Parse(c.withDefaults().BaseURL)
	switch {
	case err != nil || !printable(c.BaseURL) || strings.Contains(c.BaseURL, " "):
		return &ConfigError{"base_url", "is not a URL", wantURL}
	case u.User != nil:
		return &ConfigError{"base_url", "holds credentials", "take them out and name the variable that holds the key with api_key_env"}
	case u.Scheme != "https" && u.Scheme != "http":
		return &ConfigError{"base_url", "does not start with https:// or http://", wantURL}
	case u.Hostname() == "" || u.Opaque != "" || !printable(u.Host):
		return &ConfigError{"base_url", "names no host", wantURL}
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return &ConfigError{"base_url", "has a query or a fragment", "end it with the path, " + wantURL}
	case strings.HasSuffix(strings.TrimRight(u.Path, "/"), "/chat/completions"):
		return &ConfigError{"base_url", "ends in /chat/completions, which is added by itself", "leave that out"}
	case u.Scheme == "http" && !c.AllowHTTP && !loopback(u.Hostname()):
		return &ConfigError{"base_url", "would send key and text unencrypted to another machine", "write https://, or allow_http: true if that network is yours"}
	}
	return nil
}

func (c Config) checkAPIKeyEnv() *ConfigError {
	name := c.withDefaults().APIKeyEnv
	if name == NoKey || variable(name) && !keyLike(name) {
		return nil
	}
	problem := "is not the name of an environment variable"
	if keyLike(name) {
		problem = "looks like a key itself"
	}
	return &ConfigError{"api_key_env", problem, "put the key into a variable and write its name, such as api_key_env: " + DefaultAPIKeyEnv}
}

func (c Config) checkTimeout() *ConfigError {
	if t := c.withDefaults().Timeout; t < minTimeout || t > maxTimeout {
		return &ConfigError{"timeout", fmt.Sprintf("of %s is out of range", t), fmt.Sprintf("write a time with its unit, at most %s, such as timeout: 60s", maxTimeout)}
	}
	return nil
}

func (c Config) checkNumbers() *ConfigError {
	switch {
	case c.MaxTokens < 0 || c.MaxTokens > maxMaxTokens:
		return &ConfigError{"max_tokens", fmt.Sprintf("of %d is out of range", c.MaxTokens), "write a number such as max_tokens: 4000, or leave it out"}
	case c.Temperature != nil && !(*c.Temperature >= 0 && *c.Temperature <= 2):
		return &ConfigError{"temperature", fmt.Sprintf("of %g is out of range", *c.Temperature), "write a number from 0 to 2, or leave it out"}
	case c.Retries != nil && (*c.Retries < 0 || *c.Retries > maxRetries):
		return &ConfigError{"retries", fmt.Sprintf("of %d is out of range", *c.Retries), fmt.Sprintf("write a number from 0 to %d", maxRetries)}
	}
	return nil
}

func (c Config) withDefaults() Config {
	if c.BaseURL == "" {
		c.BaseURL = DefaultBaseURL
	}
	if c.APIKeyEnv == "" {
		c.APIKeyEnv = DefaultAPIKeyEnv
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	if c.Retries == nil {
		retries := DefaultRetries
		c.Retries = &retries
	}
	return c
}

// loopback reports whether a host is this machine, whatever a name server says.
func loopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

func printable(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
