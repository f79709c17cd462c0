package notify

import "log/slog"

// Secret is text that is used but never shown: however it is printed, logged or
// encoded, a placeholder takes its place.
type Secret string

// hidden is what is shown instead.
const hidden = "[hidden]"

// String returns a placeholder, "" when there is nothing to hide.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return hidden
}

// GoString returns the placeholder in quotes.
func (s Secret) GoString() string { return `"` + s.String() + `"` }

// LogValue returns the placeholder.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }

// MarshalText returns the placeholder.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
