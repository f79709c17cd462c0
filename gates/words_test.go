package gates

import (
	"maps"
	"os"
	"regexp"
	"slices"
	"testing"
)

// A list that the code names but words.txt lacks would silently match nothing.
func TestVocabulariesAreListed(t *testing.T) {
	source, err := os.ReadFile("words.go")
	if err != nil {
		t.Fatal(err)
	}
	var named []vocabulary
	for _, match := range regexp.MustCompile(`vocabulary = "(\w+)"`).FindAllSubmatch(source, -1) {
		name := vocabulary(match[1])
		named = append(named, name)
		if len(vocabularies()[name]) < 5 {
			t.Errorf("%s has hardly a word", name)
		}
	}
	if listed := slices.Sorted(maps.Keys(vocabularies())); !slices.Equal(named, listed) {
		t.Errorf("words.go names %q, words.txt lists %q", named, listed)
	}
}
