package gates

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"testing"
)

// A list that the code names but words.txt lacks would silently match nothing.
func TestVocabulariesAreListed(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	named := map[string]bool{}
	for _, file := range files {
		source, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, call := range regexp.MustCompile(`isListed\(.*?((?:, "\w+")+)\)|vocabularies\(\)(\["\w+"\])`).FindAllSubmatch(source, -1) {
			for _, name := range regexp.MustCompile(`"(\w+)"`).FindAllSubmatch(slices.Concat(call[1:]...), -1) {
				named[string(name[1])] = true
			}
		}
	}
	for name, words := range vocabularies() {
		if len(words) < 5 {
			t.Errorf("%s has hardly a word", name)
		}
	}
	in, listed := slices.Sorted(maps.Keys(named)), slices.Sorted(maps.Keys(vocabularies()))
	if !slices.Equal(in, listed) {
		t.Errorf("the code names %q, words.txt lists %q", in, listed)
	}
}
