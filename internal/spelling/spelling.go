// Package spelling finds the word that somebody who gave another probably meant:
// the name of a field, a configuration key. It knows no words of its own.
package spelling

import (
	"slices"
	"strings"
)

// comparedLength bounds the length of the words that are compared, and so the cost.
const comparedLength = 64

// Nearest returns the first of the words that is probably meant by a given one,
// "" if none is near.
func Nearest(given string, words []string) string {
	given = strings.ToLower(strings.TrimSpace(given))
	if given == "" || len(given) > comparedLength {
		return ""
	}
	best, closest := "", min(3, (len(given)+1)/3)+1
	for _, word := range words {
		if Folded(word) == Folded(given) {
			return word
		}
		if len(word) > comparedLength {
			continue
		}
		if n := distance(given, word); n < closest {
			best, closest = word, n
		}
	}
	return best
}

// Closest returns the word that is nearest to a given one, however far it is: one that shares
// a part with it comes before one that is only as long.
func Closest(given string, words []string) string {
	given = strings.ToLower(given)
	given = given[:min(len(given), comparedLength)]
	far := func(word string) int {
		n := distance(given, word[:min(len(word), comparedLength)])
		for part := range strings.SplitSeq(given, "_") {
			if slices.Contains(strings.Split(word, "_"), part) {
				n -= comparedLength
			}
		}
		return n
	}
	return slices.MinFunc(words, func(a, b string) int { return far(a) - far(b) })
}

// Folded is a word without what people and models vary: case, dashes, spaces.
func Folded(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	return strings.NewReplacer("-", "", "_", "", " ", "").Replace(s)
}

// distance counts the bytes to insert, delete, replace or swap with their
// neighbour that make a into b.
func distance(a, b string) int {
	var before, last, row [comparedLength + 1]int
	for j := range len(b) + 1 {
		last[j] = j
	}
	for i := 1; i <= len(a); i++ {
		row[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			row[j] = min(last[j]+1, row[j-1]+1, last[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				row[j] = min(row[j], before[j-2]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
