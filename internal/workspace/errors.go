package workspace

import (
	"fmt"
	"strings"
)

// ConfigError says what is wrong with the configuration, and where. Nothing of
// it is in force.
type ConfigError struct {
	Source  string // the file, the environment variable or the flag
	Line    int    // in the file, 0 when unknown
	Key     string // "" when it is about the whole source
	Problem string
	Want    string // what would be accepted, or what to do
	Err     error  // the cause, may be nil
}

// Error says where, what, and what is wanted, in one line.
func (e *ConfigError) Error() string {
	var b strings.Builder
	b.WriteString(printable(e.Source))
	if e.Line > 0 {
		fmt.Fprintf(&b, ":%d", e.Line)
	}
	b.WriteString(": ")
	if e.Key != "" {
		b.WriteString(e.Key + " ")
	}
	b.WriteString(e.Problem)
	if e.Want != "" {
		b.WriteString("; " + e.Want)
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *ConfigError) Unwrap() error { return e.Err }

// Warning is about a key of the workspace's own file that was ignored.
type Warning struct {
	File    string
	Line    int
	Key     string
	Problem string // why it was ignored
	Fix     string // where it belongs
}

// String says which key of which file was ignored, why, and where it belongs.
func (w Warning) String() string {
	return fmt.Sprintf("%s:%d: %s ignored: %s; %s", printable(w.File), w.Line, w.Key, w.Problem, w.Fix)
}
