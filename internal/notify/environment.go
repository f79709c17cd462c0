package notify

import (
	"fmt"
	"maps"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
)

// variable reports whether s can be the name of an environment variable.
func variable(s string) bool {
	for i, r := range s {
		if !letter(r) && r != '_' && (i == 0 || r < '0' || r > '9') {
			return false
		}
	}
	return s != ""
}

func letter(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' }

// named returns "variable NAME", or no name where it might be a key that was
// written in the wrong place: those have digits, or are long.
func named(name string) string {
	const longest = 32
	if len(name) > longest || strings.ContainsAny(name, "0123456789") {
		return "variable that it names"
	}
	return "variable " + name
}

func (w Webhook) checkHeaders() *ConfigError {
	if len(w.HeadersEnv) > maxHeaders {
		return &ConfigError{"headers_env", fmt.Sprintf("has %d headers", len(w.HeadersEnv)), fmt.Sprintf("write at most %d", maxHeaders)}
	}
	var seen []string
	for _, name := range slices.Sorted(maps.Keys(w.HeadersEnv)) {
		canonical := textproto.CanonicalMIMEHeaderKey(name)
		switch {
		case !token(name):
			return &ConfigError{"headers_env", "has a name that no header can have", wantHeaders}
		case slices.Contains(ownHeaders(), canonical):
			return &ConfigError{"headers_env", "has a header that is set by itself: " + canonical, "leave it out"}
		case slices.Contains(seen, canonical):
			return &ConfigError{"headers_env", "has a header twice", "write it once"}
		case !variable(w.HeadersEnv[name]):
			return &ConfigError{"headers_env", "holds something that is not the name of an environment variable", wantHeaders}
		}
		seen = append(seen, canonical)
	}
	return nil
}

const wantHeaders = "put the value into a variable and write its name, as in headers_env: {Authorization: HOOK_AUTHORIZATION}"

// ownHeaders are those that the request needs as they are.
func ownHeaders() []string {
	return []string{"Connection", "Content-Encoding", "Content-Length", "Content-Type", "Host", "Te", "Trailer", "Transfer-Encoding", "Upgrade"}
}

// token reports whether s is what HTTP calls a token.
func token(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !letter(r) && (r < '0' || r > '9') && !strings.ContainsRune("!#$%&'*+-.^_`|~", r)
	})
}

// place returns the address, from the environment if it stands there.
func (w Webhook) place(getenv func(string) string) (Secret, *ConfigError) {
	if w.URLEnv == "" {
		return w.URL, nil
	}
	value := strings.TrimSpace(getenv(w.URLEnv))
	if value == "" {
		return "", &ConfigError{"url_env", "names a variable that is not set", "put the address into the " + named(w.URLEnv) + " where planloop is started, or take the webhook out"}
	}
	return Secret(value), nil
}

// headers returns the headers whose values stand in the environment.
func (w Webhook) headers(getenv func(string) string) (http.Header, *ConfigError) {
	headers := http.Header{}
	for _, name := range slices.Sorted(maps.Keys(w.HeadersEnv)) {
		from := w.HeadersEnv[name]
		value := strings.TrimSpace(getenv(from))
		switch {
		case value == "":
			return nil, &ConfigError{"headers_env", "names a variable that is not set", "put the header's value into the " + named(from) + " where planloop is started, or take the header out"}
		case !visible(value):
			return nil, &ConfigError{"headers_env", "names a variable whose value no header can have", "put one line of visible characters into the " + named(from)}
		}
		headers.Set(name, value)
	}
	return headers, nil
}
