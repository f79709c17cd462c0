package outbound

import (
	"log/slog"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Hidden replaces a secret.
const Hidden = "[hidden]"

// Secret is text that is used but never shown: a placeholder replaces it when it is printed, logged or
// encoded.
type Secret string

// String returns the placeholder, or "" for an empty secret.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return Hidden
}

// GoString returns the placeholder in quotes.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// LogValue returns the placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns the placeholder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Excerpt returns the start of an endpoint's text, fit for the quotes in an error: one printable line of at
// most 200 characters without the secrets.
func Excerpt(text string, secrets ...string) string {
	return plan.Shorten(shown(text, secrets), quotedLength)
}

// quotedLength is the number of characters that an error quotes.
const quotedLength = 200

// shown returns the start of text as one printable line without the secrets and without double quotes.
func shown(text string, secrets []string) string {
	const enough = 4 << 10
	line := safetext.Line(strings.ToValidUTF8(text[:min(len(text), enough)], ""))
	line = strings.NewReplacer(`"`, "'", string(utf8.RuneError), "").Replace(line)
	for _, secret := range secrets { // last: a removed character may have split a secret
		line = Redact(line, secret)
	}
	return line
}

// IsSecretName reports whether the name of a variable or an option suggests that its value is a secret.
func IsSecretName(name string) bool {
	name = strings.ReplaceAll(strings.ToUpper(name), "AUTHOR_", "") // of Git's author variables
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "AUTH", "CREDENTIAL"},
		func(word string) bool { return strings.Contains(name, word) })
}

// ShortestSecret is the least length in bytes of a secret. Shorter values are often words such as "ollama",
// given where no secret is required.
const ShortestSecret = 8

// Redact replaces a secret in text, and every revealing piece of it, because endpoints quote keys in part.
// Secrets shorter than ShortestSecret are not replaced.
func Redact(text, secret string) string {
	const telling = 12
	if len(secret) < ShortestSecret {
		return text
	}
	size := min(len(secret), telling)
	var b strings.Builder
	for i := 0; i < len(text); {
		n := pieceAt(text[i:], secret, size)
		if n == 0 {
			b.WriteByte(text[i])
			i++
			continue
		}
		b.WriteString(Hidden)
		i += n
	}
	return b.String()
}

// pieceAt returns the length of the longest piece of secret at the start of text, if it has at least size
// bytes, else 0.
func pieceAt(text, secret string, size int) int {
	if len(text) < size || !strings.Contains(secret, text[:size]) {
		return 0
	}
	n := size
	for n < len(text) && n < len(secret) && strings.Contains(secret, text[:n+1]) {
		n++
	}
	return n
}
