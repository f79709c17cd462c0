package plan

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Lengths in characters, after trimming. The first four bind the six
// planning_* tools (WINK: Validation Rules), the long ones everything else.
const (
	MaxObjective = 240
	MaxTitle     = 160
	MaxDetails   = 512
	MaxNote      = 512

	MaxLongLine = 2_000  // objective and title from elsewhere
	MaxLongText = 20_000 // details, notes, output from elsewhere
	MaxSummary  = 1_000
	MaxHint     = 512
	MaxPath     = 1_024
	MaxList     = 100   // hints, paths, criteria … a step
	MaxNotes    = 1_000 // notes a step
)

// Text is a rule for one text field.
type Text struct {
	Field     string // JSON pointer, for the error
	Max       int    // characters after trimming
	ASCII     bool   // nothing but ASCII
	Multiline bool   // newline and tab are allowed
}

// Clean returns text in NFC and trimmed, or a *ValidationError that names the
// field: text must be UTF-8 without control characters, escapes and characters
// that reorder or hide text, in at most Max characters. An empty result is not an error.
func (t Text) Clean(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", t.refuse("is not valid UTF-8", "send plain text")
	}
	clean := strings.TrimSpace(norm.NFC.String(strings.ReplaceAll(text, "\r\n", "\n")))
	for i, r := range clean {
		if problem, fix := t.judge(r); problem != "" {
			at := utf8.RuneCountInString(clean[:i]) + 1
			return "", t.refuse(fmt.Sprintf("%s (%U) at character %d", problem, r, at), fix)
		}
	}
	if n := utf8.RuneCountInString(clean); n > t.Max {
		return "", t.refuse(fmt.Sprintf("is %d characters long", n), fmt.Sprintf("shorten it to at most %d", t.Max))
	}
	return clean, nil
}

// Required is Clean for a field that must not be blank.
func (t Text) Required(text string) (string, error) {
	clean, err := t.Clean(text)
	if err != nil {
		return "", err
	}
	if strings.IndexFunc(clean, visible) < 0 {
		return "", t.refuse("is blank", fmt.Sprintf("give 1 to %d characters", t.Max))
	}
	return clean, nil
}

// visible reports the characters that show by themselves; joiners and variation
// selectors do not.
func visible(r rune) bool {
	return !unicode.In(r, unicode.Z, unicode.Cf, unicode.Variation_Selector)
}

func (t Text) judge(r rune) (problem, fix string) {
	switch {
	case t.Multiline && (r == '\n' || r == '\t'):
		return "", ""
	case r == '\n':
		return "has a line break", "keep it on one line"
	case unicode.IsControl(r):
		return "has a control character", "remove it"
	case hidden(r):
		return "has an invisible or text-reordering character", "remove it"
	case t.ASCII && r > unicode.MaxASCII:
		return "has a non-ASCII character", "use plain ASCII, such as ' for a curly quote and - for a dash"
	}
	return "", ""
}

// hidden reports the characters that reorder or hide text: bidi embeddings,
// overrides, isolates and marks, zero-width spaces, line separators, byte order
// marks and tags. Zero-width joiners stay: scripts and emoji need them.
func hidden(r rune) bool {
	switch {
	case r >= 0x202A && r <= 0x202E, r >= 0x2060 && r <= 0x206F:
		return true
	case r == 0x200B, r == 0x200E, r == 0x200F, r == 0x061C, r == 0xFEFF, r == 0x2028, r == 0x2029:
		return true
	case r == 0x00AD, r == 0x115F, r == 0x1160, r == 0x3164, r == 0xFFA0: // soft hyphen and blank letters
		return true
	case r >= 0xE0000 && r <= 0xE007F, r >= 0xFFF9 && r <= 0xFFFB:
		return true
	}
	return false
}

func (t Text) refuse(problem, fix string) error {
	return &ValidationError{Kind: InvalidInput, Field: t.Field, Problem: problem, Fix: fix}
}

// OneOf returns a *ValidationError naming the allowed values unless value is
// one of them or empty.
func OneOf[T interface {
	~string
	Values() []string
}](field string, value T) error {
	if value == "" {
		return nil
	}
	allowed := value.Values()
	for _, v := range allowed {
		if v == string(value) {
			return nil
		}
	}
	return &ValidationError{Kind: InvalidInput, Field: field,
		Problem: Quote(string(value)) + " is not known", Fix: "use one of " + strings.Join(allowed, ", ")}
}
