package plan

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Lengths in characters, after trimming. The first four apply to the six planning_* tools (WINK:
// Validation Rules), the long ones to everything else.
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
	MaxList     = 100   // hints, paths, criteria … per step
	MaxNotes    = 1_000 // notes per step
)

// Text is a rule for one text field.
type Text struct {
	Field       string // JSON pointer, for the error
	Max         int    // characters after trimming
	ASCII       bool   // only ASCII; typographic characters are converted to it
	Multiline   bool   // newline and tab are allowed
	Alternative string // an alternative that takes more than ASCII, for the refusal; may be empty
}

// Clean returns text in NFC and trimmed, or a *ValidationError that names the field. Text must be
// UTF-8 without control characters, escapes and characters that hide (see VisibilityAt), with at most Max
// characters. Characters that VisibilityAt calls Dropped are removed. An empty result is not an error.
func (t Text) Clean(text string) (string, error) {
	if !utf8.ValidString(text) {
		return "", t.refuse("is not valid UTF-8", "send plain text")
	}
	if t.ASCII { // before NFC, which turns the Kelvin sign into a K
		var err error
		if text, err = t.toASCII(text); err != nil {
			return "", err
		}
	}
	clean := strings.TrimSpace(norm.NFC.String(strings.ReplaceAll(text, "\r\n", "\n")))
	var kept strings.Builder
	for i, r := range clean {
		visibility := VisibilityAt(clean, i)
		if problem, fix := t.checkRune(r, visibility); problem != "" {
			return "", t.refuseAt(clean, i, r, problem, fix)
		}
		if visibility == Visible {
			kept.WriteRune(r)
		}
	}
	clean = norm.NFC.String(kept.String()) // a dropped selector may have kept two characters apart
	if n := utf8.RuneCountInString(clean); n > t.Max {
		return "", t.refuse(fmt.Sprintf("is %d characters long", n), fmt.Sprintf("shorten it to at most %d", t.Max))
	}
	return clean, nil
}

// Given is Required for a field that an input may lack: it is empty then.
func (t Text) Given(text string) (string, error) {
	if text == "" {
		return "", t.refuse("is missing", fmt.Sprintf("give 1 to %d characters", t.Max))
	}
	return t.Required(text)
}

// Required is Clean for a field that must not be blank.
func (t Text) Required(text string) (string, error) {
	clean, err := t.Clean(text)
	if err != nil {
		return "", err
	}
	if strings.IndexFunc(clean, func(r rune) bool { return !unicode.IsSpace(r) && !IsInvisible(r) }) < 0 {
		return "", t.refuse("is blank", fmt.Sprintf("give 1 to %d characters", t.Max))
	}
	return clean, nil
}

func (t Text) checkRune(r rune, v Visibility) (problem, fix string) {
	switch {
	case t.Multiline && (r == '\n' || r == '\t'):
		return "", ""
	case r == '\n':
		return "has a line break", "keep it on one line"
	case unicode.IsControl(r):
		return "has a control character", "remove it"
	case v == Hiding:
		return "has an invisible or text-reordering character", "remove it"
	}
	return "", ""
}

// toASCII returns text with typographic characters converted to ASCII (WINK: Validation Rules),
// or refuses the first character that has no equivalent.
func (t Text) toASCII(text string) (string, error) {
	var b strings.Builder
	for i, r := range text {
		visibility := VisibilityAt(text, i)
		if visibility == Ignorable {
			continue
		}
		ascii, ok := asciiForm(r)
		if !ok {
			problem, fix := t.checkRune(r, visibility)
			if problem != "" {
				return "", t.refuseAt(text, i, r, problem, fix)
			}
			fix = "write it in ASCII, or set `text: unicode` in the configuration"
			if t.Alternative != "" {
				fix = "write it in ASCII, set `text: unicode` in the configuration, or use " + t.Alternative + ", which takes it"
			}
			refused := t.refuseAt(text, i, r, "has a non-ASCII character", fix)
			if plain := stripAccents(text); plain != text {
				refused.Suggestion, _ = t.Clean(plain)
			}
			return "", refused
		}
		b.WriteString(ascii)
	}
	return b.String(), nil
}

func stripAccents(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(text))
}

