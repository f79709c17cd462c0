package outbound

import (
	"errors"
	"net"
	"net/url"
	"strings"
	"unicode"

	"github.com/planloop/planloop/internal/safetext"
)

// ErrConfig is wrapped by every *ConfigError.
var ErrConfig = errors.New("the configuration cannot be used")

// ConfigError is an unusable key of the configuration. It never repeats a value that might be a secret.
type ConfigError struct {
	Section string // agents, model, notify, servers
	Key     string // as written below the section
	Problem string
	Want    string // what to write instead
}

// Error names the wrong key and the correction.
func (e *ConfigError) Error() string {
	return e.Section + "." + e.Key + " " + e.Problem + "; " + e.Want
}

// Unwrap returns ErrConfig.
func (e *ConfigError) Unwrap() error { return ErrConfig }

// Rules have the corrections to suggest for an invalid address.
type Rules struct {
	Example     string // such as "webhook: https://example.com/hook"
	Credentials string // instead of credentials in the address
	Unencrypted string // instead of http:// to another machine
}

// Parse checks an address. The error repeats no part of it, and leaves section and key empty.
func (r Rules) Parse(text string) (*url.URL, *ConfigError) {
	example := "write it as in " + r.Example
	u, err := url.Parse(text)
	switch {
	case err != nil || !IsHeaderValue(text) || strings.Contains(text, " "):
		return nil, &ConfigError{Problem: "is not a URL", Want: example}
	case u.User != nil:
		return nil, &ConfigError{Problem: "has credentials before the host", Want: r.Credentials}
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, &ConfigError{Problem: "does not start with https://", Want: example}
	case u.Hostname() == "" || u.Opaque != "" || !IsHeaderValue(u.Host):
		return nil, &ConfigError{Problem: "has no host", Want: example}
	case u.Fragment != "" || strings.Contains(text, "#"):
		return nil, &ConfigError{Problem: "has a part after #, which is never sent", Want: "leave that out"}
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, &ConfigError{Problem: "would send unencrypted to another machine", Want: r.Unencrypted}
	}
	return u, nil
}

// loopback reports whether a host name means this machine.
func loopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// IsHeaderValue reports whether text is a single line of visible characters and plain spaces, as a header, a name
// or an address may hold.
func IsHeaderValue(text string) bool {
	return safetext.PrintableLine(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}
