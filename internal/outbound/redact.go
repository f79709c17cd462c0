package outbound

import (
	"log/slog"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/plan"
)

// Hidden stands where a secret stood.
const Hidden = "[hidden]"

// Secret is text that is used but never shown: however it is printed, logged or
// encoded, a placeholder takes its place.
type Secret string

// String returns the placeholder, "" when there is nothing to hide.
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

// Excerpt returns the beginning of what an endpoint said, fit for the quotes in an
// error: one printable line of at most 200 characters without the secrets.
func Excerpt(text string, secrets ...string) string {
	return plan.Shorten(shown(text, secrets), quotedLength)
}

// quotedLength is how many characters an error repeats.
const quotedLength = 200

// shown returns the beginning of text as one printable line without the secrets,
// and without the quotes that an error puts around it.
func shown(text string, secrets []string) string {
	const enough = 4 << 10
	line := safetext.Line(strings.ToValidUTF8(text[:min(len(text), enough)], ""))
	line = strings.NewReplacer(`"`, "'", string(utf8.RuneError), "").Replace(line)
	for _, secret := range secrets { // last, since what was taken out may have stood within one
		line = Redact(line, secret)
	}
	return line
}

// Telling reports whether the name of a variable, or of an option, says that its value is a secret.
func Telling(name string) bool {
	name = strings.ReplaceAll(strings.ToUpper(name), "AUTHOR_", "") // of commits
	return slices.ContainsFunc([]string{"KEY", "TOKEN", "SECRET", "PASSWORD", "PASSWD", "AUTH", "CREDENTIAL"},
		func(word string) bool { return strings.Contains(name, word) })
}

// ShortestSecret is the length in bytes below which a value is no secret: where none is asked for,
// a word such as "ollama" is often given.
const ShortestSecret = 8

// Redact returns text with a secret, and every telling piece of it, taken out:
// endpoints quote keys in part. What is shorter than ShortestSecret stays.
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

// pieceAt returns the length of the longest piece of secret, of at least size
// bytes, that text begins with; 0 without one.
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
