package notify

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// DefaultTimeout is what one try may take where the configuration is silent.
const DefaultTimeout = 10 * time.Second

// Bounds of the configuration.
const (
	minTimeout  = 100 * time.Millisecond
	maxTimeout  = 30 * time.Second
	maxWebhooks = 16
	maxHeaders  = 16
)

// Config is the section notify of the user's own configuration. The zero value
// tells nobody.
type Config struct {
	Webhooks []Webhook     `yaml:"webhooks"`
	Desktop  bool          `yaml:"desktop"` // a notice on the desktop as well
	Timeout  time.Duration `yaml:"timeout"` // of one try; 0 is DefaultTimeout
}

// Webhook is an endpoint that is told. Exactly one of URL and URLEnv is given.
type Webhook struct {
	URL        Secret            `yaml:"url"`
	URLEnv     string            `yaml:"url_env"`     // the variable that holds the address
	Format     Format            `yaml:"format"`      // "" is discord for Discord's own hosts, else json
	Events     []Event           `yaml:"events"`      // none is all
	HeadersEnv map[string]string `yaml:"headers_env"` // header to the variable that holds its value
}

// Format is the shape of a webhook's body.
type Format string

// The formats there are.
const (
	JSON    Format = "json"
	Discord Format = "discord"
)

// Validate returns the first thing that cannot be used, as a *ConfigError. It
// does not look at the environment.
func (c Config) Validate() error {
	if t := c.timeout(); t < minTimeout || t > maxTimeout {
		return &ConfigError{"timeout", fmt.Sprintf("of %s is out of range", t), fmt.Sprintf("write a time with its unit, from %s to %s, such as timeout: 10s", minTimeout, maxTimeout)}
	}
	if len(c.Webhooks) > maxWebhooks {
		return &ConfigError{"webhooks", fmt.Sprintf("has %d entries", len(c.Webhooks)), fmt.Sprintf("write at most %d", maxWebhooks)}
	}
	for i, w := range c.Webhooks {
		if problem := w.problem(); problem != nil {
			return problem.at(i)
		}
	}
	return nil
}

func (c Config) timeout() time.Duration {
	if c.Timeout == 0 {
		return DefaultTimeout
	}
	return c.Timeout
}

// at returns the error of a key of a webhook as that of the whole section.
func (e *ConfigError) at(webhook int) *ConfigError {
	key := fmt.Sprintf("webhooks[%d]", webhook)
	if e.Key != "" {
		key += "." + e.Key
	}
	return &ConfigError{key, e.Problem, e.Want}
}

func (w Webhook) problem() *ConfigError {
	for _, check := range []func() *ConfigError{w.checkPlace, w.checkFormat, w.checkEvents, w.checkHeaders} {
		if problem := check(); problem != nil {
			return problem
		}
	}
	return nil
}

func (w Webhook) checkPlace() *ConfigError {
	switch {
	case w.URL == "" && w.URLEnv == "":
		return &ConfigError{"", "says not where to send", "write url: with the address, or url_env: with the name of the variable that holds it"}
	case w.URL != "" && w.URLEnv != "":
		return &ConfigError{"", "has both url and url_env", "write one of them"}
	case w.URLEnv != "" && !variable(w.URLEnv):
		return &ConfigError{"url_env", "is not the name of an environment variable", "put the address into a variable and write its name, such as url_env: DISCORD_WEBHOOK"}
	case w.URLEnv != "":
		return nil
	}
	_, problem := parsePlace(string(w.URL))
	return problem.under("url")
}

func (w Webhook) checkFormat() *ConfigError {
	if w.Format == "" || w.Format == JSON || w.Format == Discord {
		return nil
	}
	return &ConfigError{"format", "is not one that is known", "write format: json, or format: discord"}
}

func (w Webhook) checkEvents() *ConfigError {
	for i, event := range w.Events {
		if !slices.Contains(Events(), event) {
			return &ConfigError{fmt.Sprintf("events[%d]", i), "is not one that is known", "write some of " + eventWords() + ", or leave events out for all"}
		}
	}
	return nil
}

func eventWords() string {
	var words []string
	for _, event := range Events() {
		words = append(words, string(event))
	}
	return strings.Join(words, ", ")
}
