package main

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"plain text, line\nbreak\tand tab", "plain text, line\nbreak\tand tab"},
		{"日本語 Ünïcödé 👩‍💻", "日本語 Ünïcödé 👩‍💻"},
		{"ideographic\u3000and\u00a0fixed blanks", "ideographic\u3000and\u00a0fixed blanks"},
		{"\x1b[31mred\x1b[0m", `\x1B[31mred\x1B[0m`},
		{"bell\a return\r", `bell\x07 return\x0D`},
		{"\u009b31m", `\x9B31m`},
		{"delete\x7f", `delete\x7F`},
		{"a\u202eb", `a\u202Eb`},
		{"zero\u200bwidth \ufeff", `zero\u200Bwidth \uFEFF`},
		{"line\u2028separator", `line\u2028separator`},
		{"tag\U000e0041", `tag\U000E0041`},
		{"not UTF-8 \xff\xfe", `not UTF-8 \xFF\xFE`},
		{"replaced \ufffd", "replaced \ufffd"},
	} {
		if got := printable(c.text); got != c.want {
			t.Errorf("printable(%q) = %q, want %q", c.text, got, c.want)
		}
	}
	if got := printableLine("one\ntwo\tthree"); got != `one\x0Atwo three` {
		t.Errorf("printableLine: %q", got)
	}
}

func FuzzPrintable(f *testing.F) {
	f.Add("a\x1b]0;title\x07b\u202ec\xffd\U000e0041")
	f.Fuzz(func(t *testing.T, text string) {
		got := printable(text)
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\x00\x07\x08\x1b\x7f\u009b\u202e\u2066") {
			t.Errorf("printable(%q) = %q", text, got)
		}
		if again := printable(got); again != got {
			t.Errorf("printable(printable(%q)) = %q", text, again)
		}
		if line := printableLine(text); strings.ContainsAny(line, "\n\t\r") {
			t.Errorf("printableLine(%q) = %q", text, line)
		}
		checkPrintableJSON(t, text)
	})
}

// checkPrintableJSON checks that a document says the same afterwards.
func checkPrintableJSON(t *testing.T, text string) {
	t.Helper()
	document, err := json.Marshal(map[string]string{"text": text})
	if err != nil {
		t.Fatal(err)
	}
	var before, after map[string]string
	if err := json.Unmarshal(document, &before); err != nil {
		t.Fatal(err)
	}
	shown := printableJSON(document)
	if err := json.Unmarshal(shown, &after); err != nil || before["text"] != after["text"] {
		t.Errorf("%q became %q (%v)", before["text"], after["text"], err)
	}
	if strings.ContainsAny(string(shown), "\x1b\x7f\u009b\u202e\u2066") {
		t.Errorf("%q", shown)
	}
}
