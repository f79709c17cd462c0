package llm

import (
	"errors"
	"strings"
	"testing"
)

// TestNoiseIsNotSearchedForEver feeds what makes a search begin again and again:
// the bytes looked at stay within the bound and one last reading, whatever comes.
func TestNoiseIsNotSearchedForEver(t *testing.T) {
	for _, piece := range []string{"{", "[", "{\"", "{ \"x\" ", "[1,", "[[", "{}", "[[[[x", "[\"[\",", "[\"[\\\"", "{\"\\\"", "{\n", "[{",
		"{\"a\" ", "[ \t\n", "[1,2 x"} {
		s := search{text: strings.Repeat(piece, MaxAnswer/len(piece)), work: maxWork}
		err := s.run()
		var refusal *Error
		if err != nil && !errors.As(err, &refusal) {
			t.Errorf("%q: %v", piece, err)
		}
		if spent := maxWork - s.work; spent > maxWork+MaxAnswer+minWork {
			t.Errorf("%q: %d bytes were looked at", piece, spent)
		}
		for _, object := range s.found {
			if string(object) != "{}" {
				t.Fatalf("%q: found %.40s", piece, object)
			}
		}
	}
}

// TestLongProseIsSearchedToItsEnd: the bound is for noise, not for an answer full
// of braces, links and footnotes.
func TestLongProseIsSearchedToItsEnd(t *testing.T) {
	s := search{text: strings.Repeat("Some {words} and a [link](x), [1]. ", 10_000) + `{"a": 1}`, work: maxWork}
	if err := s.run(); err != nil || len(s.found) != 1 {
		t.Fatal(err, len(s.found))
	}
}
