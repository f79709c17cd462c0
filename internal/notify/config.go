package notify

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/planloop/planloop/internal/outbound"
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
	URL        outbound.Secret   `yaml:"url"`
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

// Validate returns the first thing that cannot be used, as an
// *outbound.ConfigError. It does not look at the environment.
func (c Config) Validate() error {
	if t := cmp.Or(c.Timeout, DefaultTimeout); t < minTimeout || t > maxTimeout {
		return invalid("timeout", fmt.Sprintf("of %s is out of range", t),
			fmt.Sprintf("write a time with its unit, from %s to %s, such as timeout: 10s", minTimeout, maxTimeout))
	}
	if len(c.Webhooks) > maxWebhooks {
		return invalid("webhooks", fmt.Sprintf("has %d entries", len(c.Webhooks)), fmt.Sprintf("write at most %d", maxWebhooks))
	}
	for i, w := range c.Webhooks {
		if problem := cmp.Or(w.checkURL(), w.checkFormat(), w.checkEvents(), w.checkHeaders()); problem != nil {
			return ofWebhook(i, problem)
		}
	}
	return nil
}

func invalid(key, problem, want string) *outbound.ConfigError {
	return &outbound.ConfigError{Section: "notify", Key: key, Problem: problem, Want: want}
}

// ofWebhook returns the error of a webhook's key, or of all of it, as that of the
// section.
func ofWebhook(i int, e *outbound.ConfigError) *outbound.ConfigError {
	key := fmt.Sprintf("webhooks[%d]", i)
	if e.Key != "" {
		key += "." + e.Key
	}
	return invalid(key, e.Problem, e.Want)
}

func (w Webhook) checkURL() *outbound.ConfigError {
	switch {
	case w.URL == "" && w.URLEnv == "":
		return invalid("", "does not say where to send",
			"write url: with the address, or url_env: with the name of the variable that holds it")
	case w.URL != "" && w.URLEnv != "":
		return invalid("", "has both url and url_env", "write one of them")
	case w.URLEnv != "" && !outbound.VariableName(w.URLEnv):
		return invalid("url_env", "is not the name of an environment variable",
			"put the address into a variable and write its name, such as url_env: DISCORD_WEBHOOK")
	case w.URLEnv != "":
		return nil
	}
	_, problem := parseURL("url", "", string(w.URL))
	return problem
}

// parseURL reads the address that a key holds or, in the words of whose, leads to.
func parseURL(key, whose, text string) (*url.URL, *outbound.ConfigError) {
	u, problem := outbound.Rules{
		Example:     "https://example.com/hook",
		Credentials: "take them out; put the whole header into a variable and write headers_env: {Authorization: ITS_NAME}",
		Unencrypted: "write https://; http:// is for 127.0.0.1, [::1] and localhost",
	}.Parse(text)
	if problem != nil {
		return nil, invalid(key, whose+problem.Problem, problem.Want)
	}
	return u, nil
}

func (w Webhook) checkFormat() *outbound.ConfigError {
	if w.Format == "" || w.Format == JSON || w.Format == Discord {
		return nil
	}
	return invalid("format", "is unknown", "write format: json, or format: discord")
}

func (w Webhook) checkEvents() *outbound.ConfigError {
	for i, event := range w.Events {
		if !slices.Contains(Events(), event) {
			return invalid(fmt.Sprintf("events[%d]", i), "is unknown",
				"write some of "+strings.ReplaceAll(strings.Trim(fmt.Sprint(Events()), "[]"), " ", ", ")+", or leave events out for all")
		}
	}
	return nil
}

func (w Webhook) checkHeaders() *outbound.ConfigError {
	const want = "put the value into a variable and write its name, as in headers_env: {Authorization: HOOK_AUTHORIZATION}"
	if len(w.HeadersEnv) > maxHeaders {
		return invalid("headers_env", fmt.Sprintf("has %d headers", len(w.HeadersEnv)), fmt.Sprintf("write at most %d", maxHeaders))
	}
	// The request needs these as they are.
	own := []string{"Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host",
		"Te", "Trailer", "Transfer-Encoding", "Upgrade"}
	var seen []string
	for _, name := range slices.Sorted(maps.Keys(w.HeadersEnv)) {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !token(name):
			return invalid("headers_env", "has a name that is not valid for a header", want)
		case slices.Contains(own, canonical):
			return invalid("headers_env", "has a header that is set automatically: "+canonical, "leave it out")
		case slices.Contains(seen, canonical):
			return invalid("headers_env", "has a header twice", "write it once")
		case !outbound.VariableName(w.HeadersEnv[name]):
			return invalid("headers_env", "holds something that is not the name of an environment variable", want)
		}
		seen = append(seen, canonical)
	}
	return nil
}

// token reports whether s is what HTTP calls a token.
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		letter := r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		return !letter && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// address returns where to send, from the environment if it stands there.
func (w Webhook) address(getenv func(string) string) (*url.URL, *outbound.ConfigError) {
	if w.URLEnv == "" {
		return parseURL("url", "", string(w.URL))
	}
	value := strings.TrimSpace(getenv(w.URLEnv))
	if value == "" {
		return nil, invalid("url_env", "names a variable that is not set",
			"put the address into the "+variable(w.URLEnv)+" where planloop is started, or take the webhook out")
	}
	return parseURL("url_env", "names a variable whose value ", value)
}

// headers returns the headers whose values stand in the environment.
func (w Webhook) headers(getenv func(string) string) (http.Header, *outbound.ConfigError) {
	headers := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(w.HeadersEnv)) {
		from := w.HeadersEnv[name]
		value := strings.TrimSpace(getenv(from))
		switch {
		case value == "":
			return nil, invalid("headers_env", "names a variable that is not set",
				"put the header's value into the "+variable(from)+" where planloop is started, or take the header out")
		case !outbound.Visible(value):
			return nil, invalid("headers_env", "names a variable whose value is not valid in a header",
				"put one line of visible characters into the "+variable(from))
		}
		headers.Set(name, value)
	}
	return headers, nil
}

// variable returns "variable NAME", or no name where it might be a key that was
// written in the wrong place: those have digits, or are long.
func variable(name string) string {
	const longest = 32
	if len(name) > longest || strings.ContainsAny(name, "0123456789") {
		return "variable that it names"
	}
	return "variable " + name
}
