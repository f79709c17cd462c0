package safetext_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/planloop/planloop/internal/safetext"
	"github.com/planloop/planloop/internal/testenv"
)

func TestMain(m *testing.M) { os.Exit(testenv.Fixed{Tests: m}.Run()) }

func TestEachFormOfHostileText(t *testing.T) {
	for _, test := range []struct{ name, in, escaped, replaced, line string }{
		{"plain", "a b", "a b", "a b", "a b"},
		{"lines and tabs", "a\n\tb", "a\n\tb", "a\n\tb", "a b"},
		{"escape sequence", "a\x1b[31mb", `a\x1b[31mb`, "a\ufffd[31mb", "a [31mb"},
		{"carriage return", "a\rb", `a\x0db`, "a\nb", "a b"},
		{"bidi override", "a\u202eb", `a\u202eb`, "a\ufffdb", "ab"},
		{"tag", "a\U000E0041b", `a\U000e0041b`, "a\ufffdb", "ab"},
		{"blank letter", "a\u3164b", `a\u3164b`, "a\ufffdb", "ab"},
		{"selector behind a letter", "a\ufe0fb", `a\ufe0fb`, "a\ufffdb", "ab"},
		{"selector behind a symbol", "\u2764\ufe0f!", "\u2764!", "\u2764!", "\u2764!"},
		{"joiner between symbols", "\U0001F469\u200d\U0001F4BB", "\U0001F469\u200d\U0001F4BB", "\U0001F469\u200d\U0001F4BB",
			"\U0001F469\u200d\U0001F4BB"},
		{"joiner between Latin letters", "a\u200db", `a\u200db`, "a\ufffdb", "ab"},
		{"non-joiner between Arabic letters", "\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e",
			"\u0645\u06cc\u200c\u062e"},
		{"bytes that are no text", "a\xffb", `a\xffb`, "a\ufffdb", "ab"},
		{"a replacement character", "a\ufffdb", "a\ufffdb", "a\ufffdb", "a\ufffdb"},
		{"private use", "a\ue000b", `a\ue000b`, "a\ufffdb", "ab"},
	} {
		t.Run(test.name, func(t *testing.T) {
			for form, got := range map[string][2]string{
				"Escape":  {safetext.Escape(test.in), test.escaped},
				"Replace": {safetext.Replace(test.in), test.replaced},
				"Line":    {safetext.Line(test.in), test.line},
			} {
				if got[0] != got[1] {
					t.Errorf("%s(%q) = %q, want %q", form, test.in, got[0], got[1])
				}
			}
		})
	}
	if got := safetext.Drop("a\r\n\tb\u202e\x1b\xff"); got != "a\n\tb" {
		t.Errorf("Drop: %q", got)
	}
	if safetext.PrintableLine("a\nb") || safetext.PrintableLine("a\u202e") || !safetext.PrintableLine("a b") {
		t.Error("PrintableLine")
	}
	if got := safetext.EscapeLine("a\n\tb"); got != `a\x0a b` {
		t.Errorf("EscapeLine: %q", got)
	}
}

func FuzzWhatIsShownIsPrintable(f *testing.F) {
	f.Add("a\x1b\u202e\xff\u200d")
	f.Fuzz(func(t *testing.T, text string) {
		for _, got := range []string{safetext.Escape(text), safetext.Replace(text), safetext.Line(text), safetext.EscapeLine(text),
			safetext.Drop(text)} {
			if !safetext.Printable(got) || !utf8.ValidString(got) {
				t.Errorf("%q became %q", text, got)
			}
		}
		data := testenv.Must(json.Marshal(text))(t)
		var back, same string
		escaped := safetext.EscapeJSON(data)
		if json.Unmarshal(escaped, &back) != nil || json.Unmarshal(data, &same) != nil || back != same ||
			!safetext.Printable(string(escaped)) {
			t.Errorf("%s became %s", data, escaped)
		}
	})
}

// TestWorkGrowsWithTheText: the text is not copied for each character.
func TestWorkGrowsWithTheText(t *testing.T) {
	for name, rewrite := range map[string]func(string){
		"Escape": func(text string) { safetext.Escape(text) }, "EscapeLine": func(text string) { safetext.EscapeLine(text) },
		"EscapeJSON": func(text string) { safetext.EscapeJSON([]byte(text)) }, "Replace": func(text string) { safetext.Replace(text) },
		"Drop": func(text string) { safetext.Drop(text) }, "Line": func(text string) { safetext.Line(text) },
		"PrintableLine": func(text string) { safetext.PrintableLine(text) },
	} {
		text := strings.Repeat("a", 10_000) + "\ue000"
		if n := testing.AllocsPerRun(3, func() { rewrite(text) }); n > 50 {
			t.Errorf("%s allocates %g times for 10,000 characters", name, n)
		}
	}
}