// asciiForm returns the ASCII form of a character: dashes, quotes, arrows, bullets, check marks and
// spaces have one. Letters do not.
func asciiForm(r rune) (string, bool) {
	if r <= unicode.MaxASCII {
		return string(r), true
	}
	for _, row := range [...]struct{ typed, signs string }{
		{"-", "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\u2022\u2023\u2043\u25E6\u25AA\u25CF\u00B7"},
		{"'", "\u2018\u2019\u201A\u201B\u2032\u2039\u203A\u00B4"},
		{`"`, "\u201C\u201D\u201E\u201F\u2033\u00AB\u00BB"},
		{"...", "\u2026"},
		{"->", "\u2192\u2794\u279C\u27F6"}, {"<-", "\u2190\u27F5"}, {"<->", "\u2194\u27F7"}, {"=>", "\u21D2\u27F9"},
		{"<=", "\u2264\u21D0"}, {">=", "\u2265"}, {"!=", "\u2260"}, {"x", "\u00D7"},
		{"[x]", "\u2713\u2714\u2611\u2705"}, {"[ ]", "\u2610"},
	} {
		if strings.ContainsRune(row.signs, r) {
			return row.typed, true
		}
	}
	return " ", unicode.Is(unicode.Zs, r)
}

func (t Text) refuseAt(text string, at int, r rune, problem, fix string) *ValidationError {
	problem = fmt.Sprintf("%s (%U) at character %d", problem, r, utf8.RuneCountInString(text[:at])+1)
	return &ValidationError{Kind: InvalidInput, Field: t.Field, Problem: problem, Fix: fix}
}

func (t Text) refuse(problem, fix string) error {
	return Refuse(InvalidInput, t.Field, problem, fix)
}

// OneOf returns a *ValidationError with the allowed values unless value is one of them or empty.
func OneOf[T interface {
	~string
	Values() []string
}](field string, value T) error {
	return oneOf(field, string(value), value.Values())
}

func oneOf(field, value string, allowed []string) error {
	if value == "" || slices.Contains(allowed, value) {
		return nil
	}
	return Refuse(InvalidInput, field, Quote(value)+" is not known", "use one of "+strings.Join(allowed, ", "))
}

// IsInvisible reports whether a character shows nothing by itself or changes the display of others:
// format characters, line separators, joiners, bidi controls, variation selectors, tags, blank
// letters and noncharacters. Control characters and spaces are not among them.
func IsInvisible(r rune) bool {
	switch {
	case r < 0xA0:
		return false
	case r == 0x2800, r == 0x1D159: // Braille without a dot; a musical note without a head
		return true
	}
	return unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Cs, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point, unicode.Noncharacter_Code_Point) &&
		!unicode.Is(unicode.Prepended_Concatenation_Mark, r) // Arabic number signs and their like do show
}

// Visibility is the effect of a character in its context.
type Visibility int

// The visibilities.
const (
	Visible   Visibility = iota // it shows, or its neighbours need it
	Ignorable                   // it means nothing to the reader and may be left out
	Hiding                      // it hides or reorders text
)

// VisibilityAt returns the effect of the character of text at byte i. Most that are Invisible hide
// something, but a joiner is needed between letters of some scripts and between symbols, and a
// variation selector after a symbol only chooses its style.
func VisibilityAt(text string, i int) Visibility {
	r, size := utf8.DecodeRuneInString(text[i:])
	if !IsInvisible(r) {
		return Visible
	}
	before, width := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i+size:])
	if r == 0xFE0E || r == 0xFE0F {
		if isSymbol(before) || after == 0x20E3 { // a key cap is a digit, a selector and a frame
			return Ignorable
		}
		return Hiding
	}
	if unicode.Is(unicode.Variation_Selector, before) {
		before, _ = utf8.DecodeLastRuneInString(text[:i-width])
	}
	switch {
	case r == 0x200D && min(before, after) > unicode.MaxASCII && isSymbol(before) && isSymbol(after): // never within code
		return Visible
	case (r == 0x200C || r == 0x200D) && usesJoiners(before) && usesJoiners(after):
		return Visible
	}
	return Hiding
}

func isSymbol(r rune) bool {
	// punctuation drawn as emoji
	return unicode.IsSymbol(r) && r != utf8.RuneError || r == 0x203C || r == 0x2049 || r == 0x3030 || r == 0x303D
}

// usesJoiners reports whether r is a letter or mark of a script written with joiners (Unicode: Joiners
// in Cursive and Indic Scripts).
func usesJoiners(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsMark(r)) && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mandaic,
		unicode.Mongolian, unicode.Nko, unicode.Adlam, unicode.Hanifi_Rohingya, unicode.Devanagari, unicode.Bengali,
		unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam,
		unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Balinese, unicode.Javanese)
}
