package workspace

import "strings"

// did returns "did you mean x? " for the word that is probably meant, or "".
func did(given string, words []string) string {
	if word := nearest(given, words); word != "" {
		return "did you mean " + word + "? "
	}
	return ""
}

const comparedLength = 32 // bounds the words that are compared, and so the cost

// nearest returns the word with the fewest edits from given, "" if none is near.
func nearest(given string, words []string) string {
	given = strings.ReplaceAll(strings.ToLower(strings.TrimSpace(given)), "-", "_")
	if given == "" || len(given) > comparedLength {
		return ""
	}
	best, fewest := "", min(3, (len(given)+1)/3)+1
	for _, word := range words {
		if n := edits(given, word); n < fewest {
			best, fewest = word, n
		}
	}
	return best
}

// edits counts the bytes to insert, delete or replace that make a into b.
func edits(a, b string) int {
	last := make([]int, len(b)+1)
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		diagonal := last[0]
		last[0] = i + 1
		for j := range len(b) {
			cost := diagonal
			if a[i] != b[j] {
				cost = 1 + min(diagonal, last[j], last[j+1])
			}
			diagonal, last[j+1] = last[j+1], cost
		}
	}
	return last[len(b)]
}
