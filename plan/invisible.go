package plan

import (
	"unicode"
	"unicode/utf8"
)

// Invisible reports the characters that show nothing by themselves or change how
// others are shown: format characters, line separators, joiners, bidi controls,
// variation selectors, tags, blank letters, and what is no character at all.
// Control characters and spaces are not among them.
func Invisible(r rune) bool {
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

// Visibility says what a character does where it stands.
type Visibility int

// The visibilities.
const (
	Shows   Visibility = iota // it shows, or what stands beside it needs it
	Dropped                   // it means nothing to the reader and may be left out
	Hides                     // it hides or reorders text
)

// LookAt says what the character of text that begins at byte i does there. Most
// that are Invisible hide something; but a joiner is needed between letters of
// some scripts and between symbols, and a variation selector behind a symbol only
// chooses its style.
func LookAt(text string, i int) Visibility {
	r, size := utf8.DecodeRuneInString(text[i:])
	if !Invisible(r) {
		return Shows
	}
	before, width := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i+size:])
	if r == 0xFE0E || r == 0xFE0F {
		if symbol(before) || after == 0x20E3 { // a key cap is a digit, a selector and a frame
			return Dropped
		}
		return Hides
	}
	if unicode.Is(unicode.Variation_Selector, before) {
		before, _ = utf8.DecodeLastRuneInString(text[:i-width])
	}
	switch {
	case r == 0x200D && symbol(before) && symbol(after):
		return Shows
	case (r == 0x200C || r == 0x200D) && joining(before) && joining(after):
		return Shows
	}
	return Hides
}

func symbol(r rune) bool {
	return unicode.IsSymbol(r) && r != utf8.RuneError || r == 0x203C || r == 0x2049 || r == 0x3030 || r == 0x303D // punctuation drawn as emoji
}

// joining reports the letters and marks of the scripts that are written with
// joiners (Unicode: Joiners in Cursive and Indic Scripts).
func joining(r rune) bool {
	return (unicode.IsLetter(r) || unicode.IsMark(r)) && unicode.In(r, unicode.Arabic, unicode.Syriac, unicode.Mandaic,
		unicode.Mongolian, unicode.Nko, unicode.Adlam, unicode.Hanifi_Rohingya, unicode.Devanagari, unicode.Bengali,
		unicode.Gurmukhi, unicode.Gujarati, unicode.Oriya, unicode.Tamil, unicode.Telugu, unicode.Kannada, unicode.Malayalam,
		unicode.Sinhala, unicode.Khmer, unicode.Myanmar, unicode.Tibetan, unicode.Balinese, unicode.Javanese)
}
