package plan_test

import (
	"errors"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"github.com/planloop/planloop/plan"
)

func TestCleanAccepts(t *testing.T) {
	line := plan.Text{Field: "/title", Max: 20}
	lines := plan.Text{Field: "/details", Max: 20, Multiline: true}
	tests := []struct {
		name     string
		rule     plan.Text
		in, want string
	}{
		{"plain", line, "Write it", "Write it"},
		{"trimmed", line, "  Write it\t\n", "Write it"},
		{"no-break space trimmed", line, "\u00a0Write it\u00a0", "Write it"},
		{"blank", line, " \t\r\n ", ""},
		{"empty", line, "", ""},
		{"NFC", line, "Cafe\u0301", "Caf\u00e9"},
		{"CRLF becomes LF", lines, "a\r\nb", "a\nb"},
		{"tab and newline", lines, "a\tb\nc", "a\tb\nc"},
		{"emoji with joiner", line, "\U0001F469\u200d\U0001F4BB", "\U0001F469\u200d\U0001F4BB"},
		{"limit counts after trimming", plan.Text{Max: 2}, "   ab   ", "ab"},
		{"limit counts after composing", plan.Text{Max: 1}, "e\u0301", "\u00e9"},
		{"limit counts CRLF once", plan.Text{Max: 3, Multiline: true}, "a\r\nb", "a\nb"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.rule.Clean(test.in)
			if err != nil || got != test.want {
				t.Errorf("Clean(%q) = %q, %v; want %q", test.in, got, err, test.want)
			}
		})
	}
}

func TestCleanRefuses(t *testing.T) {
	line := plan.Text{Field: "/title", Max: 20}
	lines := plan.Text{Field: "/details", Max: 20, Multiline: true}
	ascii := plan.Text{Field: "/title", Max: 20, ASCII: true}
	tests := []struct {
		name string
		rule plan.Text
		in   string
		says string
	}{
		{"invalid UTF-8", line, "a\xffb", "UTF-8"},
		{"encoded surrogate", line, "a\xed\xa0\x80b", "UTF-8"},
		{"newline in a line", line, "a\nb", "line break (U+000A) at character 2"},
		{"CRLF in a line", line, "a\r\nb", "line break"},
		{"tab in a line", line, "a\tb", "control character (U+0009)"},
		{"lone CR", lines, "a\rb", "control character (U+000D)"},
		{"CR CR LF", lines, "a\r\r\nb", "control character (U+000D)"},
		{"NUL", lines, "a\x00b", "control character (U+0000)"},
		{"escape", lines, "a\x1b[31mb", "control character (U+001B)"},
		{"delete", lines, "a\x7fb", "control character (U+007F)"},
		{"C1 control", lines, "a\u009bb", "control character (U+009B)"},
		{"bidi override", lines, "a\u202eb", "text-reordering character (U+202E)"},
		{"bidi isolate", lines, "a\u2066b", "U+2066"},
		{"bidi mark", lines, "a\u200fb", "U+200F"},
		{"Arabic letter mark", lines, "a\u061cb", "U+061C"},
		{"BOM in front", lines, "\ufeffab", "U+FEFF"},
		{"zero-width space", lines, "a\u200bb", "U+200B"},
		{"word joiner", lines, "a\u2060b", "U+2060"},
		{"line separator", lines, "a\u2028b", "U+2028"},
		{"tag", lines, "a\U000E0041b", "U+E0041"},
		{"interlinear annotation", lines, "a\ufff9b", "U+FFF9"},
		{"position counts characters", line, "\u00e4\u00e4\x00", "at character 3"},
		{"letter behind a dash under ASCII", ascii, "a \u2014 \u00e4", "non-ASCII character (U+00E4) at character 5"},
		{"emoji under ASCII", ascii, "done \U0001F389", "non-ASCII character (U+1F389)"},
		{"accent under ASCII", ascii, "cafe\u0301", "non-ASCII character (U+0301)"},
		{"Kelvin sign under ASCII", ascii, "5 \u212a", "non-ASCII character (U+212A)"},
		{"too long", plan.Text{Field: "/title", Max: 3}, "abcd", "is 4 characters long; shorten it to at most 3"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := test.rule.Clean(test.in)
			var refusal *plan.ValidationError
			if !errors.As(err, &refusal) || got != "" {
				t.Fatalf("Clean(%q) = %q, %v; want a refusal", test.in, got, err)
			}
			wantRefusal(t, refusal, plan.InvalidInput, test.rule.Field, test.says)
			if strings.ContainsAny(refusal.Error(), "\x00\x1b\u202e") {
				t.Errorf("the message repeats what was refused: %q", refusal)
			}
		})
	}
}

func TestCleanRefusesWhatHidesOrReordersText(t *testing.T) {
	ranges := map[rune]rune{0xAD: 0xAD, 0x034F: 0x034F, 0x061C: 0x061C, 0x115F: 0x1160, 0x17B4: 0x17B5, 0x180B: 0x180F, 0x200B: 0x200F,
		0x2028: 0x202E, 0x2060: 0x206F, 0x2800: 0x2800, 0x3164: 0x3164, 0xFE00: 0xFE0F, 0xFEFF: 0xFEFF, 0xFFA0: 0xFFA0,
		0xFFF0: 0xFFFB, 0xFFFE: 0xFFFF, 0xE0000: 0xE0FFF}
	for first, last := range ranges {
		for r := first; r <= last; r++ {
			if !plan.IsInvisible(r) {
				t.Errorf("%U is taken for visible", r)
			}
			for _, rule := range []plan.Text{{Max: 9}, {Max: 9, Multiline: true}, {Max: 9, ASCII: true}} {
				if _, err := rule.Clean("a" + string(r) + "b"); err == nil ||
					!strings.Contains(err.Error(), "invisible or text-reordering") {
					t.Errorf("%U under %+v: %v", r, rule, err)
				}
			}
		}
	}
	for _, r := range "\u00a0\u0600\u06dd\u202f\u205f\u2070\u2027\u2801\u3000\ufffd\U0001F600\u0301" {
		if plan.IsInvisible(r) {
			t.Errorf("%U is taken for invisible", r)
		}
		if _, err := (plan.Text{Max: 9}).Clean("a" + string(r) + "b"); err != nil {
			t.Errorf("%U: %v", r, err)
		}
	}
}

