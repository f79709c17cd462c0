package prompts

import (
	"unicode"
	"unicode/utf8"
)

// ellipsis stands for what was cut. It is ASCII, for what it is put into may be.
const ellipsis = "..."

// Costs are counted in parts of a token.
const tokenUnit = 6

// shortened returns the beginning of text that costs no more than room, ending
// with an ellipsis where something was cut, and what it costs.
func shortened(text string, room int) (short string, cost int) {
	fits, atFit := 0, 0 // the end, and the cost, of what leaves room for the ellipsis
	before := ' '
	for i, r := range text {
		cost += runeCost(r, before)
		if cost <= room-tokenUnit {
			fits, atFit = i+utf8.RuneLen(r), cost
		}
		if cost > room {
			return text[:fits] + ellipsis, atFit + tokenUnit
		}
		before = r
	}
	return text, cost
}

// runeCost estimates what a character adds to the tokens of a text, rather too
// much than too little, for a limit that text without meaning must not break:
// two letters of a word in lower case share a token at worst; digits, signs and
// changes of case cost one each, other scripts almost one a byte.
func runeCost(r, before rune) int {
	switch {
	case r >= 'a' && r <= 'z' && before <= unicode.MaxASCII && unicode.IsLetter(before):
		return tokenUnit / 2
	case r == ' ' && before != ' ':
		return 0
	case r <= unicode.MaxASCII:
		return tokenUnit
	case r < 0x0800: // two bytes: Latin with accents, Greek, Cyrillic, Hebrew, Arabic
		return tokenUnit + 1
	case r < 0x0E80, r >= 0x3000 && r < 0xD800: // Indic scripts and Thai, Chinese, Japanese, Korean
		return tokenUnit * 5 / 2
	}
	return tokenUnit * utf8.RuneLen(r)
}
