package model

import (
	"strings"
	"testing"
)

// TestSearchIsBounded uses texts that restart the search again and again. They cost at most the limit and one more
// decoding.
func TestSearchIsBounded(t *testing.T) {
	for _, piece := range []string{"{", "[", "{\"", "{ \"x\" ", "[1,", "[[", "{}", "[[[[x", "[\"[\",", "[\"[\\\"", "{\"\\\"", "{\n", "[{",
		"{\"a\" ", "[ \t\n", "[1,2 x"} {
		s := search{text: strings.Repeat(piece, MaxAnswer/len(piece)), work: maxWork}
		s.run()
		if spent := maxWork - s.work; spent > maxWork+MaxAnswer+minWork {
			t.Errorf("%q: %d bytes were examined", piece, spent)
		}
		for _, object := range s.found {
			if string(object) != "{}" {
				t.Fatalf("%q: found %.40s", piece, object)
			}
		}
	}
}

// TestLongProseIsSearched checks that the limit does not refuse an answer full of braces, links and footnotes.
func TestLongProseIsSearched(t *testing.T) {
	s := search{text: strings.Repeat("Some {words} and a [link](x), [1]. ", 10_000) + `{"a": 1}`, work: maxWork}
	if !s.run() || len(s.found) != 1 {
		t.Fatalf("found %d objects", len(s.found))
	}
}
