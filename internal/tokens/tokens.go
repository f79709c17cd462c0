// Package tokens estimates what text costs in a model's context, and shortens it to
// what it may cost.
package tokens

import (
	"unicode"
	"unicode/utf8"

	"github.com/planloop/planloop/plan"
)

// What a character adds to the tokens of a text, in quarters of a token: four
// letters of plain words share one, a digit or a sign has one to itself, and most
// other scripts need one or more for each character.
const (
	wordCost   = 1
	capCost    = 2
	signCost   = 4
	scriptCost = 5
	rareCost   = 12
)

// Shorten returns text with about that many tokens, and at most length characters.
func Shorten(text string, tokens, length int) string {
	room, spent, shown := 4*wordCost*tokens, 0, 0
	for _, r := range text {
		if spent += runeCost(r); spent > room {
			return plan.Shorten(text, min(max(shown, 2), length))
		}
		shown++
	}
	return plan.Shorten(text, length)
}

// Tail returns the end of text with about that many tokens and at most length
// characters, an ellipsis for what was cut.
func Tail(text string, tokens, length int) string {
	runes := []rune(text)
	room, from := 4*wordCost*tokens, len(runes)
	for from > 0 && len(runes)-from < length {
		if room -= runeCost(runes[from-1]); room < 0 {
			break
		}
		from--
	}
	if from == 0 {
		return text
	}
	return "…" + string(runes[min(from+1, len(runes)):])
}

// Count estimates how many tokens text costs.
func Count(text string) int {
	sum := 0
	for _, r := range text {
		sum += runeCost(r)
	}
	return sum / (4 * wordCost)
}

func runeCost(r rune) int {
	switch {
	case r >= 'a' && r <= 'z', r == ' ':
		return wordCost
	case r >= 'A' && r <= 'Z':
		return capCost
	case r < utf8.RuneSelf:
		return signCost
	case unicode.IsLetter(r):
		return scriptCost
	}
	return rareCost
}
