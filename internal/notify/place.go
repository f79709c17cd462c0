package notify

import (
	"net"
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

const wantPlace = "write it as in https://example.com/hook"

// parsePlace reads the address of a webhook. The error repeats nothing of it and
// has no key.
func parsePlace(text string) (*url.URL, *ConfigError) {
	u, err := url.Parse(text)
	switch {
	case err != nil || !visible(text) || strings.Contains(text, " "):
		return nil, &ConfigError{"", "is not an address", wantPlace}
	case u.User != nil:
		return nil, &ConfigError{"", "holds credentials before the host", "take them out; put the whole header into a variable and write headers_env: {Authorization: ITS_NAME}"}
	case u.Scheme != "https" && u.Scheme != "http":
		return nil, &ConfigError{"", "does not start with https://", wantPlace}
	case u.Hostname() == "" || u.Opaque != "":
		return nil, &ConfigError{"", "names no host", wantPlace}
	case u.Fragment != "" || strings.Contains(text, "#"):
		return nil, &ConfigError{"", "has a part after #, which is never sent", "leave that out"}
	case u.Scheme == "http" && !loopback(u.Hostname()):
		return nil, &ConfigError{"", "would send plans unencrypted to another machine", "write https://; http:// is for 127.0.0.1, [::1] and localhost"}
	}
	return u, nil
}

// under gives an error without a key its key. A nil error stays nil.
func (e *ConfigError) under(key string) *ConfigError {
	if e == nil {
		return nil
	}
	return &ConfigError{key, e.Problem, e.Want}
}

// loopback reports whether a host is this machine.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return strings.EqualFold(host, "localhost") || ip != nil && ip.IsLoopback()
}

// shown is as much of an address as anybody may read: scheme and host.
func shown(u *url.URL) string { return u.Scheme + "://" + strings.ToLower(u.Host) }

// ofDiscord reports whether an address is one of Discord's own.
func ofDiscord(u *url.URL) bool {
	host := strings.ToLower(u.Hostname())
	for _, own := range []string{"discord.com", "discordapp.com"} {
		if host == own || strings.HasSuffix(host, "."+own) {
			return true
		}
	}
	return false
}

func visible(s string) bool {
	return utf8.ValidString(s) && !strings.ContainsFunc(s, func(r rune) bool { return !unicode.IsPrint(r) })
}
