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

// ConfigError is a key of the configuration that cannot be used. It never repeats
// a value that might be a secret.
type ConfigError struct {
	Section string // agents, model, notify, servers
	Key     string // as it is written below the section
	Problem string
	Want    string // what to write instead
}

// Error says which key is wrong and what to write.
func (e *ConfigError) Error() string {
	return e.Section + "." + e.Key + " " + e.Problem + "; " + e.Want
}

// Unwrap returns ErrConfig.
func (e *ConfigError) Unwrap() error { return ErrConfig }

// Rules are what an address of the configuration is held to, and what to write
// where it breaks them.
type Rules struct {
	Example     string // such as "base_url: https://example.com/v1"
	Credentials string // in place of credentials in the address
	Unencrypted string // in place of http:// to another machine
}

// Parse reads an address. The error repeats nothing of it and has neither section
// nor key.
func (r Rules) Parse(text string) (*url.URL, *ConfigError) {
	example := "write it as in " + r.Example
	u, err := url.Parse(text)
	switch {
	case err != nil || !Visible(text) || strings.Contains(text, " "):
		return nil, &ConfigError{Problem: "is not a URL", Want: example}
	case u.User != nil:
		return nil, &ConfigError{Problem: "holds credentials before the host", Want: r.Credentials}
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, &ConfigError{Problem: "does not start with https://", Want: example}
	case u.Hostname() == "" || u.Opaque != "" || !Visible(u.Host):
		return nil, &ConfigError{Problem: "names no host", Want: example}
	case u.Fragment != "" || strings.Contains(text, "#"):
		return nil, &ConfigError{Problem: "has a part after #, which is never sent", Want: "leave that out"}
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, &ConfigError{Problem: "would send unencrypted to another machine", Want: r.Unencrypted}
	}
	return u, nil
}

// loopback reports whether a host is called as this machine is.
func loopback(host string) bool {
	host = strings.ToLower(strings.TrimSuffix(host, "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

// Visible reports whether text is one line of characters that show: what a
// header, a name or an address may hold. Of spaces it takes the plain one alone.
func Visible(text string) bool {
	return safetext.PrintableLine(text) && !strings.ContainsFunc(text, func(r rune) bool { return !unicode.IsPrint(r) })
}

// VariableName reports whether text can be the name of an environment variable.
func VariableName(text string) bool {
	for i, r := range text {
		letter := r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z'
		if !letter && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return text != ""
}
