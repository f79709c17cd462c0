package plan_test

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/planloop/planloop/plan"
)

// What Clean accepts it accepts again and leaves as it is, and it keeps the rule.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", " a ", "Cafe\u0301", "a\r\nb", "a\r\r\nb\r", "\ufeffa", "\u202e", "e\u0301\u0301", " \u0301a", "\u1100\u1161\u11a8", "\u0958", "a\x00", "\xff", "\u2028"} {
		for _, ascii := range []bool{false, true} {
			f.Add(seed, 12, ascii, true)
			f.Add(seed, 3, ascii, false)
		}
	}
	f.Fuzz(func(t *testing.T, text string, max int, ascii, multiline bool) {
		rule := plan.Text{Field: "/x", Max: max, ASCII: ascii, Multiline: multiline}
		clean, err := rule.Clean(text)
		if err != nil {
			if clean != "" {
				t.Fatalf("refused %q and returned %q", text, clean)
			}
			return
		}
		if again, err := rule.Clean(clean); err != nil || again != clean {
			t.Fatalf("Clean(%q) = %q; a second pass gives %q, %v", text, clean, again, err)
		}
		if !norm.NFC.IsNormalString(clean) || !utf8.ValidString(clean) {
			t.Fatalf("%q is not NFC", clean)
		}
		n := 0
		for _, r := range clean {
			n++
			if unicode.IsControl(r) && !(multiline && (r == '\n' || r == '\t')) {
				t.Fatalf("%q keeps the control character %U", clean, r)
			}
			if ascii && r > unicode.MaxASCII {
				t.Fatalf("%q keeps %U", clean, r)
			}
		}
		if n > max {
			t.Fatalf("%q has %d characters, at most %d were asked for", clean, n, max)
		}
		shows := func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }
		if _, err := rule.Required(text); err == nil && clean == "" || err != nil && strings.ContainsFunc(clean, shows) {
			t.Fatalf("Required(%q) = %v, Clean gives %q", text, err, clean)
		}
	})
}