func TestJoinersAndSelectorsByWhatStandsBesideThem(t *testing.T) {
	for in, want := range map[string]string{
		"\u2714\ufe0f done":            "\u2714 done",
		"\u2764\ufe0e":                 "\u2764",
		"1\ufe0f\u20e3":                "1\u20e3",
		"\u2764\ufe0f\u200d\U0001F525": "\u2764\u200d\U0001F525",
		"=\ufe0f\u0338":                "\u2260", // joins once the selector is removed
		"\U0001F642\u200d\u2194\ufe0f": "\U0001F642\u200d\u2194",
		"\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645": "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645",
		"\u0915\u094d\u200d\u0937":                         "\u0915\u094d\u200d\u0937",
	} {
		if got, err := (plan.Text{Max: 20}).Clean(in); got != want || err != nil {
			t.Errorf("Clean(%+q) = %+q, %v; want %+q", in, got, err, want)
		}
	}
	for _, in := range []string{"a\u200db", "\u200d\U0001F525", "\U0001F525\u200d", "\u0645\u200c", "a\u200c\u062e", "\u200d",
		"\u2764\ufe0f\ufe0f", "a\ufe0f", "\ufe0f", "\u845b\U000E0100", "1\ufe0f", "a |\u200d| b", ">\u200d\U0001F525",
		"\U0001F525\u200d$", "=\ufe0f\u200d="} {
		if got, err := (plan.Text{Max: 20}).Clean(in); err == nil {
			t.Errorf("Clean(%+q) = %+q, want a refusal", in, got)
		}
	}
}

func TestCleanCountsCharacters(t *testing.T) {
	limits := map[string]struct{ max, want int }{
		"objective": {plan.MaxObjective, 240}, "title": {plan.MaxTitle, 160},
		"details": {plan.MaxDetails, 512}, "note": {plan.MaxNote, 512},
	}
	for field, limit := range limits {
		if limit.max != limit.want {
			t.Errorf("the limit of %s is %d, want %d", field, limit.max, limit.want)
		}
		for _, letter := range []string{"a", "\u00e9", "\U0001F600"} {
			rule := plan.Text{Field: "/" + field, Max: limit.max}
			full := strings.Repeat(letter, limit.want)
			if got, err := rule.Required(" " + full + " "); err != nil || got != full {
				t.Errorf("%d characters %q for %s: %v", limit.want, letter, field, err)
			}
			if _, err := rule.Required(full + letter); err == nil {
				t.Errorf("%d characters %q for %s: no error", limit.want+1, letter, field)
			}
		}
	}
}

func TestTypographyComesDownToASCII(t *testing.T) {
	rule := plan.Text{Max: 60, ASCII: true, Multiline: true}
	for in, want := range map[string]string{
		"it\u2019s \u201cdone\u201d \u2014 really\u2026":   `it's "done" - really...`,
		"a\u00a0b\u2009c\u3000d":                           "a b c d",
		"\u2022 one\n\u2022 two":                           "- one\n- two",
		"\u2705 x \u2192 y \u2714\ufe0f":                   "[x] x -> y [x]",
		"1\u20133 \u2264 4 \u00d7 2 \u21d2 \u00abok\u00bb": `1-3 <= 4 x 2 => "ok"`,
	} {
		if got, err := rule.Clean(in); got != want || err != nil {
			t.Errorf("Clean(%+q) = %q, %v; want %q", in, got, err, want)
		}
	}
	if got, err := (plan.Text{Max: 4, ASCII: true}).Clean("ab\u2026"); err == nil {
		t.Errorf("the limit counts what is kept, but %q passed", got)
	}
}

func TestRequiredRefusesBlank(t *testing.T) {
	for _, text := range []string{"", " ", "\n\t\r\n", "\u00a0", "\u3000"} {
		_, err := plan.Text{Field: "/note", Max: 512}.Required(text)
		var refusal *plan.ValidationError
		if !errors.As(err, &refusal) {
			t.Fatalf("Required(%q): %v", text, err)
		}
		wantRefusal(t, refusal, plan.InvalidInput, "/note", "is blank; give 1 to 512 characters")
	}
	if got, err := (plan.Text{Max: 1}).Required(" a "); got != "a" || err != nil {
		t.Errorf("one character: %q, %v", got, err)
	}
	if _, err := (plan.Text{Max: 9}).Required("a\x00"); err == nil {
		t.Error("a control character passed")
	}
}

// Clean accepts its own output and returns it unchanged, and the output follows the rule.
func FuzzClean(f *testing.F) {
	for _, seed := range []string{"", " a ", "Cafe\u0301", "a\r\nb", "a\r\r\nb\r", "\ufeffa", "\u202e", "e\u0301\u0301", " \u0301a",
		"\u1100\u1161\u11a8", "\u0958", "a\x00", "\xff", "\u2028", "=\ufe0f\u0338", "<\ufe0e\u0338\ufe0f"} {
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
