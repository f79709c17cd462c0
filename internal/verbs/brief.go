package verbs

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

// What of a heartbeat is left for names that are not ours, in tokens.
const (
	titleTokens      = 13
	titleTokensShort = 5 // beside a longer call
	nameTokens       = 10
	idTokens         = 14
)

// brief shortens text to about the given number of tokens, whatever it is written
// in, and never to more than titleShown characters.
func brief(text string, tokens int) string { return shorten(text, tokens, titleShown) }

// shorten returns text with about that many tokens, and at most length characters.
func shorten(text string, tokens, length int) string {
	room, spent, shown := 4*wordCost*tokens, 0, 0
	for _, r := range text {
		if spent += runeCost(r); spent > room {
			return plan.Shorten(text, min(max(shown, 2), length))
		}
		shown++
	}
	return plan.Shorten(text, length)
}

// tail returns the end of text with about that many tokens and at most length
// characters, an ellipsis for what was cut.
func tail(text string, tokens, length int) string {
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

// cost is what text adds to the tokens of a reply, in the measure of wordCost.
func cost(text string) int {
	sum := 0
	for _, r := range text {
		sum += runeCost(r)
	}
	return sum
}

// fits reports whether brief leaves text as it is.
func fits(text string, tokens int) bool { return brief(text, tokens) == text }

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
