package downstream

import (
	"net/url"
	"strings"
	"unicode"

	"github.com/planloop/planloop/internal/outbound"
	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Redacted returns the command or the address from the configuration, without parts that may be secret.
func (s Server) Redacted() string {
	words := []string{s.Command}
	if s.URL != "" {
		words = []string{address(s.URL)}
	}
	secret := false // the next argument is a secret
	for _, arg := range s.Args {
		name, value, valued := strings.Cut(arg, "=")
		option, telling := strings.HasPrefix(arg, "-"), outbound.IsSecretName(name)
		switch {
		case !option && (secret || looksRandom(arg)):
			arg = outbound.Hidden
		case !option && strings.Contains(arg, "://"):
			arg = address(arg)
		case valued && (telling || looksRandom(value)):
			arg = name + "=" + outbound.Hidden
		case valued:
			arg = name + "=" + address(value)
		}
		words, secret = append(words, arg), option && !valued && telling
	}
	return safetext.Line(plan.Shorten(strings.Join(words, " "), 300))
}

// address reduces a text that is a URL to its scheme, host and path.
func address(text string) string {
	if !strings.Contains(text, "://") {
		return text
	}
	u, err := url.Parse(text)
	if err != nil {
		return outbound.Hidden
	}
	return u.Scheme + "://" + u.Host + u.Path
}

// looksRandom reports whether a text looks like a key: long, with letters, digits and few other characters.
func looksRandom(text string) bool {
	const shortest = 20
	return len(text) >= shortest && strings.ContainsFunc(text, unicode.IsDigit) && strings.ContainsFunc(text, unicode.IsLetter) &&
		strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=") == ""
}
