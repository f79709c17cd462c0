package safetext

import (
	"slices"
	"strings"
)

// comparedLength limits the length of compared words, and so the cost.
const comparedLength = 64

// Nearest returns the most similar word, "" if none is similar enough.
func Nearest(given string, words []string) string {
	given = strings.ToLower(strings.TrimSpace(given))
	if given == "" || len(given) > comparedLength {
		return ""
	}
	best, closest := "", min(3, len(given)/3)+1
	for _, word := range words {
		if FoldWord(word) == FoldWord(given) {
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

// Related returns the first word that shares a part with the given one, such as relevant_files and relevant_file_paths;
// "" if none does.
func Related(given string, words []string) string {
	for _, word := range words {
		for part := range strings.SplitSeq(strings.ToLower(given), "_") {
			if len(part) > 2 && slices.Contains(strings.Split(word, "_"), part) {
				return word
			}
		}
	}
	return ""
}

// SplitList returns the words or names in a text that lists them, as "a, b and c" does.
func SplitList(text string) (names []string) {
	between := func(r rune) bool { return strings.ContainsRune(",;\n", r) }
	for name := range strings.FieldsFuncSeq(strings.ReplaceAll(text, " and ", ","), between) {
		if name = strings.TrimSpace(name); name != "" {
			names = append(names, name)
		}
	}
	return names
}

// FoldWord removes variations of people and models: case, dashes, spaces.
func FoldWord(s string) string {
	isBetween := func(r rune) bool { return r == '-' || r == '_' || r == ' ' }
	return strings.Join(strings.FieldsFunc(strings.ToLower(strings.TrimSpace(s)), isBetween), "")
}

// distance returns the number of bytes to insert, delete, replace or swap with their neighbour to turn a into b.
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
